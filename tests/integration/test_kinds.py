"""Every kind of filter through the calls that redis-py and npm's redis have for RedisBloom: who knows those needs to
know nothing else. The kinds are asked of the server, so that a new one is tested from its first day."""

import os
import re
import subprocess

import redis
from harness import PATIENCE, ServerTest, main, scandump
from test_node_clients import NODE, install_clients

# What BF.RESERVE needs besides the kind.
OPTIONS = {"window": ["WINDOW", 1000]}
# Made by CF.RESERVE, since its error rate cannot be chosen: each full table of buckets of 2 adds 1.6%.
CUCKOO = "rediscuckoo"
CAN_REMOVE = {"counting", "cuckoo", CUCKOO}
EXPANSIONS = {"window": None, CUCKOO: 1}

setUpModule = install_clients


def kinds(client):
    """From the error that names them all."""
    try:
        client.execute_command("BF.RESERVE", "k", 0.01, 100, "TYPE", "?")
    except redis.ResponseError as error:
        names = re.search(r"must be one of: (.*)", str(error)).group(1).split(", ")
        return names
    raise AssertionError("a kind '?' was taken")


class RedisPy(ServerTest):
    def each_kind(self):
        client = self.client()
        for kind in kinds(client):
            with self.subTest(kind=kind):
                if kind == CUCKOO:
                    client.cf().create(kind, 1000)
                else:
                    client.execute_command("BF.RESERVE", kind, 0.001, 1000, "TYPE", kind, *OPTIONS.get(kind, []))
                yield client, client.bf(), kind

    def test_there_are_many(self):
        self.assertGreaterEqual(len(kinds(self.client())), 9)

    def test_adding_and_asking(self):
        for _, bloom, kind in self.each_kind():
            self.assertEqual(bloom.add(kind, "foo"), 1)
            self.assertEqual(bloom.add(kind, "foo"), 0)
            self.assertEqual(bloom.exists(kind, "foo"), 1)
            self.assertEqual(bloom.exists(kind, "bar"), 0)
            self.assertEqual(bloom.madd(kind, "foo", "bar", "\0 \r\n", ""), [0, 1, 1, 1])
            self.assertEqual(bloom.mexists(kind, "foo", "", "none", "\0 \r\n"), [1, 1, 0, 1])
            self.assertEqual(bloom.insert(kind, ["foo", "baz"], noCreate=True), [0, 1])
            many = [f"item:{i}" for i in range(700)]
            self.assertGreaterEqual(sum(bloom.madd(kind, *many)), 690)
            self.assertEqual(bloom.mexists(kind, *many), [1] * len(many))
            self.assertLessEqual(sum(bloom.mexists(kind, *range(10_000))), 1000 if kind == CUCKOO else 40)

    def test_info(self):
        for client, bloom, kind in self.each_kind():
            bloom.madd(kind, "a", "b", "c")
            info = bloom.info(kind)
            self.assertGreaterEqual(info.capacity, 1000)
            self.assertGreater(info.size, 0)
            self.assertGreaterEqual(info.filterNum, 1)
            self.assertEqual(info.insertedNum, 3)
            self.assertEqual(info.expansionRate, EXPANSIONS.get(kind, 2))
            self.assertEqual(client.execute_command("BF.CARD", kind), 3)
            self.assertEqual(client.type(kind), b"MBbloomCF" if kind == CUCKOO else b"MBbloom--")

    def test_plain_info_is_five_integers_as_strict_clients_read_it(self):
        """go-redis and redisbloom-go close the connection at a sixth field, and at one that is no integer."""
        labels = rb"Capacity", rb"Size", rb"Number of filters", rb"Number of items inserted", rb"Expansion rate"
        fields = b"".join(rb"\+%s\r\n(:\d+|\$-1|_)\r\n" % label for label in labels)
        for _, _, kind in self.each_kind():
            for version, head in ((2, rb"\*10\r\n"), (3, rb"%5\r\n")):
                self.assertRegex(self.connect(version).command("BF.INFO", kind), rb"^" + head + fields + rb"$")

    def test_making_one_again_is_refused(self):
        for _, bloom, kind in self.each_kind():
            with self.assertRaisesRegex(redis.ResponseError, "item exists"):
                bloom.create(kind, 0.01, 100)

    def test_removing_where_the_kind_can(self):
        for client, bloom, kind in self.each_kind():
            bloom.madd(kind, "a", "b")
            if kind in CAN_REMOVE:
                self.assertEqual(client.execute_command("BF.DEL", kind, "a"), 1)
                self.assertEqual(client.execute_command("BF.MDEL", kind, "a", "b"), [0, 1])
                self.assertEqual(bloom.mexists(kind, "a", "b"), [0, 0])
            else:
                with self.assertRaisesRegex(redis.ResponseError, f"a {kind} filter cannot remove items"):
                    client.execute_command("BF.DEL", kind, "a")
                self.assertEqual(bloom.mexists(kind, "a", "b"), [1, 1])

    def test_dumping_and_loading(self):
        for client, bloom, kind in self.each_kind():
            items = [f"item:{i}" for i in range(500)]
            bloom.madd(kind, *items)
            cursor = 0
            while True:
                cursor, chunk = scandump(client, kind, cursor)
                if cursor == 0:
                    break
                bloom.loadchunk("loaded", cursor, chunk)
            dump = client.execute_command("BF.DUMP", kind, NEVER_DECODE=[])
            self.assertEqual(client.execute_command("BF.RESTORE", "restored", dump), b"OK")
            for name in ("loaded", "restored"):
                self.assertEqual(bloom.mexists(name, *items), [1] * len(items))
                self.assertEqual(client.execute_command("BF.CARD", name), client.execute_command("BF.CARD", kind))
                self.assertEqual(client.execute_command("BF.DUMP", name, NEVER_DECODE=[]), dump)
                client.delete(name)
            with self.assertRaisesRegex(redis.ResponseError, "bad data"):
                client.execute_command("BF.RESTORE", "damaged", dump[:-1])

    def test_names(self):
        for client, bloom, kind in self.each_kind():
            bloom.add(kind, "a")
            self.assertEqual(client.copy(kind, "copy"), 1)
            bloom.add("copy", "b")
            self.assertEqual(bloom.mexists(kind, "a", "b"), [1, 0])
            self.assertEqual(bloom.mexists("copy", "a", "b"), [1, 1])
            self.assertTrue(client.rename("copy", "other"))
            self.assertTrue(client.expire("other", 100))
            self.assertEqual(client.delete("other"), 1)
            self.assertEqual(client.execute_command("BF.CLEAR", kind), b"OK")
            self.assertEqual(bloom.exists(kind, "a"), 0)


class NodeRedis(ServerTest):
    def test_every_kind(self):
        named = [kind for kind in kinds(self.client()) if kind != CUCKOO]
        environment = {**os.environ, "PORT": str(self.server.port), "KINDS": ",".join(named),
                       **{f"OPTIONS_{kind}": " ".join(map(str, options)) for kind, options in OPTIONS.items()}}
        done = subprocess.run(["node", "--test-reporter=tap", "kinds_test.js"], cwd=NODE, env=environment,
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, rf"# pass {2 * len(named)}\n")


if __name__ == "__main__":
    main()
