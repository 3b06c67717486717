"""What durability costs: `scripts/bench --durability`.

  log     server CPU per operation (from /proc/PID/task/*/schedstat, all threads) of BF.ADD at -P 64 and BF.MADD of 100
          at -P 16, with the log under each policy, as a ratio to the same server without one, in the same round;
          redis-server's SET likewise. 50 connections, random keys, the filter emptied before each run, one event loop,
          servers pinned to core 0 and the load to core 1.
  reads   the 99th percentile of BF.EXISTS, 50 connections, one command at a time, while a filter of about 1 GB is being
          saved again and again, as a ratio to the same without. Nothing is pinned.
  saving  seconds of SAVE of that filter, after one item was added, as a ratio to what `dd` needs for the same bytes on
          the same file system, fsync included, right after.
  start   seconds from starting the server on a directory with 1 GB of filters, one or eight, to its first PONG, as a
          ratio to `cat` of the files to /dev/null: both with warm cache.

Medians of all rounds, beside the goals there are. --only: the parts whose name has this text.
"""

import os
import statistics
import subprocess
import threading
import time
from pathlib import Path

from bench_server import (CONNECTIONS, ITEMS_PER_COMMAND, KEY, MULTI_PIPELINE, Workload, describe_machine, fill,
                          make_filter, progress, start_bitsieve, start_redis)

BIG_CAPACITY = 550_000_000  # at 0.1% about 1.07 GB
KEYS = 2_000_000
LOG_GOALS = {("BF.MADD 100", "everysec"): 1.3}
START_GOAL = 1.5


def beside_goal(ratio, goal):
    return f"ratio {ratio:.2f}" + ("" if goal is None else f"  goal {goal:g} {'met' if ratio <= goal else 'MISSED'}")


class Comparison:
    """Workloads on one kind of server, under several settings; the first is what the others are compared with."""

    def __init__(self, settings, start, workloads):
        self.settings = settings
        self.servers = [start(*options) for _, options in settings]
        self.rows = [[make(server) for make in workloads] for server in self.servers]

    def run_round(self, operations):
        for rows in zip(*self.rows):
            for row in rows:
                row.run(operations)
            for row in rows:
                row.ratio.append(row.cpu[-1] / rows[0].cpu[-1])

    def report(self):
        for (setting, _), rows in zip(self.settings, self.rows):
            for row in rows:
                print(f"{row.server.name:<13} {row.label:<14} {setting:<9} {statistics.median(row.cpu):8.1f} ns "
                      f"{statistics.median(row.rate):12,.0f}/s   "
                      f"{beside_goal(statistics.median(row.ratio), LOG_GOALS.get((row.label, setting)))}", flush=True)

    def stop(self):
        for server in self.servers:
            server.stop()


def settings_of(switch, policy):
    named = [("no log", [switch, "no"])]
    return named + [(each, [switch, "yes", policy, each]) for each in ("everysec", "no", "always")]


def compare_logs(binary, rounds, operations):
    def clear(server):
        return lambda: server.ask("BF.CLEAR", "f")

    def add(server):
        return Workload(server, "BF.ADD -P 64", ["BF.ADD", "f", KEY], 64, KEYS, before=clear(server))

    def add_many(server):
        return Workload(server, "BF.MADD 100", ["BF.MADD", "f"] + [KEY] * ITEMS_PER_COMMAND, MULTI_PIPELINE, KEYS,
                        ITEMS_PER_COMMAND, before=clear(server))

    def start(*options):
        server = start_bitsieve(binary, *options)
        make_filter(server, "f", 1_000_000, "0.01")
        return server

    def set_key(server):
        return Workload(server, "SET -P 64", ["SET", KEY, "xxx"], 64, KEYS)

    ours = Comparison(settings_of("--appendonly", "--appendfsync"), start, [add, add_many])
    theirs = Comparison(settings_of("--appendonly", "--appendfsync"),
                        lambda *options: start_redis("--auto-aof-rewrite-percentage", "0", *options), [set_key])
    try:
        for number in range(rounds):
            progress(f"log: round {number + 1} of {rounds}")
            ours.run_round(operations)
            theirs.run_round(operations)
        ours.report()
        theirs.report()
    finally:
        ours.stop()
        theirs.stop()


def p99_ms(server, commands):
    """Of BF.EXISTS, by redis-benchmark."""
    command = ["redis-benchmark", "-p", str(server.port), "-c", str(CONNECTIONS), "-n", str(commands), "-r", str(KEYS),
               "-q", "--csv", "BF.EXISTS", "big0", KEY]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    header, figures = [line.replace('"', "").split(",") for line in result.stdout.strip().splitlines()[-2:]]
    return float(figures[header.index("p99_latency_ms")])


def measure_reads(server, rounds, commands):
    quiet, saving = [], []
    for number in range(rounds):
        progress(f"reads: round {number + 1} of {rounds}")
        quiet.append(p99_ms(server, commands))
        stop = threading.Event()

        def save_again_and_again():
            while not stop.is_set():
                server.ask("BF.ADD", "big0", os.urandom(8).hex())
                server.ask("SAVE")

        thread = threading.Thread(target=save_again_and_again)
        thread.start()
        saving.append(p99_ms(server, commands))
        stop.set()
        thread.join()
    ratio = statistics.median(b / a for a, b in zip(quiet, saving))
    print(f"reads: p99 {statistics.median(quiet):.3f} ms, while saving {statistics.median(saving):.3f} ms   "
          f"ratio {ratio:.2f}", flush=True)


def seconds_of(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def measure_saving(server, rounds):
    saves, copies = [], []
    for number in range(rounds):
        progress(f"saving: round {number + 1} of {rounds}")
        server.ask("BF.ADD", "big0", os.urandom(8).hex())
        saves.append(seconds_of(lambda: server.ask("SAVE")))
        files = sorted(Path(server.directory, "filters").iterdir(), key=lambda file: file.stat().st_size)
        target = Path(server.directory, "copy")
        copies.append(seconds_of(lambda: subprocess.run(
            ["dd", f"if={files[-1]}", f"of={target}", "bs=1M", "conv=fsync", "status=none"], check=True)))
        target.unlink()
    ratio = statistics.median(a / b for a, b in zip(saves, copies))
    print(f"saving: SAVE {statistics.median(saves):.2f} s, dd {statistics.median(copies):.2f} s   ratio {ratio:.2f}",
          flush=True)


def make_big_filters(binary, filters, quick):
    """A server with about 1 GB of them, saved."""
    server = start_bitsieve(binary, pinned=False)
    for number in range(filters):
        make_filter(server, f"big{number}", BIG_CAPACITY // filters, "0.001")
        fill(server, ["BF.MADD", f"big{number}"], (5_000_000 if quick else 60_000_000) // filters, 200_000_000)
    server.ask("SAVE")
    return server


def measure_starts(server, filters, rounds):
    starts, reads = [], []
    for number in range(rounds):
        progress(f"start: round {number + 1} of {rounds}")
        server.kill()
        files = [str(file) for file in Path(server.directory, "filters").iterdir()]
        files += [str(file) for file in Path(server.directory, "log").glob("*")]

        def cat():
            with open(os.devnull, "wb") as nothing:
                subprocess.run(["cat", *files], stdout=nothing, check=True)

        cat()
        reads.append(seconds_of(cat))
        starts.append(seconds_of(server.begin))
    ratio = statistics.median(a / b for a, b in zip(starts, reads))
    print(f"start: {filters} filter(s), {statistics.median(starts):.2f} s, cat {statistics.median(reads):.2f} s   "
          f"{beside_goal(ratio, START_GOAL)}", flush=True)


def run(binary, rounds, quick, only):
    describe_machine()
    if only in "log":
        compare_logs(binary, rounds, 300_000 if quick else 2_000_000)
    for filters in (1, 8):
        server = make_big_filters(binary, filters, quick)
        try:
            if filters == 1 and only in "reads":
                measure_reads(server, rounds, 30_000 if quick else 200_000)
            if filters == 1 and only in "saving":
                measure_saving(server, rounds)
            if only in "start":
                measure_starts(server, filters, rounds)
        finally:
            server.stop()
