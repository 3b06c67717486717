"""valkey-bloom's data on the module, in valkey-bloom's own bytes: its files, payloads, log and stream, restarts,
replicas and hostile values."""

import hashlib
import random
import struct

import redis

from engine import SYNC_SECONDS, EngineTest, main, wait_for_no_child, wait_for_replica
from harness import encode, wait_until
from rdb_payload import fields, payload
from redisbloom_fixtures import Master
from valkey_filters import (GOLDEN, VALUE_TYPE, accept_adding, check, check_adding, dump, files, filters_of, invalid,
                            objects)

FILES = [each for each in files("rdb", "capacity") if each["rdb_version"] <= 11]


def content(data):
    """What is in a payload, whether the engine packed its strings or not."""
    return fields(data)[1]


def load_payload(data):
    """What valkey-bloom's BF.LOAD takes, of what is in a payload of DUMP."""
    count, expansion, rate, ratio, random_seed, *rest = content(data)
    made = struct.pack("<BIddBQ", 1, expansion, rate, ratio, random_seed, count)
    for index in range(count):
        capacity, *rest = rest
        items = capacity
        if index == count - 1:
            items, *rest = rest
        slice_, *rest = rest
        made += struct.pack("<Q", len(slice_)) + slice_ + struct.pack("<qq", items, capacity)
    return made


class ValkeyBloomTest(EngineTest):
    def start_on(self, file, engine=None):
        """A file with an RDB version that every engine takes, which differs in nothing else."""
        engine = engine or self.make_engine(start=False)
        stored = (GOLDEN / file["file"]).read_bytes()
        with open(engine.directory + "/dump.rdb", "wb") as out:
            out.write(b"REDIS0010" + stored[9:-8] + bytes(8))
        return engine.start()

    def check_all(self, client, keys):
        for key, made in keys.items():
            with self.subTest(key=key):
                check(self, client, key, made)

    def contents(self, client, keys):
        return {key: content(client.dump(key)) for key in keys}


class DataTest(ValkeyBloomTest):
    def test_files(self):
        for file in FILES:
            with self.subTest(file=file["file"]):
                engine = self.start_on(file)
                client = self.client(engine)
                keys = filters_of(file)
                self.assertTrue(keys)
                self.check_all(client, keys)
                client.save()
                engine.restart()
                self.check_all(self.client(engine), keys)

    def test_bytes_are_valkey_blooms(self):
        client = self.client(self.make_engine())
        for file in files("dump", "capacity"):
            with self.subTest(file=file["file"]):
                made = objects()[file["object"]]
                client.restore("k", 0, dump(file["file"]), replace=True)
                self.assertEqual(client.type("k").decode(), VALUE_TYPE)
                dumped = client.dump("k")
                self.assertEqual(fields(dumped), fields(dump(file["file"])))
                load = GOLDEN / file["file"].replace(".dump", ".load")
                self.assertEqual(load_payload(dumped), load.read_bytes())
                if "add_after_import" in made:
                    check_adding(self, client, "k", made)
                    then = hashlib.sha256(load_payload(client.dump("k"))).hexdigest()
                    self.assertEqual(then, made["add_after_import"]["bf_load_sha256"])

    def test_packed_or_not_the_bytes_are_the_payloads(self):
        for packed in (True, False):
            client = self.client(self.make_engine(rdbcompression="yes" if packed else "no"))
            for file in files("dump", "capacity"):
                if file["lzf"] == packed:
                    with self.subTest(file=file["file"]):
                        client.restore("k", 0, dump(file["file"]), replace=True)
                        self.assertEqual(client.dump("k")[:-10], dump(file["file"])[:-10])

    def test_loads_become_the_same(self):
        client = self.client(self.make_engine())
        for file in files("bf.load"):
            with self.subTest(file=file["file"]):
                client.execute_command("BF.LOAD", "k", (GOLDEN / file["file"]).read_bytes())
                load = GOLDEN / (file["object"] + ".load")
                self.assertEqual(load_payload(client.dump("k")), load.read_bytes())
                client.delete("k")

    def test_a_log_of_valkey_blooms(self):
        engine = self.make_engine(start=False, appendonly="yes")
        loads = {each["object"]: (GOLDEN / each["file"]).read_bytes() for each in files("bf.load")}
        with open(engine.directory + "/appendonly.aof", "wb") as log:
            log.write(encode("SELECT", 0))
            for key, load in loads.items():
                log.write(encode("BF.LOAD", key, load))
            log.write(encode("BF.ADD", "empty", "later"))
        client = self.client(engine.start())
        keys = {key: objects()[key] for key in loads if key != "empty"}
        self.check_all(client, keys)
        self.assertEqual(client.execute_command("BF.CARD", "empty"), 1)

    def test_the_stream_of_a_master(self):
        engine = self.make_engine()
        file = FILES[0]
        stored = (GOLDEN / file["file"]).read_bytes()
        master = Master(b"REDIS0010" + stored[9:-8] + bytes(8))
        self.addCleanup(master.close)
        client = self.client(engine)
        client.replicaof("127.0.0.1", master.port)
        wait_until(master.synced.is_set, SYNC_SECONDS, "the file is sent")
        made = {name: objects()[name] for name in ("two", "three_exp1", "ns_full", "binary")}
        for name, each in made.items():
            growth = ("EXPANSION", each["expansion"]) if each["expansion"] else ("NONSCALING",)
            items = list(map(bytes.fromhex, each["present"]))
            # As valkey-bloom replicates what creates a filter, and then as it came.
            master.send("BF.INSERT", "new:" + name, "CAPACITY", each["filters"][0]["capacity"], "ERROR",
                        repr(each["fp_rate"]), "TIGHTENING", repr(each["tightening_ratio"]), "SEED",
                        bytes.fromhex(each["seed"]), *growth, *(["ITEMS", items[0]] if name != "two" else []))
            for item in items:
                master.send("BF.ADD", "new:" + name, item)
            master.send("BF.MADD", "new:" + name, *items[:3])
        wait_until(lambda: client.info("replication")["slave_repl_offset"] >= master.sent, SYNC_SECONDS,
                   "the stream is done")
        self.check_all(client, filters_of(file))
        self.check_all(client, {"new:" + name: each for name, each in made.items()})


class RestartsTest(ValkeyBloomTest):
    def fill(self, client):
        names = []
        for file in files("dump", "capacity"):
            name = file["object"]
            client.restore(name, 0, dump(file["file"]))
            accept_adding(client, name, objects()[name])
            names.append(name)
        client.execute_command("BF.RESERVE", "own", 0.01, 100, "TYPE", "valkeybloom", "SEED", 7)
        client.execute_command("BF.MADD", "own", *range(500))
        return [*names, "own"]

    def assert_same_after_kill(self, engine, names):
        client = self.client(engine)
        before = self.contents(client, names)
        engine.kill()
        engine.start()
        client = self.client(engine)
        wait_until(lambda: not client.info("persistence")["loading"], SYNC_SECONDS, "it is loaded")
        self.assertEqual(self.contents(client, names), before)

    def test_by_rdb_file(self):
        engine = self.make_engine()
        client = self.client(engine)
        names = self.fill(client)
        for save in (client.save, client.bgsave):
            save()
            wait_for_no_child(client)
            self.assert_same_after_kill(engine, names)

    def test_by_log(self):
        for rewritten in (None, "yes", "no"):
            with self.subTest(preamble=rewritten):
                engine = self.make_engine(appendonly="yes", aof_use_rdb_preamble=rewritten or "yes",
                                          auto_aof_rewrite_percentage=0)
                client = self.client(engine)
                names = self.fill(client)
                if rewritten:
                    wait_for_no_child(client)
                    client.bgrewriteaof()
                    wait_for_no_child(client)
                    client.execute_command("BF.MADD", "own", *range(500, 900))
                self.assert_same_after_kill(engine, names)

    def test_replicas_and_copies(self):
        master, early, late = self.make_engine(), self.make_engine(), self.make_engine()
        early.follow(master)
        client = self.client(master)
        names = self.fill(client)
        late.follow(master)
        self.assertTrue(client.copy("own", "copy"))
        client.execute_command("BF.ADD", "own", "only there")
        names.append("copy")
        for replica in (early, late):
            wait_for_replica(master, replica)
            self.assertEqual(self.contents(self.client(replica), names), self.contents(client, names))
        self.assertEqual(client.execute_command("BF.EXISTS", "copy", "only there"), 0)
        self.assertGreater(client.memory_usage("own"), client.execute_command("BF.INFO", "own", "SIZE"))


class SavedTest(ValkeyBloomTest):
    """What a client can make can be loaded again."""

    def assert_saved(self, client, *command):
        client.flushall()
        client.execute_command(*command)
        client.execute_command("BF.MADD", "k", *range(50))  # as far as they are taken
        client.restore("copy", 0, client.dump("k"))
        self.assertEqual(content(client.dump("copy")), content(client.dump("k")), command)
        ask = ("BF.MEXISTS", *range(50))
        answers = [client.execute_command(ask[0], key, *ask[1:]) for key in ("k", "copy")]
        self.assertEqual(answers[0], answers[1], command)
        self.assertGreaterEqual(sum(answers[1]), 10)

    def test_every_extreme_of_options(self):
        client = self.client(self.make_engine())
        for rate in (2.3e-308, 1e-300, 1e-9, 0.5, 0.999999):
            for options in ((), ("NONSCALING",), ("EXPANSION", 1), ("EXPANSION", 2**32 - 1), ("TIGHTENING", 1e-300),
                            ("TIGHTENING", 0.999999), ("SEED", 0)):
                for capacity in (10, 1000) if 2**32 - 1 not in options else (1000,):
                    self.assert_saved(client, "BF.RESERVE", "k", repr(rate), capacity, "TYPE", "valkeybloom", *options)

    def test_what_cannot_be_loaded_is_not_made(self):
        client = self.client(self.make_engine())
        for rate in ("1e-310", "2.2250738585072014e-308"):
            with self.assertRaisesRegex(redis.ResponseError, "error rate must be above 2.2250738585072014e-308"):
                client.execute_command("BF.RESERVE", "k", rate, 100, "TYPE", "valkeybloom")
        client.execute_command("BF.RESERVE", "k", 0.0001, 1, "EXPANSION", 1, "TIGHTENING", 0.8, "TYPE", "valkeybloom")
        with self.assertRaisesRegex(redis.ResponseError, "problem inserting"):
            for item in range(20000):
                client.execute_command("BF.ADD", "k", item)
        client.restore("copy", 0, client.dump("k"))
        self.assertEqual(client.execute_command("BF.CARD", "copy"), client.execute_command("BF.CARD", "k"))

    def test_sub_filters_that_are_not_full(self):
        """BF.LOAD can carry them; a value cannot state their items."""
        client = self.client(self.make_engine())
        seed = bytes.fromhex(objects()["two"]["seed"])
        slices = [struct.pack("<BQI", 1, size, 7) + seed + bytes(size) for size in (120, 276)]
        load = struct.pack("<BIddBQ", 1, 2, 0.01, 0.5, 1, 2)
        for slice_, capacity in zip(slices, (100, 200)):
            load += struct.pack("<Q", len(slice_)) + slice_ + struct.pack("<qq", 0, capacity)
        client.execute_command("BF.LOAD", "k", load)
        client.execute_command("BF.MADD", "k", *range(50))
        client.restore("copy", 0, client.dump("k"))
        self.assertEqual(client.execute_command("BF.CARD", "copy"), 50)
        self.assertEqual(client.execute_command("BF.MEXISTS", "copy", *range(50)), [1] * 50)

    def test_what_a_master_sends_is_made_whatever_its_size(self):
        engine = self.make_engine(start=False, appendonly="yes")
        with open(engine.directory + "/appendonly.aof", "wb") as log:
            log.write(encode("SELECT", 0) +
                      encode("BF.INSERT", "k", "CAPACITY", 2**32, "ERROR", "0.999", "TIGHTENING", "0.5", "SEED",
                             b"s" * 32, "EXPANSION", 10**6, "ITEMS", "a"))
        client = self.client(engine.start())
        self.assertEqual(client.execute_command("BF.INFO", "k", "CAPACITY"), 2**32)
        self.assertEqual(client.execute_command("BF.INFO", "k", "EXPANSION"), 10**6)


class HostileTest(ValkeyBloomTest):
    def test_what_valkey_bloom_refuses(self):
        client = self.client(self.make_engine())
        for path in invalid(".dump"):
            with self.subTest(file=path.name), self.assertRaises(redis.ResponseError):
                client.restore("k", 0, dump(path.name, "invalid"))

    def test_the_order_of_development_builds_is_refused_in_the_log(self):
        """Engines do not show which kind of field comes next. `bitsieve migrate` reads these files."""
        engine = self.make_engine(start=False)
        with self.assertRaises(Exception):
            self.start_on(files("rdb", "bitmap")[0], engine)
        self.assertIn("bitsieve: filter value: it ends too early, or its fields are not in the order of valkey-bloom",
                      engine.log())

    def test_hostile_values(self):
        """Right in form and wrong in content: refused, or a filter that works."""
        client = self.client(self.make_engine(maxmemory="200mb"))
        edges = (0, 1, 2, 2**16, 2**31, 2**32 - 1, 2**32, 2**47, 2**63, 2**64 - 1, 0.0, -1.0, 0.5, 1e-308, 1e300,
                 float("inf"), float("nan"), b"", b"\0", bytes(45), bytes(4096))
        random.seed(1)
        refused = taken = 0
        dumps = [dump(each["file"]) for each in files("dump", "capacity")]
        for _ in range(4000):
            version, found = fields(random.choice(dumps))
            for _ in range(random.randint(1, 2)):
                place = random.randrange(len(found))
                if isinstance(found[place], bytes) and found[place] and random.random() < 0.7:
                    damaged = bytearray(found[place])
                    damaged[random.randrange(min(60, len(damaged)))] = random.choice((0, 1, 7, 127, 128, 255))
                    found[place] = bytes(damaged)
                else:
                    found[place] = random.choice(edges)
            if random.random() < 0.2:
                del found[random.randrange(len(found)):]
            try:
                client.restore("x", 0, payload(VALUE_TYPE, random.choice((version, version, version, 0, 2)), found),
                               replace=True)
            except redis.ResponseError:
                refused += 1
                continue
            taken += 1
            for command in (("BF.ADD", "x", "a"), ("BF.MADD", "x", *range(200)), ("BF.INFO", "x", "FULL"),
                            ("BF.INFO", "x"), ("BF.EXISTS", "x", "b"), ("BF.CARD", "x")):
                try:
                    client.execute_command(*command)
                except redis.ResponseError:
                    pass
            self.assertTrue(client.dump("x"))
        self.assertGreater(refused, 1000)
        self.assertGreater(taken, 50)


if __name__ == "__main__":
    main()
