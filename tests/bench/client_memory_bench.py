#!/usr/bin/python3
"""Measures what clients can make the server take, and how long others wait: for each attack the peak of the
resident memory above its start, and the longest PING of another connection, asked every 2 ms.

    BITSIEVE_BINARY=build/release/bitsieve tests/bench/client_memory_bench.py [--old] [--loops N]

--old leaves out options that binaries before maxmemory-clients do not know. PINGs that have no answer when an attack is
over (20 s) count as that long.
"""

import argparse
import re
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness import Server, encode  # noqa: E402 (found by the path above)

MB = 1 << 20
SECONDS = 20
CLIENTS_LIMIT = 100 * MB


class Pings(threading.Thread):
    """The longest wait of a PING, from start() to stop()."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.stopped = threading.Event()
        self.worst = 0.0
        self.asked_at = None

    def run(self):
        while not self.stopped.is_set():
            self.asked_at = time.monotonic()
            try:
                self.connection.ask(b"PING\r\n")
            except (OSError, EOFError):
                self.worst = float("inf")
                return
            self.worst = max(self.worst, time.monotonic() - self.asked_at)
            self.asked_at = None
            time.sleep(0.002)

    def stop(self):
        self.stopped.set()
        waiting_since = self.asked_at
        if waiting_since is not None:
            self.worst = max(self.worst, time.monotonic() - waiting_since)
        return self.worst


def send_in_background(connection, data):
    def send():
        try:
            connection.socket.settimeout(SECONDS)
            connection.socket.sendall(data)
        except OSError:
            pass

    threading.Thread(target=send, daemon=True).start()


def make_filter(server, megabytes):
    with server.connect() as connection:
        connection.command("BF.RESERVE", "f", 0.01, megabytes * MB * 8 // 10, "NONSCALING")


def transaction(server, count):
    connection = server.connect()
    connection.ask(b"MULTI\r\n")
    connection.send(encode("BF.DUMP", "f") * count)
    for _ in range(count):
        connection.reply()
    return lambda: send_in_background(connection, encode("EXEC"))


def pipelines(server, connections, count):
    opened = [server.connect() for _ in range(connections)]
    return lambda: [send_in_background(each, encode("BF.DUMP", "f") * count) for each in opened]


def half_requests(server, connections, megabytes):
    opened = [server.connect() for _ in range(connections)]
    data = b"*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$500000000\r\n" + b"x" * (megabytes * MB)
    return lambda: [send_in_background(each, data) for each in opened]


ATTACKS = [
    ("EXEC of 2,000 x BF.DUMP (1 MB), not read; output limit 1 MB", 1, 1 * MB,
     {"client_output_buffer_limit": "1mb"}, lambda server: transaction(server, 2000)),
    ("20 connections x 50 x BF.DUMP (1 MB), not read", 1, CLIENTS_LIMIT,
     {"maxmemory_clients": CLIENTS_LIMIT}, lambda server: pipelines(server, 20, 50)),
    ("20 connections x 50 x BF.DUMP (6 MB), not read", 6, CLIENTS_LIMIT,
     {"maxmemory_clients": CLIENTS_LIMIT}, lambda server: pipelines(server, 20, 50)),
    ("1 connection x 64 x BF.DUMP (16 MB), not read; output limit 64 MB", 16, 64 * MB,
     {"client_output_buffer_limit": "64mb"}, lambda server: pipelines(server, 1, 64)),
    ("20 half-sent arguments of 30 MB; maxmemory 10 MB", None, CLIENTS_LIMIT,
     {"maxmemory": "10mb", "maxmemory_clients": CLIENTS_LIMIT}, lambda server: half_requests(server, 20, 30)),
]


def peak_bytes(server):
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024


def measure(megabytes, options, prepare, settings):
    options = {name: value for name, value in options.items() if not (settings.old and name == "maxmemory_clients")}
    server = Server(appendonly="no", io_threads=settings.loops, **options).start()
    try:
        if megabytes:
            make_filter(server, megabytes)
        begin = prepare(server)
        Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
        before = server.rss_bytes()
        pings = Pings(server)
        pings.start()
        time.sleep(0.3)
        begin()
        time.sleep(settings.seconds)
        worst = pings.stop()
        return peak_bytes(server) - before, worst, server.rss_bytes() - before
    finally:
        server.clean_up()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--loops", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="how long each attack lasts")
    settings = parser.parse_args()
    print("| attack | limit, MB | peak above start, MB | left after it, MB | longest PING, ms |")
    print("|---|---|---|---|---|")
    for name, megabytes, limit, options, prepare in ATTACKS:
        peak, worst, left = measure(megabytes, options, prepare, settings)
        print(f"| {name} | {limit // MB} | {peak / MB:.0f} | {left / MB:.0f} | {worst * 1000:.0f} |", flush=True)


if __name__ == "__main__":
    main()
