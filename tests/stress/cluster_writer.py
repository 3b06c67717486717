"""A client that adds new items to a filter of its own in a cluster, and keeps which of them how many replicas have."""

import threading
import time

from engine import SYNC_SECONDS
from harness import Connection, encode, wait_until

BATCH = 10
WAIT_MS = 200
SECONDS_BETWEEN = 0.002
CONNECT_SECONDS, REPLY_SECONDS = 0.3, 1.0
FALSE_POSITIVES = 1e-6  # else they would hide items that are lost
CAPACITY = 1_000_000
MOST_ITEMS = 1000  # of one lookup
FIRST_SLOTS = 5000  # slots of the first of three masters


class Writer:
    def __init__(self, nodes, number, replicas):
        self.nodes, self.replicas = nodes, replicas
        names = (f"filter:{number}:{each}" for each in range(1000))
        self.key = next(key for key in names if self.slot(key) < FIRST_SLOTS)
        self.next_item = 0
        self.promised = []  # first items of batches that all replicas had
        self.connection = self.node = None

    def slot(self, key):
        with self.nodes[0].client() as client:
            return client.execute_command("CLUSTER KEYSLOT", key)

    def reserve(self, master):
        with master.client() as client:
            client.execute_command("BF.RESERVE", self.key, FALSE_POSITIVES, CAPACITY)

    # ---- one round

    def begin(self, master, replicas):
        self.replicas, self.node = replicas, master
        self.batches = {"promised": [], "partly": [], "unacknowledged": []}
        self.longest_gap, self.last = 0, time.monotonic()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def end(self):
        """Returns the longest time without an acknowledgement of all replicas, in seconds."""
        self.stopped.set()
        self.thread.join()
        self.disconnect()
        self.promised += self.batches["promised"]
        return max(self.longest_gap, time.monotonic() - self.last)

    def run(self):
        while not self.stopped.wait(SECONDS_BETWEEN):
            try:
                self.add_batch()
            except (OSError, EOFError):
                self.go_on_to_next()

    def disconnect(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def go_on_to_next(self):
        self.disconnect()
        self.node = self.nodes[(self.nodes.index(self.node) + 1) % len(self.nodes)]

    def add_batch(self):
        if self.connection is None:
            self.connection = Connection(self.node.port, self.node.host, CONNECT_SECONDS)
            self.connection.socket.settimeout(REPLY_SECONDS)
        first, self.next_item = self.next_item, self.next_item + BATCH
        reply = self.connection.command("BF.MADD", self.key, *self.items(first))
        if not reply.startswith(b"*"):
            return self.go_on_to_next()  # another is the master, or there is none at the moment
        acknowledged = 0
        try:
            reply = self.connection.command("WAIT", self.replicas, WAIT_MS)
            if reply.startswith(b":"):  # else it has become a replica meanwhile
                acknowledged = int(reply[1:])
        finally:
            self.record(first, acknowledged)
        return None

    def record(self, first, acknowledged):
        kind = "promised" if acknowledged >= self.replicas else "partly" if acknowledged else "unacknowledged"
        self.batches[kind].append(first)
        if kind == "promised":
            self.longest_gap = max(self.longest_gap, time.monotonic() - self.last)
            self.last = time.monotonic()

    # ---- afterwards

    def items(self, first):
        return [f"{self.key}:{item}" for item in range(first, first + BATCH)]

    def check(self, master):
        """Counts the items of the round, and those of them that are missing, by how many had acknowledged them."""
        figures = {}
        for kind, batches in self.batches.items():
            figures[kind], figures[f"{kind} lost"] = BATCH * len(batches), self.missing(master, batches)
        return figures

    def check_promised(self, master):
        return {"promised": BATCH * len(self.promised), "promised lost": self.missing(master, self.promised)}

    def missing(self, master, batches):
        items = [item for first in batches for item in self.items(first)]
        with master.connect() as connection:
            return sum(self.absent(connection, items[at:at + MOST_ITEMS]) for at in range(0, len(items), MOST_ITEMS))

    def absent(self, connection, items):
        reply = wait_until(lambda: self.lookup(connection, items), SYNC_SECONDS, "the master answers")
        return reply.count(b":0\r\n")

    def lookup(self, connection, items):
        reply = connection.ask(encode("BF.MEXISTS", self.key, *items))
        return reply if reply.startswith(b"*") else None
