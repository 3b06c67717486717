"""The arithmetic from measured costs to a cluster: how many masters, machines, bytes and dollars a set and its traffic
need. Costs are those of one master with one replica, as measure.py found them. What is assumed is in Machine.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import failover

MEASURED = Path(__file__).resolve().parent / "measured.json"
GIB, MIB, PAGE = 2**30, 2**20, 4096
MAX_FILTER_BYTES = 64 * MIB  # of the module, by default
SLOTS = 16384
HEADER_BYTES, ENTRY_BYTES = 2256, 104  # of a message on the bus, and of each node that it tells of
HOURS_PER_MONTH = 730


@dataclass(frozen=True)
class Machine:
    """What a rented machine of the usual memory-rich kind is like; prices differ by a factor of two."""
    memory: int = 32 * GIB
    cores: int = 4
    processes: int = 3            # of the engine: a core is left for forked children, the kernel and the network
    busy: float = 0.7             # of a core: beyond it, queues grow
    memory_share: float = 0.9     # of the machine, for processes; the rest is the system's
    other_bytes: int = 512 * MIB  # of a process: replication backlog, clients, the engine itself
    dollars_per_hour: float = 0.21
    dollars_per_gb: float = 0.02  # that crosses from one zone to another: both sides pay
    zones: int = 3                # clients and nodes are spread over them, a master and its replica never in one


@dataclass(frozen=True)
class Need:
    items: float
    lookups: float  # per second
    adds: float
    lookup_way: str = "exists_p64"
    add_way: str = "add_p64"


class Costs:
    def __init__(self):
        self.all = json.loads(MEASURED.read_text(encoding="utf-8"))
        self.parts = {name: part["result"] for name, part in self.all.items()}
        self.of = self.parts["costs"]
        capacity = 64 * 4_000_000  # of the filters that measure.py made
        self.bytes_per_item = sum(row["filter_bytes"] for row in self.of["memory"]) / capacity
        self.sync_seconds_per_byte = middle(row["seconds"] / row["bytes"] for row in self.parts["sync"])
        self.fork_ms_per_byte = middle(row["fork_ms"] / row["bytes"] for row in self.parts["sync"])
        rows = [row for row in self.parts["reshard"] if row["masters"] == 3]
        empty = middle(row["seconds"] for row in rows if not row["bytes"])
        self.seconds_per_slot_command = empty / (rows[0]["slots"] * slot_commands(3))
        loaded = [row for row in rows if row["bytes"]]
        self.move_seconds_per_byte = max(0, middle((row["seconds"] - empty) / row["bytes"] for row in loaded))
        self.move_stall_ms_per_byte = middle(row["longest_ping_ms"] / (row["bytes"] / row["filters"]) for row in loaded)

    def reshard_seconds(self, masters, slots, size):
        return slots * slot_commands(masters) * self.seconds_per_slot_command + size * self.move_seconds_per_byte

    def cpu_ns(self, way):
        return self.of[way]["master_ns"]

    def client_bytes(self, way):
        return self.of[way]["in_bytes"] + self.of[way]["out_bytes"]


def slot_commands(masters):
    """That redis-cli --cluster reshard sends for a slot: two to open it, one for its keys, one to each master at the
    end."""
    return 3 + masters


def middle(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def copied_share(size, adds, seconds):
    """Of memory that a forked child makes the engine copy: each add writes to one page, at random."""
    pages = size / PAGE
    return 1 - math.exp(-adds * seconds / pages)


@dataclass(frozen=True)
class Plan:
    need: Need
    filter_bytes: float  # all of them, once
    masters: int
    for_memory: int      # masters that memory alone would need
    for_cpu: int
    copied: float        # share of a process's filters that a snapshot copies
    machines: int
    network_bytes: float     # per second, all machines together
    dollars: float           # per month, of machines
    crossing_dollars: float  # per month, of traffic between zones

    @property
    def per_process(self):
        return self.filter_bytes / self.masters


def plan(costs, need, machine=Machine()):
    """The smallest cluster with one replica for each master."""
    total = need.items * costs.bytes_per_item
    room = machine.memory * machine.memory_share / machine.processes - machine.other_bytes
    busy_ns = need.lookups * costs.cpu_ns(need.lookup_way) + need.adds * costs.cpu_ns(need.add_way)
    for_cpu = math.ceil(busy_ns / 1e9 / machine.busy)
    for_memory = copied = 0
    for masters in range(3, 10**6):
        size = total / masters
        copied = copied_share(size, need.adds / masters, size * costs.sync_seconds_per_byte)
        fits = size * (1 + copied) <= room
        if fits and not for_memory:
            for_memory = masters
        if fits and masters >= for_cpu:
            break
    machines = max(3, math.ceil(2 * masters / machine.processes))
    clients = need.lookups * costs.client_bytes(need.lookup_way) + need.adds * costs.client_bytes(need.add_way)
    replication = need.adds * costs.of[need.add_way]["replication_bytes"]
    crossing = clients * (1 - 1 / machine.zones) + replication
    return Plan(need, total, masters, for_memory, for_cpu, copied, machines, clients + replication,
                machines * machine.dollars_per_hour * HOURS_PER_MONTH,
                crossing / 1e9 * machine.dollars_per_gb * 3600 * HOURS_PER_MONTH)


def message_bytes(nodes):
    """Of a ping or a pong, which tells of a tenth of the nodes."""
    return HEADER_BYTES + ENTRY_BYTES * min(max(3, nodes // 10), nodes - 2)


SIMULATED_NODES = 60


def bus_messages(nodes, timeout):
    """That one node sends each second. Beyond what is quick to simulate, as many more as there are more nodes."""
    few = min(nodes, SIMULATED_NODES)
    return failover.messages_per_second(few, timeout, "bus") * (nodes - 1) / (few - 1)
