"""RedisBloom's data on the module: its RDB files, payloads, logs and stream, and the way back to it."""

import math
import pathlib
import re
import shutil

from engine import SYNC_SECONDS, EngineTest, main, wait_for_no_child, wait_for_replica
from harness import PATIENCE, encode, wait_until
from module_filters import dump_chunks
from rdb_payload import rdb_file
from redisbloom_fixtures import FILES, Master, check, commands_of, dumps, expected, rdb_path


class FixturesTest(EngineTest):
    def check_all(self, engine, files=FILES):
        client = self.client(engine)
        for file in files:
            for key, expectation in expected(file).items():
                with self.subTest(key=key):
                    check(self, client, key, expectation)

    def start_on(self, file, **options):
        engine = self.make_engine(start=False, **options)
        shutil.copy(rdb_path(file), engine.directory + "/dump.rdb")
        return engine.start()

    def test_rdb_files(self):
        for file in FILES:
            engine = self.start_on(file)
            self.assertEqual(self.client(engine).type("s:string"), b"string")
            self.check_all(engine, [file])

    def test_payloads(self):
        engine = self.make_engine(bf_max_filter_bytes=1)
        client = self.client(engine)
        expectations = {key: each for file in FILES for key, each in expected(file).items()}
        for key, payload in dumps().items():
            if key not in expectations:
                continue
            ttl = expectations[key]["pexpiretime"]
            client.restore(key, max(ttl, 0), payload, absttl=ttl > 0)
        self.check_all(engine)

    def test_what_was_loaded_is_saved_and_loaded_again(self):
        for file in FILES:
            engine = self.start_on(file)
            self.client(engine).save()
            engine.restart()
            self.check_all(engine, [file])

    def test_a_log_of_redisblooms(self):
        engine = self.make_engine(start=False, appendonly="yes", bf_default_type="blocked")
        with open(engine.directory + "/appendonly.aof", "wb") as log:
            log.write(encode("SELECT", 0))
            for file in FILES:
                for key, expectation in expected(file).items():
                    for command in commands_of(key, expectation):
                        log.write(encode(*command))
        engine.start()
        self.check_all(engine)

    def test_a_rewritten_log_is_in_redisblooms_chunks(self):
        for file in FILES:
            engine = self.start_on(file, aof_use_rdb_preamble="no", auto_aof_rewrite_percentage=0)
            client = self.client(engine)
            client.config_set("appendonly", "yes")
            wait_for_no_child(client)
            log = b"".join(path.read_bytes() for path in self.log_files(engine))
            self.assertIn(b"LOADCHUNK", log)
            self.assertNotIn(b"BF.CONTENT", log)
            engine.kill()
            engine.options["appendonly"] = "yes"
            engine.start()
            self.check_all(engine, [file])

    @staticmethod
    def log_files(engine):
        return sorted(pathlib.Path(engine.directory, "appendonlydir").glob("*.aof"))

    def test_chunks_go_back(self):
        engine = self.start_on("bloom")
        client = self.client(engine)
        for key, expectation in expected("bloom").items():
            chunks = list(dump_chunks(client, key))
            for cursor, chunk in chunks:
                client.execute_command("BF.LOADCHUNK", "copy", cursor, chunk)
            self.assertEqual(list(dump_chunks(client, "copy")), chunks)
            self.assertEqual(len(chunks), len(expectation["chunks"]))
            client.delete("copy")


class LargeTest(EngineTest):
    def test_a_large_filter_is_not_resident_twice(self):
        entries, rate = 80_000_000, 0.005
        bits_per_entry = abs(math.log(rate)) / 0.480453013918201
        size = -(-int(entries * bits_per_entry) // 64) * 8
        hashes = math.ceil(0.693147180559945 * bits_per_entry)
        content = [0, 1, 5, 2, entries, rate, hashes, bits_per_entry, size * 8, 0, b"\xff" * size, 0]
        engine = self.make_engine(start=False)
        with open(engine.directory + "/dump.rdb", "wb") as file:
            file.write(rdb_file("k", "MBbloom--", 4, content))
        engine.start()
        self.assertEqual(self.client(engine).execute_command("BF.EXISTS", "k", "a"), 1)
        status = pathlib.Path(f"/proc/{engine.process.pid}/status").read_text(encoding="ascii")
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024
        print(f"{size / 1e6:.0f} MB: at most {peak / 1e6:.0f} MB resident", flush=True)
        self.assertLess(peak, 1.25 * size * PATIENCE)


class MasterTest(EngineTest):
    """A RedisBloom master, stood in for by what it would send."""

    def follow(self, engine, file="bloom"):
        master = Master(rdb_path(file).read_bytes())
        self.addCleanup(master.close)
        self.client(engine).replicaof("127.0.0.1", master.port)
        wait_until(lambda: self.client(engine).info("replication")["master_link_status"] == "up", SYNC_SECONDS,
                   "the file is loaded")
        return master

    def wait(self, engine, master):
        wait_until(lambda: self.client(engine).info("replication")["slave_repl_offset"] >= master.sent, SYNC_SECONDS,
                   "the stream is done")

    def test_full_sync_and_stream(self):
        engine = self.make_engine(bf_default_type="cuckoo", bf_max_filter_bytes=1, bf_cf_max_expansions=1)
        master = self.follow(engine)
        cuckoos = expected("cuckoo")
        for key, expectation in cuckoos.items():
            for command in commands_of(key, expectation):
                master.send(*command)
        self.wait(engine, master)
        for key, expectation in {**expected("bloom"), **cuckoos}.items():
            with self.subTest(key=key):
                check(self, self.client(engine), key, expectation)

    def test_what_redisbloom_accepts_is_not_refused(self):
        engine = self.make_engine(appendonly="yes")
        master = self.follow(engine)
        for command in (("BF.RESERVE", "unknown", "0.01", "100", "COLOUR", "blue"),
                        ("BF.RESERVE", "tiny", "1e-12", "100"),
                        ("BF.INSERT", "short", "CAP", "300", "ERR", "0.001", "EXP", "4", "IT", "a", "b"),
                        ("BF.INSERT", "nonscaling", "nonscaling", "items", "a"),
                        ("BF.ADD", "added", "a"),
                        ("CF.RESERVE", "cuckoo", "1000", "SHAPE", "round", "BUCKETSIZE", "4"),
                        ("CF.RESERVE", "twice", "1000", "EXPANSION", "1", "BUCKETSIZE", "4", "EXPANSION", "8"),
                        ("CF.INSERT", "cf:short", "CAP", "100", "I", "a", "b"),
                        ("CF.INSERTNX", "cf:short", "N", "ITEMS", "a", "c")):
            master.send(*command)
        for key in ("unknown", "tiny"):
            master.send("BF.MADD", key, *range(90))
        master.send("BF.ADD", "added too", "a")
        self.wait(engine, master)
        # The master's defaults are not known, so the user is to compare them, once.
        self.assertEqual(engine.log().count("this node's defaults: error rate 0.01, capacity 100, expansion 2"), 1)
        for restarted in (False, True):
            if restarted:
                wait_for_no_child(self.client(engine))
                engine.kill()
                engine.start()
            client = self.client(engine)
            for key in ("unknown", "tiny"):
                self.assertEqual(client.execute_command("BF.MEXISTS", key, *range(90)), [1] * 90)
            for key in ("unknown", "tiny", "short", "nonscaling", "added"):
                self.assertEqual(client.execute_command("BF.INFO", key, "TYPE"), [b"redisbloom"])
            self.assertEqual(client.execute_command("BF.INFO", "short", "CAPACITY"), [300])
            self.assertIn(b"bktsize:4 buckets:256", client.execute_command("CF.DEBUG", "twice"))
            self.assertIn(b"expansion:1", client.execute_command("CF.DEBUG", "twice"))
            self.assertEqual(client.execute_command("BF.MEXISTS", "short", "a", "b"), [1, 1])
            self.assertEqual(client.execute_command("CF.MEXISTS", "cf:short", "a", "b", "c"), [1, 1, 1])
            self.assertEqual(client.execute_command("CF.COUNT", "cf:short", "a"), 1)

    def test_a_load_that_is_on_its_way(self):
        """Its first chunks come by one master, it is saved, and the rest comes by another."""
        source = self.make_engine()
        client = self.client(source)
        client.execute_command("BF.RESERVE", "bf", 0.01, 50, "TYPE", "redisbloom")
        client.execute_command("BF.MADD", "bf", *range(500))
        client.execute_command("CF.INSERT", "cf", "CAPACITY", 64, "ITEMS", *range(500))
        chunks = {key: list(dump_chunks(client, key)) for key in ("bf", "cf")}

        def send(master, key, some):
            for cursor, chunk in some:
                master.send("CF.LOADCHUNK" if key == "cf" else "BF.LOADCHUNK", key, cursor, chunk)
        engine = self.make_engine(appendonly="yes")
        for begin, end in ((0, 1), (1, 3), (3, 100)):
            master = self.follow(engine) if begin == 0 else master
            for key, all_of_it in chunks.items():
                send(master, key, all_of_it[begin:end])
            self.wait(engine, master)
            engine_copy = self.make_engine(start=False)
            self.client(engine).save()
            shutil.copy(engine.directory + "/dump.rdb", engine_copy.directory + "/dump.rdb")
            engine_copy.start()
            self.assert_same(engine, engine_copy, ["bf", "cf"])
        self.assert_same(source, engine, ["bf", "cf"])
        wait_for_no_child(self.client(engine))
        engine.kill()
        engine.start()
        self.assert_same(source, engine, ["bf", "cf"])


class ForRedisBloomTest(EngineTest):
    def test_a_follower_needs_none_of_our_commands(self):
        """What a node without BF.MADE would follow is the same filters; the log has the stream."""
        master = self.make_engine(bf_for_redisbloom="yes", bf_default_type="redisbloom", appendonly="yes",
                                  aof_use_rdb_preamble="no")
        client = self.client(master)
        client.execute_command("BF.MADD", "auto", *range(1000))
        client.execute_command("BF.RESERVE", "fixed", 0.001, 100, "NONSCALING")
        client.execute_command("BF.RESERVE", "fixed:0", 0.001, 100, "EXPANSION", 0)
        client.execute_command("BF.INSERT", "inserted", "CAPACITY", 30, "ERROR", 0.07, "EXPANSION", 3, "ITEMS",
                               *range(300))
        client.execute_command("CF.ADD", "cf", "a")
        client.execute_command("CF.RESERVE", "cf:reserved", 300, "BUCKETSIZE", 3, "EXPANSION", 4)
        client.execute_command("CF.INSERT", "cf:reserved", "ITEMS", *range(2000))
        names = ["auto", "fixed", "fixed:0", "inserted", "cf", "cf:reserved"]
        replica = self.make_engine(bf_default_capacity=7, bf_cf_initial_size=50, bf_cf_bucket_size=5)
        replica.follow(master)
        for name in names:
            client.execute_command("CF.ADD" if name.startswith("cf") else "BF.ADD", name, "more")
            client.execute_command("BF.ADD", name + ":new", "a")
        wait_for_replica(master, replica)
        self.assert_same(master, replica, names + [name + ":new" for name in names])
        log = b"".join(path.read_bytes() for path in FixturesTest.log_files(master))
        self.assertIn(b"BF.RESERVE", log)
        for command in (b"BF.MADE", b"BF.AT", b"BF.CONTENT"):
            self.assertNotIn(command, log)


if __name__ == "__main__":
    main()
