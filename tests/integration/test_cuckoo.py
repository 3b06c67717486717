"""Filters of the kind cuckoo by hand, through redis-py, under many clients, and across restarts."""

import threading

import redis
from harness import OwnServerTest, ServerTest, lasting_info, main, option

OK = b"+OK\r\n"


def error(text):
    return b"-" + text.encode() + b"\r\n"


class Replies(ServerTest):
    def test_in_both_protocols(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            self.assert_replies(version, [
                ("BF.RESERVE k 0.0001 1000 TYPE cuckoo BUCKETSIZE 4 MAXITERATIONS 100", OK),
                ("BF.DEL k a", no),
                ("BF.MADD k a a b", b"*3\r\n" + yes + no + yes),
                ("BF.COUNT k a", b":2\r\n"),
                ("BF.DEL k a", yes),
                ("BF.EXISTS k a", yes),
                ("BF.MDEL k a a b", b"*3\r\n" + yes + no + yes),
                ("BF.CARD k", b":0\r\n"),
                ("BF.RESERVE c 0.01 100 TYPE cuckoo BUCKETSIZE 9",
                 error("ERR bad bucket size: it must be in the range [2, 8]")),
                ("BF.INFO k FINGERPRINTBITS",
                 b"*1\r\n:17\r\n" if version == 2 else b"%1\r\n+Fingerprint bits\r\n:17\r\n"),
            ])

    def test_full_and_saturated(self):
        self.assert_replies(2, [
            ("BF.RESERVE k 0.0001 2 NONSCALING TYPE cuckoo SEED 1", OK),
            ("BF.MADD k a b", b"*2\r\n:1\r\n:1\r\n"),
            ("BF.ADD k c", error("ERR non scaling filter is full")),
            ("BF.DEL k a", b":1\r\n"),
            ("BF.ADD k c", b":1\r\n"),
            ("BF.MEXISTS k a b c", b"*3\r\n:0\r\n:1\r\n:1\r\n"),
            ("BF.RESERVE s 0.0001 100 TYPE cuckoo SEED 1", OK),
            ("BF.MADD s a a a a a a a a a", b"*9\r\n:1\r\n" + 8 * b":0\r\n"),
            ("BF.COUNT s a", b":8\r\n"),
            ("BF.DEL s a", b":0\r\n"),
            ("BF.EXISTS s a", b":1\r\n"),
        ])


class ThroughRedisPy(ServerTest):
    def test_bloom_calls_work_and_items_can_be_removed(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 1000, "TYPE", "cuckoo")
        self.assertGreater(client.bf().madd("k", *range(3000)).count(1), 2980)
        info = client.bf().info("k")
        self.assertEqual((info.insertedNum, info.filterNum, info.expansionRate), (3000, 2, 2))
        self.assertEqual(client.execute_command("BF.MDEL", "k", *range(0, 3000, 2)), [1] * 1500)
        self.assertTrue(all(client.bf().mexists("k", *range(1, 3000, 2))))
        self.assertLess(sum(client.bf().mexists("k", *range(0, 3000, 2))), 15)
        self.assertEqual(client.bf().info("k").insertedNum, 1500)

    def test_default_type(self):
        client = self.client()
        client.config_set(option("default-type"), "cuckoo")
        self.addCleanup(client.config_set, option("default-type"), "blocked")
        client.bf().add("k", "a")
        self.assertEqual(client.execute_command("BF.DEL", "k", "a"), 1)

    def test_a_full_filter_refuses(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 1000, "TYPE", "cuckoo", "NONSCALING")
        client.bf().madd("k", *range(1000))
        with self.assertRaisesRegex(redis.ResponseError, "non scaling filter is full"):
            client.bf().add("k", "one more")
        self.assertTrue(all(client.bf().mexists("k", *range(1000))))

    def test_clients_that_add_and_remove_while_others_ask(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "k", 0.05, 100, "TYPE", "cuckoo")
        client.bf().madd("k", *(f"kept:{i}" for i in range(1000)))
        wrong = []

        def change(name):
            client = self.client()
            for begin in range(0, 2000, 100):
                items = [f"{name}:{i}" for i in range(begin, begin + 100)]
                client.bf().madd("k", *items)
                wrong.append(client.execute_command("BF.MDEL", "k", *items[:50]).count(0))

        def ask(_):
            client = self.client()
            for _ in range(40):
                wrong.append(client.bf().mexists("k", *(f"kept:{i}" for i in range(1000))).count(0))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(2) for work in (change, ask)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(wrong), sum(wrong)), (2 * 20 + 2 * 40, 0))
        self.assertEqual(client.execute_command("BF.CARD", "k"), 3000)
        for name in range(2):
            kept = [f"{name}:{i}" for i in range(2000) if i % 100 >= 50]
            self.assertTrue(all(client.bf().mexists("k", *kept)))


class Restart(OwnServerTest):
    def test_fingerprints_survive(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 100, "TYPE", "cuckoo", "BUCKETSIZE", 3, "MAXITERATIONS", 99)
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
