"""BF.DEL, BF.MDEL and BF.COUNT on filters of the kind counting, by hand and through redis-py, and across restarts."""

import threading

import redis
from filter_types import types_that_can
from harness import OwnServerTest, ServerTest, lasting_info, main, option

OK = b"+OK\r\n"
NOT_FOUND = b"-ERR not found\r\n"


def error(text):
    return b"-" + text.encode() + b"\r\n"


class Replies(ServerTest):
    def test_in_both_protocols(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            self.assert_replies(version, [
                ("BF.RESERVE k 0.0001 1000 TYPE counting", OK),
                ("BF.DEL k a", no),
                ("BF.MADD k a a b", b"*3\r\n" + yes + no + yes),
                ("BF.COUNT k a", b":2\r\n"),
                ("BF.DEL k a", yes),
                ("BF.EXISTS k a", yes),
                ("BF.MDEL k a a b", b"*3\r\n" + yes + no + yes),
                ("BF.EXISTS k a", no),
                ("BF.CARD k", b":0\r\n"),
                ("BF.COUNT none a", b":0\r\n"),
                ("BF.DEL none a", NOT_FOUND),
                ("BF.MDEL none a", NOT_FOUND),
                ("BF.RESERVE b 0.01 100", OK),
                ("BF.DEL b a", error(f"ERR a blocked filter cannot remove items; {types_that_can('removes')}")),
                ("BF.MDEL b a c", error(f"ERR a blocked filter cannot remove items; {types_that_can('removes')}")),
                ("BF.COUNT b a", error(f"ERR a blocked filter cannot count items; {types_that_can('counts')}")),
                ("BF.RESERVE c 0.01 100 TYPE counting COUNTERBITS 5",
                 error("ERR bad counter bits: they must be 4 or 8")),
                ("BF.RESERVE c 0.01 100 TYPE classic COUNTERBITS 4",
                 error("ERR COUNTERBITS is for TYPE counting only")),
                ("BF.RESERVE c 0.01 100 TYPE counting COUNTERBITS 8 IFNOTEXISTS", OK),
                ("BF.RESERVE c 0.01 100 TYPE counting IFNOTEXISTS",
                 error("ERR item exists with a different number of counter bits: it has 8, not 4")),
                ("BF.INFO c COUNTERBITS", b"*1\r\n:8\r\n" if version == 2 else b"%1\r\n+Counter bits\r\n:8\r\n"),
            ])

    def test_a_removal_makes_room(self):
        self.assert_replies(2, [
            ("BF.RESERVE k 0.0001 2 NONSCALING TYPE counting SEED 1", OK),
            ("BF.MADD k a b", b"*2\r\n:1\r\n:1\r\n"),
            ("BF.ADD k c", error("ERR non scaling filter is full")),
            ("BF.DEL k a", b":1\r\n"),
            ("BF.ADD k c", b":1\r\n"),
            ("BF.MEXISTS k a b c", b"*3\r\n:0\r\n:1\r\n:1\r\n"),
        ])


class ThroughRedisPy(ServerTest):
    def test_bloom_calls_work_and_items_can_be_removed(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 1000, "TYPE", "counting")
        self.assertEqual(client.bf().madd("k", *range(3000)).count(1) > 2900, True)
        self.assertEqual(client.bf().info("k").insertedNum, 3000)
        self.assertEqual(client.execute_command("BF.MDEL", "k", *range(0, 3000, 2)), [1] * 1500)
        self.assertTrue(all(client.bf().mexists("k", *range(1, 3000, 2))))
        self.assertLess(sum(client.bf().mexists("k", *range(0, 3000, 2))), 20)
        self.assertEqual(client.bf().info("k").insertedNum, 1500)

    def test_removing_what_was_never_added(self):
        """A wrong removal is refused, unless the filter believed the item present: only then may others be missed."""
        client = self.client()
        for seed in range(50):
            key = f"poem{seed}"
            client.execute_command("BF.RESERVE", key, 0.1, 2, "TYPE", "counting", "NONSCALING", "SEED", seed)
            client.bf().madd(key, "loved", "your")
            believed = client.bf().exists(key, "hated")
            self.assertEqual(client.execute_command("BF.DEL", key, "hated"), believed)
            if not believed:
                self.assertEqual(client.bf().mexists(key, "loved", "your"), [1, 1])

    def test_default_type(self):
        client = self.client()
        client.config_set(option("default-type"), "counting")
        self.addCleanup(client.config_set, option("default-type"), "blocked")
        client.bf().add("k", "a")
        self.assertEqual(client.execute_command("BF.DEL", "k", "a"), 1)
        client.execute_command("BF.RESERVE", "b", 0.01, 10, "TYPE", "blocked")
        self.assertRaises(redis.ResponseError, client.execute_command, "BF.DEL", "b", "a")

    def test_clients_that_add_and_remove_at_once(self):
        self.client().execute_command("BF.RESERVE", "k", 0.05, 100, "TYPE", "counting")
        refused = []

        def work(name):
            client = self.client()
            for begin in range(0, 2000, 100):
                items = [f"{name}:{i}" for i in range(begin, begin + 100)]
                client.bf().madd("k", *items)
                refused.append(client.execute_command("BF.MDEL", "k", *items[:50]).count(0))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client = self.client()
        self.assertEqual((len(refused), sum(refused)), (80, 0))
        self.assertEqual(client.execute_command("BF.CARD", "k"), 4000)
        for name in range(4):
            kept = [f"{name}:{i}" for i in range(2000) if i % 100 >= 50]
            self.assertTrue(all(client.bf().mexists("k", *kept)))


class Restart(OwnServerTest):
    def test_counts_survive(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 100, "TYPE", "counting", "COUNTERBITS", 8)
        client.bf().madd("k", *range(500), *range(100))
        client.execute_command("BF.MDEL", "k", *range(200, 300))
        self.assertTrue(client.save())
        client.execute_command("BF.DEL", "k", 0)  # a removal alone is a change that the next snapshot must have
        self.assertTrue(client.save())
        info = lasting_info(server.connect(), "k")
        server.kill()
        client = server.start().client()
        self.assertEqual(lasting_info(server.connect(), "k"), info)
        self.assertEqual([client.execute_command("BF.COUNT", "k", item) for item in (0, 1, 150)], [1, 2, 1])
        self.assertEqual(client.execute_command("BF.MDEL", "k", *range(100)), [1] * 100)
        self.assertEqual(client.execute_command("BF.MDEL", "k", *range(1, 100)), [1] * 99)
        self.assertTrue(all(client.bf().mexists("k", *range(100, 200), *range(300, 500))))
        self.assertEqual(client.execute_command("BF.CARD", "k"), 300)


if __name__ == "__main__":
    main()
