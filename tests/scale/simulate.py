#!/usr/bin/python3
"""From the costs that measure.py kept to clusters far larger than ours: the tables of docs/scale.md.

  simulate.py          prints the tables, and what the model says beside what was measured
  simulate.py --check  fails if the model misses a kept measurement by more than is tolerated, or the page has other
                       tables
  simulate.py --write  writes the tables into the page

Chance comes from fixed seeds: the same tables each time. Nothing is timed here.
"""

import argparse
import math
import re
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import failover
from model import GIB, MAX_FILTER_BYTES, MIB, SLOTS, Costs, Need, bus_messages, message_bytes, middle, plan

PAGE_PATH = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
LARGEST = Need(items=1e12, lookups=1e8, adds=1e6)
NEEDS = (Need(1e9, 1e5, 1e4), Need(1e10, 1e6, 1e5), Need(1e11, 1e7, 1e6), LARGEST)
WAYS = {"exists_p1": "BF.EXISTS, one per round trip", "exists_p64": "BF.EXISTS, 64 per pipeline",
        "add_p64": "BF.ADD of new items, 64 per pipeline", "mexists_100": "BF.MEXISTS of 100",
        "madd_100": "BF.MADD of 100 new items"}
BATCHED = ("exists_p64", "add_p64", "mexists_100", "madd_100")
CORES = 2         # of the machine that was measured
TIMEOUT = 5.0     # cluster-node-timeout of docker/cluster.yaml
DRAWS = 40
# How far from the model a measurement may be, as a factor either way.
TOLERANCE = {"CPU": 2.0, "CPU, one per round trip": 4.0, "throughput": 2.0, "bytes on the wire": 1.05,
             "filters per master": 1.0, "filter bytes": 1.02, "messages on the bus": 1.35, "bytes of a message": 1.1,
             "failover": 1.35, "reshard": 2.0}


def number(value):
    """Three digits, with the usual marks of thousands."""
    if value == math.inf:
        return "never"
    if value >= 100:
        digits = 3 - len(str(int(value)))
        return f"{round(value, digits):,.0f}"
    return f"{value:.3g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def exponent(value):
    return f"10^{round(math.log10(value))}"


# ---- tables

def machine_line(costs):
    part = costs.all["costs"]
    others = [row["others_cores"] for name, row in costs.of.items() if name != "memory"]
    return (f"{part['engine']} on {part['machine']}; something else kept {min(others):.1f} to {max(others):.1f} of the "
            "cores busy at the same time, so times are too long rather than too short.\n")


def cost_table(costs):
    rows = []
    for way, words in WAYS.items():
        row = costs.of[way]
        rows.append((words, number(row["master_ns"]), number(row["replica_ns"]) if "dd" in way else "",
                     number(row["in_bytes"]), number(row["out_bytes"]),
                     number(row["replication_bytes"]) if "dd" in way else ""))
    return table(("per item", "ns, master", "ns, replica", "bytes in", "bytes out", "to the replica"), rows)


def single_costs_table(costs):
    return table(("what", "costs"), (
        ("an item of a filter for 1%", f"{8 * costs.bytes_per_item:.2f} bits"),
        ("a replica that lost its data is in sync again", f"{number(costs.sync_seconds_per_byte * GIB)} s/GiB"),
        ("the fork for it, or for a snapshot, stops the master", f"{number(costs.fork_ms_per_byte * GIB)} ms/GiB"),
        ("a slot that moves, with three masters", f"{number(6e3 * costs.seconds_per_slot_command)} ms"),
        ("its filters", f"{number(costs.move_seconds_per_byte * GIB)} s/GiB"),
        ("a filter that moves stops its node", f"{number(costs.move_stall_ms_per_byte * MIB)} ms/MiB")))


def plan_table(costs):
    rows = []
    for need in NEEDS:
        it = plan(costs, need)
        rows.append((exponent(need.items), exponent(need.lookups), exponent(need.adds), number(it.filter_bytes / 1e9),
                     f"{it.masters} ({it.for_memory}, {it.for_cpu})", it.machines, number(it.per_process / 1e9),
                     f"{100 * it.copied:.0f}%", number(it.network_bytes * 8 / 1e9 / it.machines), number(it.dollars),
                     number(it.crossing_dollars)))
    return table(("items", "lookups/s", "adds/s", "filters, GB", "masters (for memory, for CPU)", "machines",
                  "GB per process", "copied by a snapshot", "Gbit/s per machine", "$ per month: machines",
                  "traffic between zones"), rows)


def way_table(costs):
    """What the largest cluster needs if lookups are sent otherwise."""
    rows = []
    for way in ("exists_p1", "exists_p64", "mexists_100"):
        it = plan(costs, replace(LARGEST, lookup_way=way))
        filters = math.ceil(it.filter_bytes / MAX_FILTER_BYTES)
        waiting = {"exists_p1": 1, "exists_p64": 64 * it.masters, "mexists_100": 100 * filters}[way]
        rows.append((WAYS[way], f"{it.masters} ({it.for_memory}, {it.for_cpu})", it.machines, number(it.dollars),
                     number(it.crossing_dollars), number(waiting)))
    return table(("lookups", "masters (for memory, for CPU)", "machines", "$ per month: machines",
                  "traffic between zones", "lookups that a client collects first"), rows)


def bus_table(_):
    rows = []
    for nodes in (6, 12, 60, 300, 1000, 2000):
        messages, megabits = bus_messages(nodes, TIMEOUT), 8e-6 * message_bytes(nodes)
        rows.append((nodes, number(messages), number(message_bytes(nodes)), number(messages * megabits),
                     number(bus_messages(nodes, 15) * megabits)))
    return table(("nodes", "messages/s per node", "bytes each", "Mbit/s per node", "with a timeout of 15 s"), rows)


def rack_table(costs):
    """The loss of some masters at once."""
    masters = plan(costs, LARGEST).masters
    rows = []
    for count, killed, words in ((3, 1, "one machine of three"), (6, 1, "one machine of six"),
                                 (6, 2, "a third of six"), (30, 10, "a third of thirty"),
                                 (masters, masters // 3, f"a third of {masters}"),
                                 (masters, (masters + 1) // 2, f"half of {masters}")):
        draws = 1 if count > 50 else 10
        seconds = failover.losses(count, TIMEOUT, killed, draws, "rack")
        rows.append((words, killed, number(seconds[0]), number(seconds[-1])))
    return table(("what is lost", "masters", "s until all serve again, shortest", "longest"), rows)


def growth_table(costs):
    """What it takes to add a tenth more masters to the largest cluster, and to fill replicas after a rack's loss."""
    it = plan(costs, LARGEST)
    added = math.ceil(it.masters / 10)
    slots = SLOTS * added // (it.masters + added)
    size = it.filter_bytes * added / (it.masters + added)
    seconds = costs.reshard_seconds(it.masters + added, slots, size)
    fill = it.per_process * costs.sync_seconds_per_byte
    return table(("what", "how much", "takes"), (
        (f"{added} masters more, redis-cli moving slots one by one", f"{number(size / 1e9)} GB, {slots} slots",
         f"{number(seconds / 60)} min"),
        ("each filter of 64 MiB that moves stops its node", "",
         f"{number(costs.move_stall_ms_per_byte * MAX_FILTER_BYTES)} ms"),
        ("a new replica is filled, once a machine is back", f"{number(it.per_process / 1e9)} GB", f"{number(fill)} s"),
        ("the fork for it stops its master", "", f"{number(costs.fork_ms_per_byte * it.per_process)} ms")))


# ---- what was measured, beside the model

def compared(costs):
    """Rows of: kind (of TOLERANCE), what, what the model says, what was measured."""
    yield from compared_load(costs)
    for row in costs.parts["bus"]:
        what = f"{row['nodes']} nodes, timeout {row['timeout_ms'] / 1000:g} s"
        yield ("messages on the bus", what, failover.messages_per_second(row["nodes"], row["timeout_ms"] / 1000, "bus"),
               row["messages_per_second"])
        yield ("bytes of a message", what, message_bytes(row["nodes"]),
               row["bytes_per_second"] / row["messages_per_second"])
    for row in costs.parts["failover"]:
        what = f"{row['killed']} of {row['masters']} masters, timeout {row['timeout_ms'] / 1000:g} s"
        yield "failover", what, middle(losses_like(row)), middle(row["seconds"])
    for loaded in (False, True):
        rows = [row for row in costs.parts["reshard"] if row["masters"] == 6 and bool(row["bytes"]) == loaded]
        yield ("reshard", f"6 masters, {rows[0]['slots']} slots, {rows[0]['bytes'] / 1e6:.0f} MB",
               costs.reshard_seconds(6, rows[0]["slots"], rows[0]["bytes"]), middle(row["seconds"] for row in rows))


@cache
def simulated(masters, timeout, killed):
    return failover.losses(masters, timeout, killed, DRAWS, "check")


def losses_like(row):
    return simulated(row["masters"], row["timeout_ms"] / 1000, row["killed"])


def compared_load(costs):
    for masters, ways in costs.parts["throughput"].items():
        spread = sorted(row["filters"] for row in ways["memory"])
        # Filter i lies in the i-th of 64 equal ranges of slots, of which each master has its share in order.
        expected = sorted(math.ceil(64 * (i + 1) / int(masters)) - math.ceil(64 * i / int(masters))
                          for i in range(int(masters)))
        yield "filters per master", f"{masters} masters, most", expected[-1], spread[-1]
        yield ("filter bytes", f"{masters} masters, MB", 64 * 4_000_000 * costs.bytes_per_item / 1e6,
               sum(row["filter_bytes"] for row in ways["memory"]) / 1e6)
        lonely = "exists_p1"
        yield ("CPU, one per round trip", f"{masters} masters, {WAYS[lonely]}, ns", costs.of[lonely]["master_ns"],
               ways[lonely]["master_ns"])
        for way in BATCHED:
            one, row, what = costs.of[way], ways[way], f"{masters} masters, {WAYS[way]}"
            yield "CPU", what + ", ns", one["master_ns"] + one["replica_ns"], row["master_ns"] + row["replica_ns"]
            yield "bytes on the wire", what, costs.client_bytes(way), row["in_bytes"] + row["out_bytes"]
            all_ns = one["master_ns"] + one["replica_ns"] + one["client_ns"]
            yield ("throughput", what + ", thousand/s", (CORES - row["others_cores"]) * 1e6 / all_ns,
                   row["per_second"] / 1e3)


def factor(said, found):
    return max(said / found, found / said) if said > 0 and found > 0 else math.inf


def compared_table(costs):
    """The worst of each kind."""
    worst = {}
    for kind, what, said, found in compared(costs):
        if kind not in worst or factor(said, found) > factor(*worst[kind][1:]):
            worst[kind] = (what, said, found)
    rows = [(kind, what, number(said), number(found), f"{factor(said, found):.2f}", TOLERANCE[kind])
            for kind, (what, said, found) in worst.items()]
    return table(("model of", "where it was furthest off", "model", "measured", "factor", "tolerated"), rows)


def outlier_line(costs):
    """What the tolerance does not show: single losses, and not their medians."""
    late = []
    for row in costs.parts["failover"]:
        longest = losses_like(row)[-1]
        late += [seconds - longest for seconds in row["seconds"]]
    beyond = [seconds for seconds in late if seconds > 0]
    return (f"{len(beyond)} of {len(late)} measured losses took longer than all {DRAWS} that were simulated for them, "
            f"the worst by {max(beyond, default=0):.1f} s.\n")


def complaints(costs):
    for kind, what, said, found in compared(costs):
        if factor(said, found) > TOLERANCE[kind]:
            yield f"{kind}: {what}: the model says {said:.4g}, measured was {found:.4g}"


TABLES = {"machine": machine_line, "costs": cost_table, "single": single_costs_table, "plans": plan_table,
          "ways": way_table, "bus": bus_table, "racks": rack_table, "growth": growth_table, "compared": compared_table,
          "outliers": outlier_line}


# ---- the page

def block(name, text):
    return f"<!-- Written by tests/scale/simulate.py: {name} -->\n{text}<!-- End of {name} -->\n"


def with_tables(page, tables):
    for name, text in tables.items():
        pattern = re.escape(block(name, "@")).replace("@", "(?:.*?\n)?")
        page, found = re.subn(pattern, lambda _: block(name, text), page, flags=re.DOTALL)
        if found != 1:
            sys.exit(f"{PAGE_PATH.name} has {found} places for the table {name}")
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    costs = Costs()
    tables = {name: make(costs) for name, make in TABLES.items()}
    wrong = list(complaints(costs))
    if options.write or options.check:
        page = PAGE_PATH.read_text(encoding="utf-8")
        expected = with_tables(page, tables)
        if options.write:
            PAGE_PATH.write_text(expected, encoding="utf-8")
        elif page != expected:
            wrong.append("docs/scale.md has other tables than these measurements give: simulate.py --write")
    else:
        print("\n".join(tables.values()))
    print("\n".join(wrong), file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
