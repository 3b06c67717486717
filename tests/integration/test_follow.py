"""Copies of filters that follow a server, through the Python module: they stay equal to the filter to the last byte,
for every type; and if something is killed, no item is missed that was added before the copy was current."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import redis

from filter_types import TABLE, needed_options
from harness import HOST, PATIENCE, OwnServerTest, main, on_engine, server_only, wait_until

MODULE = pathlib.Path(__file__).parents[2] / "clients" / "python"
sys.path.insert(0, str(MODULE))

import bitsieve  # noqa: E402 (from the folder above)

SECONDS = 20 * PATIENCE
ROUNDS = int(os.environ.get("BITSIEVE_FOLLOW_ROUNDS", "6"))
# What the clocks of Python and of the library may differ by.
CLOCKS_SECONDS = 0.02


def url_of(server):
    return f"redis://{HOST}:{server.port}"


def dump_of(client, key):
    """The filter in Bitsieve's own form, for every type."""
    dump, iterator = b"", 0
    while True:
        iterator, chunk, _ = client.execute_command("BF.FOLLOW", key, iterator)
        if iterator == 0:
            return dump
        dump += chunk


class FollowTest(OwnServerTest):
    OPTIONS = {}

    def setUp(self):
        self.server = self.make_server(**self.OPTIONS)
        self.server.start()
        self.server_client = self.server.client()

    def command(self, *words):
        return self.server_client.execute_command(*words)

    def follow(self, key, **options):
        followed = bitsieve.FollowedFilter(url_of(self.server), key, **{"interval": 0.01, **options})
        self.addCleanup(followed.close)
        return followed

    def reserve(self, key, type_name, capacity=1000):
        if type_name == "rediscuckoo":
            return self.command("CF.RESERVE", key, capacity)
        return self.command("BF.RESERVE", key, 0.01, capacity, "TYPE", type_name, *needed_options(type_name))

    def change(self, key, kind, numbers):
        """Adds items, in all the ways that the type has, and removes some of them."""
        if kind["name"] == "rediscuckoo":
            self.command("CF.INSERT", key, "ITEMS", *numbers)
            return [self.command("CF.DEL", key, number) for number in numbers[::7]]
        self.command("BF.MADD", key, *numbers)
        if kind["removes"]:
            self.command("BF.MDEL", key, *numbers[::7])
        if kind["denies"]:
            self.command("BF.FPADD", key, *[f"absent {number}" for number in numbers])
        if kind["name"] == "expiring":
            self.command("BF.TOUCH", key, *numbers[1::7])

    def assert_becomes_equal(self, followed, key):
        wait_until(lambda: followed.to_bytes() == dump_of(self.server_client, key), SECONDS,
                   f"the copy of {key} has the same bytes")


class Copies(FollowTest):
    def test_of_every_type_stay_equal(self):
        for kind in TABLE:
            name = kind["name"]
            with self.subTest(name):
                self.reserve(name, name)
                self.change(name, kind, list(range(100)))
                with self.follow(name) as followed:
                    self.assertEqual(followed.to_bytes(), dump_of(self.server_client, name))
                    for first in range(100, 3000, 100):
                        self.change(name, kind, list(range(first, first + 100)))
                    self.assert_becomes_equal(followed, name)
                    state = followed.state()
                    self.assertEqual((state.trouble, state.dumps_read), ("", 1))
                    self.assertEqual(followed.describe().type, name)

    def test_answer_without_the_server(self):
        self.command("BF.MADD", "seen", "a", "b")
        followed = self.follow("seen")
        self.server.kill()
        self.assertIn("a", followed)
        self.assertNotIn("x", followed)
        self.assertEqual(followed.may_contain_many(["a", "x", "b"]), [True, False, True])
        wait_until(lambda: followed.state().trouble, SECONDS, "it says what is in the way")
        before = followed.state().staleness
        time.sleep(0.05)
        self.assertGreaterEqual(round(followed.state().staleness - before, 3), 0.05)  # both are whole milliseconds

    def test_are_read_again_where_no_changes_lead_on(self):
        self.command("BF.RESERVE", "seen", 0.01, 10_000)
        self.command("BF.MADD", "seen", *range(300))
        self.command("BF.RESERVE", "other", 0.01, 10_000, "SEED", 5)
        followed = self.follow("seen")
        reads = 1
        for words in (("BF.CLEAR", "seen"), ("BF.FOLD", "seen", 5000), ("RENAME", "other", "seen")):
            with self.subTest(words[0]):
                if words[0] == "RENAME" and on_engine():
                    continue  # the engine's own command
                self.command(*words)
                reads += 1
                wait_until(lambda reads=reads: followed.state().dumps_read == reads, SECONDS, "it was read again")
                self.command("BF.ADD", "seen", words[0])
                wait_until(lambda words=words: words[0] in followed, SECONDS, "the copy follows again")
                self.assert_becomes_equal(followed, "seen")

    def test_wait_for_a_filter_that_was_deleted(self):
        self.command("BF.ADD", "seen", "a")
        followed = self.follow("seen")
        self.command("DEL", "seen")
        wait_until(lambda: "there is no filter" in followed.state().trouble, SECONDS, "it says so")
        self.assertIn("a", followed)
        self.command("BF.ADD", "seen", "b")
        wait_until(lambda: "b" in followed and "a" not in followed, SECONDS, "the new filter is followed")
        wait_until(lambda: followed.state().trouble == "", SECONDS, "it says so")

    def test_share_one_history(self):
        self.command("BF.RESERVE", "seen", 0.01, 10_000)
        copies = [self.follow("seen") for _ in range(8)]
        self.command("BF.MADD", "seen", *range(1000))
        for followed in copies:
            self.assert_becomes_equal(followed, "seen")

    def test_of_large_filters_arrive_in_chunks(self):
        self.command("BF.RESERVE", "large", 0.001, 30_000_000, "TYPE", "classic")
        self.command("BF.MADD", "large", *range(1000))
        followed = self.follow("large")
        self.assertGreater(len(followed.to_bytes()), 3 << 24)
        self.command("BF.ADD", "large", "later")
        wait_until(lambda: "later" in followed, SECONDS, "the copy follows")
        self.assertEqual(followed.may_contain_many(list(map(str, range(1000)))), [True] * 1000)


class Mistakes(FollowTest):
    def assert_refused(self, error, message, url, key="seen", **options):
        with self.assertRaisesRegex(error, message):
            bitsieve.FollowedFilter(url, key, **options)

    def test_are_reported_at_once(self):
        url = url_of(self.server)
        self.assert_refused(bitsieve.FileError, 'there is no filter "none"', url, "none")
        self.assert_refused(bitsieve.FileError, "cannot connect to 127.0.0.1 port 1: Connection refused",
                            "redis://127.0.0.1:1")
        self.assert_refused(bitsieve.InvalidArgumentError, "has no scheme", "127.0.0.1")
        self.assert_refused(bitsieve.UnsupportedError, "TLS", "rediss://127.0.0.1:1")
        self.assert_refused(bitsieve.InvalidArgumentError, "at least 1 ms", url, interval=0)
        self.assert_refused(bitsieve.FileError, "refuses the password", f"redis://joe:wrong@{HOST}:{self.server.port}")
        self.command("BF.RESERVE", "large", 0.01, 1_000_000)
        self.assert_refused(bitsieve.OutOfMemoryError, "", url, "large", memory_limit_bytes=100_000)

    def test_after_close(self):
        self.command("BF.ADD", "seen", "a")
        followed = self.follow("seen")
        followed.close()
        followed.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            followed.may_contain("a")


class CacheFile(FollowTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="bitsieve-test-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "seen")

    def test_spares_the_dump(self):
        self.command("BF.MADD", "seen", "a", "b")
        with self.follow("seen", cache=self.path) as followed:
            self.assertEqual(followed.state().dumps_read, 1)
        self.command("BF.ADD", "seen", "c")
        with self.follow("seen", cache=self.path) as followed:
            self.assertEqual(followed.state().dumps_read, 0)
            self.assertEqual(followed.may_contain_many(["a", "b", "c", "x"]), [True, True, True, False])
            self.assert_becomes_equal(followed, "seen")

    def test_serves_without_a_server(self):
        self.command("BF.ADD", "seen", "a")
        self.follow("seen", cache=self.path).close()
        self.server.kill()
        time.sleep(0.1)
        with self.follow("seen", cache=self.path) as followed:
            self.assertIn("a", followed)
            self.assertGreater(followed.state().staleness, 0.1)
            self.assertIn("Connection refused", followed.state().trouble)

    def test_that_is_damaged_is_replaced(self):
        self.command("BF.ADD", "seen", "a")
        for content in (b"", b"nonsense", b"BSFO" + b"\xff" * 1000):
            pathlib.Path(self.path).write_bytes(content)
            with self.follow("seen", cache=self.path) as followed:
                self.assertEqual(followed.state().dumps_read, 1)
            with self.follow("seen", cache=self.path) as followed:
                self.assertEqual(followed.state().dumps_read, 0)

    def test_that_cannot_be_written_is_reported(self):
        self.command("BF.ADD", "seen", "a")
        self.assertIn("a", self.follow("seen", cache="/none/seen"))


# Follows a filter, and checks an item per line of its input: "TIME ITEM" is an item that was added by then.
FOLLOWER = """
import sys, time
sys.path.insert(0, sys.argv[1])
import bitsieve
followed = bitsieve.FollowedFilter(sys.argv[2], sys.argv[3], interval=0.01, cache=sys.argv[4])
print("ready", flush=True)
for line in sys.stdin:
    now = time.monotonic()
    staleness = followed.state().staleness
    print(f"{now - staleness} {','.join(str(int(item in followed)) for item in line.split())}", flush=True)
"""


class Kills(FollowTest):
    """The server, the follower and the connection are killed in turns, while items are added."""

    OPTIONS = {"appendonly": "yes", "appendfsync": "always"}

    def start_follower(self, key):
        follower = subprocess.Popen(
            [sys.executable, "-c", FOLLOWER, str(MODULE), url_of(self.server), key, self.cache],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(follower.stdout.readline(), "ready\n")
        return follower

    def add_one(self):
        """Returns whether the server acknowledged it."""
        item = f"item{len(self.acknowledged)}-{random.getrandbits(32)}"
        command = "CF.ADD" if self.type_name == "rediscuckoo" else "BF.ADD"
        try:
            self.server_client.execute_command(command, "seen", item)
        except (redis.ConnectionError, redis.TimeoutError):
            return False
        self.acknowledged.append((time.monotonic(), item))
        return True

    def check(self, follower):
        items = self.acknowledged[-50:]
        follower.stdin.write(" ".join(item for _, item in items) + "\n")
        follower.stdin.flush()
        current, found = follower.stdout.readline().split()
        for (acknowledged, item), is_found in zip(items, found.split(",")):
            if acknowledged < float(current) - CLOCKS_SECONDS:
                self.assertEqual(is_found, "1", f"{item} of {self.type_name}, acknowledged at {acknowledged}, is "
                                                f"missed by a copy that was current at {current}")
                self.checked += 1

    def run_round(self, follower):
        for _ in range(30):
            self.add_one()
        victim = random.choice(("server", "follower", "connection"))
        if victim == "server":
            self.server.kill()
            self.check(follower)
            self.server.start()
            self.server_client = self.server.client()
        elif victim == "follower":
            follower.kill()
            follower.communicate()
            self.add_one()
            follower = self.start_follower("seen")
        else:
            self.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        for _ in range(10):
            self.add_one()
            self.check(follower)
            time.sleep(0.005)
        return follower

    @server_only("an engine saves its data otherwise")
    def test_no_item_is_missed(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        random.seed(seed)
        self.checked = 0
        self.server.options["port"] = self.server.port  # of later starts, so that the follower finds it again
        for number in range(ROUNDS):
            kind = TABLE[number % len(TABLE)]
            self.type_name = kind["name"]
            with self.subTest(self.type_name, round=number), tempfile.TemporaryDirectory() as folder:
                self.cache = os.path.join(folder, "cache")
                self.command("FLUSHALL")
                self.acknowledged = []
                self.reserve("seen", self.type_name, 100_000)
                follower = self.start_follower("seen")
                try:
                    for _ in range(3):
                        follower = self.run_round(follower)
                    followed = self.follow("seen")
                    self.assert_becomes_equal(followed, "seen")
                    found = followed.may_contain_many([item for _, item in self.acknowledged])
                    self.assertEqual(found, [True] * len(found))
                    followed.close()
                finally:
                    follower.kill()
                    follower.communicate()
        self.assertGreater(self.checked, 10 * ROUNDS)


if __name__ == "__main__":
    main()
