"""Filter commands on the module: what the engine knows of them, and of the values they make."""

import unittest

import redis

from engine import EngineTest, main, module_path
from filter_types import needed_options, type_names
from harness import wait_until


class CommandsTest(EngineTest):
    def setUp(self):
        self.engine = self.make_engine()
        self.redis = self.client(self.engine, decode_responses=True)
        self.do = self.redis.execute_command

    def test_every_type_adds_and_finds(self):
        for name in type_names(by_reserve=True):
            with self.subTest(type=name):
                self.do("BF.RESERVE", name, 0.01, 1000, "TYPE", name, *needed_options(name))
                self.assertGreater(self.do("BF.MADD", name, *range(500)).count(1), 480)
                self.assertEqual(self.do("BF.MEXISTS", name, *range(500)), [1] * 500)
                self.assertLess(sum(self.do("BF.MEXISTS", name, *range(10_000, 11_000))), 50)

    def test_cuckoo_filters(self):
        self.assertEqual(self.do("CF.RESERVE", "c", 1000), "OK")
        self.assertEqual(self.do("CF.ADD", "c", "a"), 1)
        self.assertEqual(self.do("CF.ADDNX", "c", "a"), 0)
        self.assertEqual(self.do("CF.INSERT", "c", "ITEMS", "a", "b"), [1, 1])
        self.assertEqual(self.do("CF.COUNT", "c", "a"), 2)
        self.assertEqual(self.do("CF.DEL", "c", "b"), 1)
        self.assertEqual(self.do("CF.EXISTS", "c", "b"), 0)
        self.assertEqual(self.do("TYPE", "c"), "MBbloomCF")

    def test_resp3_has_its_types(self):
        connection = self.engine.connect(version=3)
        self.assertEqual(connection.command("BF.ADD", "k", "a"), b"#t\r\n")
        self.assertEqual(connection.command("BF.MEXISTS", "k", "a", "b"), b"*2\r\n#t\r\n#f\r\n")
        self.assertTrue(connection.command("BF.INFO", "k").startswith(b"%5\r\n"))
        self.assertEqual(connection.command("BF.EXISTSIN", "a", "none"), b"*1\r\n_\r\n")

    def test_errors_name_what_was_wrong(self):
        self.redis.set("text", "x")
        for command, error in {("BF.ADD", "text", "a"): "WRONGTYPE",
                               ("BF.RESERVE", "k", 2, 10): "error rate",
                               ("BF.INFO", "none"): "not found",
                               ("BF.ADD", "k"): "wrong number of arguments"}.items():
            with self.subTest(command=command), self.assertRaisesRegex(redis.ResponseError, error):
                self.do(*command)
        self.assertEqual(self.redis.exists("k"), 0)

    def test_engine_describes_the_commands(self):
        docs = self.engine.connect().command("COMMAND", "DOCS", "bf.reserve", "bf.merge")
        self.assertIn(b"Creates an empty filter for a capacity and an error rate.", docs)
        self.assertIn(b"sourcekey", docs)
        keys = self.engine.connect().command("COMMAND", "GETKEYSANDFLAGS", "BF.MERGE", "to", "from")
        self.assertRegex(keys, rb"(?s)\bto\b.*\bRW\b.*\bfrom\b.*\bRO\b")
        keys = self.engine.connect().command("COMMAND", "GETKEYS", "BF.EXISTSIN", "item", "a", "b")
        self.assertEqual(keys, b"*2\r\n$1\r\na\r\n$1\r\nb\r\n")

    def test_acl_keeps_users_to_commands_and_keys(self):
        self.do("BF.ADD", "k", "a")
        self.do("ACL", "SETUSER", "reader", "on", "nopass", "~k", "+bf.exists", "+bf.existsin")
        reader = self.client(self.engine, username="reader", password="x")
        self.assertEqual(reader.execute_command("BF.EXISTS", "k", "a"), 1)
        for command in (("BF.ADD", "k", "b"), ("BF.EXISTS", "other", "a"), ("BF.EXISTSIN", "a", "k", "other"),
                        ("BF.MADE", "k", "x"), ("BF.CONTENT", "k", 1, "x")):
            with self.subTest(command=command), self.assertRaises(redis.exceptions.NoPermissionError):
                reader.execute_command(*command)

    def test_acl_categories(self):
        if "bloom" not in self.do("ACL", "CAT"):
            self.skipTest("this engine puts no command of a module into a category")
        self.do("BF.ADD", "k", "a")
        self.do("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read")
        self.do("ACL", "SETUSER", "writer", "on", "nopass", "~*", "+@all", "-@dangerous")
        reader = self.client(self.engine, username="reader", password="x")
        writer = self.client(self.engine, username="writer", password="x")
        self.assertEqual(reader.execute_command("BF.EXISTS", "k", "a"), 1)
        self.assertEqual(writer.execute_command("BF.ADD", "k", "b"), 1)
        for client, command in ((reader, ("BF.ADD", "k", "b")), (writer, ("BF.MADE", "m", "x"))):
            with self.subTest(command=command), self.assertRaises(redis.exceptions.NoPermissionError):
                client.execute_command(*command)

    def test_keys_are_the_engines(self):
        self.do("BF.MADD", "k", *range(100))
        digest = self.engine.digests(["k"])["k"]
        self.assertTrue(self.redis.copy("k", "copy"))
        self.redis.rename("k", "renamed")
        self.redis.restore("restored", 0, self.client(self.engine).dump("renamed"))
        self.assertEqual(set(self.engine.digests(["renamed", "copy", "restored"]).values()), {digest})
        self.do("BF.ADD", "copy", "another")
        self.assertNotEqual(self.engine.digests(["copy"])["copy"], digest)
        self.assertEqual(self.do("BF.EXISTS", "renamed", "another"), 0)
        self.assertEqual(sorted(self.redis.scan_iter(_type="MBbloom--")), ["copy", "renamed", "restored"])
        self.redis.pexpire("copy", 1)
        wait_until(lambda: self.redis.dbsize() == 2, 10, "a filter expires")

    def test_memory_is_counted_and_given_back(self):
        before = self.redis.info("memory")["used_memory"]
        self.do("BF.RESERVE", "k", 0.01, 1_000_000)
        usage = self.redis.memory_usage("k")
        self.assertGreater(usage, 1_000_000)
        self.assertAlmostEqual(self.redis.info("memory")["used_memory"] - before, usage, delta=200_000)
        self.assertEqual(self.redis.info("modules")["bf_filters"], 1)
        self.redis.delete("k")
        wait_until(lambda: self.redis.info("memory")["used_memory"] - before < 200_000, 10, "it gives its memory back")
        self.assertEqual(self.redis.info("modules")["bf_filters"], 0)

    def test_small_filters_take_little(self):
        count = 10_000
        before = self.redis.info("memory")["used_memory"]
        pipeline = self.redis.pipeline(transaction=False)
        for i in range(count):
            pipeline.execute_command("BF.ADD", f"filter:{i:06}", "item")
        pipeline.execute()
        each = (self.redis.info("memory")["used_memory"] - before) / count
        self.assertLess(each, 356)

    def test_transactions_scripts_and_watch(self):
        with self.redis.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("BF.ADD", "k", "a").execute_command("BF.EXISTS", "k", "a")
            self.assertEqual(pipeline.execute(), [1, 1])
        self.assertEqual(self.redis.eval("return redis.call('BF.ADD', KEYS[1], ARGV[1])", 1, "k", "b"), 1)
        other = self.client(self.engine)
        with self.redis.pipeline() as pipeline:
            pipeline.watch("k")
            self.assertEqual(other.execute_command("BF.ADD", "k", "a"), 0)  # it changes nothing
            pipeline.multi()
            pipeline.execute_command("BF.CARD", "k")
            self.assertEqual(pipeline.execute(), [2])
            pipeline.watch("k")
            self.assertEqual(other.execute_command("BF.ADD", "k", "c"), 1)
            pipeline.multi()
            pipeline.execute_command("BF.CARD", "k")
            with self.assertRaises(redis.WatchError):
                pipeline.execute()

    def test_events_bear_the_commands_names(self):
        self.redis.config_set("notify-keyspace-events", "KEd")
        listener = self.redis.pubsub(ignore_subscribe_messages=True)
        self.addCleanup(listener.close)
        listener.psubscribe("__keyspace@0__:*")
        listener.get_message(timeout=5)
        self.do("BF.RESERVE", "k", 0.01, 10)
        self.do("BF.ADD", "k", "a")
        self.do("BF.ADD", "k", "a")  # nothing
        self.do("BF.MADD", "k", *range(100))
        events = []
        while message := listener.get_message(timeout=0.5):
            events.append(message["data"])
        self.assertEqual(events, ["bf.reserve", "bf.add", "bf.madd", "grown"])

    def test_large_filters_are_freed_aside(self):
        self.do("BF.RESERVE", "k", 0.01, 10_000_000)
        before = self.redis.info("memory")["lazyfreed_objects"]
        self.redis.unlink("k")
        wait_until(lambda: self.redis.info("memory")["lazyfreed_objects"] == before + 1, 10, "it is freed by a thread")

    def test_a_ribbon_filter_is_frozen_in_the_background(self):
        self.do("BF.RESERVE", "k", 0.01, 1000, "TYPE", "ribbon")
        self.do("BF.MADD", "k", *range(1000))
        self.assertEqual(self.do("BF.FREEZE", "k"), "OK")
        self.redis.rename("k", "renamed")
        wait_until(lambda: self.do("BF.INFO", "renamed", "STATE") == ["frozen"], 10, "the filter is frozen")
        self.assertEqual(self.do("BF.MEXISTS", "renamed", *range(1000)), [1] * 1000)
        with self.assertRaisesRegex(redis.ResponseError, "frozen"):
            self.do("BF.ADD", "renamed", "another")


class OptionsTest(EngineTest):
    def test_defaults_may_be_set_at_run_time_and_are_checked(self):
        engine = self.make_engine()
        client = self.client(engine, decode_responses=True)
        client.config_set("bf.default-type", "cuckoo")
        client.config_set("bf.default-capacity", 5000)
        client.config_set("bf.default-error-rate", "0.001")
        client.execute_command("BF.ADD", "k", "a")
        info = client.execute_command("BF.INFO", "k", "FULL")
        info = dict(zip(info[::2], info[1::2]))
        self.assertEqual((info["Type"], info["Capacity"], info["Error rate"]), ("cuckoo", 5000, "0.001"))
        for name, value in {"default-error-rate": "7", "default-capacity": "0", "default-type": "window",
                            "cf-bucket-size": "999"}.items():
            with self.subTest(name=name), self.assertRaises(redis.ResponseError):
                client.config_set("bf." + name, value)

    def test_redisblooms_names_are_aliases(self):
        engine = self.make_engine(bf_bf_error_rate="0.002", bf_default_capacity=300)
        client = self.client(engine, decode_responses=True)
        self.assertEqual(client.config_get("bf.default-error-rate"), {"bf.default-error-rate": "0.002"})
        self.assertEqual(client.config_get("bf.bf-initial-size"), {"bf.bf-initial-size": "300"})
        client.config_set("bf.bf-initial-size", 400)
        self.assertEqual(client.config_get("bf.default-capacity"), {"bf.default-capacity": "400"})

    def test_arguments_of_loadmodule(self):
        engine = self.make_engine(
            arguments="ERROR_RATE 0.003 INITIAL_SIZE 700 cf-max-expansions 9 max-filter-bytes 1mb "
                      "changes-memory 2mb")
        client = self.client(engine, decode_responses=True)
        self.assertEqual(client.config_get("bf.*"), {
            **client.config_get("bf.*"), "bf.default-error-rate": "0.003", "bf.default-capacity": "700",
            "bf.cf-max-expansions": "9", "bf.max-filter-bytes": "1048576",
            "bf.changes-memory": "2097152"})

    def test_a_second_module_of_these_commands_is_refused(self):
        engine = self.make_engine(start=False, loadmodule=module_path())
        engine.spawn()
        self.assertNotEqual(engine.wait(), 0)
        self.assertIn("is already loaded: load only one of them", engine.log())

    def test_unknown_arguments_end_the_start_and_are_named(self):
        cases = {"colour blue": "colour", "INITIAL_SIZE many": "many", "error_rate": "missing",
                 "changes-memory 0": "changes-memory"}
        for arguments, reason in cases.items():
            with self.subTest(arguments=arguments):
                engine = self.make_engine(start=False, arguments=arguments)
                engine.spawn()
                self.assertNotEqual(engine.wait(), 0)
                self.assertIn(reason, engine.log())


if __name__ == "__main__":
    main()
