#!/usr/bin/python3
"""Measures clusters of one, three and six masters on this machine, each master with a replica and an append-only file:
what tests/scale/simulate.py starts from, and what it is checked against.

  measure.py [PART ...]   runs costs, throughput, failover, reshard, sync and bus, or those named; writes measured.json

BITSIEVE_ENGINE names the engine's binary and BITSIEVE_MODULE the module. About ten minutes. Everything runs on the same
cores, so times are of CPU where that serves; the load that others put on the machine is kept beside each part.
"""

import binascii
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median

from load import Run, Shape

from cluster import BUS, Cluster  # (load has made it found)
from harness import wait_until

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "measured.json"
FILTERS = 64
CAPACITY = 4_000_000  # of each: all together far more than a cache holds
ERROR_RATE = 0.01
ROUNDS = 3
SHAPES = {
    "exists_p1": (Shape("BF.EXISTS", "BF.MEXISTS", 1, 1), 60_000),
    "exists_p64": (Shape("BF.EXISTS", "BF.MEXISTS", 1, 64), 600_000),
    "add_p64": (Shape("BF.ADD", "BF.MADD", 1, 64), 600_000),
    "mexists_100": (Shape("BF.EXISTS", "BF.MEXISTS", 100, 8), 2_000_000),
    "madd_100": (Shape("BF.ADD", "BF.MADD", 100, 8), 2_000_000),
}
FAILOVER_TIMEOUTS_MS = (1000, 2000, 5000)
FAILOVER_ROUNDS = 3
RESHARD_SLOTS = 200
RESHARD_ITEMS = 25_000_000  # of a filter: 31 MB
BUS_SECONDS = 20


def random_item():
    return b"item:%012d" % random.randrange(10**12)


def slot_of(tag):
    return binascii.crc_hqx(tag.encode(), 0) % 16384


def make_keys():
    """A key in each of as many equal ranges of slots, as the clients of docs/cluster.md have them."""
    keys, number = {}, 0
    while len(keys) < FILTERS:
        keys.setdefault(slot_of(str(number)) * FILTERS // 16384, f"seen:{{{number}}}")
        number += 1
    return keys.values()


def slots_of(master):
    ranges = [field.split("-") for field in master.own_line()[8:] if not field.startswith("[")]
    return [range(int(each[0]), int(each[-1]) + 1) for each in ranges]


def keys_by_master(cluster):
    table = {master.port: slots_of(master) for master in cluster.masters()}
    return {port: [key for key in make_keys() if any(slot_of(key[6:-1]) in slots for slots in ranges)]
            for port, ranges in table.items()}


def start(masters, **options):
    cluster = Cluster(masters, appendonly="yes", appendfsync="everysec", auto_aof_rewrite_percentage=0, **options)
    return cluster.start() if masters > 1 else start_alone(cluster)


def start_alone(cluster):
    """redis-cli creates no cluster of fewer than three masters."""
    master, replica = cluster.nodes
    for node in cluster.nodes:
        node.start()
    with master.client() as client, replica.client() as other:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        other.execute_command("CLUSTER", "MEET", "127.0.0.1", master.port)
        wait_until(lambda: master.id() in replica.raw("CLUSTER", "NODES"), 20, "they know each other")
        other.execute_command("CLUSTER", "REPLICATE", master.id())
    wait_until(cluster.is_whole, 60, "the replica is in sync")
    return cluster


def fill(cluster):
    """Filters of CAPACITY, each page of them touched."""
    keys = keys_by_master(cluster)
    for master in cluster.masters():
        with master.client() as client:
            for key in keys[master.port]:
                client.execute_command("BF.RESERVE", key, ERROR_RATE, CAPACITY, "NONSCALING")
    Run(cluster, SHAPES["madd_100"][0], lambda master: keys[master.port], random_item, 2_000_000)
    return keys


def measure_shapes(cluster):
    """Medians of the rounds, of each shape and field."""
    keys = fill(cluster)
    result = {}
    for name, (shape, items) in SHAPES.items():
        runs = [Run(cluster, shape, lambda master: keys[master.port], random_item, items) for _ in range(ROUNDS)]
        row = {field: round(median(run.per_item[field] for run in runs), 1) for field in runs[0].per_item}
        row["per_second"] = round(median(run.per_second for run in runs))
        row["others_cores"] = round(median(run.others_cores for run in runs), 2)
        result[name] = row
        progress(f"{len(cluster.masters())} masters, {name}: {row}")
    result["memory"] = measure_memory(cluster, keys)
    return result


def measure_memory(cluster, keys):
    """Of each master: its filters, and all that the engine has taken."""
    rows = []
    for master in cluster.masters():
        with master.client() as client:
            sizes = [client.memory_usage(key) for key in keys[master.port]]
            rows.append({"filters": len(sizes), "filter_bytes": sum(sizes),
                         "used_memory": client.info("memory")["used_memory"]})
    return rows


def with_cluster(masters, measure, **options):
    cluster = start(masters, **options)
    try:
        return measure(cluster)
    finally:
        cluster.clean_up()


def measure_costs():
    return with_cluster(1, measure_shapes)


def measure_throughput():
    return {masters: with_cluster(masters, measure_shapes) for masters in (3, 6)}


# ---- failover

def key_of(master):
    """A key whose slot the master has."""
    slots = slots_of(master)[0]
    return next(f"{{{number}}}" for number in range(10**6) if slot_of(str(number)) in slots)


def serves(node, key):
    try:
        with node.connect() as connection:
            return connection.command("BF.ADD", key, random_item())[:1] == b":"
    except (OSError, EOFError):
        return False


def kill_masters(cluster, count):
    """Seconds from kill -9 until the replicas of all of them take adds."""
    wait_until(cluster.is_whole, 120, "the cluster is whole again")
    time.sleep(random.uniform(1, 3))  # at any moment between two pings
    victims = random.sample(cluster.masters(), count)
    heirs = [(cluster.replicas_of(victim)[0], key_of(victim)) for victim in victims]
    for victim in victims:
        victim.process.kill()
    begin = time.monotonic()
    wait_until(lambda: all(serves(heir, key) for heir, key in heirs), 120, "the replicas serve")
    seconds = round(time.monotonic() - begin, 2)
    for victim in victims:
        victim.wait()
        victim.start()
    return seconds


def failovers(masters):
    def measure(cluster):
        rows = []
        for timeout_ms in FAILOVER_TIMEOUTS_MS:
            cluster.set_node_timeout(timeout_ms)
            for killed in (1, 2) if masters >= 6 else (1,):
                seconds = [kill_masters(cluster, killed) for _ in range(FAILOVER_ROUNDS)]
                rows.append({"masters": masters, "timeout_ms": timeout_ms, "killed": killed, "seconds": seconds})
                progress(str(rows[-1]))
        return rows
    return with_cluster(masters, measure)


def measure_failover():
    return failovers(3) + failovers(6)


# ---- slots that move

class Prober(threading.Thread):
    """The longest PING of a node while others work."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.connection, self.longest_ms, self.stopped = node.connect(), 0, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(0.002):
            begin = time.monotonic()
            self.connection.command("PING")
            self.longest_ms = max(self.longest_ms, round(1000 * (time.monotonic() - begin)))

    def stop(self):
        self.stopped.set()
        self.join()
        return self.longest_ms


def move_slots(cluster, source, target, slots):
    begin = time.monotonic()
    cluster.admin("reshard", f"127.0.0.1:{source.port}", "--cluster-from", source.id(), "--cluster-to", target.id(),
                  "--cluster-slots", slots)
    return round(time.monotonic() - begin, 2)


def fill_first_slots(source, filters):
    """Filters of RESHARD_ITEMS in the slots that move first."""
    first = slots_of(source)[0][0]
    tags = (str(number) for number in range(10**7))
    names = [f"{{{tag}}}" for tag in itertools.islice((t for t in tags if slot_of(t) - first in range(RESHARD_SLOTS)),
                                                      filters)]
    with source.client() as client:
        for name in names:
            client.execute_command("BF.RESERVE", name, ERROR_RATE, RESHARD_ITEMS, "NONSCALING")
            for _ in range(20):
                client.execute_command("BF.MADD", name, *(random_item() for _ in range(5000)))
        return sum(client.memory_usage(name) for name in names)


def reshards(masters):
    def measure(cluster):
        rows = []
        for filters in (0, 0, 0, 4, 4, 4):
            source, target = cluster.masters()[:2]
            size = fill_first_slots(source, filters)
            probers = [Prober(source), Prober(target)]
            seconds = move_slots(cluster, source, target, RESHARD_SLOTS)
            rows.append({"masters": masters, "slots": RESHARD_SLOTS, "filters": filters, "bytes": size,
                         "seconds": seconds, "longest_ping_ms": max(prober.stop() for prober in probers)})
            progress(str(rows[-1]))
            with target.client() as client:
                client.flushall()
            move_slots(cluster, target, source, RESHARD_SLOTS)
            wait_until(cluster.is_whole, 60, "the cluster is whole")
        return rows
    return with_cluster(masters, measure)


def measure_reshard():
    return reshards(3) + reshards(6)


# ---- a replica that has to be filled

def measure_sync():
    """Seconds that a replica takes which has lost its data, and how long the fork for it kept the master."""
    def measure(cluster):
        fill(cluster)
        (master,), (replica,) = cluster.masters(), cluster.replicas_of(cluster.masters()[0])
        rows = []
        for _ in range(ROUNDS):
            replica.kill()
            shutil.rmtree(Path(replica.directory) / "appendonlydir")
            begin = time.monotonic()
            replica.start()
            wait_until(cluster.is_whole, 120, "the replica is in sync")
            with master.client() as client:
                info = client.info()
            rows.append({"bytes": info["used_memory"], "seconds": round(time.monotonic() - begin, 2),
                         "fork_ms": info["latest_fork_usec"] / 1000})
            progress(str(rows[-1]))
        return rows
    return with_cluster(1, measure)


# ---- the bus between nodes

def bus_bytes(cluster):
    """Sent so far over the connections that nodes have made to each other, by the kernel's count."""
    ports = {node.port + BUS for node in cluster.nodes}
    shown = subprocess.run(["ss", "-tinH", "state", "established"], capture_output=True, text=True, check=True).stdout
    total = 0
    for address, detail in zip(*[iter(shown.splitlines())] * 2):
        used = {int(field.rsplit(":", 1)[1]) for field in address.split()[2:4]}
        found = re.search(r"bytes_sent:(\d+)", detail)
        if used & ports and found:
            total += int(found[1])
    return total


def bus_of(masters):
    def measure(cluster):
        rows = []
        for timeout_ms in (2000, 15000):
            cluster.set_node_timeout(timeout_ms)
            time.sleep(2)
            sent = sum(int(node.state()["cluster_stats_messages_sent"]) for node in cluster.nodes)
            before, begin = bus_bytes(cluster), time.monotonic()
            time.sleep(BUS_SECONDS)
            node_seconds = (time.monotonic() - begin) * len(cluster.nodes)
            after = bus_bytes(cluster)
            sent = sum(int(node.state()["cluster_stats_messages_sent"]) for node in cluster.nodes) - sent
            rows.append({"nodes": len(cluster.nodes), "timeout_ms": timeout_ms,
                         "messages_per_second": round(sent / node_seconds, 2),
                         "bytes_per_second": round((after - before) / node_seconds)})
            progress(str(rows[-1]))
        return rows
    return with_cluster(masters, measure)


def measure_bus():
    return bus_of(3) + bus_of(6)


PARTS = {"costs": measure_costs, "throughput": measure_throughput, "failover": measure_failover,
         "reshard": measure_reshard, "sync": measure_sync, "bus": measure_bus}


def progress(text):
    print(text, file=sys.stderr, flush=True)


def describe():
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    engine = subprocess.run([os.environ["BITSIEVE_ENGINE"], "--version"], capture_output=True, text=True, check=True)
    return {"machine": f"{model[1] if model else 'unknown processor'}, {os.cpu_count()} cores",
            "engine": engine.stdout.split(" sha=")[0].strip()}


def main():
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for part in sys.argv[1:] or PARTS:
        load_before = round(os.getloadavg()[0], 2)
        measured[part] = {**describe(), "load_before": load_before, "result": PARTS[part]()}
        MEASURED.write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    main()
