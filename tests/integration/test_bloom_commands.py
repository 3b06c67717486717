"""BF.*: replies and error texts to the letter, in both protocol versions, by hand and through redis-py."""

import itertools
import math
import time

import redis
from filter_types import needed_options, type_names
from harness import PATIENCE, ServerTest, arity, encode, main, wait_until

NOT_FOUND = b"-ERR not found\r\n"
EXISTS = b"-ERR item exists\r\n"
OK = b"+OK\r\n"


def error(text):
    return b"-" + text.encode() + b"\r\n"


ERROR_RATE = error("ERR error rate must be in the range (0.000000, 1.000000): "
                   "from 1e-9 to 0.25, or a larger one below 1, which is taken as 0.25")


class Reserve(ServerTest):
    def test_replies(self):
        for version in (2, 3):
            self.setUp()
            self.assert_replies(version, [
                ("BF.RESERVE k 0.01 1000", OK),
                ("BF.RESERVE k 0.01 1000", EXISTS),
                ("bf.reserve lower 1e-3 100 expansion 4", OK),
                ("BF.RESERVE n 0.01 100 NONSCALING", OK),
                ("BF.RESERVE e0 0.01 100 EXPANSION 0", OK),
                ("BF.RESERVE e0n 0.01 100 EXPANSION 0 NONSCALING", OK),
                ("BF.RESERVE most 0.01 100 NONSCALING TYPE classic SEED 18446744073709551615 TIGHTENING 0.5", OK),
                ("BF.RESERVE large_rate 0.9 100", OK),
                ("BF.INFO e0 EXPANSION", b"*1\r\n$-1\r\n" if version == 2 else b"%1\r\n+Expansion rate\r\n_\r\n"),
            ])

    def test_errors(self):
        self.assert_replies(2, [
            ("BF.RESERVE", arity("bf.reserve")),
            ("BF.RESERVE k 0.01", arity("bf.reserve")),
            ("BF.RESERVE k x 100", error("ERR bad error rate")),
            ("BF.RESERVE k nan 100", error("ERR bad error rate")),
            ('BF.RESERVE k " 0.01" 100', error("ERR bad error rate")),
            ("BF.RESERVE k 0 100", ERROR_RATE),
            ("BF.RESERVE k 1e-10 100", ERROR_RATE),
            ("BF.RESERVE k 1 100", ERROR_RATE),
            ("BF.RESERVE k -0.1 100", ERROR_RATE),
            ("BF.RESERVE k inf 100", ERROR_RATE),
            ("BF.RESERVE k 0.01 x", error("ERR bad capacity")),
            ("BF.RESERVE k 0.01 1.5", error("ERR bad capacity")),
            ("BF.RESERVE k 0.01 +1", error("ERR bad capacity")),
            ('BF.RESERVE k 0.01 "1 "', error("ERR bad capacity")),
            ("BF.RESERVE k 0.01 0", error("ERR capacity must be in the range [1, 1073741824]")),
            ("BF.RESERVE k 0.01 -1", error("ERR capacity must be in the range [1, 1073741824]")),
            ("BF.RESERVE k 0.01 1073741825", error("ERR capacity must be in the range [1, 1073741824]")),
            ("BF.RESERVE k 0.01 1099511627776", error("ERR capacity must be in the range [1, 1073741824]")),
            ("BF.RESERVE k 0.01 100 EXPANSION", error("ERR no expansion")),
            ("BF.RESERVE k 0.01 100 EXPANSION x", error("ERR bad expansion")),
            ("BF.RESERVE k 0.01 100 EXPANSION 32769", error("ERR expansion must be in the range [0, 32768]")),
            ("BF.RESERVE k 0.01 100 EXPANSION -1", error("ERR expansion must be in the range [0, 32768]")),
            ("BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING", error("Nonscaling filters cannot expand")),
            ("BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2", error("Nonscaling filters cannot expand")),
            ("DBSIZE", b":0\r\n"),
        ])

    def test_checks_come_in_redisblooms_order(self):
        self.assert_replies(2, [
            ("BF.RESERVE k 0.01 100", OK),
            ("BF.RESERVE k x y EXPANSION", error("ERR bad error rate")),
            ("BF.RESERVE k 2 y EXPANSION", ERROR_RATE),
            ("BF.RESERVE k 0.1 y EXPANSION", error("ERR bad capacity")),
            ("BF.RESERVE k 0.1 0 EXPANSION", error("ERR capacity must be in the range [1, 1073741824]")),
            ("BF.RESERVE k 0.1 1 EXPANSION", error("ERR no expansion")),
            ("BF.RESERVE k 0.1 1", EXISTS),
        ])

    def test_own_options_and_unknown_words(self):
        connection = self.connect()
        for line in ("BF.RESERVE k 0.01 100 TYPE", "BF.RESERVE k 0.01 100 TYPE magic", "BF.RESERVE k 0.01 100 SEED",
                     "BF.RESERVE k 0.01 100 SEED -1", "BF.RESERVE k 0.01 100 SEED 18446744073709551616",
                     "BF.RESERVE k 0.01 100 TIGHTENING 1", "BF.RESERVE k 0.01 100 TIGHTENING 0",
                     "BF.RESERVE k 0.01 100 FOO",
                     "BF.RESERVE k 0.01 100 NOSCALING", "BF.RESERVE k 0.01 100 100"):
            with self.subTest(line=line):
                self.assertTrue(connection.ask(line.encode() + b"\r\n").startswith(b"-ERR "))
        self.assertEqual(connection.command("DBSIZE"), b":0\r\n")
        self.assertIn(b"'FOO'", connection.command("BF.RESERVE", "k", "0.01", "100", "FOO"))
        self.assertIn(b"blocked", connection.command("BF.RESERVE", "k", "0.01", "100", "TYPE", "magic"))

    def test_ifnotexists(self):
        connection = self.connect()
        make = ("BF.RESERVE", "k", "0.01", "100", "TYPE", "classic", "SEED", "7", "IFNOTEXISTS")
        self.assertEqual([connection.command(*make) for _ in range(3)], [OK] * 3)
        other = connection.command("BF.RESERVE", "k", "0.02", "100", "TYPE", "classic", "SEED", "7", "IFNOTEXISTS")
        self.assertRegex(other, rb"^-ERR item exists with a different error rate")

    def test_a_key_may_be_called_like_an_option(self):
        self.assert_replies(2, [
            ("BF.RESERVE EXPANSION 0.01 100", OK),
            ("BF.RESERVE NONSCALING 0.01 100", OK),
            ("BF.INFO NONSCALING EXPANSION", b"*1\r\n:2\r\n"),
            ("BF.INSERT ITEMS ITEMS ITEMS", b"*1\r\n:1\r\n"),
        ])

    def test_unaffordable_reservations_are_refused(self):
        connection = self.connect()
        before = self.server.rss_bytes()
        for rate, capacity in (("1e-300", "100"), ("1e-300", "1073741824"), ("0.01", str(2**40)), ("0.01", str(2**63)),
                               ("5e-324", "1")):
            with self.subTest(rate=rate, capacity=capacity):
                self.assertTrue(connection.command("BF.RESERVE", "k", rate, capacity).startswith(b"-ERR "))
        self.assert_grew_less(before, 50 << 20)


class AddAndAsk(ServerTest):
    def test_add(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            self.assert_replies(version, [
                ("BF.ADD k a", yes),
                ("BF.ADD k a", no),
                ('BF.ADD k ""', yes),
                ("BF.MADD k a b c b", b"*4\r\n" + no + yes + yes + no),
                ("BF.EXISTS k a", yes),
                ("BF.EXISTS k nothing", no),
                ("BF.MEXISTS k a nothing b", b"*3\r\n" + yes + no + yes),
                ("BF.CARD k", b":4\r\n"),
                ("TYPE k", b"+MBbloom--\r\n"),
            ])

    def test_missing_keys(self):
        for version, no in ((2, b":0\r\n"), (3, b"#f\r\n")):
            self.assert_replies(version, [
                ("BF.EXISTS none a", no),
                ("BF.MEXISTS none a b", b"*2\r\n" + no + no),
                ("BF.CARD none", b":0\r\n"),
                ("BF.INFO none", NOT_FOUND),
                ("BF.INFO none CAPACITY", NOT_FOUND),
                ("BF.INSERT none NOCREATE ITEMS a", NOT_FOUND),
                ("EXISTS none", b":0\r\n"),
            ])

    def test_arity(self):
        self.assert_replies(2, [
            ("BF.ADD", arity("bf.add")), ("BF.ADD k", arity("bf.add")), ("BF.ADD k a b", arity("bf.add")),
            ("BF.MADD k", arity("bf.madd")),
            ("BF.EXISTS k", arity("bf.exists")), ("BF.EXISTS k a b c", arity("bf.exists")),
            ("BF.MEXISTS k", arity("bf.mexists")),
            ("BF.CARD", arity("bf.card")), ("BF.CARD k k", arity("bf.card")),
            ("BF.INFO", arity("bf.info")), ("BF.INFO k SIZE SIZE", arity("bf.info")),
            ("BF.INSERT k ITEMS", arity("bf.insert")), ("Bf.InSeRt", arity("bf.insert")),
            ("BF.CLEAR", arity("bf.clear")),
        ])

    def test_full_filter(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            full = error("ERR non scaling filter is full")
            self.assert_replies(version, [
                ("BF.RESERVE k 0.0001 3 NONSCALING SEED 1", OK),
                # The array ends at the error.
                ("BF.MADD k a b c d e", b"*4\r\n" + yes * 3 + full),
                ("BF.ADD k d", full),
                # What is there is there, full or not.
                ("BF.ADD k a", no),
                ("BF.MADD k a d b", b"*2\r\n" + no + full),
                ("BF.INSERT k ITEMS a b d", b"*3\r\n" + no + no + full),
                ("BF.CARD k", b":3\r\n"),
            ])

    def test_a_long_madd_into_a_full_filter_is_shortened(self):
        connection = self.connect()
        connection.command("BF.RESERVE", "k", "0.000001", 1000, "NONSCALING")
        reply = connection.command("BF.MADD", "k", *range(3000))
        self.assertEqual(reply.split(b"\r\n")[0], b"*%d" % (reply.count(b"\r\n") - 1))
        self.assertTrue(reply.endswith(b":1\r\n-ERR non scaling filter is full\r\n"))

    def test_growth(self):
        client = self.client()
        client.bf().create("k", 0.01, 100, expansion=2)
        for begin in range(0, 5000, 1000):
            client.bf().madd("k", *range(begin, begin + 1000))
        info = client.bf().info("k")
        self.assertGreater(info.filterNum, 3)
        self.assertGreaterEqual(info.capacity, 5000 * 0.97)
        self.assertTrue(all(client.bf().mexists("k", *range(5000))))
        wrong = sum(client.bf().mexists("k", *(f"no{i}" for i in range(20_000))))
        self.assertLess(wrong / 20_000, 0.01 * 1.1 + 0.003)

    def test_items_are_the_same_from_every_client(self):
        connection = self.connect()
        connection.ask(b"BF.ADD k 17\r\n")
        self.assertEqual(self.client().bf().exists("k", 17), 1)
        self.assertEqual(self.connect(3).command("BF.EXISTS", "k", b"17"), b"#t\r\n")


class Insert(ServerTest):
    def test_replies(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            self.assert_replies(version, [
                ("BF.INSERT k ITEMS a b a", b"*3\r\n" + yes + yes + no),
                ("BF.INSERT k NOCREATE ITEMS c", b"*1\r\n" + yes),
                ("BF.INSERT c CAPACITY 1000 ERROR 0.001 EXPANSION 4 ITEMS a", b"*1\r\n" + yes),
                ("bf.insert d nonscaling capacity 7 items items", b"*1\r\n" + yes),
                ("BF.INSERT e EXPANSION 2 NONSCALING ITEMS a", b"*1\r\n" + yes),
                ("BF.INSERT f EXPANSION 0 ITEMS a", b"*1\r\n" + yes),
                # Options are for making; what is there stays as it is.
                ("BF.INSERT d CAPACITY 100 ITEMS items", b"*1\r\n" + no),
            ])
            self.assertEqual(self.client().execute_command("BF.INFO", "d", "CAPACITY"), [7])

    def test_errors(self):
        self.assert_replies(2, [
            ("BF.INSERT k", arity("bf.insert")),
            ("BF.INSERT k CAPACITY 100", arity("bf.insert")),
            ("BF.INSERT k CAPACITY 100 ITEMS", arity("bf.insert")),
            ("BF.INSERT k NOCREATE CAPACITY", arity("bf.insert")),
            ("BF.INSERT k FOO ITEMS a", error("Unknown argument received")),
            ("BF.INSERT k ERROR x ITEMS a", error("Bad error rate")),
            ("BF.INSERT k ERROR 0 ITEMS a", error("Bad error rate")),
            ("BF.INSERT k ERROR 1 ITEMS a", error("Bad error rate")),
            ("BF.INSERT k CAPACITY x ITEMS a", error("Bad capacity")),
            ("BF.INSERT k CAPACITY 0 ITEMS a", error("Bad capacity")),
            ("BF.INSERT k CAPACITY 1073741825 ITEMS a", error("Bad capacity")),
            ("BF.INSERT k EXPANSION x ITEMS a", error("Bad expansion")),
            ("BF.INSERT k EXPANSION 32769 ITEMS a", error("Bad expansion")),
            ("BF.INSERT k EXPANSION -1 ITEMS a", error("Bad expansion")),
            ("DBSIZE", b":0\r\n"),
        ])


class Info(ServerTest):
    LABELS = [b"Capacity", b"Size", b"Number of filters", b"Number of items inserted", b"Expansion rate", b"Type",
              b"Error rate", b"Estimated error rate", b"Fill ratio", b"Hash functions", b"Bits per item", b"Seed",
              b"Tightening ratio", b"Hits", b"Misses", b"Adds", b"Last use", b"Hash", b"Known false positives"]

    def test_fields_come_in_order(self):
        for version, heads in ((2, (b"*10\r\n", b"*38\r\n")), (3, (b"%5\r\n", b"%19\r\n"))):
            connection = self.connect(version)
            connection.command("BF.RESERVE", "k", "0.01", "1000")
            for words, head, count in ((), heads[0], 5), (("FULL",), heads[1], len(self.LABELS)):
                reply = connection.command("BF.INFO", "k", *words)
                self.assertTrue(reply.startswith(head + b"+Capacity\r\n:1000\r\n+Size\r\n:"), reply)
                labels = [line[1:] for line in reply.split(b"\r\n") if line.startswith(b"+")]
                self.assertEqual(labels, self.LABELS[:count])

    def test_one_field(self):
        self.connect().command("BF.RESERVE", "k", "0.01", "1000", "EXPANSION", "4")
        self.connect().command("BF.MADD", "k", "a", "b")
        values = {"CAPACITY": (b"Capacity", 1000), "FILTERS": (b"Number of filters", 1),
                  "items": (b"Number of items inserted", 2), "EXPANSION": (b"Expansion rate", 4)}
        for selector, (label, value) in values.items():
            self.assertEqual(self.connect(2).command("BF.INFO", "k", selector), b"*1\r\n:%d\r\n" % value)
            self.assertEqual(self.connect(3).command("BF.INFO", "k", selector),
                             b"%%1\r\n+%s\r\n:%d\r\n" % (label, value))
        self.assertRegex(self.connect().command("BF.INFO", "k", "SIZE"), rb"^\*1\r\n:\d+\r\n$")
        self.assertEqual(self.connect().command("BF.INFO", "k", "FOO"), error("Invalid information value"))

    def use(self, key):
        info = self.info(key)
        return [info[label] for label in (b"Hits", b"Misses", b"Adds")]

    def test_use_is_counted_by_every_type(self):
        client = self.client()
        for name in type_names():
            with self.subTest(name):
                if name == "rediscuckoo":
                    client.execute_command("CF.RESERVE", name, 20_000)  # smaller ones count nothing
                else:
                    client.execute_command("BF.RESERVE", name, "1e-8", 1000, "TYPE", name, *needed_options(name))
                family = "CF" if name == "rediscuckoo" else "BF"
                self.assertEqual(self.use(name), [0, 0, 0])
                self.assertIsNone(self.info(name)[b"Last use"])
                pipeline = client.pipeline(transaction=False)
                for i in range(100):
                    pipeline.execute_command(f"{family}.ADD", name, i)
                pipeline.execute_command(f"{family}.MEXISTS", name, *range(50, 300))
                for i in range(70):
                    pipeline.execute_command(f"{family}.EXISTS", name, i + 60)
                pipeline.execute()
                hits, misses, adds = self.use(name)
                self.assertEqual((hits + misses, adds), (250 + 70, 100))
                # 3% of the lookups of an absent item: 8 of 230 are expected.
                self.assertAlmostEqual(hits, 50 + 40, delta=40 if name == "rediscuckoo" else 0)
                self.assertLess(abs(self.info(name)[b"Last use"] - time.time()), 5)

    def test_use_is_counted_through_growth_and_beside_the_loop(self):
        client = self.client()
        client.execute_command("BF.ADD", "grows", "first")
        self.assertEqual(self.use("grows"), [None] * 3)  # a list of one
        client.execute_command("CF.ADD", "small", "first")
        self.assertEqual(self.use("small"), [None] * 3)
        client.execute_command("BF.RESERVE", "many", "1e-9", 100)
        for begin in range(0, 100_000, 20_000):
            client.execute_command("BF.MADD", "many", *range(begin, begin + 20_000))
        client.execute_command("BF.MEXISTS", "many", *range(100_000, 200_000))
        self.assertEqual(self.use("many"), [0, 100_000, 100_000])
        client.execute_command("BF.EXISTSIN", "1", "many")
        self.assertEqual(self.use("many"), [1, 100_000, 100_000])

    def test_a_frozen_filter_keeps_the_counts(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "k", "1e-9", 100, "TYPE", "ribbon")
        client.execute_command("BF.MADD", "k", *range(100))
        client.execute_command("BF.EXISTS", "k", 1)
        client.execute_command("BF.FREEZE", "k")
        wait_until(lambda: self.info("k")[b"State"] == b"frozen", 10 * PATIENCE, "k is frozen")
        client.execute_command("BF.EXISTS", "k", 2)
        self.assertEqual(self.use("k"), [2, 0, 100])

    def test_nonscaling_has_no_expansion_rate(self):
        self.connect().command("BF.RESERVE", "k", "0.01", "1000", "NONSCALING")
        self.assertIn(b"+Expansion rate\r\n$-1\r\n", self.connect(2).command("BF.INFO", "k"))
        self.assertIn(b"+Expansion rate\r\n_\r\n", self.connect(3).command("BF.INFO", "k"))

    def info(self, key):
        reply = self.client().execute_command("BF.INFO", key, "FULL")
        return dict(zip(reply[::2], reply[1::2]))

    def test_what_it_says_is_so(self):
        client = self.client()
        for kind in ("classic", "blocked"):
            client.execute_command("BF.RESERVE", kind, "0.01", "20000", "NONSCALING", "TYPE", kind, "SEED", "42")
            empty = self.info(kind)
            self.assertEqual((empty[b"Type"], empty[b"Seed"]), (kind.encode(), b"42"))
            self.assertEqual([float(empty[name]) for name in (b"Error rate", b"Fill ratio")], [0.01, 0])
            client.bf().madd(kind, *range(20_000))
            full = self.info(kind)
            self.assertEqual(full[b"Number of items inserted"], client.execute_command("BF.CARD", kind))
            self.assertGreater(full[b"Number of items inserted"], 20_000 * 0.985)
            self.assertLess(float(full[b"Estimated error rate"]), 0.011)
            self.assertGreater(float(full[b"Estimated error rate"]), 0.006)
            self.assertTrue(0.3 < float(full[b"Fill ratio"]) < 0.6, full)
            self.assertAlmostEqual(float(full[b"Bits per item"]), full[b"Size"] * 8 / 20_000, delta=1.0)

    def test_sizes(self):
        client = self.client()
        for rate, most in (("0.01", 10.6), ("0.001", 16.3), ("0.0001", 21.0)):
            client.execute_command("BF.RESERVE", rate, rate, 1_000_000)
            self.assertLessEqual(self.info(rate)[b"Size"] * 8 / 1e6, most, rate)
        client.execute_command("BF.RESERVE", "c", "0.001", 1_000_000, "TYPE", "classic")
        self.assertLessEqual(self.info("c")[b"Size"] * 8 / 1e6, -math.log(0.001 * 0.8) / math.log(2) ** 2 * 1.01)


class Clear(ServerTest):
    def test_empties_in_place(self):
        self.assert_replies(2, [
            ("BF.CLEAR k", NOT_FOUND),
            ("BF.RESERVE k 0.001 500 TYPE classic SEED 9 NONSCALING", OK),
            ("BF.MADD k a b", b"*2\r\n:1\r\n:1\r\n"),
            ("BF.CLEAR k", OK),
            ("BF.MEXISTS k a b", b"*2\r\n:0\r\n:0\r\n"),
            ("BF.CARD k", b":0\r\n"),
            ("BF.INFO k CAPACITY", b"*1\r\n:500\r\n"),
            ("BF.INFO k SEED", b"*1\r\n$1\r\n9\r\n"),
            ("BF.ADD k a", b":1\r\n"),
        ])


class SeededFilters(ServerTest):
    def test_equal_seeds_make_equal_filters(self):
        client = self.client()
        answers = []
        for key in ("a", "b"):
            client.execute_command("BF.RESERVE", key, "0.2", "1000", "SEED", "5", "NONSCALING")
            client.bf().madd(key, *range(1000))
            answers.append(client.bf().mexists(key, *range(1000, 6000)))
        self.assertEqual(answers[0], answers[1])
        self.assertTrue(any(answers[0]))

    def test_seeds_are_random_by_default(self):
        client = self.client()
        seeds = set()
        for key in range(20):
            client.execute_command("BF.ADD", key, "x")
            seeds.add(client.execute_command("BF.INFO", key, "SEED")[0])
        self.assertEqual(len(seeds), 20)


class ThroughRedisPy(ServerTest):
    def test_its_bloom_commands(self):
        bf = self.client().bf()
        self.assertTrue(bf.create("k", 0.01, 1000))
        self.assertTrue(bf.create("e", 0.01, 1000, expansion=1))
        self.assertTrue(bf.create("n", 0.01, 1000, noScale=True))
        self.assertEqual(bf.add("k", "foo"), 1)
        self.assertEqual(bf.add("k", "foo"), 0)
        self.assertEqual(bf.madd("k", "foo", "bar", b"\x00\xff"), [0, 1, 1])
        self.assertEqual(bf.exists("k", "foo"), 1)
        self.assertEqual(bf.mexists("k", "foo", "noexist", b"\x00\xff"), [1, 0, 1])
        self.assertEqual(bf.insert("i", ["foo", "foo"], capacity=1000, error=0.001, expansion=2), [1, 0])
        self.assertEqual(bf.insert("n", ["a"], noCreate=True), [1])
        info = bf.info("k")
        self.assertEqual((info.capacity, info.filterNum, info.insertedNum, info.expansionRate), (1000, 1, 3, 2))
        self.assertGreater(info.size, 1000)
        self.assertIsNone(bf.info("n").expansionRate)
        for call in (lambda: bf.create("k", 0.01, 1000), lambda: bf.info("none"),
                     lambda: bf.insert("none", ["a"], noCreate=True), lambda: bf.create("x", 0.01, 1000, 2, True)):
            self.assertRaises(redis.ResponseError, call)

    def test_pipelines_are_transactions_by_default(self):
        client = self.client()
        for transaction in (True, False):
            client.flushall()
            with client.pipeline(transaction=transaction) as pipeline:
                pipeline.execute_command("BF.RESERVE", "k", 0.01, 1000)
                for item in range(100):
                    pipeline.execute_command("BF.ADD", "k", item)
                pipeline.execute_command("BF.MEXISTS", "k", 0, 99, 100)
                replies = pipeline.execute()
            self.assertEqual(replies, [b"OK"] + [1] * 100 + [[1, 1, 0]])

    def test_exact_yes_answers_of_racing_clients(self):
        """If many clients add the same new item at the same time, exactly one gets 1."""
        connections = [self.connect() for _ in range(8)]
        items = range(2000)
        connections[0].command("BF.RESERVE", "k", "0.000001", 10_000)
        for connection in connections:
            connection.send(b"".join(encode("BF.ADD", "k", item) for item in items))
        added = sum(connection.reply() == b":1\r\n" for connection, _ in itertools.product(connections, items))
        self.assertEqual(b":%d\r\n" % added, connections[0].command("BF.CARD", "k"))
        self.assertEqual(added, len(items))


class SeveralFilters(ServerTest):
    """What BF.* reports about more than one filter."""

    def reserve(self, *names, kind="blocked", seed=7):
        client = self.client()
        for name in names:
            client.execute_command("BF.RESERVE", name, 0.01, 10_000, "TYPE", kind, "SEED", seed)
        return client

    def test_existsin_and_strict(self):
        client = self.reserve("a", "b")
        client.bf().add("a", "x")
        self.assertEqual(client.execute_command("BF.EXISTSIN", "x", "a", "none", "b"), [1, None, 0])
        self.assertEqual(client.execute_command("BF.EXISTS", "a", "x", "STRICT"), 1)
        with self.assertRaisesRegex(redis.ResponseError, "^not found$"):
            client.execute_command("BF.EXISTS", "none", "x", "STRICT")

    def test_merge_and_estimate(self):
        for kind in type_names(merges=True):
            client = self.reserve(f"{kind}:a", f"{kind}:b", kind=kind)
            client.bf().madd(f"{kind}:a", *range(3000))
            client.bf().madd(f"{kind}:b", *range(2000, 5000))
            told = client.execute_command("BF.ESTIMATE", f"{kind}:a", f"{kind}:b")
            told = dict(zip(told[::2], told[1::2]))
            self.assertAlmostEqual(told[b"Items"][0], 3000, delta=60)
            self.assertAlmostEqual(told[b"Union"], 5000, delta=75)
            self.assertAlmostEqual(told[b"Intersection"], 1000, delta=150)
            self.assertEqual(client.execute_command("BF.MERGE", f"{kind}:all", f"{kind}:a", f"{kind}:b"), b"OK")
            self.assertTrue(all(client.bf().mexists(f"{kind}:all", *range(5000))))
            self.assertLess(sum(client.bf().mexists(f"{kind}:all", *range(10_000, 20_000))), 150)
        with self.assertRaisesRegex(redis.ResponseError, "they differ in their type: classic and blocked"):
            client.execute_command("BF.MERGE", "new", "classic:a", "blocked:a")


if __name__ == "__main__":
    main()
