"""The module in the place of RedisBloom: what a client, a stream and a log of RedisBloom's get."""

import hashlib
import struct

import redis

from cuckoo_model import CuckooModel
from engine import EngineTest, main, wait_for_replica
from module_filters import dump_chunks
from redisbloom_fixtures import expected

NO_FILTER = "WRONGTYPE Operation against a key holding the wrong kind of value"


class DropInTest(EngineTest):
    def error_of(self, client, *command):
        with self.assertRaises(redis.ResponseError) as caught:
            client.execute_command(*command)
        return str(caught.exception)


class LookupsTest(DropInTest):
    def test_keys_that_hold_no_filter(self):
        """As of a key that does not exist, where RedisBloom answers so; WRONGTYPE where it does."""
        client = self.client(self.make_engine())
        client.set("text", "x")
        client.rpush("list", "x")
        for key in ("text", "list", "none"):
            for command, reply in ((("BF.EXISTS", key, "a"), 0), (("BF.MEXISTS", key, "a", "b"), [0, 0]),
                                   (("CF.EXISTS", key, "a"), 0), (("CF.MEXISTS", key, "a", "b"), [0, 0]),
                                   (("CF.COUNT", key, "a"), 0)):
                with self.subTest(command=command):
                    self.assertEqual(client.execute_command(*command), reply)
            self.assertEqual(self.error_of(client, "CF.DEL", key, "a"), "Not found")
            self.assertEqual(self.error_of(client, "CF.COMPACT", key), "Cuckoo filter was not found")
        for command in (("BF.ADD", "text", "a"), ("BF.MADD", "text", "a"), ("BF.INSERT", "text", "ITEMS", "a"),
                        ("BF.RESERVE", "text", 0.01, 10), ("BF.CARD", "text"), ("BF.INFO", "text"),
                        ("BF.SCANDUMP", "text", 0), ("BF.LOADCHUNK", "text", 1, "x"), ("CF.ADD", "text", "a"),
                        ("CF.ADDNX", "text", "a"), ("CF.INSERT", "text", "ITEMS", "a"), ("CF.RESERVE", "text", 10),
                        ("CF.INFO", "text"), ("CF.SCANDUMP", "text", 0), ("CF.LOADCHUNK", "text", 1, "x")):
            with self.subTest(command=command):
                self.assertIn(NO_FILTER.removeprefix("WRONGTYPE "), self.error_of(client, *command))
        self.assertEqual(client.get("text"), b"x")

    def test_in_scripts_and_transactions(self):
        client = self.client(self.make_engine())
        client.set("text", "x")
        self.assertEqual(client.eval("return redis.call('BF.EXISTS', KEYS[1], 'a')", 1, "text"), 0)
        with client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("CF.COUNT", "text", "a").execute_command("BF.MEXISTS", "text", "a")
            self.assertEqual(pipeline.execute(), [0, [0]])


class ArgumentsTest(DropInTest):
    def test_of_an_option_of_cf_reserve_given_twice_the_first_counts(self):
        client = self.client(self.make_engine())
        client.execute_command("CF.RESERVE", "k", 1000, "EXPANSION", 1, "BUCKETSIZE", 4, "EXPANSION", 8)
        self.assertIn(b"bktsize:4 buckets:256", client.execute_command("CF.DEBUG", "k"))
        self.assertIn(b"expansion:1", client.execute_command("CF.DEBUG", "k"))

    def test_words_that_redisbloom_passes_over_are_refused(self):
        client = self.client(self.make_engine())
        for command in (("BF.RESERVE", "k", 0.01, 100, "COLOUR", "blue"), ("CF.RESERVE", "k", 100, "COLOUR", "blue")):
            self.assertEqual(self.error_of(client, *command), "unknown option 'COLOUR'")
        for command in (("BF.INSERT", "k", "CAP", 100, "ITEMS", "a"), ("CF.INSERT", "k", "CAP", 100, "ITEMS", "a")):
            self.assertEqual(self.error_of(client, *command), "Unknown argument received")
        self.assertEqual(client.dbsize(), 0)


class CompactionTest(DropInTest):
    """CF.DEL compacts when RedisBloom's does, whatever the size of the filter."""

    @staticmethod
    def info(client, key):
        reply = client.execute_command("CF.INFO", key)
        return {name.decode(): value for name, value in zip(reply[::2], reply[1::2])}

    def assert_is_model(self, client, model):
        info = self.info(client, "k")
        self.assertEqual({name: info[name] for name in model.info()}, model.info())
        body = b"".join(chunk for _, chunk in list(dump_chunks(client, "k"))[1:])
        self.assertEqual(hashlib.sha256(body).digest(), hashlib.sha256(b"".join(model.tables)).digest())

    def test_the_model_is_redisblooms(self):
        expectation = expected("cuckoo")["c:deleted"]
        model = CuckooModel(64, expansion=2)
        for number in range(300):
            model.add(f"o-c:deleted:{number}")
        for number in range(200):
            model.remove(f"o-c:deleted:{number}")
        self.assertEqual([hashlib.sha256(table).hexdigest() for table in model.tables],
                         [chunk["sha256"] for chunk in expectation["chunks"][1:]])

    def test_bytes_after_removals(self):
        for capacity, expansion, items in ((1024, 2, 3000), (16384, 2, 40_000), (32768, 1, 90_000)):
            with self.subTest(capacity=capacity):
                master, replica = self.make_engine(appendonly="yes", bf_cf_max_expansions=1000), self.make_engine()
                replica.follow(master)
                client, model = self.client(master), CuckooModel(capacity, expansion=expansion)
                client.execute_command("CF.RESERVE", "k", capacity, "EXPANSION", expansion)
                for first in range(0, items, 1000):
                    client.execute_command("CF.INSERT", "k", "ITEMS", *range(first, first + 1000))
                for item in range(items):
                    model.add(item)
                self.assert_is_model(client, model)
                for part in (range(0, items, 2), range(1, items, 3)):
                    pipeline = client.pipeline(transaction=False)
                    for item in part:
                        pipeline.execute_command("CF.DEL", "k", item)
                    removed = pipeline.execute()
                    self.assertEqual(removed, [model.remove(item) for item in part])
                    self.assert_is_model(client, model)
                self.assertGreater(model.compactions, 5)
                wait_for_replica(master, replica)
                self.assert_is_model(self.client(replica), model)
                master.kill()
                master.start()
                self.assert_is_model(self.client(master), model)


class ChunksTest(DropInTest):
    """BF.LOADCHUNK and CF.LOADCHUNK of RedisBloom's form: the key is there from the header on."""

    def setUp(self):
        self.engine = self.make_engine(appendonly="yes")
        self.redis = self.client(self.engine)
        self.do = self.redis.execute_command
        self.do("BF.RESERVE", "bf", 0.01, 50, "TYPE", "redisbloom")
        self.do("BF.MADD", "bf", *range(500))
        self.do("CF.RESERVE", "cf", 64, "EXPANSION", 2)
        self.do("CF.INSERT", "cf", "ITEMS", *range(500))
        self.chunks = {key: list(dump_chunks(self.redis, key)) for key in ("bf", "cf")}

    def load(self, family, key, some):
        for cursor, chunk in some:
            self.assertEqual(self.do(f"{family}.LOADCHUNK", key, cursor, chunk), b"OK")

    def test_the_key_is_there_from_the_header_on(self):
        for family in ("BF", "CF"):
            with self.subTest(family=family):
                name, chunks = family.lower(), self.chunks[family.lower()]
                self.load(family, "to", chunks[:1])
                self.assertEqual((self.redis.exists("to"), self.redis.type("to")), (1, self.redis.type(name)))
                self.assertEqual(self.do(f"{family}.MEXISTS", "to", *range(500)), [0] * 500)
                self.assertTrue(self.redis.pexpireat("to", 4_102_444_800_000))
                self.load(family, "to", chunks[1:])
                self.assertEqual(list(dump_chunks(self.redis, "to")), chunks)
                self.assertEqual(self.redis.pexpiretime("to"), 4_102_444_800_000)
                self.redis.delete("to")

    def test_what_ends_the_key_ends_the_load(self):
        ends = (lambda: self.redis.delete("to"), lambda: self.redis.unlink("to"), self.redis.flushall,
                self.redis.flushdb, lambda: self.redis.expire("to", -1), lambda: self.redis.rename("to", "gone"))
        for family in ("BF", "CF"):
            for end in ends:
                chunks = self.chunks[family.lower()]
                self.load(family, "to", chunks[:2])
                end()
                self.assertEqual(self.redis.exists("to"), 0)
                for cursor, chunk in chunks[2:]:
                    self.assertEqual(self.error_of(self.redis, f"{family}.LOADCHUNK", "to", cursor, chunk),
                                     "not found")
                self.assertEqual(self.redis.exists("to"), 0)

    def test_a_load_goes_on_under_another_name_and_after_a_restart(self):
        for family in ("BF", "CF"):
            chunks = self.chunks[family.lower()]
            self.load(family, f"{family}:to", chunks[:2])
            self.redis.rename(f"{family}:to", f"{family}:renamed")
        self.engine.kill()
        self.engine.start()
        for family in ("BF", "CF"):
            self.load(family, f"{family}:renamed", self.chunks[family.lower()][2:])
            self.assertEqual(list(dump_chunks(self.redis, f"{family}:renamed")), self.chunks[family.lower()])

    def test_replicas_have_each_chunk(self):
        early, late = self.make_engine(bf_max_filter_bytes=1), self.make_engine(bf_max_filter_bytes=1)
        early.follow(self.engine)
        for family in ("BF", "CF"):
            self.load(family, f"{family}:to", self.chunks[family.lower()][:3])
        wait_for_replica(self.engine, early)
        self.assert_same(self.engine, early, ["BF:to", "CF:to"])
        late.follow(self.engine)
        for family in ("BF", "CF"):
            self.load(family, f"{family}:to", self.chunks[family.lower()][3:])
        for replica in (early, late):
            wait_for_replica(self.engine, replica)
            self.assert_same(self.engine, replica, ["bf", "cf", "BF:to", "CF:to"])

    def test_errors_are_redisblooms(self):
        header, first = self.chunks["bf"][0][1], self.chunks["bf"][1]
        self.load("BF", "to", self.chunks["bf"][:1])
        total = sum(len(chunk) for _, chunk in self.chunks["bf"][1:])
        for command, error in ((("BF.LOADCHUNK", "to", "x", "y"), "Second argument must be numeric"),
                               (("BF.LOADCHUNK", "none", 9, "x"), "not found"),
                               (("BF.LOADCHUNK", "none", 1, "x"), "received bad data"),
                               (("BF.LOADCHUNK", "none", 1, header + b"x"), "received bad data"),
                               (("BF.LOADCHUNK", "to", 1, header), "received bad data"),
                               (("BF.LOADCHUNK", "to", 0, "x"), "received bad data"),
                               (("BF.LOADCHUNK", "to", 3, "xxxx"), "received bad data"),
                               (("BF.LOADCHUNK", "to", total + 2, "x"), "invalid offset - no link found"),
                               (("BF.LOADCHUNK", "to", first[0] + 1, b"x" + first[1]),
                                "invalid chunk - Too big for current filter"),
                               (("BF.LOADCHUNK", "cf", 9, "x"), NO_FILTER)):
            with self.subTest(command=command[:3]):
                self.assertIn(error.removeprefix("WRONGTYPE "), self.error_of(self.redis, *command))
        header = self.chunks["cf"][0][1]
        self.load("CF", "cf:to", self.chunks["cf"][:1])
        total = sum(len(chunk) for _, chunk in self.chunks["cf"][1:])
        for command, error in ((("CF.LOADCHUNK", "cf:to", "x", "y"), "Invalid position"),
                               (("CF.LOADCHUNK", "cf:to", 0, "y"), "Invalid position"),
                               (("CF.LOADCHUNK", "none", 9, "x"), "not found"),
                               (("CF.LOADCHUNK", "none", 1, "x"), "Invalid header"),
                               (("CF.LOADCHUNK", "none", 1, b"\xff" * 38), "Couldn't create filter!"),
                               (("CF.LOADCHUNK", "cf:to", 1, header), "item exists"),
                               (("CF.LOADCHUNK", "cf:to", 9, ""), "Couldn't load chunk!"),
                               (("CF.LOADCHUNK", "cf:to", 3, "xxxx"), "Couldn't load chunk!"),
                               (("CF.LOADCHUNK", "cf:to", total + 2, "x"), "Couldn't load chunk!"),
                               (("CF.LOADCHUNK", "bf", 9, "x"), NO_FILTER)):
            with self.subTest(command=command[:3]):
                self.assertIn(error.removeprefix("WRONGTYPE "), self.error_of(self.redis, *command))

    def test_a_header_is_bounded_before_memory_is_taken(self):
        self.redis.config_set("maxmemory", "100mb")
        bloom = struct.pack("<QIII", 0, 1, 5, 2) + struct.pack("<QQQddIQB", 1 << 40, 1 << 43, 0, 0.01, 9.6, 7, 10**9, 0)
        cuckoo = struct.pack("<QQQQHHH", 0, 1 << 40, 0, 1, 2, 20, 1)
        before = self.redis.info("memory")["used_memory"]
        for command in (("BF.LOADCHUNK", "k", 1, bloom), ("CF.LOADCHUNK", "k", 1, cuckoo)):
            with self.subTest(command=command[0]):
                self.assertIn("that maxmemory allows", self.error_of(self.redis, *command))
        self.assertEqual(self.redis.exists("k"), 0)
        self.assertLess(self.redis.info("memory")["used_memory_peak"] - before, 10_000_000)

    def test_own_dumps_appear_when_they_are_whole(self):
        self.do("BF.RESERVE", "blocked", 0.01, 1000, "TYPE", "blocked")
        self.do("BF.MADD", "blocked", *range(900))
        (cursor, dump), = dump_chunks(self.redis, "blocked")
        self.do("BF.LOADCHUNK", "to", cursor, dump[:200])
        self.assertEqual(self.redis.exists("to"), 0)
        self.do("BF.LOADCHUNK", "to", cursor + 1, dump[200:])
        self.assertEqual(self.do("BF.MEXISTS", "to", *range(900)), [1] * 900)


class OptionsTest(DropInTest):
    def test_ranges_are_reported_in_redisblooms_words(self):
        client = self.client(self.make_engine(), decode_responses=True)
        for name, value, words in (
                ("bf-error-rate", "0", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"),
                ("bf-error-rate", "1", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"),
                ("bf-error-rate", "x", "Invalid value for `bf-error-rate`"),
                ("bf-error-rate", "nan", "Invalid value for `bf-error-rate`"),
                ("bf-initial-size", 0, "Value for `bf-initial-size` must be in the range [1, 1073741824]"),
                ("bf-initial-size", -5, "Value for `bf-initial-size` must be in the range [1, 1073741824]"),
                ("bf-expansion-factor", 32769, "Value for `bf-expansion-factor` must be in the range [0, 32768]"),
                ("cf-bucket-size", 0, "Value for `cf-bucket-size` must be in the range [1, 255]"),
                ("cf-bucket-size", 256, "Value for `cf-bucket-size` must be in the range [1, 255]"),
                ("cf-initial-size", 3, "Value for `cf-initial-size` must be in the range [4, 1073741824]"),
                ("cf-max-iterations", 65536, "Value for `cf-max-iterations` must be in the range [1, 65535]"),
                ("cf-expansion-factor", -1, "Value for `cf-expansion-factor` must be in the range [0, 32768]"),
                ("cf-max-expansions", 0, "Value for `cf-max-expansions` must be in the range [1, 65536]"),
                ("default-capacity", 0, "Value for `default-capacity` must be in the range [1, 1073741824]")):
            with self.subTest(name=name, value=value):
                before = client.config_get("bf.*")
                self.assertIn(words, self.error_of(client, "CONFIG", "SET", "bf." + name, value))
                self.assertEqual(client.config_get("bf.*"), before)
        client.config_set("bf.cf-bucket-size", 5)
        self.assertIn("must be in the range [10, 1073741824]",
                      self.error_of(client, "CONFIG", "SET", "bf.cf-initial-size", 9))
        client.config_set("bf.cf-initial-size", 100)
        self.assertIn("`cf-bucket-size` must be in the range [1, 50]",
                      self.error_of(client, "CONFIG", "SET", "bf.cf-bucket-size", 51))
        client.config_set("bf.bf-error-rate", "0.4")
        self.assertEqual(client.config_get("bf.bf-error-rate"), {"bf.bf-error-rate": "0.25"})

    def test_a_file_with_a_value_out_of_range_is_not_loaded(self):
        engine = self.make_engine(start=False, bf_bf_initial_size=0)
        engine.spawn()
        self.assertNotEqual(engine.wait(), 0)
        self.assertIn("Value for `bf-initial-size` must be in the range [1, 1073741824]", engine.log())


if __name__ == "__main__":
    main()
