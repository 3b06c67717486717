"""CF.*, RedisBloom's cuckoo filters: byte for byte over sockets, through redis-py's and npm's own calls, with several
clients at once, and across restarts."""

import hashlib
import struct
import threading

import redis
from harness import OwnServerTest, ServerTest, encode, main, on_engine, server_only
from node_packages import needs, require_packages, run_node

OK = b"+OK\r\n"


def error(text):
    return b"-" + text.encode() + b"\r\n"


def header(items, buckets, deletes, filters, bucket_size=2, max_iterations=20, expansion=1):
    return struct.pack("<QQQQHHH", items, buckets, deletes, filters, bucket_size, max_iterations, expansion)


def bulk(data):
    return b"$%d\r\n%s\r\n" % (len(data), data)


def dump(cuckoo, key):
    """All pieces of a dump, through redis-py."""
    pieces, position = [], 0
    while True:
        position, data = cuckoo.scandump(key, position)
        if position == 0:
            assert data is None
            return pieces
        pieces.append((position, data))


class Replies(ServerTest):
    def test_in_both_protocols(self):
        for version, yes, no in ((2, b":1\r\n", b":0\r\n"), (3, b"#t\r\n", b"#f\r\n")):
            self.setUp()
            fields = (b"+Size\r\n:1080\r\n+Number of buckets\r\n:512\r\n+Number of filters\r\n:1\r\n"
                      b"+Number of items inserted\r\n:4\r\n+Number of items deleted\r\n:1\r\n+Bucket size\r\n:2\r\n"
                      b"+Expansion rate\r\n:1\r\n+Max iterations\r\n:20\r\n")
            self.assert_replies(version, [
                ("CF.RESERVE k 1000", OK),
                ("CF.RESERVE k 1000", error("ERR item exists")),
                ("CF.ADD k a", yes),
                ("CF.ADD k a", yes),
                ("CF.ADDNX k a", no),
                ("CF.COUNT k a", b":2\r\n"),
                ("CF.INSERT k ITEMS b c", b"*2\r\n" + yes + yes),
                ("CF.INSERTNX k NOCREATE ITEMS b d", b"*2\r\n:0\r\n:1\r\n"),
                ("CF.EXISTS k d", yes),
                ("CF.MEXISTS k d e", b"*2\r\n" + yes + no),
                ("CF.DEL k a", yes),
                ("CF.INFO k", (b"*16\r\n" if version == 2 else b"%8\r\n") + fields),
                ("CF.DEBUG k",
                 bulk(b"bktsize:2 buckets:512 items:4 deletes:1 filters:1 max_iterations:20 expansion:1")),
                ("CF.COMPACT k", OK),
                ("CF.DEL k e", no),
                ("CF.DEL none e", error("Not found")),
                ("CF.SCANDUMP k 1025", b"*2\r\n:0\r\n" + (b"$-1\r\n" if version == 2 else b"_\r\n")),
                ("CF.RESERVE n 4 EXPANSION 0", OK),
                ("CF.INSERT n ITEMS x x x x x", b"*5\r\n" + yes * 4 + (b":-1\r\n" if version == 2 else no)),
                ("CF.INSERTNX n ITEMS x", b"*1\r\n:0\r\n"),
                ("CF.ADD n x", error("Filter is full")),
                ("TYPE k", b"+MBbloomCF\r\n"),
            ])

    def test_dumps_are_redisblooms(self):
        connection = self.connect()
        self.assertEqual(connection.command("CF.RESERVE", "cf", 8), OK)
        self.assertEqual(connection.command("CF.ADD", "cf", "item1"), b":1\r\n")
        self.assertEqual(connection.command("CF.SCANDUMP", "cf", 0), b"*2\r\n:1\r\n" + bulk(header(1, 4, 0, 1)))
        self.assertEqual(connection.command("CF.SCANDUMP", "cf", 1),
                         b"*2\r\n:9\r\n" + bulk(bytes.fromhex("0000000007000000")))
        self.assertEqual(connection.command("CF.SCANDUMP", "cf", 9), b"*2\r\n:0\r\n$-1\r\n")

        cuckoo = self.client().cf()
        cuckoo.create("chain", 64, expansion=2)
        for i in range(200):
            self.assertEqual(cuckoo.add("chain", str(i)), 1)
        pieces = dump(cuckoo, "chain")
        self.assertEqual(pieces[0], (1, header(200, 32, 0, 3, expansion=2)))
        self.assertEqual([position for position, _ in pieces], [1, 65, 193, 449])
        self.assertEqual(hashlib.sha256(b"".join(data for _, data in pieces[1:])).hexdigest(),
                         "c37f4014f22f0dc878d10d304ec6f53c9b0427fce2563fa35edeee1beccd50b7")

    def test_as_many_expansions_as_in_redisbloom(self):
        cuckoo = self.client().cf()
        cuckoo.create("k", 4)
        for i in range(124):
            self.assertEqual(cuckoo.add("k", str(i)), 1)
        with self.assertRaisesRegex(redis.ResponseError, "^Maximum expansions reached$"):
            cuckoo.add("k", "124")
        self.assertEqual(cuckoo.info("k").filterNum, 32)

    @server_only("the module's options have a prefix: test_module_commands.py")
    def test_options_can_be_changed_while_it_runs(self):
        client = self.client()
        before = client.config_get("cf-*")
        self.assertEqual(before, {"cf-bucket-size": "2", "cf-initial-size": "1024", "cf-max-iterations": "20",
                                  "cf-expansion-factor": "1", "cf-max-expansions": "32"})
        self.addCleanup(lambda: [client.config_set(name, value) for name, value in reversed(before.items())])
        client.config_set("cf-bucket-size", 4)
        client.config_set("cf-initial-size", 64)
        client.config_set("cf-max-iterations", 500)
        client.config_set("cf-expansion-factor", 2)
        client.config_set("cf-max-expansions", 2)
        client.cf().add("k", "x")
        info = client.cf().info("k")
        self.assertEqual((info.bucketSize, info.bucketNum, info.maxIteration, info.expansionRate), (4, 16, 500, 2))
        with self.assertRaisesRegex(redis.ResponseError, "Maximum expansions reached"):
            for i in range(1000):
                client.cf().add("k", i)
        with self.assertRaisesRegex(redis.ResponseError, "cf-initial-size must be at least twice cf-bucket-size"):
            client.config_set("cf-bucket-size", 33)
        with self.assertRaisesRegex(redis.ResponseError, "cf-max-expansions must be a whole number"):
            client.config_set("cf-max-expansions", 0)


class ThroughRedisPy(ServerTest):
    def test_every_call(self):
        client = self.client()
        cuckoo = client.cf()
        self.assertTrue(cuckoo.create("k", 1000, expansion=2, bucket_size=4, max_iterations=100))
        self.assertEqual(cuckoo.add("k", "foo"), 1)
        self.assertEqual(cuckoo.addnx("k", "foo"), 0)
        self.assertEqual(cuckoo.addnx("k", b"\0\r\n\xff"), 1)
        self.assertEqual(cuckoo.insert("k", ["a", "b", ""]), [1, 1, 1])
        self.assertEqual(cuckoo.insertnx("k", ["a", "c"]), [0, 1])
        self.assertEqual(cuckoo.insert("made", ["a"], capacity=5000), [1])
        self.assertEqual(cuckoo.info("made").bucketNum, 4096)
        with self.assertRaisesRegex(redis.ResponseError, "^not found$"):
            cuckoo.insert("none", ["a"], nocreate=True)
        self.assertEqual(cuckoo.exists("k", "foo"), 1)
        self.assertEqual(cuckoo.mexists("k", "foo", "none", ""), [1, 0, 1])
        self.assertEqual(cuckoo.count("k", "foo"), 1)
        cuckoo.add("k", "foo")
        self.assertEqual(cuckoo.count("k", "foo"), 2)
        self.assertEqual(cuckoo.delete("k", "foo"), 1)
        self.assertEqual(cuckoo.delete("k", "none"), 0)
        self.assertEqual(client.execute_command("CF.COMPACT", "k"), b"OK")
        info = cuckoo.info("k")
        self.assertEqual((info.size, info.bucketNum, info.filterNum, info.insertedNum, info.deletedNum, info.bucketSize,
                          info.expansionRate, info.maxIteration), (1080, 256, 1, 6, 0, 4, 2, 100))

    def test_dump_and_load(self):
        cuckoo = self.client().cf()
        cuckoo.create("k", 100, expansion=2)
        cuckoo.insert("k", list(range(1000)))
        pieces = dump(cuckoo, "k")
        for position, data in pieces:
            if not on_engine():  # the module makes the key with the header
                self.assertEqual(cuckoo.exists("copy", 1), 0)
            self.assertEqual(cuckoo.loadchunk("copy", position, data), b"OK")
        self.assertEqual(dump(cuckoo, "copy"), pieces)
        self.assertEqual(cuckoo.mexists("copy", *range(1000)), [1] * 1000)
        cuckoo.create("empty", 100)
        self.assertEqual(cuckoo.scandump("empty", 0), [0, None])

    def test_a_sub_filter_of_more_than_one_chunk(self):
        client = self.client()
        cuckoo = client.cf()
        cuckoo.create("k", 40_000_000)
        cuckoo.insert("k", list(range(1000)))
        pieces = dump(cuckoo, "k")
        self.assertEqual([len(data) for _, data in pieces], [38] + [1 << 24] * 4)
        for position, data in pieces:
            cuckoo.loadchunk("copy", position, data)
        self.assertEqual(cuckoo.mexists("copy", *range(1000)), [1] * 1000)
        # From within, a chunk begins there.
        begin, size = 1 << 20, 1 << 24
        position, data = cuckoo.scandump("k", begin + 1)
        self.assertEqual((position, data), (begin + 1 + size, (pieces[1][1] + pieces[2][1])[begin:begin + size]))

    def test_bloom_calls_work_on_it(self):
        client = self.client()
        client.cf().create("k", 1000)
        self.assertEqual(client.bf().madd("k", "a", "a", "b"), [1, 0, 1])
        self.assertEqual(client.bf().mexists("k", "a", "b", "c"), [1, 1, 0])
        self.assertEqual(client.cf().count("k", "a"), 2)
        self.assertEqual(client.execute_command("BF.MDEL", "k", "a", "a", "a"), [1, 1, 0])
        self.assertEqual(client.bf().info("k").insertedNum, 1)
        with self.assertRaisesRegex(redis.ResponseError, "create it with CF.RESERVE"):
            client.execute_command("BF.RESERVE", "n", 0.01, 100, "TYPE", "rediscuckoo")

    def test_other_kinds_are_of_the_wrong_type(self):
        client = self.client()
        client.bf().add("b", "a")
        with self.assertRaisesRegex(redis.ResponseError, "^WRONGTYPE Operation against a key holding the wrong kind"):
            client.cf().add("b", "a")
        self.assertEqual(client.cf().exists("b", "a"), 0)

    def test_clients_that_add_delete_and_ask_at_once(self):
        self.client().cf().create("k", 200)
        stay = [f"stay:{i}" for i in range(500)]
        self.client().cf().insert("k", stay)
        missed, refused = [], []
        done = threading.Event()

        def change(name):
            cuckoo = self.client().cf()
            for begin in range(0, 1500, 300):
                items = [f"{name}:{i}" for i in range(begin, begin + 300)]
                refused.append(cuckoo.insert("k", items).count(-1))
                refused.append(sum(1 - cuckoo.delete("k", item) for item in items))

        def ask():
            cuckoo = self.client().cf()
            while not done.is_set():
                missed.append(cuckoo.mexists("k", *stay).count(0))

        reader = threading.Thread(target=ask)
        writers = [threading.Thread(target=change, args=(name,)) for name in range(3)]
        for thread in [reader, *writers]:
            thread.start()
        for thread in writers:
            thread.join()
        done.set()
        reader.join()
        self.assertEqual((len(refused), sum(refused), sum(missed)), (30, 0, 0))
        self.assertEqual(self.client().cf().info("k").insertedNum, 500)


class ThroughNodeRedis(ServerTest):
    @needs(require_packages)
    def test_every_call_in_both_protocols(self):
        self.assertRegex(run_node(self, "cuckoo_test.js"), r"# pass 3\n")


@server_only("memory is limited otherwise there: test_module_limits.py")
class Hostile(ServerTest):
    OPTIONS = {"maxmemory": "64mb"}

    def test_headers_that_ask_for_too_much(self):
        with self.connect() as connection:
            for filters, buckets, expansion in ((1, 1 << 55, 1), (65535, 1, 32768), (2**64 - 1, 4, 1)):
                reply = connection.command("CF.LOADCHUNK", "k", 1, header(0, buckets, 0, filters, expansion=expansion))
                self.assertEqual(reply, error("Couldn't create filter!"))
            reply = connection.command("CF.LOADCHUNK", "k", 1, header(0, 1 << 40, 0, 3, expansion=4))
            self.assertTrue(reply.startswith(b"-OOM "), reply)
            self.assertEqual(connection.command("CF.LOADCHUNK", "k", 9, b"x" * 8), error("ERR not found"))
            self.assertEqual(connection.command("EXISTS", "k"), b":0\r\n")

    def test_many_unfinished_loads_are_bounded(self):
        with self.connect() as connection:
            replies = [connection.ask(encode("CF.LOADCHUNK", f"k{i}", 1, header(0, 4, 0, 1))) for i in range(200)]
        self.assertEqual(set(replies), {OK, error("ERR too many filters are being loaded at once: try again when "
                                                  "another load has ended")})
        self.assertGreaterEqual(replies.count(OK), 32)


class Restart(OwnServerTest):
    def test_bytes_survive(self):
        server = self.make_server().start()
        cuckoo = server.client().cf()
        cuckoo.create("k", 64, expansion=2)
        cuckoo.insert("k", list(range(500)))
        for i in range(0, 20):
            cuckoo.delete("k", i)
        self.assertTrue(server.client().save())
        cuckoo.delete("k", 20)  # a deletion alone is a change that the next snapshot must have
        self.assertTrue(server.client().save())
        before = dump(cuckoo, "k")
        server.kill()
        cuckoo = server.start().client().cf()
        self.assertEqual(dump(cuckoo, "k"), before)
        self.assertEqual(cuckoo.mexists("k", *range(21, 500)), [1] * 479)
        self.assert_stops_well(server)


if __name__ == "__main__":
    main()
