"""CONFIG GET and SET, and what the options do: defaults of filters, and maxmemory."""

import concurrent.futures
import threading

import redis
from harness import ServerTest, main

OK = b"+OK\r\n"


class Configuration(ServerTest):
    OPTIONS = {"maxmemory": "20mb", "default_error_rate": "0.001", "default_capacity": 1000}

    def test_get(self):
        client = self.client()
        everything = client.config_get("*")
        self.assertEqual(everything["default-error-rate"], "0.001")
        self.assertEqual(client.config_get("maxmemory"), {"maxmemory": str(20 << 20)})
        self.assertEqual(set(client.config_get("max*")), {name for name in everything if name.startswith("max")})
        self.assertEqual((everything["databases"], everything["bf-error-rate"]), ("1", "0.001"))
        self.assertEqual(client.config_get("nosuch"), {})
        self.assertEqual(self.connect(3).command("CONFIG", "GET", "bind"), b"%1\r\n$4\r\nbind\r\n$9\r\n127.0.0.1\r\n")

    def test_what_clients_of_redis_and_redisbloom_ask(self):
        client = self.client()
        self.assertEqual(client.config_get("databases"), {"databases": "1"})
        self.assertEqual(client.config_get("maxmemory-policy"), {"maxmemory-policy": "noeviction"})
        self.assertEqual(client.config_get("save"), {"save": ""}, "with save-interval 0")
        self.assertTrue(client.config_set("maxmemory-policy", "noeviction"))
        with self.assertRaisesRegex(redis.ResponseError, 'can only be "noeviction"'):
            client.config_set("maxmemory-policy", "allkeys-lru")
        self.assertEqual(client.config_get("bf-error-rate"), {"bf-error-rate": "0.001"})
        self.addCleanup(client.config_set, "bf-initial-size", 1000)
        self.assertTrue(client.config_set("bf-initial-size", "777"))
        self.assertEqual(client.config_get("default-capacity"), {"default-capacity": "777"})

    def test_pairs_are_set_together_or_not_at_all(self):
        """cf-initial-size must be twice cf-bucket-size, so neither order of one at a time works both ways."""
        connection = self.connect()
        self.addCleanup(connection.command, "CONFIG", "SET", "cf-bucket-size", "2", "cf-initial-size", "1024")
        sizes = [("510", "255"), ("100", "2"), ("510", "255")]
        for size, buckets in sizes:
            for pairs in (["cf-initial-size", size, "cf-bucket-size", buckets],
                          ["cf-bucket-size", buckets, "cf-initial-size", size]):
                self.assertEqual(connection.command("CONFIG", "SET", *pairs), OK, pairs)
        self.assertRegex(connection.command("CONFIG", "SET", "timeout", "7", "cf-initial-size", "100"),
                         rb"^-ERR CONFIG SET failed .*cf-initial-size must be at least twice cf-bucket-size")
        self.assertEqual(self.client().config_get("timeout"), {"timeout": "0"})

    def test_a_refused_change_never_undoes_another_clients(self):
        """Nothing is rolled back: a value that one client set is not overwritten by what another failed to set."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stop = threading.Event()

            def refused():
                connection = self.connect()
                while not stop.is_set():
                    self.assertRegex(connection.command("CONFIG", "SET", "timeout", "5", "maxclients", "x"), rb"^-ERR")

            failing = [pool.submit(refused) for _ in range(2)]
            try:
                client = self.client()
                self.addCleanup(client.config_set, "timeout", 0)
                for value in range(1000, 1300):
                    client.config_set("timeout", value)
                    self.assertEqual(client.config_get("timeout"), {"timeout": str(value)})
            finally:
                stop.set()
            for future in failing:
                future.result()

    def test_defaults_shape_filters_that_are_made_on_the_way(self):
        client = self.client()
        client.execute_command("BF.ADD", "k", "a")
        info = client.execute_command("BF.INFO", "k", "FULL")
        info = dict(zip(info[::2], info[1::2]))
        self.assertEqual((info[b"Capacity"], info[b"Error rate"], info[b"Type"]), (1000, b"0.001", b"blocked"))
        self.assertTrue(client.config_set("default-type", "classic"))
        self.addCleanup(client.config_set, "default-type", "blocked")
        client.execute_command("BF.ADD", "c", "a")
        self.assertEqual(client.execute_command("BF.INFO", "c", "TYPE"), [b"classic"])

    def test_set_refuses_what_is_wrong(self):
        client = self.client()
        for name, value, reason in (("default-error-rate", "2", "0.25"), ("maxclients", "x", "maxclients"),
                                    ("port", "1", "start"), ("nosuch", "1", "nosuch"),
                                    ("default-type", "magic", "blocked")):
            with self.assertRaisesRegex(redis.ResponseError, reason):
                client.config_set(name, value)
        self.assertRegex(self.connect().command("CONFIG", "SET", "timeout", "7", "default-type", "x"),
                         rb"^-ERR CONFIG SET failed")
        self.assertEqual(client.config_get("timeout"), {"timeout": "0"})

    def test_maxmemory_refuses_before_it_allocates(self):
        client = self.client()
        before = self.server.rss_bytes()
        oom = "OOM command not allowed when used memory > 'maxmemory'."
        connection = self.connect()
        self.assertEqual(connection.command("BF.RESERVE", "big", "0.01", "1000000000"), b"-" + oom.encode() + b"\r\n")
        self.assert_grew_less(before, 50 << 20)
        made = 0
        while connection.command("BF.RESERVE", f"k{made}", "0.01", "1000000") == OK:
            made += 1
            self.assertLess(made, 100)
        self.assertGreater(made, 10)
        self.assertLessEqual(client.info("memory")["used_memory"], 20 << 20)
        # Items still go into what is there, and room comes back.
        self.assertEqual(connection.command("BF.ADD", "k0", "a"), b":1\r\n")
        client.delete("k1")
        self.assertEqual(connection.command("BF.RESERVE", "again", "0.01", "1000000"), OK)
        self.assertTrue(client.config_set("maxmemory", "0"))
        self.addCleanup(client.config_set, "maxmemory", 20 << 20)
        self.assertEqual(connection.command("BF.RESERVE", "more", "0.01", "10000000"), OK)

    def test_growing_filters_meet_maxmemory(self):
        client = self.client()
        connection = self.connect()
        oom = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
        connection.command("BF.RESERVE", "k", "0.01", "100000", "EXPANSION", "32768")
        replies = b"".join(connection.command("BF.MADD", "k", *range(begin, begin + 5000))
                           for begin in range(0, 200_000, 5000))
        self.assertIn(oom, replies)
        self.assertLessEqual(client.info("memory")["used_memory"], 20 << 20)
        self.assertEqual(connection.command("BF.EXISTS", "k", "0"), b":1\r\n")


if __name__ == "__main__":
    main()
