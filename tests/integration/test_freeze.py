"""BF.FREEZE on filters of the kind ribbon, by hand and through redis-py, with restarts and crashes in every state."""

import threading

import redis
from filter_types import types_that_can
from harness import OwnServerTest, PATIENCE, ServerTest, lasting_info, main, server_only, wait_until

OK = b"+OK\r\n"
REFUSED = "the filter is frozen: a ribbon filter accepts no items after BF.FREEZE"
FREEZE_SECONDS = 60 * PATIENCE


def error(text):
    return b"-ERR " + text.encode() + b"\r\n"


def info(client, name, field):
    """One field of BF.INFO; redis-py's object has RedisBloom's fields alone, and wants all of them."""
    plain = redis.Redis(connection_pool=client.connection_pool)
    (value,) = plain.execute_command("BF.INFO", name, field)
    return value.decode() if isinstance(value, bytes) else value


def wait_until_frozen(client, name):
    wait_until(lambda: info(client, name, "STATE") == "frozen", FREEZE_SECONDS, f"{name} becomes frozen")


class Freezing(ServerTest):
    def reserve(self, name, rate, items):
        client = self.client()
        client.execute_command("BF.RESERVE", name, rate, items, "TYPE", "ribbon")
        for begin in range(0, items, 10_000):
            self.assertEqual(client.bf().madd(name, *range(begin, min(items, begin + 10_000))).count(0), 0)
        return client

    def test_in_both_protocols(self):
        for version in (2, 3):
            self.setUp()
            yes, no = (b":1\r\n", b":0\r\n") if version == 2 else (b"#t\r\n", b"#f\r\n")
            self.assert_replies(version, [
                ("BF.RESERVE k 0.0001 1000 TYPE ribbon", OK),
                ("BF.MADD k a a b", b"*3\r\n" + yes + no + yes),
                ("BF.INFO k STATE", (b"*1" if version == 2 else b"%1\r\n+State") + b"\r\n$7\r\nstaging\r\n"),
                ("BF.EXISTS k c", no),
                ("BF.FREEZE k", OK),
                ("BF.FREEZE k", OK),
                ("BF.ADD k c", error(REFUSED)),
                ("BF.MEXISTS k a b", b"*2\r\n" + yes + yes),
                ("BF.CARD k", b":2\r\n"),
                ("BF.FREEZE none", b"-ERR not found\r\n"),
                ("BF.RESERVE b 0.01 100", OK),
                ("BF.FREEZE b", error(f"a blocked filter cannot be frozen; {types_that_can('freezes')}")),
                ("BF.DEL k a", error(f"a ribbon filter cannot remove items; {types_that_can('removes')}")),
            ])

    def test_all_is_found_and_the_rate_is_kept(self):
        client = self.reserve("k", 0.01, 100_000)
        self.assertEqual(sum(client.bf().mexists("k", *range(10**9, 10**9 + 10_000))), 0)  # exact so far
        size = client.bf().info("k").size
        self.assertTrue(client.execute_command("BF.FREEZE", "k"))
        wait_until_frozen(client, "k")
        for begin in range(0, 100_000, 10_000):
            self.assertTrue(all(client.bf().mexists("k", *range(begin, begin + 10_000))))
        wrong = sum(sum(client.bf().mexists("k", *range(begin, begin + 10_000)))
                    for begin in range(10**9, 10**9 + 100_000, 10_000))
        self.assertTrue(800 < wrong < 1200, wrong)
        after = client.bf().info("k")
        self.assertEqual(after.insertedNum, 100_000)
        self.assertLess(after.size * 8 / 100_000, 1.05 * 1.03 * 6.65)
        self.assertLess(after.size, size / 20)
        self.assertEqual((info(client, "k", "PROGRESS"), info(client, "k", "FAILURE")), (100, ""))
        with self.assertRaisesRegex(redis.ResponseError, REFUSED):
            client.bf().add("k", "more")

    def test_readers_miss_nothing_while_it_is_built(self):
        self.reserve("k", 0.001, 100_000)
        missed, done = [], threading.Event()

        def look():
            client = self.client()
            while not done.is_set():
                missed.append(client.bf().mexists("k", *range(0, 100_000, 97)).count(0))

        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        client = self.client()
        client.execute_command("BF.FREEZE", "k")
        wait_until_frozen(client, "k")
        done.set()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(missed), 0)

    def test_renamed_copied_deleted_and_expiring_while_it_is_built(self):
        client = self.reserve("k", 0.001, 100_000)
        client.expire("k", 10_000)
        self.assertEqual(client.execute_command("BF.FREEZE", "k"), b"OK")
        self.assertTrue(client.copy("k", "copy"))
        client.rename("k", "other")
        wait_until_frozen(client, "other")
        self.assertTrue(9000 < client.ttl("other") <= 10_000)
        client.execute_command("BF.FREEZE", "copy")
        client.delete("copy")
        self.assertEqual(client.exists("k", "copy"), 0)

    def test_no_memory_to_build(self):
        client = self.reserve("k", 0.001, 50_000)
        self.addCleanup(client.config_set, "maxmemory", 0)
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 1000)
        # As other commands that need memory: refused before, or failing in the background.
        try:
            client.execute_command("BF.FREEZE", "k")
        except redis.ResponseError:
            pass
        else:
            wait_until(lambda: info(client, "k", "STATE") == "staging", FREEZE_SECONDS, "it collects again")
            self.assertIn("memory", info(client, "k", "FAILURE"))
        client.config_set("maxmemory", 0)
        self.assertEqual(client.bf().add("k", "more"), 1)
        client.execute_command("BF.FREEZE", "k")
        wait_until_frozen(client, "k")
        self.assertEqual(client.bf().exists("k", "more"), 1)


class Restart(OwnServerTest):
    @server_only("an engine's log has it frozen again: test_module_persistence.py")
    def test_every_state_survives_a_crash(self):
        server = self.make_server().start()
        client = server.client()
        for name in ("staging", "frozen"):
            client.execute_command("BF.RESERVE", name, 0.001, 100, "TYPE", "ribbon")
            client.bf().madd(name, *range(5000))
        client.execute_command("BF.FREEZE", "frozen")
        wait_until_frozen(client, "frozen")
        self.assertTrue(client.save())
        infos = [lasting_info(server.connect(), name) for name in ("staging", "frozen")]
        server.kill()
        client = server.start().client()
        self.assertEqual([lasting_info(server.connect(), name) for name in ("staging", "frozen")], infos)
        for name in ("staging", "frozen"):
            self.assertTrue(all(client.bf().mexists(name, *range(5000))))
        self.assertEqual(client.bf().madd("staging", 4999, 5000), [0, 1])
        self.assertRaises(redis.ResponseError, client.bf().add, "frozen", 5000)
        # Freezing is a change that the next snapshot must have.
        client.execute_command("BF.FREEZE", "staging")
        wait_until_frozen(client, "staging")
        self.assertTrue(client.save())
        server.kill()
        client = server.start().client()
        self.assertEqual(info(client, "staging", "STATE"), "frozen")
        self.assertTrue(all(client.bf().mexists("staging", *range(5001))))

    def test_a_stop_while_it_is_built_is_quick_and_loses_nothing(self):
        server = self.make_server().start()
        client = server.client()
        client.execute_command("BF.RESERVE", "k", 0.001, 1_000_000, "TYPE", "ribbon")
        for begin in range(0, 300_000, 20_000):
            client.bf().madd("k", *range(begin, begin + 20_000))
        client.execute_command("BF.FREEZE", "k")
        self.assert_stops_well(server)
        client = server.start().client()
        self.assertTrue(all(client.bf().mexists("k", *range(0, 300_000, 31))))
        wait_until_frozen(client, "k")


if __name__ == "__main__":
    main()
