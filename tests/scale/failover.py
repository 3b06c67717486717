"""Simulates how a Valkey or Redis Cluster finds that masters have died and replaces them: pings, gossip and elections,
from the moment of the loss until replicas serve. One simulation is one draw of all the moments that chance decides.

What is simulated is what the engines document of their bus. Each node pings one other each second, the longest unheard
of five at random, and any that it has not heard of for half the node timeout. A ping that is unanswered for the node
timeout makes the node suspect; pings and pongs spread that; a majority of masters makes it failed, which is sent to
all. Its replica then waits 500 ms and up to 500 ms more, and has a majority of masters vote. Nodes look at all this ten
times a second. Pings and pongs also carry when others were last heard of: the more nodes gossip, the fresher that is,
and the later anyone sends the ping that a dead node will not answer.
"""

import heapq
import random

TICK = 0.1             # of a node's own clock, seconds
RANDOM_PING = 1.0      # one each second
ELECTION_DELAY = 0.5   # fixed, and up to as much again by chance
LATENCY = 0.001        # of a message, with what a busy node takes to read it


class Bus:
    """One loss, at moment 0. Masters are nodes 0 to masters - 1; node `masters + i` is the replica of master i."""

    def __init__(self, masters, timeout, dead=(), seed=0):
        self.random = random.Random(seed)
        self.masters, self.timeout = masters, timeout
        self.nodes = range(2 * masters)
        self.dead = frozenset(dead)
        self.quorum = masters // 2 + 1
        self.events = []
        self.phase = {node: self.random.random() * TICK for node in self.nodes}
        self.heard = {}                                   # (node, other): when it was last heard of, by whomever
        self.waiting = set()                              # (node, dead): a ping is unanswered
        self.suspects = {node: set() for node in self.nodes}
        self.reports = {node: {} for node in self.nodes}  # of each dead node: the masters that suspect it
        self.failed = set()
        self.served = {}                                  # dead master: when its replica serves
        self.messages = 0
        # What is gossiped of the living only sets how many pings there are.
        self.watched = self.random.sample(sorted(self.dead) or self.nodes, len(self.dead) or len(self.nodes))
        wanted = min(max(3, len(self.nodes) // 10), len(self.nodes) - 2)
        self.entries = wanted * len(self.watched) / (len(self.nodes) - 1)  # per message, of those watched

    def run(self, until):
        """Seconds until the replicas of all dead masters serve; infinite if they never do."""
        self.begin(-self.timeout)
        awaited = sum(1 for node in self.dead if node < self.masters)
        if self.masters - awaited < self.quorum:
            return float("inf")
        while not awaited or len(self.served) < awaited:
            now, _, act, arguments = heapq.heappop(self.events)
            if now > until:
                return float("inf")
            if not self.is_dead(arguments[0], now) or act == self.elect:
                act(now, *arguments)
        return max(self.served.values())

    def begin(self, start):
        for node in self.nodes:
            self.at(start + self.random.random() * RANDOM_PING, self.ping_random, node)
            for other in self.nodes:
                if other != node:
                    self.heard[node, other] = start - self.random.random() * self.timeout / 2
                    self.at(self.tick(node, self.heard[node, other] + self.timeout / 2), self.ping_overdue, node, other)

    def is_dead(self, node, now):
        return now >= 0 and node in self.dead

    def at(self, moment, act, *arguments):
        heapq.heappush(self.events, (moment, self.random.random(), act, arguments))

    def tick(self, node, moment):
        """The node's first look at its clock from then on."""
        phase = self.phase[node]
        return phase + TICK * -(-(moment - phase) // TICK)

    # ---- pings

    def ping_random(self, now, node):
        others = [other for other in self.random.sample(self.nodes, 5)
                  if other != node and (node, other) not in self.waiting]
        if others:
            self.ping(now, node, min(others, key=lambda other: self.heard[node, other]))
        self.at(now + RANDOM_PING, self.ping_random, node)

    def ping_overdue(self, now, node, other):
        if (node, other) in self.waiting:
            return
        if self.heard[node, other] + self.timeout / 2 <= now:
            self.ping(now, node, other)
        due = max(self.heard[node, other] + self.timeout / 2, now + TICK / 10)
        self.at(self.tick(node, due), self.ping_overdue, node, other)

    def ping(self, now, node, other):
        self.messages += 1
        if self.is_dead(other, now):
            self.waiting.add((node, other))
            self.at(self.tick(node, now + self.timeout), self.suspect, node, other)
            return
        self.messages += 1  # the pong
        self.heard[node, other] = now + 2 * LATENCY
        self.gossip(now + LATENCY, node, other)
        self.gossip(now + 2 * LATENCY, other, node)

    def gossip(self, now, sender, receiver):
        heard, start = self.heard, int(self.random.random() * len(self.watched))
        for place in range(start, start + int(self.entries + self.random.random())):
            other = self.watched[place % len(self.watched)]
            if other not in (sender, receiver) and (receiver, other) not in self.waiting:
                if heard[sender, other] > heard[receiver, other]:
                    heard[receiver, other] = heard[sender, other]
        if sender < self.masters and self.suspects[sender]:
            self.report(now, sender, receiver)

    # ---- suspicion

    def suspect(self, now, node, other):
        self.suspects[node].add(other)

    def report(self, now, sender, receiver):
        """Only masters' suspicions count, and only for one who suspects as well."""
        for other in self.suspects[sender]:
            reports = self.reports[receiver].setdefault(other, set())
            reports.add(sender)
            votes = len(reports) + (receiver < self.masters)
            if other not in self.failed and other in self.suspects[receiver] and votes >= self.quorum:
                self.fail(now, other)

    def fail(self, now, other):
        self.failed.add(other)
        replica = other + self.masters
        if other < self.masters and replica in self.nodes and replica not in self.dead:
            delay = ELECTION_DELAY + self.random.random() * ELECTION_DELAY
            self.at(self.tick(replica, now + LATENCY + delay), self.elect, other)

    # ---- election

    def elect(self, now, other):
        """All masters that live vote at once."""
        self.served[other] = now + 2 * LATENCY


def losses(masters, timeout, killed, count, seed):
    """Seconds that `count` losses of as many masters take, sorted."""
    seconds = []
    for number in range(count):
        dead = random.Random(f"{seed}:{number}").sample(range(masters), killed)
        seconds.append(Bus(masters, timeout, dead, f"{seed}/{number}").run(until=6 * timeout + 10))
    return sorted(seconds)


def messages_per_second(nodes, timeout, seed, seconds=20):
    """That one node sends, pings and pongs, when none is lost."""
    bus = Bus(nodes // 2, timeout, seed=seed)
    bus.run(until=seconds)
    return bus.messages / (seconds + timeout) / nodes
