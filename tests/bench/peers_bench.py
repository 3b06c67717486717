"""What the same commands cost in Bitsieve and in those that it can replace: `scripts/bench --peers`.

Compared are Bitsieve's server, bitsieve.so in redis-server and in valkey-server, and RedisBloom and valkey-bloom for
anyone who has them: as a module that is loaded into the local engine, or as a server at a redis:// URL on this machine.
Each gets the commands that all of them have, on filters that are reserved with the same error rate and capacity; types
and options are those of each server's defaults. In a round every command runs once on every peer, one peer after the
other, with 50 connections, and redis-server's PING just before them. Measured is the CPU time of the server per
operation, per item for commands of 100 items, as a ratio to that PING, which has 64 commands per round trip. Each
figure is the median of all rounds. Servers that are started here run without a log, pinned to core 0; the load runs on
core 1.
"""

import re
import shutil
import socket
import statistics
import urllib.parse
from pathlib import Path

from bench_server import (ITEMS_PER_COMMAND, KEY, MULTI_PIPELINE, Door, Server, Workload, describe_machine, encode,
                          fill, progress, start_bitsieve, start_redis)

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = 64
CAPACITY, KEYS = 1_000_000, 2_000_000
FILL = 800_000
OPERATIONS, QUICK_OPERATIONS = 1_000_000, 300_000  # of KEYS, so that no more than CAPACITY are new
FILTERS = {"BF": ("BF.MADD",), "CF": ("CF.INSERTNX", "ITEMS")}
MANY = [KEY] * ITEMS_PER_COMMAND
PREFIX = "bench:"  # of all names, since a server at a URL may hold others


class Remote(Door):
    """A server at a URL, whose INFO has its CPU time."""

    def __init__(self, name, url):
        self.name, self.url = name, url
        parts = urllib.parse.urlsplit(url)
        self.address = parts.hostname or "127.0.0.1", parts.port or 6379
        self.password = parts.password

    @property
    def load_arguments(self):
        return ["-h", self.address[0], "-p", str(self.address[1]), *(["-a", self.password] if self.password else [])]

    def connect(self):
        connection = socket.create_connection(self.address, timeout=60)
        if self.password:
            connection.sendall(encode("AUTH", self.password))
            connection.recv(100)
        return connection

    def ask(self, *arguments, may_fail=False):
        with self.connect() as connection:
            connection.sendall(encode(*arguments))
            reply = connection.recv(1 << 16).decode(errors="replace")
        if reply.startswith("-") and not may_fail:
            raise SystemExit(f"bench: {self.name} answers {' '.join(arguments)[:80]} with {reply.strip()}")
        return reply

    def cpu_ns(self):
        return round(1e9 * sum(float(seconds) for seconds in
                               re.findall(r"used_cpu_(?:sys|user):([\d.]+)", self.ask("INFO", "cpu"))))

    def stop(self):
        self.ask("DEL", *(PREFIX + name for name in names_of_filters()))


def names_of_filters():
    return [family + role for family in FILTERS for role in ("looked-up", "added")]


def start_engine(name, engine, module):
    return Server(name, lambda port, directory: [
        engine, "--port", str(port), "--dir", directory, "--save", "", "--appendonly", "no", "--loadmodule", module])


def start_peers(binary, module, redisbloom, valkeybloom):
    """Returns the servers, and a line on each that is not there."""
    valkey = shutil.which("valkey-server") or str(ROOT / "build" / "engines" / "usr" / "bin" / "valkey-server")
    has_valkey = Path(valkey).exists()
    peers = [start_redis("--appendonly", "no"), start_bitsieve(binary, "--appendonly", "no"),
             start_engine("bitsieve.so in redis-server", "redis-server", module)]
    lacking = []
    if has_valkey:
        peers.append(start_engine("bitsieve.so in valkey-server", valkey, module))
    else:
        lacking.append("Valkey: scripts/engines fetches it where the network has it")
    for name, engine, given, option in (("RedisBloom", "redis-server", redisbloom, "--redisbloom"),
                                        ("valkey-bloom", valkey, valkeybloom, "--valkeybloom")):
        if not given:
            lacking.append(f"{name}: {option} takes its module or a URL")
        elif given.startswith("redis://"):
            peers.append(Remote(f"{name} at {urllib.parse.urlsplit(given).hostname}", given))
        else:
            peers.append(start_engine(f"{name} in {Path(engine).name}", engine, str(Path(given).resolve())))
    return peers, lacking


def emptied(peer, family):
    """Returns what replaces the filter that is added to by an empty one."""
    def make():
        name = PREFIX + family + "added"
        peer.ask("DEL", name)
        reserve(peer, family, name)
    return make


def reserve(peer, family, name):
    if family == "BF":
        peer.ask("BF.RESERVE", name, "0.01", str(CAPACITY))
    else:
        peer.ask("CF.RESERVE", name, str(CAPACITY))


def has(peer, command):
    """Whether the server knows the command."""
    return "unknown command" not in peer.ask(command, PREFIX + "none", "x", may_fail=True).lower()


def make_rows(peer):
    """The workloads that the peer has, by label."""
    rows = {"PING": Workload(peer, "PING", ["PING"], PIPELINE)}
    for family, prefix in FILTERS.items():
        if not has(peer, f"{family}.EXISTS"):
            continue
        looked_up, added = (PREFIX + family + role for role in ("looked-up", "added"))
        peer.ask("DEL", looked_up)
        reserve(peer, family, looked_up)
        emptied(peer, family)()
        fill(peer, [prefix[0], looked_up, *prefix[1:]], FILL, KEYS)
        for verb, name, before in (("EXISTS", looked_up, None), ("ADD", added, emptied(peer, family))):
            rows[f"{family}.{verb}"] = Workload(peer, verb, [f"{family}.{verb}", name, KEY], PIPELINE, KEYS,
                                                before=before)
            if family == "BF":
                rows[f"BF.M{verb}"] = Workload(peer, verb, [f"BF.M{verb}", name, *MANY], MULTI_PIPELINE, KEYS,
                                               ITEMS_PER_COMMAND, before=before)
    return rows


def bits_per_item(peer, family):
    """According to MEMORY USAGE, per item that the filter was made for; none if the peer does not say."""
    reply = peer.ask("MEMORY", "USAGE", PREFIX + family + "looked-up", may_fail=True)
    return 8 * int(reply[1:]) / CAPACITY if reply.startswith(":") else None


def measure(tables, rounds, operations):
    ping = Workload(next(iter(tables)), "PING", ["PING"], PIPELINE)
    labels = dict.fromkeys(label for rows in tables.values() for label in rows)
    for number in range(rounds):
        progress(f"round {number + 1} of {rounds}")
        for label in labels:
            ping.run(operations)
            for row in (rows[label] for rows in tables.values() if label in rows):
                row.run(operations)
                row.ratio.append(row.cpu[-1] / ping.cpu[-1])
    return list(labels), ping


def report(tables, labels, ping, lacking):
    print(f"\n| | {' | '.join(labels)} | bits per item, BF | bits per item, CF |")
    print(f"|---|{'---|' * (len(labels) + 2)}")
    for peer, rows in tables.items():
        cells = [f"{statistics.median(rows[label].ratio):.2f}" if label in rows else "" for label in labels]
        memory = [bits_per_item(peer, family) if f"{family}.EXISTS" in rows else None for family in FILTERS]
        cells += ["" if bits is None else f"{bits:.1f}" for bits in memory]
        print(f"| {peer.name} | {' | '.join(cells)} |")
    print(f"\nRatios of server CPU to redis-server's PING ({statistics.median(ping.cpu):.0f} ns), per item for BF.MADD "
          "and BF.MEXISTS.")
    for line in lacking:
        print(f"Not available here: {line}.")


def run(binary, module, rounds, quick, redisbloom, valkeybloom):
    describe_machine()
    peers, lacking = start_peers(binary, str(module), redisbloom or "", valkeybloom or "")
    operations = QUICK_OPERATIONS if quick else OPERATIONS
    try:
        tables = {}
        for peer in peers:
            progress(f"filling the filters of {peer.name}")
            tables[peer] = make_rows(peer)
        labels, ping = measure(tables, rounds, operations)
        report(tables, labels, ping, lacking)
    finally:
        for peer in peers:
            peer.stop()
