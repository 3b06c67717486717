"""What many small filters cost: `scripts/bench --many`.

Beside redis-server, which gets a string for each filter, under the same names of 11 or 12 bytes:

  create   server CPU of one BF.ADD to a missing name (SET), in one pipeline
  memory   resident bytes per name, afterwards
  look up  server CPU of one BF.EXISTS (GET) on a random name, 64 per pipeline
  save     seconds of SAVE, and what lies on the disk then
  rest     resident bytes per name, some seconds later
  again    seconds of SAVE after 2% of the names were changed
  start    seconds from starting the server on that directory to its first PONG
  start, CPU   of the server, until then
  stop     seconds that SIGTERM takes after every name was changed
  flush    milliseconds until the reply of FLUSHALL, after another start
  left     resident bytes per name, some seconds after that

With 100,000 names, unless --quick with 1,000,000, and with --big with 10,000,000 (half an hour, 5 GB of memory). Both
servers run one event loop on core 0; Bitsieve keeps its log, redis-server has none.
"""

import itertools
import random
import signal
import socket
import time
from pathlib import Path

from bench_server import describe_machine, encode, progress, start_bitsieve, start_redis

LOOKUPS = 300_000
PIPELINE = 64
CHANGED_SHARE = 50  # one name in so many
STOP_SECONDS = 600
REST_SECONDS = 4
END = b"+PONG\r\n"


def name_of(number):
    return f"user:{number:06d}"


class Pipeline:
    """Sends commands some at a time, and waits for the replies of each batch: a PING closes it."""

    def __init__(self, server):
        self.server = server
        self.connection = socket.create_connection(("127.0.0.1", server.port), timeout=600)

    def run(self, commands, batch):
        """Returns the nanoseconds of server CPU per command."""
        ping = encode("PING")
        commands, count = iter(commands), 0
        before = self.server.cpu_ns()
        while some := list(itertools.islice(commands, batch)):
            count += len(some)
            self.connection.sendall(b"".join(some) + ping)
            end = b""
            while not end.endswith(END):
                end = (end + self.connection.recv(1 << 20))[-len(END):]
        return (self.server.cpu_ns() - before) / count


def resident_bytes(server):
    return int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]) * 4096


def disk_bytes(server):
    files = [path for path in Path(server.directory).rglob("*") if path.is_file() and path.name != "bench.log"]
    return sum(path.stat().st_blocks * 512 for path in files)


def seconds_of(action, *arguments):
    begin = time.monotonic()
    action(*arguments)
    return time.monotonic() - begin


def stop_orderly(server):
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(STOP_SECONDS)


def measure(server, names, add, look_up):
    """Yields what was measured, its value and its unit."""
    order = random.Random(7)
    pipeline = Pipeline(server)
    empty = resident_bytes(server)
    yield "create", pipeline.run((add(name_of(i), "item") for i in range(names)), 256), "ns"
    yield "memory", (resident_bytes(server) - empty) / names, "bytes"
    yield "look up", pipeline.run((look_up(name_of(order.randrange(names))) for _ in range(LOOKUPS)), PIPELINE), "ns"
    yield "save", seconds_of(save, pipeline), "s"
    yield "on disk", disk_bytes(server) / 1e6, "MB"
    time.sleep(REST_SECONDS)
    yield "rest", (resident_bytes(server) - empty) / names, "bytes"
    changed = order.sample(range(names), names // CHANGED_SHARE)
    pipeline.run((add(name_of(i), "other") for i in changed), 256)
    yield "again", seconds_of(save, pipeline), "s"
    server.kill()
    yield "start", seconds_of(server.begin), "s"
    yield "start, CPU", server.cpu_ns() / 1e9, "s"
    Pipeline(server).run((add(name_of(i), "third") for i in range(names)), 256)
    yield "stop", seconds_of(stop_orderly, server), "s"
    server.begin()
    yield "flush", 1e3 * seconds_of(Pipeline(server).run, [encode("FLUSHALL")], 1), "ms"
    time.sleep(REST_SECONDS)
    yield "left", (resident_bytes(server) - empty) / names, "bytes"


def save(pipeline):
    pipeline.run([encode("SAVE")], 1)


def of_bitsieve(binary, names):
    server = start_bitsieve(binary, "--appendonly", "yes")
    return server, measure(server, names, lambda name, item: encode("BF.ADD", name, item),
                           lambda name: encode("BF.EXISTS", name, "item"))


def of_redis(names):
    server = start_redis("--appendonly", "no")
    return server, measure(server, names, lambda name, item: encode("SET", name, item),
                           lambda name: encode("GET", name))


def run(binary, quick, big):
    describe_machine()
    for names in [100_000] if quick else [100_000, 1_000_000] + [10_000_000] * big:
        print(f"\n{names:,} names\n{'':<10} {'bitsieve':>12} {'redis-server':>12}  ratio", flush=True)
        servers = []
        try:
            ours, our_figures = of_bitsieve(binary, names)
            servers.append(ours)
            theirs, their_figures = of_redis(names)
            servers.append(theirs)
            for (label, mine, unit), (_, other, _) in zip(our_figures, their_figures):
                ratio = f"{mine / other:6.2f}" if other else ""
                print(f"{label:<10} {mine:>12,.2f} {other:>12,.2f} {ratio}  {unit}", flush=True)
                progress(f"{label}: done")
        finally:
            for server in servers:
                server.stop()
