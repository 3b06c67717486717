"""What a client cannot make the engine do: filters without bound, a full memory, bytes that are none of ours."""

import pathlib
import resource

import redis

from engine import EngineTest, main
from module_filters import dump_chunks


class LimitsTest(EngineTest):
    REQUESTS = (("BF.RESERVE", "k", 0.01, 10**9), ("BF.RESERVE", "k", 0.01, 10**9, "TYPE", "classic"),
                ("BF.RESERVE", "k", 0.01, 10**9, "TYPE", "redisbloom"),
                ("BF.RESERVE", "k", 0.001, 10**9, "TYPE", "cuckoo"), ("CF.RESERVE", "k", 10**9),
                ("BF.INSERT", "k", "CAPACITY", 10**9, "ITEMS", "a"),
                ("CF.INSERT", "k", "CAPACITY", 10**9, "ITEMS", "a"))

    def assert_refused(self, client, error, commands=REQUESTS):
        """Before memory is taken."""
        before = client.info("memory")["used_memory"]
        for command in commands:
            with self.subTest(command=command):
                with self.assertRaisesRegex(redis.ResponseError, error):
                    client.execute_command(*command)
        self.assertEqual(client.dbsize(), 0)
        self.assertLess(client.info("memory")["used_memory"] - before, 1_000_000)
        self.assertLess(client.info("memory")["used_memory_peak"] - before, 10_000_000)

    def test_a_filter_beyond_max_filter_bytes(self):
        engine = self.make_engine(bf_max_filter_bytes="64mb")
        self.assert_refused(self.client(engine), "max-filter-bytes allows, which is 67108864 bytes")

    def test_a_filter_beyond_maxmemory(self):
        for policy in ("noeviction", "allkeys-lru"):
            engine = self.make_engine(maxmemory="100mb", maxmemory_policy=policy)
            self.assert_refused(self.client(engine),
                                r"the filter needs \d+ bytes more, and the engine uses \d+ of the 104857600 that "
                                "maxmemory allows")

    def test_a_filter_beyond_the_machines_memory(self):
        """The engine's address space stands in for it."""
        engine = self.make_engine()
        client = self.client(engine)
        client.execute_command("BF.RESERVE", "warm", 0.01, 10**6)
        client.delete("warm")
        used = int(pathlib.Path(f"/proc/{engine.process.pid}/statm").read_text(encoding="ascii").split()[0]) * 4096
        resource.prlimit(engine.process.pid, resource.RLIMIT_AS, (used + 300_000_000,) * 2)
        self.assert_refused(client, r"the filter needs \d+ bytes more, which this machine does not have")
        self.assertEqual(client.execute_command("BF.ADD", "k", "a"), 1)

    def test_no_other_limit_by_default(self):
        engine = self.make_engine(maxmemory="300mb")
        client = self.client(engine)
        self.assertEqual(client.config_get("bf.max-filter-bytes"), {"bf.max-filter-bytes": "0"})
        for kind in ("redisbloom", "blocked"):
            client.execute_command("BF.RESERVE", "n", 0.001, 50_000_000, "TYPE", kind)
            self.assertGreater(client.memory_usage("n"), 80_000_000)
            client.execute_command("BF.ADD", "n", "a")
            self.assertEqual(client.execute_command("BF.EXISTS", "n", "a"), 1)
            client.delete("n")

    def test_what_grew_elsewhere_grows_on(self):
        """An own limit holds for filters that were loaded, too: it ends their growth, and nothing else."""
        master, replica = self.make_engine(), self.make_engine(bf_max_filter_bytes="1mb")
        client = self.client(master)
        client.execute_command("BF.RESERVE", "k", 0.01, 1_000_000, "TYPE", "redisbloom")
        for first in range(0, 900_000, 10_000):
            client.execute_command("BF.MADD", "k", *range(first, first + 10_000))
        replica.follow(master)
        self.client(replica).replicaof("NO", "ONE")
        for engine, grows in ((replica, False), (master, True)):
            client = self.client(engine)
            outcomes = []
            for first in range(900_000, 1_200_000, 10_000):
                outcomes += client.execute_command("BF.MADD", "k", *range(first, first + 10_000))
            refused = [outcome for outcome in outcomes if isinstance(outcome, redis.ResponseError)]
            self.assertEqual(outcomes[:50_000].count(1) + outcomes[:50_000].count(0), 50_000)
            self.assertEqual(not refused, grows)
            self.assertEqual({str(each) for each in refused}, set() if grows else {
                "OOM the filter would take more than bf.max-filter-bytes allows, which is 1048576 bytes"})
            self.assertEqual(client.execute_command("BF.MEXISTS", "k", *range(0, 900_000, 1000)), [1] * 900)

    def test_growth_ends_at_the_limit_and_loses_nothing(self):
        engine = self.make_engine(bf_max_filter_bytes="256kb", bf_cf_max_expansions=60_000)
        client = self.client(engine)
        for family, add, find in (("BF", "BF.MADD", "BF.MEXISTS"), ("CF", "CF.INSERT", "CF.MEXISTS")):
            with self.subTest(family=family):
                kept, refused = [], []
                while not refused and len(kept) < 10**6:
                    items = range(len(kept), len(kept) + 1000)
                    words = ("ITEMS", *items) if family == "CF" else items
                    outcomes = client.execute_command(add, family, *words)
                    refused = [each for each in outcomes if isinstance(each, redis.ResponseError) or each == -1]
                    kept += [item for item, outcome in zip(items, outcomes) if outcome in (0, 1)]
                self.assertTrue(refused)
                # What the filter holds already, by chance too, it takes beyond the limit as well.
                for refusal in refused:
                    self.assertRegex(str(refusal), "max-filter-bytes" if family == "BF" else "^-1$")
                self.assertLess(client.memory_usage(family), 280_000)
                self.assertEqual(client.execute_command(find, family, *kept), [1] * len(kept))
        client.config_set("bf.max-filter-bytes", "1mb")
        self.assertIn(1, client.execute_command("BF.MADD", "BF", *(f"more:{item}" for item in range(1000))))

    def test_a_filter_near_the_limit_may_be_cleared_and_replaced(self):
        engine = self.make_engine(bf_max_filter_bytes="2mb")
        client = self.client(engine)
        client.execute_command("BF.RESERVE", "k", 0.01, 1_000_000)
        self.assertEqual(client.execute_command("BF.CLEAR", "k"), b"OK")
        dump = client.execute_command("BF.DUMP", "k")
        self.assertEqual(client.execute_command("BF.RESTORE", "k", dump, "REPLACE"), b"OK")
        client.config_set("bf.max-filter-bytes", "1mb")
        for command in (("BF.CLEAR", "k"), ("BF.RESTORE", "other", dump)):
            with self.assertRaisesRegex(redis.ResponseError, "max-filter-bytes"):
                client.execute_command(*command)
        (cursor, chunk), *_ = dump_chunks(client, "k")
        with self.assertRaisesRegex(redis.ResponseError, "max-filter-bytes"):
            client.execute_command("BF.LOADCHUNK", "other", cursor, chunk)
        self.assertEqual(client.dbsize(), 1)

    def test_a_full_engine_refuses_and_goes_on(self):
        engine = self.make_engine(maxmemory="30mb", lazyfree_lazy_user_del="no")
        client = self.client(engine)
        with self.assertRaisesRegex(redis.ResponseError, "^OOM .* that maxmemory allows"):
            for number in range(100):
                client.execute_command("BF.RESERVE", f"k{number}", 0.01, 1_000_000)
        self.assertLess(client.info("memory")["used_memory"], 30 << 20)
        self.assertEqual(client.execute_command("BF.ADD", "k0", "a"), 1)
        with self.assertRaisesRegex(redis.ResponseError, "OOM|command not allowed"):
            for number in range(1000):
                client.execute_command("BF.RESERVE", f"small{number}", 0.01, 100_000)
        with self.assertRaisesRegex(redis.ResponseError, "OOM|command not allowed"):
            client.execute_command("BF.ADD", "k0", "b")
        self.assertEqual(client.execute_command("BF.EXISTS", "k0", "a"), 1)
        client.delete("k0", "k1", "k2", "k3")
        self.assertEqual(client.execute_command("BF.ADD", "k5", "a"), 1)

    def test_a_full_engine_lets_a_large_filter_be_cleared_and_replaced(self):
        engine = self.make_engine(maxmemory="30mb")
        client = self.client(engine)
        client.execute_command("BF.RESERVE", "k", 0.01, 10_000_000)
        client.execute_command("BF.ADD", "k", "a")
        self.assertEqual(client.execute_command("BF.CLEAR", "k"), b"OK")
        self.assertEqual(client.execute_command("BF.EXISTS", "k", "a"), 0)
        with self.assertRaisesRegex(redis.ResponseError, "^OOM .* that maxmemory allows"):
            client.execute_command("BF.RESERVE", "other", 0.01, 20_000_000)

    def test_filters_are_evicted(self):
        engine = self.make_engine(maxmemory="30mb", maxmemory_policy="allkeys-lru", lazyfree_lazy_eviction="no")
        client = self.client(engine)
        for number in range(200):
            client.execute_command("BF.RESERVE", f"k{number}", 0.01, 1_000_000)
            client.execute_command("BF.ADD", f"k{number}", "a")
        self.assertLess(client.dbsize(), 30)
        self.assertGreater(client.dbsize(), 5)
        self.assertGreater(client.info("stats")["evicted_keys"], 150)
        self.assertEqual(client.execute_command("BF.EXISTS", "k199", "a"), 1)
        self.assertLess(client.info("memory")["used_memory"], 33_000_000)

    def test_internal_commands_refuse_what_is_not_theirs(self):
        engine = self.make_engine()
        client = self.client(engine)
        client.set("text", "x")
        for command in (("BF.MADE", "k", ""), ("BF.MADE", "k", b"\1" + bytes(95)), ("BF.MADE", "k", b"\xff" * 96),
                        ("BF.MADE", "text", "x"), ("BF.AT", "k", 0, "BF.ADD", "a"), ("BF.AT", "k", "x", "BF.ADD", "a"),
                        ("BF.AT", "k", 5, "BF.EXISTS", "a"), ("BF.AT", "k", 5, "SET", "a"), ("BF.AT", "k", 5),
                        ("BF.AT", "k", 5, "BF.ADD"), ("BF.CONTENT", "k", 1, "x"), ("BF.CONTENT", "k", "x", "x"),
                        ("BF.CONTENT", "text", 1, "x")):
            with self.subTest(command=command), self.assertRaises(redis.ResponseError):
                client.execute_command(*command)
        self.assertEqual(client.dbsize(), 1)


if __name__ == "__main__":
    main()
