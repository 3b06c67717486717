"""A cluster of three masters and three replicas: what was acknowledged with WAIT 1 is there after kill -9 of a master
and after slots have moved, and replicas are equal to their masters.

BITSIEVE_CLUSTER_ADDS: how many items to add, 300,000 if not set.
"""

import os
import threading

from cluster import Cluster
from engine import EngineTest, main
from harness import PATIENCE, encode, wait_until

ADDS = int(os.environ.get("BITSIEVE_CLUSTER_ADDS", "300000"))
BATCH = 500
WRITERS = 6
SECONDS = 60 * PATIENCE


class Writer(threading.Thread):
    """Adds batches to a filter of its own, and notes those that its master and a replica have."""

    def __init__(self, nodes, number, most):
        super().__init__(daemon=True)
        self.nodes, self.key, self.most = nodes, f"filter:{number}", most
        self.node = nodes[0]
        self.connection = None
        self.acknowledged = []  # first items of batches
        self.next = 0
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.is_set() and self.next < self.most:
            try:
                self.add_batch()
            except (OSError, EOFError):
                self.go_to(self.nodes[(self.nodes.index(self.node) + 1) % len(self.nodes)])
                self.stopped.wait(0.05)

    def go_to(self, node):
        if self.connection is not None:
            self.connection.close()
        self.node, self.connection = node, None

    def add_batch(self):
        if self.connection is None:
            self.connection = self.node.connect()
        items = (f"{self.key}:{item}" for item in range(self.next, self.next + BATCH))
        add = encode("BF.MADD", self.key, *items)
        reply = self.connection.ask(add)
        if reply.startswith(b"-MOVED"):
            return self.go_to(self.by_address(reply))
        if reply.startswith(b"-ASK"):
            with self.by_address(reply).connect() as other:
                other.ask(encode("ASKING"))
                if other.ask(add).startswith(b"*") and other.command("WAIT", 1, 2000) == b":1\r\n":
                    self.note()
            return None
        if not reply.startswith(b"*"):
            self.stopped.wait(0.05)  # CLUSTERDOWN, TRYAGAIN
            return self.go_to(self.nodes[(self.nodes.index(self.node) + 1) % len(self.nodes)])
        if self.connection.command("WAIT", 1, 2000) == b":1\r\n":
            self.note()
        return None

    def note(self):
        self.acknowledged.append(self.next)
        self.next += BATCH

    def by_address(self, reply):
        port = int(reply.rsplit(b":", 1)[1])
        return next(node for node in self.nodes if node.port == port)


class ClusterTest(EngineTest):
    def setUp(self):
        self.cluster = Cluster(masters=3, appendonly="yes", appendfsync="no", maxmemory_policy="noeviction")
        self.addCleanup(self.cluster.clean_up)
        self.cluster.start()

    def move_slot(self, key):
        """To another master, as redis-cli --cluster reshard does it."""
        source = self.owner(key)
        target = next(node for node in self.cluster.masters() if node is not source)
        slot = int(source.connect().command("CLUSTER", "KEYSLOT", key)[1:])
        ids = {node: node.id() for node in (source, target)}
        for node, *words in ((target, "IMPORTING", ids[source]), (source, "MIGRATING", ids[target])):
            self.assertEqual(node.connect().command("CLUSTER", "SETSLOT", slot, *words), b"+OK\r\n")
        keys = self.client(source).execute_command("CLUSTER GETKEYSINSLOT", slot, 100)
        moved = source.connect().command("MIGRATE", "127.0.0.1", target.port, "", 0, 60_000, "KEYS", *keys)
        self.assertEqual(moved, b"+OK\r\n")
        for node in (target, source):
            self.assertEqual(node.connect().command("CLUSTER", "SETSLOT", slot, "NODE", ids[target]), b"+OK\r\n")

    def write(self, adds):
        writers = [Writer(self.cluster.nodes, number, adds // WRITERS) for number in range(WRITERS)]
        for writer in writers:
            self.addCleanup(writer.stopped.set)
            writer.start()
        return writers

    def wait_for(self, writers, share):
        def done():
            return sum(len(writer.acknowledged) for writer in writers) * BATCH
        goal = share * sum(writer.most for writer in writers)
        wait_until(lambda: done() >= goal, SECONDS, f"{goal:.0f} items are acknowledged")

    def assert_nothing_is_missing(self, writers):
        count = 0
        for writer in writers:
            writer.join(SECONDS)
            owner = self.owner(writer.key)
            client = self.client(owner)
            for first in writer.acknowledged:
                items = [f"{writer.key}:{item}" for item in range(first, first + BATCH)]
                self.assertEqual(sum(client.execute_command("BF.MEXISTS", writer.key, *items)), BATCH)
                count += BATCH
        print(f"{count} acknowledged items, none missing", flush=True)
        self.assertGreaterEqual(count, sum(writer.most for writer in writers))

    def owner(self, key):
        def find():
            for node in self.cluster.masters():
                if not node.connect().command("BF.CARD", key).startswith(b"-"):
                    return node
            return None
        return wait_until(find, SECONDS, f"{key} has an owner")

    def assert_replicas_are_equal(self):
        for master in self.cluster.masters():
            keys = [key.decode() for key in self.client(master).keys()]
            if not keys:
                continue
            digests = master.digests(keys)
            for replica in wait_until(lambda of=master: self.cluster.replicas_of(of), SECONDS, "it has a replica"):
                self.client(replica).execute_command("READONLY")
                wait_until(lambda each=replica: each.digests(keys) == digests, SECONDS, "they are equal")

    def test_kill_of_a_master(self):
        self.cluster.set_node_timeout(2000)
        writers = self.write(ADDS)
        self.wait_for(writers, 0.3)
        killed = self.owner(writers[0].key)
        killed.kill()
        wait_until(lambda: len(self.cluster.masters()) == 3, SECONDS, "a replica is promoted")
        killed.start()  # else no replica would be left to acknowledge what the new master takes
        self.wait_for(writers, 1)
        wait_until(self.cluster.is_whole, SECONDS, "the cluster is whole")
        self.assert_nothing_is_missing(writers)
        self.assert_replicas_are_equal()

    def test_slots_that_move(self):
        writers = self.write(ADDS // 2)
        self.wait_for(writers, 0.1)
        for writer in writers:
            self.move_slot(writer.key)
        self.wait_for(writers, 1)
        self.assert_nothing_is_missing(writers)
        self.assert_replicas_are_equal()


if __name__ == "__main__":
    main()
