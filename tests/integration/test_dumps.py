"""Filters as bytes: BF.SCANDUMP, BF.LOADCHUNK, BF.DEBUG, BF.DUMP and BF.RESTORE, by hand and through redis-py, between
servers and across restarts. The bytes of the kind redisbloom are compared with RedisBloom's."""

import hashlib
import struct

import redis
from filter_types import needed_options, type_names
from harness import OwnServerTest, lasting_info, main, option, scandump, server_only

ONE_ITEM_HEADER = bytes.fromhex(
    "010000000000000001000000050000000200000008000000000000004000000000000000"
    "01000000000000009a9999999999a93f4af7d49edef01840050000000a0000000000000000")
ONE_ITEM_BITS = bytes.fromhex("0108008000042000")
TWO_ITEMS_HEADER = bytes.fromhex(
    "0200000000000000010000000500000002000000900000000000000080040000000000000200000000000000"
    "7b14ae47e17a743fe9862fb2350e264008000000640000000000000000")
TWO_ITEMS_BITS = [67, 100, 131, 307, 371, 448, 508, 611, 675, 696, 756, 816, 851, 915, 1004, 1064]


def pieces_of(client, key):
    pieces = []
    cursor, data = client.execute_command("BF.SCANDUMP", key, 0)
    while cursor != 0:
        pieces.append((cursor, data))
        cursor, data = client.execute_command("BF.SCANDUMP", key, cursor)
    assert data == b""
    return pieces


def load(client, key, pieces):
    for cursor, data in pieces:
        assert client.execute_command("BF.LOADCHUNK", key, cursor, data) in (b"OK", "OK", True)


class RedisBloomBytes(OwnServerTest):
    """A server whose default type is redisbloom makes what RedisBloom makes."""

    def setUp(self):
        super().setUp()
        self.server = self.make_server(default_type="redisbloom").start()
        self.client = self.server.client()

    def test_one_item(self):
        self.client.execute_command("BF.RESERVE", "bf", "0.1", 10)
        self.client.execute_command("BF.ADD", "bf", "item1")
        self.assertEqual(pieces_of(self.client, "bf"), [(1, ONE_ITEM_HEADER), (9, ONE_ITEM_BITS)])

    def test_two_items(self):
        self.client.execute_command("BF.RESERVE", "bf", "0.01", 100)
        self.client.execute_command("BF.MADD", "bf", "bar", "baz")
        (_, header), (cursor, bits) = pieces_of(self.client, "bf")
        self.assertEqual(header, TWO_ITEMS_HEADER)
        self.assertEqual(cursor, 145)
        self.assertEqual([x for x in range(1152) if bits[x >> 3] >> (x & 7) & 1], TWO_ITEMS_BITS)

    def test_a_chain(self):
        self.client.execute_command("BF.RESERVE", "bf", "0.001", 100)
        self.client.execute_command("BF.MADD", "bf", *range(4000))
        (_, header), *links = pieces_of(self.client, "bf")
        self.assertEqual(len(header), 338)
        self.assertEqual(hashlib.sha256(header).hexdigest(),
                         "a9b439040b43615d319b538343e8e14520887a407d9666ff8cc2b553b46487b5")
        self.assertEqual(hashlib.sha256(b"".join(bits for _, bits in links)).hexdigest(),
                         "29a532e98697563f41e89783f161f6a656a1b05eb07b7ae2b73c89dacafcff6e")
        self.assertEqual(len(links), 6, "one piece a link")

    def test_a_full_filter(self):
        self.client.execute_command("BF.RESERVE", "bf", "0.01", 3, "NONSCALING")
        *added, full = self.client.execute_command("BF.MADD", "bf", "a", "b", "c", "d")
        self.assertEqual(added, [1, 1, 1])
        self.assertEqual(str(full), "non scaling filter is full")
        (_, header), (_, bits) = pieces_of(self.client, "bf")
        self.assertEqual(len(bits), 8)
        self.assertEqual(struct.unpack_from("<I", header, 20 + 40)[0], 7)

    def test_growth_and_sizes(self):
        for expansion, links in ((1, 23), (2, 5), (4, 4)):
            key = f"bf{expansion}"
            self.client.execute_command("BF.RESERVE", key, "0.01", 4, "EXPANSION", expansion)
            self.client.execute_command("BF.MADD", key, *range(100))
            self.assertEqual(self.client.execute_command("BF.INFO", key, "FILTERS"), [links])
        for rate, capacity, size in (("0.01", 100, 240), ("0.001", 100, 296), ("0.000001", 300_000_000, 1132420232)):
            self.client.execute_command("BF.RESERVE", "bf", rate, capacity)
            self.assertEqual(self.client.execute_command("BF.INFO", "bf", "SIZE"), [size])
            self.client.delete("bf")

    def test_a_restart_keeps_every_byte(self):
        self.client.execute_command("BF.RESERVE", "bf", "0.001", 100)
        self.client.execute_command("BF.MADD", "bf", *range(2000))
        before = pieces_of(self.client, "bf"), self.client.execute_command("BF.DEBUG", "bf")
        old = struct.pack("<QII", 0, 1, 0) + struct.pack("<QQQddIIB", 128, 0, 0, 0.01, 9.585058377367439, 7, 106, 10)
        load(self.client, "old", [(1, old), (129, bytes(128))])
        self.client.execute_command("BF.MADD", "old", *range(50))
        old_before = pieces_of(self.client, "old"), lasting_info(self.server.connect(), "old")
        self.client.execute_command("SAVE")
        self.server.restart()
        client = self.server.client()
        self.assertEqual((pieces_of(client, "bf"), client.execute_command("BF.DEBUG", "bf")), before)
        self.assertEqual((pieces_of(client, "old"), lasting_info(self.server.connect(), "old")), old_before)
        client.execute_command("BF.MADD", "old", *range(500))
        self.assertEqual(client.execute_command("BF.MEXISTS", "old", *range(500)), [1] * 500)

    @server_only("the module makes the key with the header, as RedisBloom does: test_module_drop_in.py")
    def test_a_load_in_progress_is_nowhere_to_be_seen(self):
        self.client.execute_command("BF.LOADCHUNK", "bf", 1, ONE_ITEM_HEADER)
        self.assertEqual(self.client.execute_command("EXISTS", "bf"), 0)
        self.assertEqual(self.client.execute_command("DBSIZE"), 0)
        # Another connection, on another event loop perhaps, goes on with it.
        other = self.server.client()
        other.execute_command("BF.LOADCHUNK", "bf", 5, ONE_ITEM_BITS[:4])
        self.assertEqual(self.client.execute_command("EXISTS", "bf"), 0)
        self.client.execute_command("BF.LOADCHUNK", "bf", 9, ONE_ITEM_BITS[4:])
        self.assertEqual(other.execute_command("BF.EXISTS", "bf", "item1"), 1)

    @server_only("an engine's used_memory moves on its own")
    def test_hostile_headers_take_no_memory(self):
        link = struct.Struct("<QQQddIQB")
        good = (8, 64, 0, 0.05, 6.2352242295726885, 5, 10, 0)
        changes = [(0, 1 << 60), (1, 0), (2, 1 << 51), (3, float("nan")), (4, float("nan")), (4, float("inf")),
                   (5, 0x7FFFFFFF), (6, 1 << 63), (7, 63)]
        used = self.client.info("memory")["used_memory"]
        for at, value in changes:
            fields = list(good)
            fields[at] = value
            header = struct.pack("<QIII", 0, 1, 5, 2) + link.pack(*fields)
            with self.assertRaisesRegex(redis.ResponseError, "^received bad data: RedisBloom header: "):
                self.client.execute_command("BF.LOADCHUNK", "bf", 1, header)
        self.assertEqual(self.client.info("memory")["used_memory"], used)


class ThroughRedisPy(OwnServerTest):
    def round_trip(self, kind):
        bloom = self.server.client().bf()
        bloom.create("myBloom", "0.0001", "1000")
        for x in range(1000):
            bloom.add("myBloom", x)
            self.assertTrue(bloom.exists("myBloom", x))
        chunks = []
        chunk = scandump(bloom.client, "myBloom", 0)
        while chunk[0] != 0:
            chunks.append(chunk)
            chunk = scandump(bloom.client, "myBloom", chunk[0])
        before = bloom.execute_command("bf.debug", "myBloom")
        info = bloom.info("myBloom")
        bloom.client.delete("myBloom")
        for chunk in chunks:
            bloom.loadchunk("myBloom", *chunk)
        self.assertEqual(bloom.execute_command("bf.debug", "myBloom"), before)
        self.assertEqual(bloom.info("myBloom").insertedNum, info.insertedNum)
        self.assertEqual(bloom.info("myBloom").capacity, 1000)
        for x in range(1000):
            self.assertTrue(bloom.exists("myBloom", x))
        self.assertEqual(info.filterNum, 1, kind)
        bloom.client.delete("myBloom")

    def test_its_own_calls_on_every_kind_that_grows(self):
        self.server = self.make_server().start()
        for kind in type_names(by_default=True, grows=True):
            with self.subTest(kind):
                self.server.client().config_set(option("default-type"), kind)
                self.round_trip(kind)


class BetweenServers(OwnServerTest):
    def test_dumps_move_filters_of_every_kind(self):
        here, there = self.make_server().start().client(), self.make_server().start().client()
        for kind in type_names(by_reserve=True):
            here.execute_command("BF.RESERVE", kind, "0.001", 1000, "TYPE", kind, *needed_options(kind))
            here.execute_command("BF.MADD", kind, *range(900))
            load(there, kind, pieces_of(here, kind))
            self.assertEqual(there.execute_command("BF.MEXISTS", kind, *range(900)), [1] * 900)
            dump = here.execute_command("BF.DUMP", kind)
            self.assertEqual(there.execute_command("BF.DUMP", kind), dump)
            self.assertEqual(there.execute_command("BF.RESTORE", kind + "2", dump), b"OK")
            with self.assertRaisesRegex(redis.ResponseError, "^item exists$"):
                there.execute_command("BF.RESTORE", kind, dump)
            self.assertEqual(there.execute_command("BF.RESTORE", kind, dump, "REPLACE"), b"OK")
            if kind != "redisbloom":
                self.assertEqual(b"".join(data for _, data in pieces_of(here, kind)), dump)

    def test_a_filter_of_many_pieces_moves_while_others_add(self):
        here, there = self.make_server().start().client(), self.make_server().start().client()
        here.execute_command("BF.RESERVE", "big", "0.001", 30_000_000)
        here.execute_command("BF.MADD", "big", *range(1000))
        pieces = 0
        cursor, data = here.execute_command("BF.SCANDUMP", "big", 0)
        while cursor != 0:
            self.assertFalse(there.execute_command("EXISTS", "big"))
            here.execute_command("BF.ADD", "big", f"more{pieces}")
            there.execute_command("BF.LOADCHUNK", "big", cursor, data)
            pieces += 1
            cursor, data = here.execute_command("BF.SCANDUMP", "big", cursor)
        self.assertGreater(pieces, 3)
        self.assertEqual(there.execute_command("BF.MEXISTS", "big", *range(1000)), [1] * 1000)
        self.assertEqual(there.execute_command("BF.CARD", "big"), 1000, "as of the dump's beginning")

    def test_damage_on_the_way_is_found(self):
        client = self.make_server().start().client()
        client.execute_command("BF.RESERVE", "k", "0.001", 1000)
        client.execute_command("BF.MADD", "k", *range(900))
        dump = bytearray(client.execute_command("BF.DUMP", "k"))
        dump[500] ^= 4
        with self.assertRaisesRegex(redis.ResponseError, "received bad data: dump: its checksum does not match"):
            client.execute_command("BF.RESTORE", "copy", bytes(dump))
        self.assertFalse(client.execute_command("EXISTS", "copy"))


if __name__ == "__main__":
    main()
