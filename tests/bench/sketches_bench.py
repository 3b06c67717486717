"""What the sketches of bitsieve.so cost in redis-server, compared with its GET: `scripts/bench --sketches`.

One redis-server with the module runs without a log, pinned to core 0. This program has 16 connections to it and runs on
core 1. On each connection it sends a pipeline of 64 commands (16 if a command has 100 items), all prepared, and then
waits for all replies: so the server seldom sleeps, and what waking it costs is no part of the figures. Measured is the
CPU time of the server (/proc/PID/task/*/schedstat, all threads) per item. In a round every row runs once, so that all
see the same machine; the ratios are to GET in the same round, and each figure is the median of all rounds. Before the
first round all rows run once, so that every item has been counted and all memory has been touched.

  GET              of 100,000 strings; of one string, which is always in the processor's cache
  PING             what a command costs that does nothing
  BF.*             on a blocked filter for 1,000,000 items: what a command of the module costs that does little
  CMS.*            a sketch of 80 kB and one of 80 MB, both of 5 rows; items are random ones of 1,000,000
  TOPK.*           k is 50, 7 rows of 2,000 counters, decay 0.9; items are Zipf-distributed (exponent 1) over 100,000,
                   or, in the row "even", those of CMS, so that hardly any is among the k for long
  TDIGEST.ADD      compression 100; numbers are random, of 16 to 18 digits
  TDIGEST.QUANTILE of a digest of 100,000 numbers that does not change

All keys, items and strings have 16 bytes.
"""

import itertools
import os
import random
import statistics

from bench_server import (ITEMS_PER_COMMAND, LOAD_CORE, MULTI_PIPELINE, describe_machine, encode, progress,
                          start_redis)
from many_bench import END, PIPELINE, Pipeline

CONNECTIONS = 16
SINGLE_PIPELINES, MANY_PIPELINES = 2000, 80  # of a run: 128,000 items
STRINGS, ITEMS = 100_000, 1_000_000
SMALL_WIDTH, LARGE_WIDTH, DEPTH = 2000, 4_000_000, 5
RANDOM = random.Random(7)


def item_of(number):
    return f"item:{number:011d}"


def draw_even(count, items=ITEMS):
    return [item_of(RANDOM.randrange(items)) for _ in range(count)]


def draw_strings(count):
    return draw_even(count, STRINGS)


def draw_zipf(count):
    return [item_of(rank) for rank in RANDOM.choices(ZIPF_RANKS, cum_weights=ZIPF_WEIGHTS, k=count)]


def draw_numbers(count):
    return [repr(RANDOM.random()) for _ in range(count)]


ZIPF_RANKS = range(STRINGS)
ZIPF_WEIGHTS = list(itertools.accumulate(1 / (rank + 1) for rank in ZIPF_RANKS))


class Row:
    """One command with other items each time. `after` follows each item: its increment or value."""

    def __init__(self, label, command, draw, after=(), items=1):
        self.label = label
        self.cpu = []
        depth, self.pipelines = (PIPELINE, SINGLE_PIPELINES) if items == 1 else (MULTI_PIPELINE, MANY_PIPELINES)
        self.items = depth * items  # of a pipeline

        def arguments():
            return [*command, *(part for item in draw(items) for part in (item, *after))]

        self.first = arguments()
        self.prepared = [b"".join(encode(*arguments()) for _ in range(depth)) for _ in range(self.pipelines)]

    def run(self, clients, share):
        """Returns the nanoseconds of server CPU per item."""
        prepared = self.prepared[:int(self.pipelines * share)]
        return clients.run(prepared) / len(prepared) / self.items


class Clients:
    """Connections, each of which sends a pipeline before the replies of any are awaited."""

    def __init__(self, server):
        self.server = server
        self.connections = [server.connect() for _ in range(CONNECTIONS)]

    def run(self, pipelines):
        """Returns the nanoseconds of server CPU. A PING closes each pipeline."""
        ping = encode("PING")
        before = self.server.cpu_ns()
        for begin in range(0, len(pipelines), len(self.connections)):
            some = list(zip(self.connections, pipelines[begin:]))
            for connection, pipeline in some:
                connection.sendall(pipeline + ping)
            for connection, _ in some:
                end = b""
                while not end.endswith(END):
                    end = (end + connection.recv(1 << 20))[-len(END):]
        return self.server.cpu_ns() - before


def single_rows():
    yield Row("GET", ["GET"], draw_strings)
    yield Row("GET one string", ["GET"], lambda count: [item_of(7)] * count)
    yield Row("PING", ["PING"], lambda count: [])
    yield Row("SET", ["SET"], draw_strings, ["value-0123456789"])
    yield Row("BF.ADD", ["BF.ADD", "sketch:of-filter"], draw_even)
    yield Row("BF.EXISTS", ["BF.EXISTS", "sketch:of-filter"], draw_even)
    for size in ("small", "large"):
        key = f"sketch:cms-{size}"
        yield Row(f"CMS.INCRBY {size}", ["CMS.INCRBY", key], draw_even, ["1"])
        yield Row(f"CMS.QUERY {size}", ["CMS.QUERY", key], draw_even)
    yield Row("TOPK.ADD", ["TOPK.ADD", "sketch:topk-zipf"], draw_zipf)
    yield Row("TOPK.ADD even", ["TOPK.ADD", "sketch:topk-even"], draw_even)
    yield Row("TOPK.QUERY", ["TOPK.QUERY", "sketch:topk-zipf"], draw_zipf)
    yield Row("TDIGEST.ADD", ["TDIGEST.ADD", "sketch:td-added0"], draw_numbers)
    yield Row("TDIGEST.QUANTILE", ["TDIGEST.QUANTILE", "sketch:td-asked0"], draw_numbers)


def many_rows():
    many = {"items": ITEMS_PER_COMMAND}
    yield Row("CMS.INCRBY small 100", ["CMS.INCRBY", "sketch:cms-small"], draw_even, ["1"], **many)
    yield Row("CMS.INCRBY large 100", ["CMS.INCRBY", "sketch:cms-large"], draw_even, ["1"], **many)
    yield Row("TOPK.ADD 100", ["TOPK.ADD", "sketch:topk-zipf"], draw_zipf, **many)
    yield Row("TDIGEST.ADD 100", ["TDIGEST.ADD", "sketch:td-added0"], draw_numbers, **many)


def prepare(server):
    Pipeline(server).run((encode("SET", item_of(i), "value-0123456789") for i in range(STRINGS)), 1000)
    server.ask("BF.RESERVE", "sketch:of-filter", "0.01", str(ITEMS))
    server.ask("CMS.INITBYDIM", "sketch:cms-small", str(SMALL_WIDTH), str(DEPTH))
    server.ask("CMS.INITBYDIM", "sketch:cms-large", str(LARGE_WIDTH), str(DEPTH))
    for name in ("zipf", "even"):
        server.ask("TOPK.RESERVE", f"sketch:topk-{name}", "50", "2000", "7", "0.9")
    for name in ("added0", "asked0"):
        server.ask("TDIGEST.CREATE", f"sketch:td-{name}", "COMPRESSION", "100")
    for _ in range(STRINGS // ITEMS_PER_COMMAND):
        server.ask("TDIGEST.ADD", "sketch:td-asked0", *draw_numbers(ITEMS_PER_COMMAND))


def measure(server, rows, rounds, share):
    clients = Clients(server)
    for row in rows:
        server.ask(*row.first)  # ends the program if it fails
        row.run(clients, share)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for row in rows:
            row.cpu.append(row.run(clients, share))


def ratios(row, peer):
    return [ours / theirs for ours, theirs in zip(row.cpu, peer.cpu)]


def report(rows):
    every, one = rows[:2]
    print(f"\n{'workload':<23} {'ns/item':>7} {'ratio':>6} {'range':>12} {'to one':>7}")
    for row in rows:
        to_get = ratios(row, every)
        print(f"{row.label:<23} {statistics.median(row.cpu):>7.0f} {statistics.median(to_get):>6.2f} "
              f"{min(to_get):>4.2f} to {max(to_get):.2f} {statistics.median(ratios(row, one)):>7.2f}")
    print("\nns/item: server CPU nanoseconds per item; ratio: to GET in the same round, its median and range; to one: "
          "to GET\nof one string. A last word of 100: with so many items per command.")


def run(module, rounds, quick):
    describe_machine()
    server = start_redis("--appendonly", "no", "--loadmodule", str(module))
    try:
        os.sched_setaffinity(0, {int(LOAD_CORE)})
        prepare(server)
        rows = [*single_rows(), *many_rows()]
        measure(server, rows, rounds, 0.1 if quick else 1)
        report(rows)
    finally:
        server.stop()
