"""bitsieve migrate and RESTORE: RedisBloom's files, payloads and stream become the same filters, as do Bitsieve's."""

import os
import pathlib
import shutil
import socket
import struct
import tempfile
import time

import redis

from filter_types import needed_options, type_names
from harness import OwnServerTest, encode, lasting_info, main
from migration import Live, migrate, moved, url
from module_sketches import RDB, golden_dumps
from rdb_payload import MODULE_2, crc64, length, payload, rdb_file
from redisbloom_fixtures import FILES, Master, check, commands_of, dumps, expected, rdb_path

TOO_SHORT = [1, 1, 5, 2, 100, 0.01, 7, 9.58, 64, 0, b"short", 1]  # a Bloom filter of RedisBloom, with too few bits


class Migrate(OwnServerTest):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.new = self.make_server(default_type="redisbloom").start()
        self.client = self.new.client()

    def path(self, name):
        return os.path.join(self.home, name)

    def file(self, name, content):
        pathlib.Path(self.path(name)).write_bytes(content)
        return self.path(name)

    def fails(self, problem, *words, status=1):
        done = migrate(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertIn(problem, done.stderr)
        return done

    def check_all(self, files):
        for file in files:
            for key, expectation in expected(file).items():
                with self.subTest(key=key):
                    check(self, self.client, key, expectation)

    # ---- RDB files

    def test_files_of_redisbloom(self):
        for file in FILES:
            report = moved(self, rdb_path(file), url(self.new))
            self.assertEqual(report["moved"], len(expected(file)))
            self.assertEqual(report["other_keys"], {"string": 1})
        self.check_all(FILES)
        self.new.restart()
        self.client = self.new.client()
        self.check_all(FILES)

    def test_names_and_expiries(self):
        later = int(time.time() * 1000) + 3_600_000
        fields = dumps()["b:auto"][1:-10]  # without type and tail
        keys = b""
        for name, expires in ((b"a:\xff\n'", 0), (b"a:gone", 1), (b"a:later", later), (b"b:other", 0)):
            keys += (b"\xfc" + struct.pack("<Q", expires) if expires else b"") + bytes([MODULE_2])
            keys += length(len(name)) + name + fields
        keys += b"\xfe\x03" + bytes([MODULE_2]) + length(3) + b"a:3" + fields
        path = self.file("some.rdb", b"REDIS0010\xfe\x00" + keys + b"\xff" + bytes(8))
        report = moved(self, path, url(self.new), "--match", "a:*")
        self.assertEqual((report["moved"], report["expired"]), (2, 1))
        self.assertEqual(report["other_keys"], {"filter of database 3": 1})
        self.assertEqual(sorted(self.client.keys()), [b"a:later", b"a:\xff\n'"])
        self.assertEqual(self.client.pexpiretime("a:later"), later)
        self.assertEqual(self.client.ttl(b"a:\xff\n'"), -1)

    def test_sketches_are_named(self):
        report = moved(self, RDB, url(self.new))
        self.assertEqual((report["moved"], report["other_keys"]), (2, {"string": 1}))
        names = {type: sorted(each["names"]) for type, each in report["sketches"].items()}
        self.assertEqual(names, {"CMSk-TYPE": ["cms:dim", "cms:empty", "cms:m", "cms:prob"],
                                 "TopK-TYPE": ["topk:a", "topk:b", "topk:empty"],
                                 "TDIS-TYPE": ["td:a", "td:b", "td:empty", "td:m"]})
        self.assertEqual(report["sketches"]["TDIS-TYPE"]["count"], 4)
        for words in ((RDB, "--dry-run", "--match", "topk:*"), (RDB, url(self.new), "--match", "topk:*")):
            printed = migrate(*words).stdout
            self.assertIn("3 sketches are not moved: a Bitsieve server has no sketches; Redis and Valkey with "
                          "bitsieve.so have (docs/swap.md)\n  3 Top-K: 'topk:", printed)

    def test_many_sketches(self):
        sketch = golden_dumps()["topk:a"][1:-10]
        keys = [b"".join((b"\xfe\x00", bytes([MODULE_2]), length(5), b"t:%03d" % number, sketch))
                for number in range(150)]
        keys += [b"\xfe\x03", bytes([MODULE_2]), length(3), b"t:x", sketch]
        keys += [b"\xfe\x00\xfc", struct.pack("<Q", 1), bytes([MODULE_2]), length(3), b"t:y", sketch]
        path = self.file("some.rdb", b"REDIS0010" + b"".join(keys) + b"\xff" + bytes(8))
        report = moved(self, path, url(self.new))
        self.assertEqual((report["expired"], report["other_keys"]), (1, {"sketch of database 3": 1}))
        self.assertEqual(report["sketches"]["TopK-TYPE"], {"count": 150, "names": [f"t:{n:03}" for n in range(20)]})
        self.assertIn("150 Top-K: 't:000', 't:001', ", migrate(path, url(self.new)).stdout)
        self.assertIn("'t:019' and 130 more\n", migrate(path, url(self.new)).stdout)

    def test_damage_moves_nothing(self):
        whole = rdb_path("bloom").read_bytes()
        for name, content, problem in (("cut.rdb", whole[:-100], "ends too early"),
                                       ("changed.rdb", whole[:5000] + b"?" + whole[5001:], "checksum is wrong"),
                                       ("text", b"no such file", "not an RDB file"),
                                       ("empty", b"", "not a regular file, or empty"),
                                       ("odd.rdb", b"REDIS0099\xfe\x00\x63\x01kx", "unknown type 99")):
            with self.subTest(name):
                self.fails(problem, self.file(name, content), url(self.new))
        self.fails("No such file", self.path("missing"), url(self.new))
        self.assertEqual(self.client.dbsize(), 0)

    def test_a_filter_that_is_none(self):
        good = dumps()["b:auto"][1:-10]
        path = self.file("some.rdb", rdb_file("bad", "MBbloom--", 4, TOO_SHORT)[:-9] + bytes([MODULE_2]) + length(4) +
                         b"good" + good + b"\xff" + bytes(8))
        self.fails("'bad': ", path, url(self.new))
        self.assertEqual(self.client.keys(), [b"good"])

    def test_names_that_are_taken(self):
        self.client.execute_command("BF.ADD", "b:auto", "mine")
        self.fails("'b:auto': the new server has a filter of this name", rdb_path("bloom"), url(self.new))
        self.assertEqual(self.client.execute_command("BF.CARD", "b:auto"), 1)
        self.assertEqual(self.client.dbsize(), len(expected("bloom")))
        moved(self, rdb_path("bloom"), url(self.new), "--replace")
        self.check_all(["bloom"])

    def test_resume(self):
        notes = self.path("notes")
        fields = dumps()["b:auto"][1:-10]
        keys = [b"".join((bytes([MODULE_2]), length(2), b"k%d" % number, fields)) for number in range(5)]
        path = self.file("some.rdb", b"REDIS0010" + b"".join(keys) + b"\xff" + bytes(8))
        self.client.execute_command("BF.ADD", "k3", "x")  # of someone else
        self.fails("'k3': ", path, url(self.new), "--resume", notes)
        self.client.delete("k1", "k3")
        report = moved(self, path, url(self.new), "--resume", notes)
        self.assertEqual((report["moved"], report["moved_before"]), (2, 3))
        self.assertFalse(os.path.exists(notes))
        pathlib.Path(notes).write_text("bitsieve migrate elsewhere\n", encoding="utf-8")
        self.fails("belongs to", path, url(self.new), "--resume", notes)

    def test_as_another_type(self):
        report = moved(self, rdb_path("bloom"), url(self.new), "--as", "cuckoo", "--match", "b:e?")
        self.assertEqual((report["moved"], report["made_empty"]), (3, 3))
        info = lasting_info(self.new.connect(), "b:e2")
        self.assertIn(b"cuckoo", info)
        self.assertEqual(self.client.execute_command("BF.CARD", "b:e2"), 0)
        self.assertGreaterEqual(self.client.execute_command("BF.INFO", "b:e2", "CAPACITY")[0], 1500)
        self.fails('--as is a filter type, not "nothing"; there are blocked', rdb_path("bloom"), url(self.new), "--as",
                   "nothing", "--match", "b:ns", status=2)

    def test_samples(self):
        items = "".join(f"o-b:large:{number}\n" for number in range(30_000))
        there = self.file("there", items.encode())
        report = moved(self, rdb_path("large"), url(self.new), "--verify", f"b:large={there}")
        self.assertEqual(report["samples"], [{"filter": "b:large", "items": 10_000, "before": 10_000, "now": 10_000,
                                              "missing": 0}])
        others = self.file("others", "".join(f"never:{number}\n" for number in range(100)).encode())
        done = migrate(rdb_path("large"), url(self.new), "--replace", "--json", "--verify", f"b:large={others}")
        self.assertEqual(done.returncode, 1)

    def test_bandwidth(self):
        begin = time.monotonic()
        moved(self, rdb_path("large"), url(self.new), "--limit", "50kb")
        self.assertGreater(time.monotonic() - begin, 0.5)  # 74 kB, of which the last chunk is sent at once

    def test_wrong_words(self):
        for words, problem in (((rdb_path("bloom"), "http://x"), "scheme"),
                               (("http://x", url(self.new)), "scheme"),
                               ((rdb_path("bloom"), url(self.new), "--limit", "much"), "--limit is a size"),
                               ((rdb_path("bloom"), url(self.new), "--verify=file"), "--verify is KEY=FILE"),
                               ((rdb_path("bloom"), url(self.new), "--live"), "--live is for a running server"),
                               ((url(self.new), url(self.new), "--live", "--resume", "x"), "leave out --resume")):
            with self.subTest(words):
                self.fails(problem, *words, status=2)
        self.fails("cannot connect", rdb_path("bloom"), "redis://127.0.0.1:1")

    # ---- another Bitsieve

    def test_every_type_of_a_server(self):
        old = self.make_server(requirepass="secret").start()
        client = old.client(password="secret")
        types = type_names(by_reserve=True)
        for name in types:
            client.execute_command("BF.RESERVE", name, 0.001, 20_000, "TYPE", name, *needed_options(name))
            client.execute_command("BF.MADD", name, *range(15_000))
        client.execute_command("CF.RESERVE", "rediscuckoo", 20_000)
        client.execute_command("CF.INSERT", "rediscuckoo", "ITEMS", *range(15_000))
        client.execute_command("CF.RESERVE", "empty", 500, "BUCKETSIZE", 4, "MAXITERATIONS", 30, "EXPANSION", 2)
        client.execute_command("BF.ADD", "tiny", "x")
        client.pexpireat("tiny", int(time.time() * 1000) + 3_600_000)
        items = self.file("items", "".join(f"{number}\n" for number in range(20_000)).encode())
        report = moved(self, f"redis://127.0.0.1:{old.port}", url(self.new), "--verify", f"cuckoo={items}",
                       REDISCLI_AUTH="secret")
        self.assertEqual(report["moved"], len(types) + 3)
        self.assertEqual(report["samples"][0]["before"], report["samples"][0]["now"])
        for name in (*types, "tiny", "rediscuckoo"):
            self.assertEqual(client.execute_command("BF.DUMP", name), self.client.execute_command("BF.DUMP", name))
        self.assertEqual(client.execute_command("CF.INFO", "empty"), self.client.execute_command("CF.INFO", "empty"))
        self.assertLess(abs(client.pexpiretime("tiny") - self.client.pexpiretime("tiny")), 1000)
        self.fails("NOAUTH", f"redis://127.0.0.1:{old.port}", url(self.new))
        self.fails("does not accept a replica", f"redis://:secret@127.0.0.1:{old.port}", url(self.new), "--live")

    # ---- live

    def live(self, rdb, *words):
        master = Master(rdb)
        self.addCleanup(master.close)
        live = Live(f"redis://127.0.0.1:{master.port}", url(self.new), *words)
        self.addCleanup(live.clean_up)
        live.wait_for(0)
        return master, live

    def test_stream_of_redisbloom(self):
        master, live = self.live(rdb_path("bloom").read_bytes())
        cuckoos = expected("cuckoo")
        changes = 0
        for key, expectation in cuckoos.items():
            for command in commands_of(key, expectation):
                master.send(*command)
                changes += 1
        master.send("SET", "s", "left")
        master.send("PING")
        live.wait_for(changes)
        self.assertGreater(master.acknowledged, 0)
        report = live.end(self)
        self.assertEqual((report["moved"], report["live_changes"], report["refused_changes"]),
                         (len(expected("bloom")), changes, 0))
        self.check_all(["bloom", "cuckoo"])

    def test_changes_of_names(self):
        master, live = self.live(rdb_path("bloom").read_bytes(), "--match", "b:*")
        later = int(time.time() * 1000) + 3_600_000
        master.send("DEL", "b:auto", "s:string")
        master.send("RENAME", "b:e1", "b:renamed")
        master.send("PEXPIREAT", "b:e2", later)
        master.send("PERSIST", "b:ttl")
        master.send("BF.ADD", "other", "x")
        master.send("SELECT", 3)
        master.send("DEL", "b:e4")
        master.send("SELECT", 0)
        master.send("RESTORE", "b:restored", 0, dumps()["b:e1"])
        master.send("BF.RESERVE", "b:ns", 0.01, 100)  # refused, since it is there: what a master never sends
        live.wait_for(6)
        report = live.end(self, status=1)
        self.assertEqual(report["refused_changes"], 1)
        names = {name.decode() for name in self.client.keys()}
        self.assertEqual(names, {"b:renamed", "b:restored", *expected("bloom")} - {"b:auto", "b:e1"})
        self.assertEqual((self.client.pexpiretime("b:e2"), self.client.ttl("b:ttl")), (later, -1))

    def test_what_ends_a_live_migration(self):
        for command, problem in ((("FLUSHALL",), "executed FLUSHALL"), ((), "the old server: ")):
            with self.subTest(problem):
                self.client.flushall()
                master, live = self.live(rdb_path("large").read_bytes())
                if command:
                    master.send(*command)
                else:
                    master.connection.shutdown(socket.SHUT_RDWR)
                _, err = live.process.communicate(timeout=60)
                self.assertEqual(live.process.returncode, 1)
                self.assertIn(problem, err)
                self.assertEqual(self.client.dbsize(), len(expected("large")))


class Restore(OwnServerTest):
    def setUp(self):
        self.server = self.make_server(appendfsync="always").start()
        self.client = self.server.client()

    def refused(self, problem, *words):
        with self.assertRaises(redis.ResponseError) as raised:
            self.client.execute_command("RESTORE", *words)
        self.assertIn(problem, str(raised.exception))

    def test_payloads_of_redisbloom(self):
        expectations = {key: each for file in FILES for key, each in expected(file).items()}
        for key, each in dumps().items():
            ttl = expectations[key]["pexpiretime"]
            self.client.restore(key, max(ttl, 0), each, absttl=ttl > 0)
        self.server.kill()
        self.server.restart()
        for key, expectation in expectations.items():
            with self.subTest(key=key):
                check(self, self.server.client(), key, expectation)

    def test_options(self):
        one, other = dumps()["b:auto"], dumps()["b:e1"]
        self.client.restore("k", 60_000, one, idletime=5)
        self.assertLess(50_000, self.client.pttl("k"))
        self.refused("BUSYKEY", "k", 0, other)
        self.client.restore("k", 0, other, replace=True, frequency=3)
        self.assertEqual(self.client.pttl("k"), -1)
        self.assertEqual(self.client.execute_command("BF.CARD", "k"), 296)
        self.client.restore("k", 1, other, replace=True, absttl=True)  # long ago
        self.assertEqual(self.client.exists("k"), 0)

    def test_wrong_words(self):
        good = dumps()["b:auto"]
        for problem, *words in (("checksum", 0, good[:-1]), ("checksum", 0, b""),
                                ("checksum", 0, good[:30] + b"?" + good[31:]),
                                ("must be >= 0", -1, good), ("not an integer", "x", good),
                                ("not an integer", 1 << 63, good),
                                ("syntax error", 0, good, "NOW"), ("IDLETIME", 0, good, "IDLETIME", -1),
                                ("FREQ", 0, good, "FREQ", 256)):
            with self.subTest(problem=problem):
                self.refused(problem, "k", *words)
        self.assertEqual(self.client.exists("k"), 0)

    def test_what_is_no_filter(self):
        text = b"\x00\x05hello" + struct.pack("<H", 10)
        self.refused("not a filter", "k", 0, text + struct.pack("<Q", crc64(text)))
        self.refused("module type ReJSON-RL", "k", 0, payload("ReJSON-RL", 3, [b"{}"]))
        self.refused("Bad data format", "k", 0, payload("MBbloom--", 4, TOO_SHORT))
        self.refused("encoding 9", "k", 0, payload("MBbloom--", 9, [1]))

    def test_more_than_memory(self):
        self.client.config_set("maxmemory", "100kb")  # room for one of them, which is there twice while it is read
        self.client.execute_command("RESTORE", "first", 0, dumps()["b:large"])
        self.refused("OOM", "k", 0, dumps()["b:large"])


if __name__ == "__main__":
    main()
