"""BF.FOLD on a server in use: what is added meanwhile, what else happens to the filter, and kill -9 at any moment."""

import random
import threading
import time

from harness import OwnServerTest, ServerTest, encode, main

CAPACITY = 20_000_000  # of a filter of some 24 MB
SMALL = 500_000


class Adder(threading.Thread):
    """Adds items of its own until it is stopped, or the server is; knows which were acknowledged."""

    def __init__(self, server, key, prefix):
        super().__init__()
        self.connection = server.connect()
        self.key, self.prefix = key, prefix
        self.acknowledged = 0
        self.stopping = threading.Event()
        self.start()

    def run(self):
        try:
            while not self.stopping.is_set():
                reply = self.connection.command("BF.ADD", self.key, f"{self.prefix}:{self.acknowledged}")
                if reply not in (b":1\r\n", b":0\r\n"):
                    return
                self.acknowledged += 1
        except (OSError, EOFError):
            pass

    def stop(self):
        self.stopping.set()
        self.join()

    def items(self):
        return [f"{self.prefix}:{i}" for i in range(self.acknowledged)]


def found(connection, key, items):
    total = 0
    for first in range(0, len(items), 10_000):
        total += connection.command("BF.MEXISTS", key, *items[first:first + 10_000]).count(b":1\r\n")
    return total


def capacity(connection, key):
    return int(connection.command("BF.INFO", key, "CAPACITY").split(b":")[1])


class InUse(ServerTest):
    OPTIONS = {"io_threads": 2}

    def reserve(self, key, size=CAPACITY, kind="blocked"):
        connection = self.connect()
        self.assertEqual(connection.command("BF.RESERVE", key, "0.01", size, "TYPE", kind), b"+OK\r\n")
        return connection

    def test_nothing_is_lost_that_is_added_meanwhile(self):
        for kind in ("blocked", "classic"):
            connection = self.reserve(kind, kind=kind)
            before = [f"before:{i}" for i in range(50_000)]
            connection.command("BF.MADD", kind, *before)
            adders = [Adder(self.server, kind, f"{kind}:{i}") for i in range(3)]
            replies = [connection.command("BF.FOLD", kind, size) for size in (5_000_000, 1_000_000, SMALL)]
            for adder in adders:
                adder.stop()
            self.assertEqual(replies, [b"+OK\r\n"] * 3)
            self.assertEqual(capacity(connection, kind), SMALL)
            self.assertEqual(found(connection, kind, before), len(before))
            for adder in adders:
                self.assertGreater(adder.acknowledged, 0)
                self.assertEqual(found(connection, kind, adder.items()), adder.acknowledged)
            self.assertLess(found(connection, kind, [f"absent:{i}" for i in range(100_000)]), 1_000)

    def test_the_filter_may_be_renamed_deleted_or_saved_meanwhile(self):
        connection = self.reserve("first")
        other = self.connect()
        connection.command("BF.ADD", "first", "x")
        for _ in range(10):
            connection.send(encode("BF.FOLD", "first", CAPACITY // 2))
            other.command("RENAME", "first", "second")
            other.command("BGSAVE")
            self.assertIn(connection.reply(), (b"+OK\r\n", b"-ERR not found\r\n"))
            self.assertEqual(other.command("BF.EXISTS", "second", "x"), b":1\r\n")
            connection.send(encode("BF.FOLD", "second", SMALL))
            other.command("DEL", "second")
            self.assertIn(connection.reply(), (b"+OK\r\n", b"-ERR not found\r\n"))
            self.assertEqual(other.command("EXISTS", "first", "second"), b":0\r\n")
            self.reserve("first")
            connection.command("BF.ADD", "first", "x")

    def test_folds_and_merges_of_one_filter_take_turns(self):
        connection = self.reserve("source", SMALL)
        connection.command("BF.RESERVE", "target", "0.01", CAPACITY, "SEED", 7)
        connection.command("BF.RESERVE", "part", "0.01", CAPACITY, "SEED", 7)
        connection.command("BF.ADD", "part", "y")
        connection.send(encode("BF.FOLD", "target", 1_000_000))
        other = self.connect()
        other.send(encode("BF.MERGE", "target", "part") + encode("BF.FOLD", "target", SMALL))
        self.assertEqual(connection.reply(), b"+OK\r\n")
        merged = other.reply()
        self.assertEqual(other.reply(), b"+OK\r\n")
        if merged != b"+OK\r\n":
            self.assertIn(b"folded at the same moment: try again", merged)
        else:
            self.assertEqual(connection.command("BF.EXISTS", "target", "y"), b":1\r\n")

    def test_a_transaction_folds(self):
        connection = self.reserve("t")
        connection.send(b"".join(encode(*command) for command in (
            ("MULTI",), ("BF.ADD", "t", "a"), ("BF.FOLD", "t", SMALL), ("BF.ADD", "t", "b"), ("BF.EXISTS", "t", "a"),
            ("EXEC",))))
        for _ in range(5):
            connection.reply()
        self.assertEqual(connection.reply(), b"*4\r\n:1\r\n+OK\r\n:1\r\n:1\r\n")


class Killed(OwnServerTest):
    def test_at_any_moment(self):
        """The capacity is the old or the new one, and all that was acknowledged is there."""
        server = self.make_server(appendonly="yes", appendfsync="always", io_threads=2)
        server.start()
        chance = random.Random(25)
        connection = server.connect()
        connection.command("BF.RESERVE", "f", "0.01", CAPACITY)
        acknowledged = []
        for turn in range(40):
            before = capacity(connection, "f")
            adders = [Adder(server, "f", f"{turn}:{i}") for i in range(2)]
            target = max(SMALL, before // 2)
            connection.send(encode("BF.FOLD", "f", target))
            if turn % 4 == 3:
                server.connect().send(encode("BGSAVE"))
            time.sleep(chance.uniform(0, 0.05))
            server.kill()
            for adder in adders:
                adder.stop()
                acknowledged += adder.items()
            server.start()
            connection = server.connect()
            after = capacity(connection, "f")
            self.assertIn(after, (before, target), server.log())
            self.assertEqual(found(connection, "f", acknowledged), len(acknowledged), f"turn {turn}")
            if after == SMALL:
                connection.command("DEL", "f")
                connection.command("BF.RESERVE", "f", "0.01", CAPACITY)
                acknowledged.clear()

    def test_what_was_folded_comes_back(self):
        for options in ({"appendonly": "yes", "appendfsync": "always"}, {}):
            server = self.make_server(**options)
            server.start()
            connection = server.connect()
            connection.command("BF.RESERVE", "f", "0.01", CAPACITY)
            connection.command("BF.MADD", "f", *range(10_000))
            self.assertEqual(connection.command("BF.FOLD", "f", SMALL), b"+OK\r\n")
            connection.command("BF.MADD", "f", *range(10_000, 20_000))
            if not options:
                connection.command("SAVE")
            dump = connection.command("BF.DUMP", "f")
            server.restart()
            connection = server.connect()
            self.assertEqual(capacity(connection, "f"), SMALL)
            self.assertEqual(connection.command("BF.DUMP", "f"), dump)


if __name__ == "__main__":
    main()
