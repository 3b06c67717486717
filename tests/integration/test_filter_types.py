"""Every filter type through the calls that redis-py and npm's redis have for RedisBloom: who knows those needs to
know nothing else."""

import redis
from filter_types import needed_options, type_names
from harness import ServerTest, main, scandump
from node_packages import needs, require_packages, run_node

# Made by CF.RESERVE, since its error rate cannot be chosen: each full table of buckets of 2 adds 1.6%.
CUCKOO = "rediscuckoo"
VALKEYS = "valkeybloom"  # BF.INFO has the fields of valkey-bloom
VALUE_TYPES = {CUCKOO: b"MBbloomCF", VALKEYS: b"bloomfltr"}
EXPANSIONS = {**dict.fromkeys(type_names(grows=False)), CUCKOO: 1}


class RedisPy(ServerTest):
    def each_type(self):
        client = self.client()
        for type_name in type_names():
            with self.subTest(type_name=type_name):
                if type_name == CUCKOO:
                    client.cf().create(type_name, 1000)
                else:
                    client.execute_command("BF.RESERVE", type_name, 0.001, 1000, "TYPE", type_name,
                                           *needed_options(type_name))
                yield client, client.bf(), type_name

    def test_the_server_has_the_same(self):
        with self.assertRaisesRegex(redis.ResponseError, f"must be one of: {', '.join(type_names())}$"):
            self.client().execute_command("BF.RESERVE", "k", 0.01, 100, "TYPE", "?")
        self.assertGreaterEqual(len(type_names()), 9)

    def test_adding_and_asking(self):
        for _, bloom, type_name in self.each_type():
            self.assertEqual(bloom.add(type_name, "foo"), 1)
            self.assertEqual(bloom.add(type_name, "foo"), 0)
            self.assertEqual(bloom.exists(type_name, "foo"), 1)
            self.assertEqual(bloom.exists(type_name, "bar"), 0)
            self.assertEqual(bloom.madd(type_name, "foo", "bar", "\0 \r\n", ""), [0, 1, 1, 1])
            self.assertEqual(bloom.mexists(type_name, "foo", "", "none", "\0 \r\n"), [1, 1, 0, 1])
            self.assertEqual(bloom.insert(type_name, ["foo", "baz"], noCreate=True), [0, 1])
            many = [f"item:{i}" for i in range(700)]
            self.assertGreaterEqual(sum(bloom.madd(type_name, *many)), 690)
            self.assertEqual(bloom.mexists(type_name, *many), [1] * len(many))
            self.assertLessEqual(sum(bloom.mexists(type_name, *range(10_000))), 1000 if type_name == CUCKOO else 40)

    def test_info(self):
        for client, bloom, type_name in self.each_type():
            bloom.madd(type_name, "a", "b", "c")
            info = bloom.info(type_name)
            self.assertGreaterEqual(info.capacity, 1000)
            self.assertGreater(info.size, 0)
            self.assertGreaterEqual(info.filterNum, 1)
            self.assertEqual(info.insertedNum, 3)
            self.assertEqual(info.expansionRate, EXPANSIONS.get(type_name, 2))
            self.assertEqual(client.execute_command("BF.CARD", type_name), 3)
            self.assertEqual(client.type(type_name), VALUE_TYPES.get(type_name, b"MBbloom--"))

    def test_plain_info_is_five_integers_as_strict_clients_read_it(self):
        """go-redis and redisbloom-go close the connection at a sixth field, and at one that is no integer."""
        labels = rb"Capacity", rb"Size", rb"Number of filters", rb"Number of items inserted", rb"Expansion rate"
        fields = b"".join(rb"\+%s\r\n(:\d+|\$-1|_)\r\n" % label for label in labels)
        for _, _, type_name in self.each_type():
            if type_name == VALKEYS:
                continue
            for version, head in ((2, rb"\*10\r\n"), (3, rb"%5\r\n")):
                self.assertRegex(self.connect(version).command("BF.INFO", type_name), rb"^" + head + fields + rb"$")

    def test_making_one_again_is_refused(self):
        for _, bloom, type_name in self.each_type():
            with self.assertRaisesRegex(redis.ResponseError, "item exists"):
                bloom.create(type_name, 0.01, 100)

    def test_removing_where_the_filter_typecan(self):
        for client, bloom, type_name in self.each_type():
            bloom.madd(type_name, "a", "b")
            if type_name in type_names(removes=True):
                self.assertEqual(client.execute_command("BF.DEL", type_name, "a"), 1)
                self.assertEqual(client.execute_command("BF.MDEL", type_name, "a", "b"), [0, 1])
                self.assertEqual(bloom.mexists(type_name, "a", "b"), [0, 0])
            else:
                with self.assertRaisesRegex(redis.ResponseError, f"an? {type_name} filter cannot remove items"):
                    client.execute_command("BF.DEL", type_name, "a")
                self.assertEqual(bloom.mexists(type_name, "a", "b"), [1, 1])

    def test_dumping_and_loading(self):
        for client, bloom, type_name in self.each_type():
            items = [f"item:{i}" for i in range(500)]
            bloom.madd(type_name, *items)
            cursor = 0
            while True:
                cursor, chunk = scandump(client, type_name, cursor)
                if cursor == 0:
                    break
                bloom.loadchunk("loaded", cursor, chunk)
            dump = client.execute_command("BF.DUMP", type_name, NEVER_DECODE=[])
            self.assertEqual(client.execute_command("BF.RESTORE", "restored", dump), b"OK")
            for name in ("loaded", "restored"):
                self.assertEqual(bloom.mexists(name, *items), [1] * len(items))
                self.assertEqual(client.execute_command("BF.CARD", name), client.execute_command("BF.CARD", type_name))
                self.assertEqual(client.execute_command("BF.DUMP", name, NEVER_DECODE=[]), dump)
                client.delete(name)
            with self.assertRaisesRegex(redis.ResponseError, "bad data"):
                client.execute_command("BF.RESTORE", "damaged", dump[:-1])

    def test_names(self):
        for client, bloom, type_name in self.each_type():
            bloom.add(type_name, "a")
            self.assertEqual(client.copy(type_name, "copy"), 1)
            bloom.add("copy", "b")
            self.assertEqual(bloom.mexists(type_name, "a", "b"), [1, 0])
            self.assertEqual(bloom.mexists("copy", "a", "b"), [1, 1])
            self.assertTrue(client.rename("copy", "other"))
            self.assertTrue(client.expire("other", 100))
            self.assertEqual(client.delete("other"), 1)
            self.assertEqual(client.execute_command("BF.CLEAR", type_name), b"OK")
            self.assertEqual(bloom.exists(type_name, "a"), 0)


class NodeRedis(ServerTest):
    @needs(require_packages)
    def test_every_kind(self):
        named = type_names(by_reserve=True)
        options = {f"OPTIONS_{name}": " ".join(needed_options(name)) for name in named}
        printed = run_node(self, "filter_types_test.js", FILTER_TYPES=",".join(named), **options)
        self.assertRegex(printed, rf"# pass {2 * len(named)}\n")


if __name__ == "__main__":
    main()
