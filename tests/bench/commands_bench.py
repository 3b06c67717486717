"""What commands cost, beside redis-server: `scripts/bench`.

Both servers run without a log and with one event loop pinned to core 0; redis-benchmark drives them from core 1 over
loopback with 50 connections and random keys. Measured is the CPU time of the server per operation (from
/proc/PID/task/*/schedstat, so that what the load generator or the rest of the machine does matters little), per item
for commands of 100 items, without that of opening and closing the connections. Each figure is the median of several
rounds; in a round every workload runs once, so that all see the same machine. The ratio is to another workload of the
same round: redis-server's PING at the same -P, at -P 64 for commands of 100 items, unless another one is named. For
some rows there is a second ratio, to a bare loop on Asio that gets the same requests and sends the same replies
(bare_loop.cc). Where there is a goal, its median is compared with that.

Filters that are only looked up hold 60 to 80% of what they are made for, and 30 to 40% of the lookups find their item.
Those that are added to are emptied before each run, so that at least half of the items are new; the ones of 10^8 and
5*10^7 items are not. BF.DEL begins each run with a filter that holds half of the items it is to remove.
"""

import statistics
import sys
import time
from pathlib import Path

from bench_server import (CONNECTIONS, ITEMS_PER_COMMAND, KEY, MULTI_PIPELINE, Workload, describe_machine, fill,
                          make_filter, progress, start_bare_loop, start_bitsieve, start_redis)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "integration"))

from filter_types import type_names  # noqa: E402 (found by the path above)

PIPELINES = (1, 16, 64)
MANY = [KEY] * ITEMS_PER_COMMAND
BARE_GOALS = {1: 1.12, 64: 1.25}
SMALL, SMALL_KEYS = 1_000_000, 2_000_000
SMALL_FILL = 800_000  # fits every type, also those that store an item again that is there
SMALL_ADDED = 1_200_000  # of SMALL_KEYS, so that 900,000 are new: fits those that do not


class Row(Workload):
    """A workload, and the most that it should cost in units of its peer, and of the bare loop."""

    def __init__(self, *arguments, peer=None, goal=None, bare=None, bare_goal=None, most=None, **named):
        super().__init__(*arguments, **named)
        self.peer, self.goal = peer, goal
        self.bare, self.bare_goal, self.bare_ratio = bare, bare_goal, []
        self.most = most  # operations of a run, for a filter that would be full

    def run_round(self, operations):
        operations *= 2 if self.items > 1 else 1
        self.run(min(operations, self.most or operations))

    def is_missed(self):
        return ((self.goal is not None and statistics.median(self.ratio) > self.goal)
                or (self.bare_goal is not None and statistics.median(self.bare_ratio) > self.bare_goal))


class Group:
    """Rows that need the same filters, which prepare() makes."""

    def __init__(self, rows, prepare=lambda: None):
        self.rows, self.prepare = rows, prepare


class Table:
    """All rows, by group."""

    def __init__(self, bitsieve, redis, bare_loop, big):
        self.bitsieve = bitsieve
        self.bare = {pipeline: Row(bare_loop, "BF.EXISTS", ["BF.EXISTS", "small", KEY], pipeline, SMALL_KEYS)
                     for pipeline in PIPELINES}
        self.pings = {pipeline: Row(redis, "PING", ["PING"], pipeline) for pipeline in PIPELINES}
        others = [Row(redis, name, command, pipeline, peer=self.pings[pipeline]) for pipeline in PIPELINES
                  for name, command in (("SET", ["SET", KEY, "xxx"]), ("SETBIT", ["SETBIT", KEY, "7", "1"]))]
        ours = [self.single("PING", ["PING"], pipeline, goal={1: 0.9}.get(pipeline)) for pipeline in PIPELINES]
        self.groups = [Group([*self.pings.values(), *self.bare.values(), *others, *ours]), self.blocked(),
                       self.cuckoo_commands()]
        self.groups += [self.type_added(name) for name in type_names(by_default=True) if name != "blocked"]
        self.groups += [self.deleting(), self.grown()]
        if big:
            self.groups += [self.big_blocked(), self.big_cuckoo_commands()]

    def single(self, label, command, pipeline, keys=SMALL_KEYS, **named):
        named.setdefault("peer", self.pings[pipeline])
        return Row(self.bitsieve, label, command, pipeline, keys, **named)

    def many(self, label, command, keys=SMALL_KEYS, **named):
        return Row(self.bitsieve, label, [*command, *MANY], MULTI_PIPELINE, keys, ITEMS_PER_COMMAND,
                   peer=self.pings[64], **named)

    def clear(self, name):
        return lambda: self.bitsieve.ask("BF.CLEAR", name)

    def bloom_rows(self, size, looked_up, added, keys, before, most, goals):
        """`goals`: of BF.EXISTS and BF.ADD by pipeline, of BF.MEXISTS, of BF.MADD."""
        exists_goals, add_goals, many_exists_goal, many_add_goal = goals
        rows = []
        for pipeline in PIPELINES:
            beside = {"bare": self.bare[pipeline], "bare_goal": BARE_GOALS.get(pipeline)}
            rows.append(self.single(f"BF.EXISTS {size}", ["BF.EXISTS", looked_up, KEY], pipeline, keys,
                                    goal=exists_goals.get(pipeline), **beside))
            rows.append(self.single(f"BF.ADD {size}", ["BF.ADD", added, KEY], pipeline, keys, before=before,
                                    most=most, goal=add_goals.get(pipeline), **beside))
        rows.append(self.many(f"BF.MEXISTS {size}", ["BF.MEXISTS", looked_up], keys, goal=many_exists_goal))
        rows.append(self.many(f"BF.MADD {size}", ["BF.MADD", added], keys, before=before, most=most,
                              goal=many_add_goal))
        return rows

    def blocked(self):
        def prepare():
            make_filter(self.bitsieve, "small", SMALL, "0.01")
            make_filter(self.bitsieve, "small-added", SMALL, "0.01")
            fill(self.bitsieve, ["BF.MADD", "small"], SMALL, SMALL_KEYS)

        goals = {1: 0.97, 64: 0.47}, {1: 0.97, 64: 0.48}, 0.07, 0.08
        rows = self.bloom_rows("10^6 1%", "small", "small-added", SMALL_KEYS, self.clear("small-added"),
                               SMALL_ADDED, goals)
        self.reserved = next(row for row in rows if row.label.startswith("BF.EXISTS") and row.pipeline == 64)
        return Group(rows, prepare)

    def big_blocked(self):
        def prepare():
            make_filter(self.bitsieve, "big", 100_000_000, "0.001")
            fill(self.bitsieve, ["BF.MADD", "big"], 70_000_000, 200_000_000)

        goals = {1: 0.97, 64: 0.53}, {1: 0.97, 64: 0.53}, 0.14, 0.16
        # All rounds add to the same filter: together they stay below its capacity.
        return Group(self.bloom_rows("10^8 0.1%", "big", "big", 200_000_000, None, None, goals), prepare)

    def cuckoo_commands(self):
        def prepare():
            for name in ("cf", "cf-added"):
                self.bitsieve.ask("CF.RESERVE", name, str(SMALL))
            fill(self.bitsieve, ["CF.INSERT", "cf", "ITEMS"], SMALL_FILL, SMALL_KEYS)

        return Group([
            self.single("CF.EXISTS 10^6", ["CF.EXISTS", "cf", KEY], 64),
            self.single("CF.ADD 10^6", ["CF.ADD", "cf-added", KEY], 64, before=self.clear("cf-added"),
                        most=SMALL_FILL),
            self.many("CF.MEXISTS 10^6", ["CF.MEXISTS", "cf"], goal=0.11),
        ], prepare)

    def big_cuckoo_commands(self):
        keys = 100_000_000

        def prepare():
            self.bitsieve.ask("CF.RESERVE", "cf-big", "50000000")
            fill(self.bitsieve, ["CF.INSERT", "cf-big", "ITEMS"], 35_000_000, keys)

        return Group([
            self.single("CF.EXISTS 5*10^7", ["CF.EXISTS", "cf-big", KEY], 64, keys),
            # All rounds add to the same filter: together they stay below its capacity.
            self.single("CF.ADD 5*10^7", ["CF.ADD", "cf-big", KEY], 64, keys),
            self.many("CF.MEXISTS 5*10^7", ["CF.MEXISTS", "cf-big"], keys, goal=0.17),
        ], prepare)

    def type_added(self, type_name):
        row = self.many(f"BF.MADD {type_name}", ["BF.MADD", type_name], before=self.clear(type_name), goal=0.25,
                        most=SMALL_FILL)
        return Group([row], lambda: make_filter(self.bitsieve, type_name, SMALL, "0.01", "TYPE", type_name))

    def deleting(self):
        def refill():
            self.clear("deleted")()
            fill(self.bitsieve, ["BF.MADD", "deleted"], SMALL_FILL, SMALL_KEYS // 2)

        row = self.single("BF.DEL cuckoo", ["BF.DEL", "deleted", KEY], 64, SMALL_KEYS // 2, before=refill,
                          most=SMALL_FILL)
        return Group([row], lambda: make_filter(self.bitsieve, "deleted", SMALL, "0.01", "TYPE", "cuckoo"))

    def grown(self):
        def prepare():
            make_filter(self.bitsieve, "grown", 1000, "0.01")
            fill(self.bitsieve, ["BF.MADD", "grown"], SMALL, SMALL_KEYS)

        return Group([self.single("BF.EXISTS grown", ["BF.EXISTS", "grown", KEY], 64, peer=self.reserved, goal=1.15)],
                     prepare)

    def select(self, text):
        """Prepares and returns the rows whose label has the text, and those that they are compared with."""
        wanted = {row for group in self.groups for row in group.rows if text in row.label}
        wanted |= {other for row in wanted for other in (row.peer, row.bare) if other} | set(self.pings.values())
        rows = []
        for group in self.groups:
            chosen = [row for row in group.rows if row in wanted]
            if chosen:
                begin = time.monotonic()
                group.prepare()
                progress(f"prepared {chosen[0].label} in {time.monotonic() - begin:.0f} s")
            rows += chosen
        return rows


def measure(rows, rounds, operations):
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for row in rows:
            row.run_round(operations[row.pipeline])
        for row in rows:
            if row.peer:
                row.ratio.append(row.cpu[-1] / row.peer.cpu[-1])
            if row.bare:
                row.bare_ratio.append(row.cpu[-1] / row.bare.cpu[-1])


def verdict(row, usual_peer):
    goals = " and ".join(f"{goal:g}" for goal in (row.goal, row.bare_goal) if goal is not None)
    goal = f"{goals} {'MISSED' if row.is_missed() else 'met'}" if goals else ""
    named = "" if row.peer is usual_peer or row.peer is None else f" (of {row.peer.label})"
    return goal + named


def report(rows, pings):
    print(f"\n{'server':<13} {'workload':<21} {'-P':>3} {'ns/op':>8} {'ops/s':>12} {'ratio':>6} {'bare':>6}  goal")
    for row in rows:
        ratio, bare = (f"{statistics.median(figures):6.3f}" if figures else " " * 6
                       for figures in (row.ratio, row.bare_ratio))
        usual_peer = pings[64 if row.items > 1 else row.pipeline]
        print(f"{row.server.name:<13} {row.label:<21} {row.pipeline:>3} {statistics.median(row.cpu):>8.1f} "
              f"{statistics.median(row.rate):>12,.0f} {ratio} {bare}  {verdict(row, usual_peer)}".rstrip())
    print("\nns/op: server CPU nanoseconds per operation, per item for commands of many; ratio: to redis-server's PING "
          f"at the\nsame -P (64 for commands of many) in the same round, unless another is named; bare: to the "
          f"bare loop. {sum(row.is_missed() for row in rows)} goal(s) missed.")


def run(binary, bare_loop, rounds, quick, big, only):
    operations = {1: 30_000, 16: 300_000, 64: 600_000} if quick else {1: 150_000, 16: 1_000_000, 64: 2_000_000}
    describe_machine()
    servers = []
    try:
        servers.append(start_bitsieve(binary, "--appendonly", "no"))
        servers.append(start_redis("--appendonly", "no"))
        servers.append(start_bare_loop(bare_loop))
        table = Table(*servers, big)
        rows = table.select(only)
        measure(rows, rounds, operations)
        report(rows, table.pings)
    finally:
        for server in servers:
            server.stop()
