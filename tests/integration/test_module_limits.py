"""What a client cannot make the engine do: filters without bound, a full memory, bytes that are none of ours."""

import redis

from engine import EngineTest, main
from module_filters import dump_chunks


class LimitsTest(EngineTest):
    def test_a_filter_that_would_be_too_large_is_refused_before_memory_is_taken(self):
        engine = self.make_engine()
        client = self.client(engine)
        before = client.info("memory")["used_memory"]
        for command in (("BF.RESERVE", "k", 0.01, 10**9), ("BF.RESERVE", "k", 0.01, 10**9, "TYPE", "classic"),
                        ("BF.RESERVE", "k", 0.001, 10**9, "TYPE", "cuckoo"), ("CF.RESERVE", "k", 10**9),
                        ("BF.INSERT", "k", "CAPACITY", 10**9, "ITEMS", "a"),
                        ("CF.INSERT", "k", "CAPACITY", 10**9, "ITEMS", "a")):
            with self.subTest(command=command):
                with self.assertRaisesRegex(redis.ResponseError, "max-filter-bytes allows, which is 67108864 bytes"):
                    client.execute_command(*command)
        self.assertEqual(client.dbsize(), 0)
        self.assertLess(client.info("memory")["used_memory"] - before, 1_000_000)
        self.assertLess(client.info("memory")["used_memory_peak"] - before, 10_000_000)

    def test_growth_ends_at_the_limit_and_loses_nothing(self):
        engine = self.make_engine(bf_max_filter_bytes="256kb", bf_cf_max_expansions=60_000)
        client = self.client(engine)
        for family, add, find in (("BF", "BF.MADD", "BF.MEXISTS"), ("CF", "CF.INSERT", "CF.MEXISTS")):
            with self.subTest(family=family):
                kept, refused = [], 0
                while not refused and len(kept) < 10**6:
                    items = range(len(kept), len(kept) + 1000)
                    words = ("ITEMS", *items) if family == "CF" else items
                    outcomes = client.execute_command(add, family, *words)
                    refused = sum(isinstance(each, redis.ResponseError) or each == -1 for each in outcomes)
                    kept += [item for item, outcome in zip(items, outcomes) if outcome in (0, 1)]
                    if family == "BF" and refused:
                        self.assertIn("max-filter-bytes", str(outcomes[-1]))
                self.assertGreater(refused, 0)
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
        with self.assertRaisesRegex(redis.ResponseError, "OOM|command not allowed"):
            for number in range(100):
                client.execute_command("BF.RESERVE", f"k{number}", 0.01, 1_000_000)
        with self.assertRaisesRegex(redis.ResponseError, "OOM|command not allowed"):
            client.execute_command("BF.ADD", "k0", "a")
        self.assertEqual(client.execute_command("BF.EXISTS", "k0", "a"), 0)
        client.delete("k0", "k1", "k2", "k3")
        self.assertEqual(client.execute_command("BF.ADD", "k5", "a"), 1)

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
