"""What is written to the disk, and what a stop costs, with a log: `scripts/bench --writes`.

  one add a second   to a filter of about 800 MB, with a snapshot every 2 s; what the process writes in that time
                     (write_bytes of /proc/PID/io), for each snapshot and for each addition. An hour of the default
                     save-interval has 60 snapshots and 3,600 additions; and once a day the filter's file is written
  stop               seconds that SIGTERM takes after 1,000,000 small filters were made and each was changed, how many
                     of the changes are missing after the next start, and how long that start takes

--quick: a filter of 80 MB, 100,000 names.
"""

import socket
import time
from pathlib import Path

from bench_server import describe_machine, encode, progress, start_bitsieve
from many_bench import Pipeline, name_of, seconds_of, stop_orderly

SECONDS = 30
INTERVAL = 2
BIG_CAPACITY = 415_000_000  # at 0.1% about 807 MB


def written_bytes(server):
    lines = Path(f"/proc/{server.process.pid}/io").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("write_bytes")).split()[1])


def measure_big(binary, capacity):
    server = start_bitsieve(binary)
    try:
        server.ask("CONFIG", "SET", "save-interval", str(INTERVAL))
        server.ask("BF.RESERVE", "big", "0.001", str(capacity))
        server.ask("BF.ADD", "big", "first")
        with socket.create_connection(("127.0.0.1", server.port), timeout=600) as connection:
            connection.sendall(encode("SAVE"))
            connection.recv(100)
        progress("big: saved")
        file_bytes = max(path.stat().st_size for path in Path(server.directory).rglob("*.filter"))
        before = written_bytes(server)
        for i in range(SECONDS):
            server.ask("BF.ADD", "big", str(i))
            time.sleep(1)
        written = written_bytes(server) - before
        per_snapshot = written / (SECONDS / INTERVAL)
        per_hour = 60 * per_snapshot + file_bytes / 24
        print(f"one add a second to a filter of {file_bytes / 1e6:.0f} MB: {written / 1e3:.0f} kB in {SECONDS} s, "
              f"{per_snapshot / 1e3:.1f} kB a snapshot, {per_hour / 1e6:.0f} MB an hour", flush=True)
    finally:
        server.stop()


def missing(pipeline, names, item):
    """How many of the names' filters do not have the item."""
    commands = [encode("BF.EXISTS", name_of(i), item) for i in range(names)]
    found = 0
    for begin in range(0, names, 1000):
        batch = commands[begin:begin + 1000]
        pipeline.connection.sendall(b"".join(batch))
        reply = b""
        while reply.count(b"\r\n") < len(batch):
            reply += pipeline.connection.recv(1 << 20)
        found += reply.count(b":1\r\n")
    return names - found


def measure_stop(binary, names):
    server = start_bitsieve(binary)
    try:
        pipeline = Pipeline(server)
        for item in ("item", "other"):
            pipeline.run([encode("BF.ADD", name_of(i), item) for i in range(names)], 256)
        seconds = seconds_of(stop_orderly, server)
        start = seconds_of(server.begin)
        lost = missing(Pipeline(server), names, "other")
        print(f"SIGTERM with {names:,} changed filters: {seconds:.1f} s; then started in {start:.1f} s, "
              f"{lost} changes missing", flush=True)
    finally:
        server.stop()


def run(binary, quick):
    describe_machine()
    measure_big(binary, BIG_CAPACITY // 10 if quick else BIG_CAPACITY)
    measure_stop(binary, 100_000 if quick else 1_000_000)
