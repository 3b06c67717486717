"""What following filters costs, and how old the copies are: `scripts/bench --follow`.

Lookups    in a copy, next to a filter of the same bytes in the same process
Staleness  of a copy while a million items per second are added, and the bytes sent for each of them
Polls      1,000 copies of a filter of 100 MB, to which 100 items per second are added: the server's CPU time. Their
           programs are played by one that only sends their requests, so that the machine's memory holds no copies
"""

import selectors
import socket
import subprocess
import time

from bench_server import Server, describe_machine, encode

KEY = "seen"
SPREAD = 0x9E3779B97F4A7C15
ADDS_PER_SECOND, ITEMS_PER_COMMAND = 1_000_000, 1000
SLOT_SECONDS = 0.01


def item_of(number):
    return b"%016x" % (number * SPREAD % 2**64)


def begin(binary, **options):
    flags = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), str(value))]
    return Server("bitsieve", lambda port, folder: [
        binary, "serve", "--port", str(port), "--dir", folder, "--admin-port", "0", "--save-interval", "0", *flags],
        pinned=False)


class Client:
    def __init__(self, server):
        self.connection = server.connect()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.connection.makefile("rb")

    def ask(self, *arguments):
        self.connection.sendall(encode(*arguments))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        if line[:1] == b"*":
            return [self.reply() for _ in range(int(line[1:]))]
        if line[:1] == b"$":
            return self.file.read(int(line[1:]) + 2)[:-2]
        if line[:1] == b"-":
            raise SystemExit(f"bench: the server answers {line.decode().strip()}")
        return line[1:-2]


def output_bytes(client):
    """Those that the server sent to all clients so far."""
    for line in client.ask("INFO", "stats").decode().splitlines():
        if line.startswith("total_net_output_bytes:"):
            return int(line.partition(":")[2])
    raise SystemExit("bench: INFO has no total_net_output_bytes")


def measure_lookups(binary, bench):
    for capacity in (1_000_000, 100_000_000):
        server = begin(binary)
        client = Client(server)
        client.ask("BF.RESERVE", KEY, 0.01, capacity)
        for first in range(0, 1_000_000, ITEMS_PER_COMMAND):
            client.ask("BF.MADD", KEY, *map(item_of, range(first, first + ITEMS_PER_COMMAND)))
        print(f"\nA filter made for {capacity:,} items at 1%, with 1,000,000 items:", flush=True)
        subprocess.run([bench, f"redis://127.0.0.1:{server.port}", KEY, "lookups"], check=True)
        server.stop()


def measure_staleness(binary, bench, seconds):
    server = begin(binary)
    client = Client(server)
    client.ask("BF.RESERVE", KEY, 0.01, ADDS_PER_SECOND * (seconds + 5))
    commands = [encode("BF.MADD", KEY, *map(item_of, range(first, first + ITEMS_PER_COMMAND)))
                for first in range(0, ADDS_PER_SECOND * (seconds + 2), ITEMS_PER_COMMAND)]
    follower = subprocess.Popen([bench, f"redis://127.0.0.1:{server.port}", KEY, "staleness", str(seconds)],
                                stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    per_slot = int(ADDS_PER_SECOND * SLOT_SECONDS / ITEMS_PER_COMMAND)
    reply_bytes = len(b"*%d\r\n" % ITEMS_PER_COMMAND) + ITEMS_PER_COMMAND * len(b":1\r\n")
    sent_before, begun, done = output_bytes(client), time.monotonic(), 0
    while follower.poll() is None and (done + 1) * per_slot <= len(commands):
        client.connection.sendall(b"".join(commands[done * per_slot:(done + 1) * per_slot]))
        for _ in range(per_slot * reply_bytes // 65536 + 1):
            client.file.read(min(65536, per_slot * reply_bytes))
        done += 1
        time.sleep(max(0.0, begun + done * SLOT_SECONDS - time.monotonic()))
    elapsed, added = time.monotonic() - begun, done * per_slot * ITEMS_PER_COMMAND
    time.sleep(0.3)
    median, high, most, dumps = map(int, follower.communicate()[0].split())
    sent = output_bytes(client) - sent_before - added // ITEMS_PER_COMMAND * reply_bytes
    print(f"\n{added / elapsed:,.0f} additions per second: the copy is {median} ms old in the median, {high} ms at the "
          f"99th percentile, {most} ms at most; {sent / added / 16:.3f} bytes were sent for each byte of the hashes; "
          f"the whole filter was read {dumps} time(s)", flush=True)
    server.stop()


class Poller:
    """One program that keeps a copy."""

    def __init__(self, server, position):
        self.connection = server.connect()
        self.connection.setblocking(False)
        self.position, self.received = position, b""

    def ask(self):
        self.connection.sendall(encode("BF.CHANGES", KEY, self.position, "COUNT", "16384"))

    def receive(self):
        self.received += self.connection.recv(65536)
        if self.received.endswith((b":0\r\n", b":1\r\n")):
            self.position, self.received = self.received.split(b"\r\n", 3)[2], b""


def measure_polls(binary, seconds, copies=1000, interval=0.1):
    server = begin(binary)
    client = Client(server)
    client.ask("BF.RESERVE", KEY, 0.01, 80_000_000)
    client.ask("BF.ADD", KEY, "first")
    size = int(client.ask("BF.INFO", KEY, "SIZE")[0])
    position = client.ask("BF.FOLLOW", KEY, 0)[2]
    pollers, selector = [Poller(server, position) for _ in range(copies)], selectors.DefaultSelector()
    for poller in pollers:
        selector.register(poller.connection, selectors.EVENT_READ, poller)
    begun, asked, added = time.monotonic(), 0, 0
    cpu_before = server.cpu_ns()
    while (now := time.monotonic() - begun) < seconds:
        for number in range(asked, min(int(now / interval * copies), asked + copies)):
            pollers[number % copies].ask()
            asked = number + 1
        if added < now * 100:
            client.ask("BF.ADD", KEY, item_of(added))
            added += 1
        for key, _ in selector.select(0.001):
            key.data.receive()
    cpu = (server.cpu_ns() - cpu_before) / (time.monotonic() - begun) / 1e9
    print(f"\n{copies:,} copies of a filter of {size / 1e6:.0f} MB, to which 100 items per second are added, asked "
          f"{asked / seconds:,.0f} times per second: {cpu:.1%} of a core, {cpu / asked * seconds * 1e6:.2f} us each",
          flush=True)
    server.stop()


def run(binary, bench, quick):
    describe_machine()
    seconds = 3 if quick else 10
    measure_lookups(binary, bench)
    measure_staleness(binary, bench, seconds)
    measure_polls(binary, seconds)
