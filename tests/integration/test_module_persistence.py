"""What the module's filters are after a restart: by RDB file, by append-only file as written and as rewritten."""

import threading

import redis

from engine import EngineTest, main, wait_for_no_child
from harness import wait_until
from module_filters import is_frozen, make_filters


class PersistenceTest(EngineTest):
    def state(self, engine, names):
        client = self.client(engine)
        wait_until(lambda: is_frozen(client, "frozen"), 20, "it is frozen")
        return engine.digests(names)

    def assert_same_after_kill(self, engine, names, **options):
        before = self.state(engine, names)
        engine.kill()
        engine.options.update(options)
        engine.start()
        wait_until(lambda: not self.client(engine).info("persistence")["loading"], 20, "it is loaded")
        after = self.state(engine, names)
        self.assertEqual([name for name in names if before[name] != after[name]], [])
        self.assertEqual(self.client(engine).pexpiretime("fixed"), 4_102_444_800_000)

    def test_by_rdb_file(self):
        engine = self.make_engine()
        names = make_filters(self.client(engine))
        self.client(engine).save()
        self.assert_same_after_kill(engine, names)

    def test_by_rdb_file_of_a_forked_child(self):
        engine = self.make_engine()
        client = self.client(engine)
        names = make_filters(client)
        client.bgsave()
        wait_for_no_child(client)
        self.assert_same_after_kill(engine, names)

    def test_a_filter_that_is_being_frozen(self):
        engine = self.make_engine()
        client = self.client(engine)
        client.execute_command("BF.RESERVE", "frozen", 0.01, 300_000, "TYPE", "ribbon")
        for start in range(0, 300_000, 10_000):
            client.execute_command("BF.MADD", "frozen", *range(start, start + 10_000))
        client.execute_command("BF.FREEZE", "frozen")
        client.save()
        engine.kill()
        engine.start()
        self.state(engine, ["frozen"])
        self.assertEqual(self.client(engine).execute_command("BF.MEXISTS", "frozen", *range(1000)), [1] * 1000)

    def test_by_log_as_written(self):
        engine = self.make_engine(appendonly="yes", auto_aof_rewrite_percentage=0)
        self.assert_same_after_kill(engine, make_filters(self.client(engine)), bf_default_type="cuckoo",
                                    bf_default_capacity=9, bf_max_filter_bytes=1, bf_cf_max_expansions=1)

    def test_by_log_as_rewritten(self):
        for preamble in ("yes", "no"):
            with self.subTest(preamble=preamble):
                engine = self.make_engine(appendonly="yes", aof_use_rdb_preamble=preamble)
                client = self.client(engine)
                names = make_filters(client)
                wait_for_no_child(client)
                client.bgrewriteaof()
                wait_for_no_child(client)
                client.execute_command("BF.MADD", "default", *range(1000))
                self.assert_same_after_kill(engine, names, bf_default_type="cuckoo", bf_max_filter_bytes=1)

    def test_no_acknowledged_item_is_lost_by_a_kill(self):
        engine = self.make_engine(appendonly="yes")
        acknowledged = []

        def write():
            client = engine.client()
            try:
                for first in range(0, 10**9, 50):
                    client.execute_command("BF.MADD", f"k{first % 7}", *range(first, first + 50))
                    client.execute_command("CF.INSERT", "cf", "ITEMS", *range(first, first + 50))
                    acknowledged.append(first)
            except redis.RedisError:
                pass
        writer = threading.Thread(target=write)
        writer.start()
        wait_until(lambda: len(acknowledged) > 100, 20, "some are acknowledged")
        self.client(engine).bgrewriteaof()
        wait_until(lambda: len(acknowledged) > 300, 20, "some more are acknowledged")
        engine.kill()
        writer.join()
        engine.start()
        client = self.client(engine)
        for first in acknowledged:
            items = range(first, first + 50)
            self.assertEqual(client.execute_command("BF.MEXISTS", f"k{first % 7}", *items), [1] * 50)
            self.assertEqual(client.execute_command("CF.MEXISTS", "cf", *items), [1] * 50)

    def test_dump_and_restore_and_migrate(self):
        source, target = self.make_engine(), self.make_engine(bf_default_type="cuckoo", bf_cf_max_expansions=1)
        client = self.client(source)
        names = make_filters(client)
        before = self.state(source, names)
        for name in names:
            client.migrate("127.0.0.1", target.port, name, 0, 10_000, copy=True)
        self.assertEqual(self.state(target, names), before)

    def test_hostile_payloads_are_refused(self):
        engine = self.make_engine()
        client = self.client(engine)
        client.execute_command("BF.MADD", "k", *range(100))
        payload = client.dump("k")
        for position in range(0, len(payload), 3):
            damaged = payload[:position] + bytes([payload[position] ^ 1]) + payload[position + 1:]
            with self.assertRaises(redis.ResponseError):
                client.restore("damaged", 0, damaged)
        self.assertEqual(client.dbsize(), 1)


if __name__ == "__main__":
    main()
