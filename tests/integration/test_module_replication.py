"""What replicas of the module get: the same filters in every byte, whatever their defaults."""

from engine import EngineTest, main, wait_for_replica
from harness import wait_until
from module_filters import dump_chunks, is_frozen, make_filters, names_of

OTHER_DEFAULTS = {"bf_default_type": "cuckoo", "bf_default_capacity": 17, "bf_default_error_rate": "0.2",
                  "bf_default_expansion": 5, "bf_cf_bucket_size": 7, "bf_cf_initial_size": 99,
                  "bf_cf_max_expansions": 1, "bf_max_filter_bytes": 1}


class ReplicationTest(EngineTest):
    def make_pair(self, **options):
        master = self.make_engine(**options)
        replica = self.make_engine(**OTHER_DEFAULTS)
        return master, replica

    def assert_equal_filters(self, master, replica, names):
        wait_for_replica(master, replica)
        for engine in (master, replica):
            client = self.client(engine)
            if "frozen" in names:
                wait_until(lambda: is_frozen(client, "frozen"), 20, "it is frozen")
            self.assertEqual(names_of(client), names)
        ours, theirs = master.digests(names), replica.digests(names)
        self.assertEqual([name for name in names if ours[name] != theirs[name]], [])
        self.assertNotIn(b"0" * 40, ours.values())

    def test_by_stream(self):
        master, replica = self.make_pair()
        replica.follow(master)
        names = make_filters(self.client(master))
        self.assert_equal_filters(master, replica, names)
        self.assertEqual(self.client(replica).pexpiretime("fixed"), 4_102_444_800_000)

    def test_by_full_sync(self):
        master, replica = self.make_pair()
        names = make_filters(self.client(master))
        replica.follow(master)
        self.assert_equal_filters(master, replica, names)

    def test_a_replica_that_joins_in_the_middle_of_a_load(self):
        master, replica = self.make_pair()
        client = self.client(master)
        client.execute_command("BF.RESERVE", "from", 0.01, 50, "TYPE", "redisbloom")
        client.execute_command("BF.MADD", "from", *range(500))
        client.execute_command("CF.INSERT", "cf", "CAPACITY", 64, "ITEMS", *range(500))
        chunks, cf_chunks = list(dump_chunks(client, "from")), list(dump_chunks(client, "cf"))
        half = len(chunks) // 2
        for cursor, chunk in chunks[:half]:
            client.execute_command("BF.LOADCHUNK", "to", cursor, chunk)
        for cursor, chunk in cf_chunks[:half]:
            client.execute_command("CF.LOADCHUNK", "cf:to", cursor, chunk)
        replica.follow(master)
        for cursor, chunk in chunks[half:]:
            client.execute_command("BF.LOADCHUNK", "to", cursor, chunk)
        for cursor, chunk in cf_chunks[half:]:
            client.execute_command("CF.LOADCHUNK", "cf:to", cursor, chunk)
        self.assert_equal_filters(master, replica, ["cf", "cf:to", "from", "to"])
        digests = replica.digests(["from", "to", "cf", "cf:to"])
        self.assertEqual(digests["from"], digests["to"])
        self.assertEqual(digests["cf"], digests["cf:to"])

    def test_what_changes_nothing_is_not_sent(self):
        master, replica = self.make_pair()
        replica.follow(master)
        client = self.client(master)
        client.execute_command("BF.MADD", "k", *range(10))
        client.execute_command("CF.ADD", "c", "a")

        def offset():
            return client.info("replication")["master_repl_offset"]
        wait_for_replica(master, replica)
        for command in (("BF.ADD", "k", 1), ("BF.MADD", "k", 1, 2), ("BF.INSERT", "k", "ITEMS", 3),
                        ("BF.RESERVE", "k", 0.01, 100, "IFNOTEXISTS"), ("CF.ADDNX", "c", "a"), ("CF.DEL", "c", "b"),
                        ("BF.EXISTS", "k", 1), ("BF.SCANDUMP", "k", 0)):
            before = offset()
            client.execute_command(*command)
            self.assertLess(offset() - before, 20, command)  # a PING at most

    def test_a_transaction_stays_one(self):
        master, replica = self.make_pair()
        replica.follow(master)
        with self.client(master).pipeline(transaction=True) as pipeline:
            for item in range(20):
                pipeline.execute_command("BF.ADD", f"k{item % 5}", item)
            pipeline.execute()
        self.client(master).eval("for i = 1, 50 do redis.call('BF.ADD', KEYS[1], i) end", 1, "script")
        self.assert_equal_filters(master, replica, ["k0", "k1", "k2", "k3", "k4", "script"])

    def test_a_replica_of_a_replica(self):
        master, replica = self.make_pair()
        third = self.make_engine(**OTHER_DEFAULTS)
        replica.follow(master)
        third.follow(replica)
        names = make_filters(self.client(master))
        self.assert_equal_filters(master, replica, names)
        self.assert_equal_filters(replica, third, names)

    def test_a_promoted_replica_goes_on_alike(self):
        master, replica = self.make_pair()
        replica.follow(master)
        client = self.client(master)
        client.execute_command("BF.INSERT", "k", "CAPACITY", 20, "ITEMS", *range(100))
        wait_for_replica(master, replica)
        self.client(replica).replicaof("NO", "ONE")
        self.client(replica).config_set("bf.max-filter-bytes", 0)
        for engine in (master, replica):
            self.client(engine).execute_command("BF.MADD", "k", *range(100, 500))
        self.assert_same(master, replica, ["k"])


if __name__ == "__main__":
    main()
