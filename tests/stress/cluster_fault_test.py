#!/usr/bin/python3
"""Faults of nodes, networks and clocks in a cluster, while clients add with WAIT: is what was acknowledged still there?

  cluster_fault_test.py [--rounds N] [--seed S]

A cluster of three masters, of which the first has a replica, and in the second half of the rounds two. In each round
clients add to filters of the first master, something happens to it, and the cluster is whole again. Then the filters
must have every item that all replicas have acknowledged, as docs/cluster.md promises. What else is lost is counted.
"""

import argparse
import collections
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from cluster import Cluster  # noqa: E402
from cluster_faults import FAULTS, OF_CLOCKS, OF_TWO_REPLICAS  # noqa: E402
from cluster_network import CLOCK_LIBRARY, HostedNode, make_bridge, why_not  # noqa: E402
from cluster_writer import Writer  # noqa: E402
from engine import SYNC_SECONDS  # noqa: E402
from harness import PATIENCE, SKIPPED, wait_until  # noqa: E402
from pages import in_own_machine  # noqa: E402

WRITERS = 2
NODE_TIMEOUT_MS = int(1000 * PATIENCE)
CALM_SECONDS = 0.4  # before and after a fault
OPTIONS = {"cluster_node_timeout": NODE_TIMEOUT_MS, "appendonly": "yes", "appendfsync": "no", "protected_mode": "no",
           "repl_ping_replica_period": 1, "cluster_allow_replica_migration": "no", "maxmemory_policy": "noeviction"}


class Shard:
    """The master that faults happen to, and its replicas; which of them is the master changes."""

    def __init__(self):
        self.cluster = Cluster(masters=3, replicas=0, make_node=HostedNode, **OPTIONS).start()
        self.voters = self.cluster.nodes[1:]
        self.nodes = self.cluster.nodes[:1]
        self.add_replica()

    def add_replica(self):
        node = HostedNode(**OPTIONS)
        self.cluster.add_replica(node, self.master())
        self.nodes.append(node)

    def master(self):
        return next(node for node in self.nodes if node.is_master())

    def replicas(self):
        return [node for node in self.nodes if not node.is_master()]

    def is_whole(self):
        """Whether one is the master, has all others as replicas, and the cluster knows."""
        masters = [node for node in self.nodes if node.is_master()]
        return (len(masters) == 1 and self.cluster.is_whole() and
                len(self.cluster.replicas_of(masters[0])) == len(self.nodes) - 1)

    def wait_until_whole(self):
        try:
            wait_until(self.is_whole, SYNC_SECONDS, "the cluster is whole")
        except AssertionError as error:
            states = [f"{node.host}\n{node.raw('CLUSTER', 'NODES')}\n{node.raw('INFO', 'replication')}"
                      for node in self.cluster.nodes]
            raise AssertionError("\n".join([str(error), *states])) from None


class Figures(collections.Counter):
    """What happened in the rounds of one fault."""

    def line(self, name):
        return (f"{name}: {self['rounds']} rounds, {self['failovers']} failovers; acknowledged by all replicas "
                f"{self['promised']}, lost {self['promised lost']}; by some {self['partly']}, lost "
                f"{self['partly lost']}; by none {self['unacknowledged']}, lost {self['unacknowledged lost']}; "
                f"at most {self['gap'] / 1000:.1f} s without an acknowledgement")


class Rounds:
    def __init__(self, seed):
        self.random, self.shard = random.Random(seed), Shard()
        self.figures = collections.defaultdict(Figures)
        self.writers = [Writer(self.shard.nodes, number, replicas=1) for number in range(WRITERS)]
        for writer in self.writers:
            writer.reserve(self.shard.master())

    def run(self, fault):
        figures = self.figures[fault.__name__]
        before = self.shard.master()
        for writer in self.writers:
            writer.begin(before, len(self.shard.nodes) - 1)
        time.sleep(CALM_SECONDS)
        fault(self.shard, self.random)
        self.shard.wait_until_whole()
        time.sleep(CALM_SECONDS)
        master = self.shard.master()
        for writer in self.writers:
            figures["gap"] = max(figures["gap"], round(1000 * writer.end()))
            figures.update(writer.check(master))
        figures.update(rounds=1, failovers=int(master is not before))
        if figures["promised lost"]:
            raise AssertionError(f"lost what all replicas had acknowledged: {figures.line(fault.__name__)}")

    def check_all(self):
        """Of all rounds, at the end."""
        total, master = collections.Counter(), self.shard.master()
        for writer in self.writers:
            total.update(writer.check_promised(master))
        if total["promised lost"]:
            raise AssertionError(f"lost after all rounds: {dict(total)}")
        return total["promised"]


def faults_of(rounds):
    """For each round whether there are two replicas, and the fault: all in turn, those of two replicas first."""
    of_one = [fault for fault in FAULTS if CLOCK_LIBRARY or fault not in OF_CLOCKS]
    for number in range(rounds):
        second_half = number - rounds // 2
        faults = [*OF_TWO_REPLICAS, *of_one] if second_half >= 0 else of_one
        yield second_half >= 0, faults[(second_half if second_half >= 0 else number) % len(faults)]


def run(rounds, seed):
    make_bridge()
    test = Rounds(seed)
    try:
        for with_two, fault in faults_of(rounds):
            if with_two and len(test.shard.nodes) == 2:
                test.shard.add_replica()
            test.run(fault)
        print(f"{test.check_all()} items acknowledged by all replicas in {rounds} rounds, none lost", flush=True)
    finally:
        for name, figures in test.figures.items():
            print(figures.line(name), flush=True)
        test.shard.cluster.clean_up()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    print(f"seed {given.seed}, {given.rounds} rounds", flush=True)
    run(given.rounds, given.seed)


if __name__ == "__main__":
    in_own_machine()
    main()
