"""BF.FPADD through the real server: known false positives are denied, across crashes, snapshots, dumps and merges."""

import os
import subprocess

import redis

from filter_types import type_names
from harness import REPLY_SECONDS, OwnServerTest, ServerTest, main, server_only, wait_until

ITEMS = [f"item{i}" for i in range(2000)]
OTHERS = [f"other{i}" for i in range(1000)]
CHANGING = type_names(denies=True, freezes=False)  # the others are frozen by fill()


def fill(client, key, type_name, items=ITEMS):
    """A full filter of a high rate; returns the false positives among OTHERS."""
    client.execute_command("BF.RESERVE", key, 0.1, len(ITEMS), "TYPE", type_name, "SEED", 1)
    client.execute_command("BF.MADD", key, *items)
    if type_name not in CHANGING:
        client.execute_command("BF.FREEZE", key)
        wait_until(lambda: client.execute_command("BF.INFO", key, "STATE") == [b"frozen"], REPLY_SECONDS, "frozen")
    return [item for item, found in zip(OTHERS, client.execute_command("BF.MEXISTS", key, *OTHERS)) if found]


def known(client, key):
    return client.execute_command("BF.INFO", key, "FALSEPOSITIVES")[0]


class Denied(ServerTest):
    def test_of_every_type_that_can(self):
        client = self.client()
        for name in type_names(denies=True):
            wrong = fill(client, name, name)
            self.assertGreater(len(wrong), 20)
            self.assertEqual(client.execute_command("BF.FPADD", name, *wrong[:20], "absent"), [1] * 20 + [0])
            self.assertEqual(client.execute_command("BF.MEXISTS", name, *wrong), [0] * 20 + [1] * (len(wrong) - 20))
            self.assertEqual(client.execute_command("BF.MEXISTS", name, *ITEMS), [1] * len(ITEMS))
            self.assertEqual(known(client, name), 20)
            if name in CHANGING:
                self.assertEqual(client.execute_command("BF.MADD", name, *wrong[:5]), [1] * 5)
                self.assertEqual(client.execute_command("BF.MEXISTS", name, *wrong[:6]), [1] * 5 + [0])
                self.assertEqual(known(client, name), 15)

    def test_dumps_take_them_along(self):
        client = self.client()
        for name in type_names(denies=True):
            wrong = fill(client, name, name)
            client.execute_command("BF.FPADD", name, *wrong)
            dump = client.execute_command("BF.DUMP", name)
            client.execute_command("BF.RESTORE", "restored:" + name, dump)
            cursor = 0
            while True:
                cursor, chunk = client.execute_command("BF.SCANDUMP", name, cursor)
                if cursor == 0:
                    break
                client.execute_command("BF.LOADCHUNK", "loaded:" + name, cursor, chunk)
            for key in ("restored:" + name, "loaded:" + name):
                self.assertEqual(known(client, key), len(wrong))
                self.assertEqual(client.execute_command("BF.MEXISTS", key, *wrong), [0] * len(wrong))
                self.assertEqual(client.execute_command("BF.DUMP", key), dump)

    def test_merge_keeps_those_that_no_filter_shows(self):
        client = self.client()
        wrong = fill(client, "a", "blocked", ITEMS[:1000])
        wrong_of_b = fill(client, "b", "blocked", ITEMS[1000:] + wrong[:3])
        client.execute_command("BF.FPADD", "a", *wrong)
        client.execute_command("BF.FPADD", "b", *set(wrong_of_b) - set(wrong[:3]))
        shown = {item for key in ("a", "b")
                 for item, found in zip(OTHERS, client.execute_command("BF.MEXISTS", key, *OTHERS)) if found}
        self.assertEqual(shown, set(wrong[:3]))
        for key in ("new", "a"):
            client.execute_command("BF.MERGE", key, "a", "b")
            self.assertEqual(client.execute_command("BF.MEXISTS", key, *ITEMS), [1] * len(ITEMS))
            self.assertEqual(client.execute_command("BF.MEXISTS", key, *wrong[:3]), [1] * 3, "items of b")
            noted = sorted(set(wrong + wrong_of_b) - set(wrong[:3]))
            self.assertEqual(client.execute_command("BF.MEXISTS", key, *noted), [0] * len(noted))


class Restart(OwnServerTest):
    def test_they_survive_a_crash_a_snapshot_and_both(self):
        server = self.make_server(appendfsync="always").start()
        client = server.client()
        wrong = {name: fill(client, name, name) for name in type_names(denies=True)}

        def check(added):
            for name, items in wrong.items():
                gone = added if name in CHANGING else 0
                answers = client.execute_command("BF.MEXISTS", name, *items)
                self.assertEqual(answers, [1] * gone + [0] * (len(items) - gone), name)
                self.assertEqual(client.execute_command("BF.MEXISTS", name, *ITEMS), [1] * len(ITEMS))

        for name, items in wrong.items():
            client.execute_command("BF.FPADD", name, *items)
        server.kill()
        client = server.start().client()
        check(0)
        self.assertTrue(client.save())
        server.kill()
        client = server.start().client()
        check(0)
        for name in CHANGING:
            client.execute_command("BF.MADD", name, *wrong[name][:4])
        server.kill()
        client = server.start().client()
        check(4)
        sizes = [client.execute_command("BF.CARD", name) for name in CHANGING]
        self.assertTrue(client.save())
        server.kill()
        client = server.start().client()
        check(4)
        self.assertEqual([client.execute_command("BF.CARD", name) for name in CHANGING], sizes)

    def test_what_is_noted_before_a_filter_is_frozen_is_denied_then(self):
        server = self.make_server(appendfsync="always").start()
        client = server.client()
        client.execute_command("BF.RESERVE", "f", 0.1, 200_000, "TYPE", "ribbon", "SEED", 1)
        for first in range(0, 200_000, 10_000):
            client.execute_command("BF.MADD", "f", *range(first, first + 10_000))
        self.assertEqual(client.execute_command("BF.FPADD", "f", 5, *OTHERS[:500]), [0] + [1] * 500)
        client.execute_command("BF.FREEZE", "f")
        frozen = lambda: client.execute_command("BF.INFO", "f", "STATE") == [b"frozen"]
        for item in OTHERS[500:]:
            noted, = client.execute_command("BF.FPADD", "f", item)
            while isinstance(noted, redis.ResponseError):  # in the moment in which the filter is replaced
                self.assertEqual(str(noted), "the filter is being frozen: try again")
                noted, = client.execute_command("BF.FPADD", "f", item)
        wait_until(frozen, REPLY_SECONDS, "frozen")
        self.assertGreater(known(client, "f"), 50)
        for _ in range(2):
            self.assertEqual(client.execute_command("BF.MEXISTS", "f", *OTHERS), [0] * len(OTHERS))
            server.kill()
            client = server.start().client()
            wait_until(frozen, REPLY_SECONDS, "frozen again")
            self.assertTrue(client.save())

    @server_only("bitsieve inspect reads the server's data directory")
    def test_inspect_counts_them(self):
        server = self.make_server().start()
        client = server.client()
        wrong = fill(client, "f", "blocked")
        client.execute_command("BF.FPADD", "f", *wrong)
        self.assertTrue(client.save())
        server.kill()
        shown = subprocess.run([os.environ["BITSIEVE_BINARY"], "inspect", server.directory], capture_output=True,
                               text=True, check=True, timeout=60).stdout
        self.assertIn(f"{len(wrong)} false positives", shown)


if __name__ == "__main__":
    main()
