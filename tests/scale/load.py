"""Load for a cluster on this machine: commands are made beforehand, so that sending them costs the client little."""

import os
import random
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from harness import encode  # noqa: E402 (found by the path above)

CPU_FIELDS = ("master_ns", "replica_ns", "client_ns")
CONNECTIONS = 4  # to each node


def cpu_ns(pid):
    """CPU time of all threads so far."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir())


def busy_ns():
    """The time for which cores were not idle, of all together, since the machine started."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) * 10**9 // os.sysconf("SC_CLK_TCK")


class Shape:
    """How lookups or adds are sent: items per command and commands per round trip."""

    def __init__(self, single, many, items, pipeline):
        self.verb, self.items, self.pipeline = (single if items == 1 else many), items, pipeline

    def chunk(self, keys, make_item):
        """The bytes of one round trip, and how many bytes its replies have: each is :0 or :1."""
        data = []
        for _ in range(self.pipeline):
            data.append(encode(self.verb, random.choice(keys), *(make_item() for _ in range(self.items))))
        reply = 4 if self.items == 1 else len(b"*%d\r\n" % self.items) + 4 * self.items
        return b"".join(data), reply * self.pipeline


class Channel:
    """One connection, and the chunks that it sends in turn."""

    def __init__(self, port, chunks):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.chunks, self.next = chunks, 0

    def send(self):
        data, self.awaited = self.chunks[self.next % len(self.chunks)]
        self.next += 1
        self.socket.sendall(data)

    def receive(self):
        while self.awaited > 0:
            reply = self.socket.recv(1 << 16)
            if not reply or reply[:1] == b"-":
                raise RuntimeError(f"the node answers {reply[:100]!r}")
            self.awaited -= len(reply)


class Run:
    """What a run took per item: CPU of masters, replicas and this client, bytes of clients and of replication. And how
    fast it was, and what the rest of the machine took meanwhile."""

    def __init__(self, cluster, shape, keys_of, make_item, items):
        masters = cluster.masters()
        replicas = [node for node in cluster.alive() if node not in masters]
        rounds = max(1, items // (shape.items * shape.pipeline * CONNECTIONS * len(masters)))
        channels = []
        for master in masters:
            for _ in range(CONNECTIONS):
                chunks = [shape.chunk(keys_of(master), make_item) for _ in range(rounds)]
                channels.append(Channel(master.port, chunks))
        self.items = rounds * shape.items * shape.pipeline * len(channels)
        before, busy, begin = self.reading(masters, replicas), busy_ns(), time.monotonic_ns()
        for _ in range(rounds):
            for channel in channels:
                channel.send()
            for channel in channels:
                channel.receive()
        elapsed_ns, busy = time.monotonic_ns() - begin, busy_ns() - busy
        own = sum(self.reading(masters, replicas)[name] - before[name] for name in CPU_FIELDS)
        self.others_cores = max(0, busy - own) / elapsed_ns
        self.per_second = self.items * 1e9 / elapsed_ns
        for master in masters:
            with master.client() as client:
                client.execute_command("WAIT", 1, 10_000)
        after = self.reading(masters, replicas)
        self.per_item = {name: (after[name] - before[name]) / self.items for name in before}
        for channel in channels:
            channel.socket.close()

    @staticmethod
    def reading(masters, replicas):
        def sum_of(section, *names):
            infos = [master.client().info(section) for master in masters]
            return sum(info[names[0]] - sum(info[name] for name in names[1:]) for info in infos)
        return {
            "master_ns": sum(cpu_ns(node.process.pid) for node in masters),
            "replica_ns": sum(cpu_ns(node.process.pid) for node in replicas),
            "client_ns": time.process_time_ns(),
            "in_bytes": sum_of("stats", "total_net_input_bytes", "total_net_repl_input_bytes"),
            "out_bytes": sum_of("stats", "total_net_output_bytes", "total_net_repl_output_bytes"),
            "replication_bytes": sum_of("replication", "master_repl_offset"),
        }
