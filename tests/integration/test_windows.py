"""Filters that forget, through redis-py: what is in the window is found, what left it is not; a restart keeps it."""

import time

import redis
from harness import OwnServerTest, ServerTest, main


class Windows(ServerTest):
    def test_a_window_of_items_finds_the_last_ones(self):
        client = self.client()
        window = 500
        client.execute_command("BF.RESERVE", "seen", 1e-9, window, "TYPE", "window", "WINDOW", window)
        for start in range(0, 5000, 100):
            batch = [f"item:{i}" for i in range(start, start + 100)]
            self.assertEqual(client.bf().madd("seen", *batch), [1] * 100)
            last = [f"item:{i}" for i in range(max(0, start + 100 - window), start + 100)]
            self.assertTrue(all(client.bf().mexists("seen", *last)))
        self.assertFalse(any(client.bf().mexists("seen", *[f"item:{i}" for i in range(4000)])))
        self.assertEqual(client.bf().add("seen", "item:0"), 1)
        self.assertEqual(client.bf().add("seen", "item:0"), 0)

    def test_info_through_redis_py(self):
        client = self.client(decode_responses=True)
        client.execute_command("BF.RESERVE", "seen", 0.01, 1000, "TYPE", "window", "WINDOW", "24h")
        client.bf().madd("seen", "a", "b")
        info = client.bf().info("seen")
        self.assertEqual((info.capacity, info.insertedNum, info.expansionRate), (1000, 2, None))
        for selector, expected in (("WINDOW", "1d"), ("GENERATIONS", 1)):
            reply = self.connect().command("BF.INFO", "seen", selector)
            self.assertIn(str(expected).encode(), reply)

    def test_a_window_of_time_forgets(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "seen", 1e-9, 100, "TYPE", "window", "WINDOW", "400ms")
        begin = time.monotonic()
        self.assertEqual(client.bf().add("seen", "x"), 1)
        known = client.bf().exists("seen", "x")
        if time.monotonic() - begin < 0.4:  # a slow machine may be too late to ask
            self.assertEqual(known, 1)
        time.sleep(0.6)
        self.assertEqual(client.bf().exists("seen", "x"), 0)
        self.assertEqual(client.bf().add("seen", "x"), 1)

    def test_more_than_a_window_holds_is_refused(self):
        client = self.client()
        client.execute_command("BF.RESERVE", "seen", 1e-9, 30, "TYPE", "window", "WINDOW", "1h")
        replies = client.bf().madd("seen", *range(100))
        self.assertEqual(replies[:60], [1] * 60)
        self.assertTrue(all(isinstance(reply, redis.ResponseError) for reply in replies[60:]))
        self.assertIn("window is full", str(replies[60]))
        self.assertTrue(all(client.bf().mexists("seen", *range(60))))


class WindowsAfterARestart(OwnServerTest):
    def test_what_was_saved_is_in_the_window_again(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.RESERVE", "items", 1e-9, 300, "TYPE", "window", "WINDOW", 300)
        client.execute_command("BF.RESERVE", "time", 1e-9, 1000, "TYPE", "window", "WINDOW", "1h")
        client.bf().madd("items", *range(1000))
        client.bf().madd("time", *range(1000))
        self.assertTrue(client.save())
        server.kill()
        server.start()
        client = server.client()
        self.assertTrue(all(client.bf().mexists("items", *range(700, 1000))))
        self.assertFalse(any(client.bf().mexists("items", *range(600))))
        self.assertTrue(all(client.bf().mexists("time", *range(1000))))
        self.assertEqual(client.bf().madd("items", *range(1000, 1100)), [1] * 100)
        self.assertTrue(all(client.bf().mexists("items", *range(800, 1100))))
        self.assert_stops_well(server)

    def test_what_the_log_has_goes_on_ageing_while_no_server_runs(self):
        server = self.make_server(appendfsync="always").start()
        client = server.client()
        for name, window in (("short", "1s"), ("long", "1h")):
            client.execute_command("BF.RESERVE", name, 1e-9, 1000, "TYPE", "window", "WINDOW", window)
            self.assertEqual(client.bf().madd(name, *range(1000)), [1] * 1000)
        server.kill()
        time.sleep(1.6)
        server.start()
        client = server.client()
        self.assertFalse(any(client.bf().mexists("short", *range(1000))))
        self.assertTrue(all(client.bf().mexists("long", *range(1000))))
        self.assertEqual(client.bf().madd("short", *range(1000)), [1] * 1000)


if __name__ == "__main__":
    main()
