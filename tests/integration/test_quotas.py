"""Quotas: limits for the names of a pattern, whatever command makes the filter, and after a crash as before."""

import redis
from harness import HOST, PATIENCE, OwnServerTest, main, wait_until

SECONDS = 10 * PATIENCE
ROWS = "few:* 3 0 small:* 0 300kb"


class Quotas(OwnServerTest):
    def client(self, server):
        client = redis.Redis(host=HOST, port=server.port)
        self.addCleanup(client.close)
        return client

    def quotas(self, client):
        found = client.info("quotas")
        return [found[f"quota{number}"] for number in range(len(found))]

    def refused(self, client, *command):
        with self.assertRaises(redis.ResponseError) as raised:
            client.execute_command(*command)
        self.assertRegex(str(raised.exception), "^QUOTA ", command)
        return str(raised.exception)

    def test_every_command_that_makes_a_filter_is_refused(self):
        client = self.client(self.make_server(quota=ROWS, io_threads=2).start())
        client.execute_command("BF.RESERVE", "large", "0.01", "400000")
        client.execute_command("CF.RESERVE", "cuckoo", "400000")
        client.execute_command("CF.ADD", "cuckoo", "x")
        client.execute_command("BF.ADD", "tiny", "x")
        dump = client.execute_command("BF.DUMP", "large")
        for name in ("few:1", "few:2", "few:3"):
            client.execute_command("BF.ADD", name, "x")
        creations = (
            ("BF.RESERVE", "{}", "0.01", "400000"), ("BF.RESERVE", "{}", "0.01", "400000", "TYPE", "counting"),
            ("BF.INSERT", "{}", "CAPACITY", "400000", "ITEMS", "x"), ("CF.RESERVE", "{}", "400000"),
            ("CF.INSERT", "{}", "CAPACITY", "400000", "ITEMS", "x"), ("BF.MERGE", "{}", "large"),
            ("BF.RESTORE", "{}", dump), ("BF.RESTORE", "{}", dump, "REPLACE"), ("COPY", "large", "{}"))
        for creation in creations:
            for name in ("few:4", "small:1"):
                with self.subTest(creation[0], name=name):
                    self.refused(client, *(name if word == "{}" else word for word in creation))
                    self.assertEqual(client.exists(name), 0)
        for creation in (("BF.ADD", "few:4", "x"), ("BF.MADD", "few:4", "x", "y"), ("CF.ADD", "few:4", "x"),
                         ("RENAME", "tiny", "few:4"), ("RENAMENX", "tiny", "few:4"), ("RENAME", "few:1", "small:1")):
            self.refused(client, *creation)
        self.assertEqual(self.quotas(client)[1]["bytes"], 0)
        self.load(client, "large", "small:1", "BF")
        self.load(client, "cuckoo", "small:1", "CF")
        self.assertEqual(self.quotas(client)[1]["bytes"], 0)
        self.assertRegex(client.info("errorstats")["errorstat_QUOTA"], "^count=2[0-9]$")

    def load(self, client, source, target, family):
        """Its chunks are refused at the first that needs the memory, and no name comes to be."""
        cursor, chunk = client.execute_command(f"{family}.SCANDUMP", source, 0)
        self.refused(client, f"{family}.LOADCHUNK", target, cursor, chunk)
        self.assertEqual(client.exists(target), 0)

    def test_growing_is_refused_and_lookups_go_on(self):
        client = self.client(self.make_server(quota=ROWS).start())
        added = 0
        with self.assertRaises(redis.ResponseError) as raised:
            for begin in range(0, 10**7, 1000):
                for reply in client.execute_command("BF.MADD", "small:1", *range(begin, begin + 1000)):
                    if isinstance(reply, redis.ResponseError):
                        raise reply
                added += 1000
        self.assertRegex(str(raised.exception), "^QUOTA .* 307200 bytes")
        self.assertGreater(added, 10_000)
        self.assertEqual(client.execute_command("BF.MEXISTS", "small:1", *range(added)), [1] * added)
        quota = self.quotas(client)[1]
        self.assertLessEqual(quota["bytes"], 300 << 10)
        self.assertGreaterEqual(quota["refused"], 1)
        client.execute_command("BF.RESERVE", "free", "0.01", "400000")
        client.config_set("quota", ROWS.replace("300kb", "3mb"))
        client.execute_command("BF.ADD", "small:1", "further")
        client.delete("small:1")
        self.assertEqual(self.quotas(client)[1]["bytes"], 0)

    def test_the_account_is_the_same_after_a_crash(self):
        server = self.make_server(quota="a:* 0 0 b:* 0 0 *:n 0 0", save_interval=0).start()
        client = self.client(server)
        for number in range(20):
            client.execute_command("BF.ADD", f"a:{number}", "x")
            client.execute_command("BF.RESERVE", f"b:{number}", "0.01", "20000")
        client.execute_command("BF.RESERVE", "free:1", "0.01", "20000")
        client.save()
        client.execute_command("BF.RESERVE", "b:new", "0.01", "50000")
        client.execute_command("CF.RESERVE", "a:cuckoo", "50000")
        client.execute_command("CF.ADD", "a:cuckoo", "x")
        client.execute_command("BF.MADD", "a:3", *range(1000))
        client.execute_command("BF.RESERVE", "c:n", "0.01", "50000", "TYPE", "ribbon")
        client.execute_command("BF.MADD", "c:n", *range(1000))
        client.execute_command("BF.FREEZE", "c:n")
        client.copy("free:1", "b:copy")
        client.execute_command("BF.MERGE", "b:merged", "b:1")
        client.execute_command("BF.RESTORE", "b:restored", client.execute_command("BF.DUMP", "b:3"))
        client.rename("a:5", "a:renamed")
        client.delete("a:6", "b:6")
        client.expire("a:7", 1)
        wait_until(lambda: self.quotas(client)[0]["filters"] == 19, SECONDS, "a:7 is gone")
        wait_until(lambda: client.execute_command("BF.INFO", "c:n", "STATE") == [b"frozen"], SECONDS, "c:n is frozen")
        before = self.quotas(client)
        self.assertEqual([quota["filters"] for quota in before], [19, 23, 1])
        for _ in range(2):
            server.kill()
            server.start()
            client = self.client(server)
            self.assertEqual(self.quotas(client), before)
            client.save()
        # What is there stays, even if it is more than allowed.
        server.kill()
        server.options["quota"] = "a:* 5 0 b:* 0 1kb *:n 0 0"
        server.start()
        client = self.client(server)
        self.assertEqual([quota["filters"] for quota in self.quotas(client)], [19, 23, 1])
        self.assertEqual(client.execute_command("BF.EXISTS", "a:1", "x"), 1)
        self.refused(client, "BF.ADD", "a:further", "x")
        self.assertIn("19 filters with names like a:*", server.log())
        client.flushall()
        self.assertEqual([(quota["filters"], quota["bytes"]) for quota in self.quotas(client)], [(0, 0)] * 3)
        self.assert_stops_well(server)

    def test_patterns_stay(self):
        client = self.client(self.make_server(quota=ROWS).start())
        for wrong in ("few:* 3 0", "few:* 3 0 other:* 0 300kb", "few:* 3", "few:* x 0 small:* 0 0"):
            with self.assertRaises(redis.ResponseError):
                client.config_set("quota", wrong)
        self.assertEqual(client.config_get("quota"), {"quota": ROWS})


if __name__ == "__main__":
    main()
