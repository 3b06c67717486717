"""RedisBloom's sketches on the module: its data and stream, restarts, replicas, payloads, limits and rights."""

import pathlib
import random
import shutil
import subprocess

import redis

from engine import SYNC_SECONDS, EngineTest, main, wait_for_no_child, wait_for_replica
from harness import encode, wait_until
from module_sketches import RDB, check_answers, content, golden_dumps, make_sketches
from rdb_payload import fields, payload
from redisbloom_fixtures import Master

WRONG_TYPE = "Operation against a key holding the wrong kind of value"


class SketchTest(EngineTest):
    def error_of(self, client, *command):
        with self.assertRaises(redis.ResponseError) as caught:
            client.execute_command(*command)
        return str(caught.exception)

    def contents(self, client, keys):
        return {key: content(client.dump(key)) for key in keys}

    def start_on_golden(self, **options):
        engine = self.make_engine(start=False, **options)
        shutil.copy(RDB, engine.directory + "/dump.rdb")
        return engine.start()


class RedisBloomsDataTest(SketchTest):
    def test_file(self):
        engine = self.start_on_golden()
        client = self.client(engine)
        for key, dump in golden_dumps().items():
            self.assertEqual(content(client.dump(key)), content(dump), key)
        check_answers(self, client)
        client.save()
        engine.restart()
        check_answers(self, self.client(engine))

    def test_payloads(self):
        client = self.client(self.make_engine(bf_max_filter_bytes=1))
        for key, dump in golden_dumps().items():
            client.restore(key, 0, dump)
            self.assertEqual(content(client.dump(key)), content(dump), key)
        check_answers(self, client)

    def test_full_sync_and_stream(self):
        engine = self.make_engine()
        master = Master(RDB.read_bytes())
        self.addCleanup(master.close)
        client, model = self.client(engine), self.client(self.start_on_golden())
        client.replicaof("127.0.0.1", master.port)
        wait_until(master.synced.is_set, SYNC_SECONDS, "the file is sent")
        commands = [("CMS.INITBYDIM", "n:cms", 10, 2), ("CMS.INITBYPROB", "n:prob", 0.1, 0.1),
                    ("CMS.INCRBY", "n:cms", "a", 3, "b", 4294967295), ("CMS.MERGE", "n:cms", 1, "n:cms", "WEIGHTS", 1),
                    ("TOPK.RESERVE", "n:topk", 3), ("TOPK.ADD", "n:topk", "a", "b"),
                    ("TOPK.INCRBY", "n:topk", "a", 2, "b", -1, "c", 5), ("TDIGEST.CREATE", "n:td"),
                    ("TDIGEST.ADD", "n:td", 1.5, 2), ("TDIGEST.MERGE", "n:merged", 1, "n:td"),
                    ("TDIGEST.RESET", "n:td"), ("CMS.INCRBY", "cms:dim", "a", 3), ("TDIGEST.ADD", "td:a", 1e300),
                    ("TOPK.ADD", "topk:a", "x", "y")]
        for command in commands:
            master.send(*command)
            try:
                model.execute_command(*command)
            except redis.ResponseError:
                pass
        wait_until(lambda: client.info("replication")["slave_repl_offset"] >= master.sent, SYNC_SECONDS,
                   "the stream is done")
        keys = [*golden_dumps(), "n:cms", "n:prob", "n:topk", "n:td", "n:merged"]
        self.assertEqual(self.contents(client, keys), self.contents(model, keys))
        self.assertEqual(client.execute_command("TOPK.COUNT", "n:topk", "a", "b", "c"), [3, 1, 0])

    def test_a_log_of_redisblooms(self):
        engine = self.make_engine(start=False, appendonly="yes")
        with open(engine.directory + "/appendonly.aof", "wb") as log:
            log.write(encode("SELECT", 0) + encode("CMS.INITBYDIM", "c", 10, 2) + encode("CMS.INCRBY", "c", "a", 7) +
                      encode("TOPK.RESERVE", "t", 3) + encode("TOPK.ADD", "t", "a") + encode("TDIGEST.CREATE", "d") +
                      encode("TDIGEST.ADD", "d", 4.5))
            for key, dump in golden_dumps().items():
                log.write(encode("RESTORE", key, 0, dump))
        client = self.client(engine.start())
        self.assertEqual(client.execute_command("CMS.QUERY", "c", "a"), [7])
        self.assertEqual(client.execute_command("TOPK.LIST", "t"), [b"a"])
        self.assertEqual(float(client.execute_command("TDIGEST.MAX", "d")), 4.5)
        check_answers(self, client)


class RestartsTest(SketchTest):
    def assert_same_after_kill(self, engine, names):
        client = self.client(engine)
        before = self.contents(client, names), client.pexpiretime("0:cms")
        engine.kill()
        engine.start()
        client = self.client(engine)
        wait_until(lambda: not client.info("persistence")["loading"], SYNC_SECONDS, "it is loaded")
        self.assertEqual((self.contents(client, names), client.pexpiretime("0:cms")), before)

    def test_by_rdb_file(self):
        engine = self.make_engine()
        client = self.client(engine)
        names = make_sketches(client)
        for save in (client.save, client.bgsave):
            save()
            wait_for_no_child(client)
            self.assert_same_after_kill(engine, names)

    def test_by_log_as_written(self):
        engine = self.make_engine(appendonly="yes", auto_aof_rewrite_percentage=0)
        self.assert_same_after_kill(engine, make_sketches(self.client(engine)))

    def test_by_log_as_rewritten(self):
        for preamble in ("yes", "no"):
            with self.subTest(preamble=preamble):
                engine = self.make_engine(appendonly="yes", aof_use_rdb_preamble=preamble)
                client = self.client(engine)
                names = make_sketches(client)
                wait_for_no_child(client)
                client.bgrewriteaof()
                wait_for_no_child(client)
                client.execute_command("CMS.INCRBY", "0:cms", "later", 5)
                client.execute_command("TOPK.ADD", "0:topk", *(f"later{number}" for number in range(100)))
                self.assert_same_after_kill(engine, names)

    def test_a_rewritten_log_has_each_key_in_its_database(self):
        engine = self.make_engine(appendonly="yes", aof_use_rdb_preamble="no")
        names, before = {}, {}
        for database in (0, 5):
            client = self.client(engine, db=database)
            names[database] = make_sketches(client, database)
            client.execute_command("TDIGEST.CREATE", "same", "COMPRESSION", 10 + database)
            before[database] = self.contents(client, [*names[database], "same"])
        client = self.client(engine)
        wait_for_no_child(client)
        client.bgrewriteaof()
        wait_for_no_child(client)
        log = b"".join(path.read_bytes() for path in pathlib.Path(engine.directory, "appendonlydir").glob("*.aof"))
        self.assertEqual(log.count(b"RESTORE"), len(names[0]) + len(names[5]) + 2)
        engine.kill()
        engine.start()
        for database in (0, 5):
            client = self.client(engine, db=database)
            self.assertEqual(self.contents(client, [*names[database], "same"]), before[database])


class ReplicasTest(SketchTest):
    """Replicas are equal, also where chance decides: each sketch saves the state of its generator."""

    def test_stream_and_full_sync_and_failover(self):
        master, early, late = self.make_engine(), self.make_engine(bf_max_filter_bytes=1), self.make_engine()
        early.follow(master)
        client = self.client(master)
        names = make_sketches(client)
        late.follow(master)
        for number in range(500):
            client.execute_command("TOPK.ADD", "0:topk", f"item{number * number % 97}")
        client.execute_command("TDIGEST.ADD", "0:td", *range(900))
        for replica in (early, late):
            wait_for_replica(master, replica)
            self.assertEqual(self.contents(self.client(replica), names), self.contents(client, names))
        client.execute_command("FAILOVER", "TO", "127.0.0.1", early.port)
        promoted = self.client(early)
        wait_until(lambda: promoted.info("replication")["role"] == "master", SYNC_SECONDS, "it is promoted")
        promoted.execute_command("TOPK.ADD", "0:topk", *(f"item{number % 41}" for number in range(500)))
        wait_until(lambda: client.info("replication").get("master_link_status") == "up", SYNC_SECONDS, "it follows")
        wait_for_replica(early, master)
        self.assertEqual(self.contents(client, names), self.contents(promoted, names))

    def test_reads_and_refused_commands_are_not_replicated(self):
        master = self.make_engine()
        client = self.client(master)
        make_sketches(client)
        before = self.changes(client)
        for command in (("CMS.QUERY", "0:cms", "a"), ("CMS.INFO", "0:cms"), ("TOPK.LIST", "0:topk"),
                        ("TOPK.QUERY", "0:topk", "a"), ("TOPK.COUNT", "0:topk", "a"), ("TOPK.INFO", "0:topk"),
                        ("TDIGEST.QUANTILE", "0:td", 0.5), ("TDIGEST.CDF", "0:td", 1), ("TDIGEST.INFO", "0:td")):
            client.execute_command(*command)
        with client.pipeline(transaction=True) as pipeline:
            pipeline.watch("0:cms", "0:topk", "0:td")
            for command in (("CMS.INITBYDIM", "0:cms", 1, 1), ("CMS.INCRBY", "0:cms", "a", "x"),
                            ("CMS.MERGE", "0:cms", 1, "0:cms", "WEIGHTS", 4294967295), ("TOPK.RESERVE", "0:topk", 1),
                            ("TDIGEST.CREATE", "0:td"), ("TDIGEST.ADD", "0:td", "1", "x"),
                            ("TDIGEST.MERGE", "0:td", 1, "0:cms")):
                self.error_of(client, *command)
            pipeline.multi()
            pipeline.dbsize()
            pipeline.execute()  # nothing that is watched has changed
        self.assertEqual(self.changes(client), before)
        client.execute_command("CMS.INCRBY", "0:cms", "a", 0)
        client.execute_command("TOPK.INCRBY", "0:topk", "a", "x")
        self.assertEqual(self.changes(client)[1], before[1] + 2)

    @staticmethod
    def changes(client):
        return (client.info("replication")["master_repl_offset"],
                client.info("persistence")["rdb_changes_since_last_save"])


class KeysTest(SketchTest):
    def test_types_and_sizes(self):
        client = self.client(self.make_engine())
        overhead = None
        for command, name, size in ((("CMS.INITBYDIM", "k", 10, 3), b"CMSk-TYPE", 32 + 4 * 30),
                                    (("TOPK.RESERVE", "k", 4, 10, 3, 0.5), b"TopK-TYPE", 2088 + 8 * 30 + 24 * 4),
                                    (("TDIGEST.CREATE", "k", "COMPRESSION", 50), b"TDIS-TYPE", 80 + 16 * 310)):
            client.execute_command(*command)
            self.assertEqual(client.type("k"), name)
            overhead = overhead or client.memory_usage("k") - size
            self.assertEqual(client.memory_usage("k"), size + overhead)
            self.assertEqual(client.object("encoding", "k"), b"raw")
            client.unlink("k")
        self.assertEqual(client.info("modules")["bf_sketches"], 0)

    def test_copies(self):
        client = self.client(self.make_engine())
        for name in make_sketches(client):
            self.assertTrue(client.copy(name, "copy", replace=True))
            self.assertEqual(content(client.dump("copy")), content(client.dump(name)))
            self.assertEqual(client.execute_command("DEBUG", "DIGEST-VALUE", name, "copy")[0],
                             client.execute_command("DEBUG", "DIGEST-VALUE", "copy")[0])

    def test_dump_and_restore(self):
        client = self.client(self.make_engine())
        for name in make_sketches(client):
            dump = client.dump(name)
            client.restore("restored", 0, dump, replace=True)
            self.assertEqual(client.dump("restored"), dump)

    def test_a_merge_loses_the_expiry_of_a_digest_alone(self):
        client = self.client(self.make_engine())
        client.execute_command("TDIGEST.CREATE", "d")
        client.execute_command("CMS.INITBYDIM", "c", 2, 2)
        for key in ("d", "c"):
            client.expire(key, 1000)
        client.execute_command("TDIGEST.MERGE", "d", 1, "d")
        client.execute_command("CMS.MERGE", "c", 1, "c")
        self.assertEqual((client.ttl("d"), client.ttl("c") > 0), (-1, True))

    def test_other_types_of_values(self):
        client = self.client(self.make_engine())
        client.execute_command("BF.ADD", "filter", "a")
        client.execute_command("CMS.INITBYDIM", "sketch", 2, 2)
        for command in (("CMS.QUERY", "filter", "a"), ("TOPK.ADD", "sketch", "a"), ("TDIGEST.CREATE", "sketch"),
                        ("BF.ADD", "sketch", "a"), ("BF.INFO", "sketch"), ("CF.ADD", "sketch", "a")):
            self.assertIn(WRONG_TYPE, self.error_of(client, *command), command)
        self.assertEqual(client.execute_command("BF.EXISTS", "sketch", "a"), 0)
        self.assertEqual(self.error_of(client, "CMS.INITBYDIM", "filter", 2, 2), "CMS: key already exists")

    def test_in_scripts_and_transactions(self):
        client = self.client(self.make_engine())
        client.execute_command("CMS.INITBYDIM", "c", 10, 2)
        self.assertEqual(client.eval("return redis.call('CMS.INCRBY', KEYS[1], 'a', 2)", 1, "c"), [2])
        with client.pipeline(transaction=True) as pipeline:
            pipeline.execute_command("CMS.INCRBY", "c", "a", 1).execute_command("CMS.QUERY", "c", "a")
            self.assertEqual(pipeline.execute(), [[3], [3]])


class PageTest(SketchTest):
    def test_the_session_of_the_page(self):
        engine = self.make_engine()
        page = (pathlib.Path(__file__).parents[2] / "docs/sketches.md").read_text(encoding="utf-8")
        session = page.split("```\n")[1]
        prompt = "127.0.0.1:6379> "
        commands = [line.removeprefix(prompt) for line in session.splitlines() if line.startswith(prompt)]
        printed = subprocess.run(["redis-cli", "--no-raw", "-p", str(engine.port)], input="\n".join(commands),
                                 capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, "".join(line + "\n" for line in session.splitlines() if not line.startswith(prompt)))


class LimitsTest(SketchTest):
    def test_what_cannot_be_had_is_refused(self):
        client = self.client(self.make_engine(maxmemory="100mb", bf_max_filter_bytes=1 << 40))
        for command, error in ((("CMS.INITBYDIM", "k", 2**40, 2**20), "CMS: Insufficient memory to create the key"),
                               (("CMS.INITBYDIM", "k", 10**8, 10), "CMS: Insufficient memory to create the key"),
                               (("CMS.INITBYDIM", "k", 2**62, 4), "CMS: invalid init arguments"),
                               (("TOPK.RESERVE", "k", 2**32 - 1),
                                "Insufficient memory to create topk data structure"),
                               (("TOPK.RESERVE", "k", 10, 2**32 - 1, 2**32 - 1, 0.9),
                                "Insufficient memory to create topk data structure"),
                               (("TDIGEST.CREATE", "k", "COMPRESSION", 357_913_940),
                                "T-Digest: allocation failed")):
            self.assertEqual(self.error_of(client, *command), error)
        client.execute_command("TDIGEST.CREATE", "k", "COMPRESSION", 357_913_939)  # it grows with what is added
        self.assertLess(client.info("memory")["used_memory"], 10_000_000)

    def test_the_limit_of_a_filter_holds_for_clients(self):
        client = self.client(self.make_engine(bf_max_filter_bytes=1000))
        self.assertIn("Insufficient memory", self.error_of(client, "CMS.INITBYDIM", "k", 100, 3))
        self.assertIn("Insufficient memory", self.error_of(client, "TOPK.RESERVE", "k", 100))
        client.execute_command("CMS.INITBYDIM", "k", 10, 3)

    def test_hostile_payloads(self):
        """Right in form and wrong in content: refused, or a sketch that works."""
        engine = self.make_engine()
        client = self.client(engine)
        edges = (0, 1, 2, 2**16, 2**31, 2**32 - 1, 2**32, 2**47, 2**63, 2**64 - 1, 0.0, -1.0, 0.5, 1e300, float("inf"),
                 float("nan"), b"", b"\0", bytes(24), bytes(4096))
        random.seed(1)
        commands = {"CMSk-TYPE": (("CMS.QUERY", "x", "a"), ("CMS.INCRBY", "x", "a", 5), ("CMS.INFO", "x"),
                                  ("CMS.MERGE", "x", 1, "x")),
                    "TopK-TYPE": (("TOPK.ADD", "x", "a", "b"), ("TOPK.LIST", "x", "WITHCOUNT"),
                                  ("TOPK.COUNT", "x", "a")),
                    "TDIS-TYPE": (("TDIGEST.ADD", "x", 1, 2), ("TDIGEST.QUANTILE", "x", 0, 0.5, 1),
                                  ("TDIGEST.CDF", "x", 0, 3), ("TDIGEST.RANK", "x", 1), ("TDIGEST.BYRANK", "x", 0, 5),
                                  ("TDIGEST.TRIMMED_MEAN", "x", 0.1, 0.9), ("TDIGEST.MERGE", "x", 1, "x"),
                                  ("TDIGEST.INFO", "x"))}
        refused = taken = 0
        dumps = list(golden_dumps().values())
        for _ in range(4000):
            dump = random.choice(dumps)
            version, found = fields(dump)
            name = "CMSk-TYPE"
            if isinstance(found[3], float):
                name = "TopK-TYPE" if isinstance(found[0], int) else "TDIS-TYPE"
            for _ in range(random.randint(1, 2)):
                found[random.randrange(min(len(found), 12))] = random.choice(edges)
            if random.random() < 0.2:
                del found[random.randrange(len(found)):]
            try:
                client.restore("x", 0, payload(name, random.choice((0, 0, 0, version, 1)), found), replace=True)
            except redis.ResponseError:
                refused += 1
                continue
            taken += 1
            for command in commands[name]:
                try:
                    client.execute_command(*command)
                except redis.ResponseError:
                    pass
            client.dump("x")
        self.assertGreater(refused, 1000)
        self.assertGreater(taken, 50)

    def test_rights(self):
        client = self.client(self.make_engine())
        server = client.info("server")
        if int(server["redis_version"].split(".")[0]) < 8 and "valkey_version" not in server:
            self.skipTest("the engine has no categories of modules")
        for category in ("cms", "topk", "tdigest"):
            commands = client.execute_command("ACL", "CAT", category)
            self.assertTrue(all(command.startswith(category.encode() + b".") for command in commands))


if __name__ == "__main__":
    main()
