"""Commands on large filters run beside the engine: others go on, nothing is lost, replicas get the same."""

import threading
import time

import redis

from engine import EngineTest, main, wait_for_no_child, wait_for_replica
from harness import PATIENCE, wait_until
from module_filters import is_frozen

LARGE = 20_000_000  # items: 24 MB


class LongCommandsTest(EngineTest):
    def make_large(self, client, *names, capacity=LARGE):
        for name in names:
            client.execute_command("BF.RESERVE", name, 0.01, capacity, "SEED", 5)
            client.execute_command("BF.MADD", name, *(f"{name}:{item}" for item in range(2000)))

    def longest_wait(self, engine, work):
        """Of another client while work() runs, in seconds."""
        done = threading.Event()
        longest = [0.0]

        def ping():
            with engine.client() as client:
                while not done.is_set():
                    begin = time.monotonic()
                    client.ping()
                    longest[0] = max(longest[0], time.monotonic() - begin)
                    time.sleep(0.001)
        pinger = threading.Thread(target=ping)
        pinger.start()
        try:
            work()
        finally:
            done.set()
            pinger.join()
        return longest[0]

    def assert_short(self, waited, what):
        print(f"{what}: the longest wait was {waited * 1000:.1f} ms", flush=True)
        self.assertLess(waited, 0.25 * PATIENCE, what)  # a busy machine has waits of its own

    def test_others_go_on(self):
        engine = self.make_engine(bf_max_filter_bytes=0)
        client = self.client(engine)
        self.make_large(client, "a", "b")
        client.execute_command("BF.RESERVE", "ribbon", 0.01, 500_000, "TYPE", "ribbon")
        for first in range(0, 500_000, 10_000):
            client.execute_command("BF.MADD", "ribbon", *range(first, first + 10_000))
        for command in (("BF.ESTIMATE", "a", "b"), ("BF.MERGE", "a", "b"), ("BF.MERGE", "new", "a", "b")):
            waited = self.longest_wait(engine, lambda words=command: client.execute_command(*words))
            self.assert_short(waited, " ".join(command[:2]))
        items = [f"b:{item}" for item in range(2000)]
        self.assertEqual(client.execute_command("BF.MEXISTS", "new", *items), [1] * 2000)

        def freeze():
            client.execute_command("BF.FREEZE", "ribbon")
            wait_until(lambda: is_frozen(client, "ribbon"), 30, "it is frozen")
        self.assert_short(self.longest_wait(engine, freeze), "BF.FREEZE")

    def test_growth_of_a_large_filter(self):
        engine = self.make_engine(bf_max_filter_bytes=0)
        client = self.client(engine)
        client.execute_command("BF.RESERVE", "k", 0.01, 500_000, "EXPANSION", 60, "TYPE", "classic")

        def fill():
            for first in range(0, 520_000, 500):
                client.execute_command("BF.MADD", "k", *range(first, first + 500))
        self.assert_short(self.longest_wait(engine, fill), "growth")
        self.assertGreater(client.memory_usage("k"), 30_000_000)

    def test_replicas_have_the_same(self):
        master, replica = self.make_engine(), self.make_engine()
        replica.follow(master)
        client = self.client(master)
        self.make_large(client, "a", "b")
        client.execute_command("BF.MERGE", "new", "a", "b")
        client.execute_command("BF.MERGE", "a", "b")
        client.execute_command("CF.RESERVE", "cf", 8_000_000)
        client.execute_command("CF.INSERT", "cf", "ITEMS", *range(1000))
        client.execute_command("CF.COMPACT", "cf")
        wait_for_replica(master, replica)
        self.assert_same(master, replica, ["a", "b", "new", "cf"])

    def test_what_is_added_meanwhile_is_not_lost(self):
        master, replica = self.make_engine(), self.make_engine()
        replica.follow(master)
        client = self.client(master)
        self.make_large(client, "a", "b")
        added = []

        def add():
            with master.client() as writer:
                for item in range(3000):
                    self.assertEqual(writer.execute_command("BF.ADD", "ab"[item % 2], f"new:{item}"), 1)
                    added.append(f"new:{item}")
        writer = threading.Thread(target=add)
        writer.start()
        while writer.is_alive():
            client.execute_command("BF.MERGE", "a", "b")
        writer.join()
        client.execute_command("BF.MERGE", "a", "b")
        self.assertEqual(client.execute_command("BF.MEXISTS", "a", *added), [1] * 3000)
        wait_for_replica(master, replica)
        self.assert_same(master, replica, ["a", "b"])

    def test_a_fold_of_a_filter_in_use(self):
        master, replica = self.make_engine(), self.make_engine()
        replica.follow(master)
        client = self.client(master)
        self.make_large(client, "a")
        before = client.memory_usage("a")
        added = []

        def add():
            with master.client() as writer:
                for item in range(2000):
                    self.assertEqual(writer.execute_command("BF.ADD", "a", f"new:{item}"), 1)
                    added.append(f"new:{item}")
        writer = threading.Thread(target=add)
        writer.start()
        self.assertEqual(client.execute_command("BF.FOLD", "a", LARGE // 3), b"OK")
        self.assertEqual(client.execute_command("BF.FOLD", "a", LARGE // 13), b"OK")
        writer.join()
        self.assertLess(client.memory_usage("a"), before / 10)
        self.assertEqual(client.execute_command("BF.MEXISTS", "a", *added), [1] * 2000)
        with self.assertRaisesRegex(redis.ResponseError, "cannot fold: its capacity is"):
            client.execute_command("BF.FOLD", "a", LARGE)
        wait_for_replica(master, replica)
        self.assert_same(master, replica, ["a"])

    def test_a_child_that_is_forked_meanwhile_saves(self):
        engine = self.make_engine()
        client = self.client(engine)
        self.make_large(client, "a", "b")
        merger = threading.Thread(target=lambda: [engine.client().execute_command("BF.MERGE", "a", "b")
                                                  for _ in range(10)])
        merger.start()
        saved = 0
        while merger.is_alive():
            client.bgsave()
            wait_for_no_child(client)
            self.assertEqual(client.info("persistence")["rdb_last_bgsave_status"], "ok")
            saved += 1
        merger.join()
        self.assertGreater(saved, 0)

    def test_clients_that_cannot_be_blocked(self):
        engine = self.make_engine()
        client = self.client(engine)
        self.make_large(client, "a", "b")
        with client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("BF.MERGE", "a", "b").execute_command("BF.ESTIMATE", "a", "b")
            self.assertEqual(pipeline.execute()[0], b"OK")
        self.assertEqual(client.eval("return redis.call('BF.MERGE', KEYS[1], KEYS[2])", 2, "new", "a"), b"OK")

    def test_errors_and_keys_that_go_meanwhile(self):
        engine = self.make_engine()
        client = self.client(engine)
        self.make_large(client, "a")
        client.execute_command("BF.RESERVE", "other", 0.01, LARGE, "SEED", 6)
        with self.assertRaisesRegex(redis.ResponseError, "cannot merge"):
            client.execute_command("BF.MERGE", "a", "other")
        with self.assertRaisesRegex(redis.ResponseError, "not found"):
            client.execute_command("BF.MERGE", "a", "none")
        self.make_large(client, "b")
        for _ in range(5):
            merger = threading.Thread(target=self.merge_or_fail, args=(engine,))
            merger.start()
            client.delete("b")
            merger.join()
            self.make_large(client, "b")
        engine.check_alive()

    def test_a_type_that_is_refused_is_not_copied(self):
        engine = self.make_engine(bf_max_filter_bytes=0)
        client = self.client(engine)
        self.make_large(client, "a")
        client.execute_command("CF.RESERVE", "cf", LARGE)
        client.execute_command("BF.RESERVE", "f", 0.01, LARGE, "TYPE", "fingerprint")
        for command, refusal in ((("BF.MERGE", "f", "a"), "cannot be merged"), (("BF.MERGE", "a", "f"), "differ"),
                                 (("BF.FOLD", "f", 1000), "cannot be folded"), (("CF.COMPACT", "f"), "not found"),
                                 (("BF.FOLD", "cf", 1000), "cannot be folded")):
            with self.subTest(command):
                client.config_resetstat()
                with self.assertRaisesRegex(redis.ResponseError, refusal):
                    client.execute_command(*command)
                memory = client.info("memory")
                self.assertLess(memory["used_memory_peak"] - memory["used_memory"], 1 << 20)

    @staticmethod
    def merge_or_fail(engine):
        try:
            engine.client().execute_command("BF.MERGE", "a", "b")
        except redis.ResponseError as error:
            assert "not found" in str(error), error


if __name__ == "__main__":
    main()
