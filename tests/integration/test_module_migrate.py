"""bitsieve migrate from Redis and Valkey with bitsieve.so: running ones, their files, and live."""

import pathlib
import subprocess

from engine import EngineTest, main
from harness import ENVIRONMENT, Server, wait_until
from migration import SECONDS, Live, check_sizes, dry_run, migrate, moved, url
from module_filters import make_filters
from module_sketches import make_sketches

OTHER_VALUES = (("SET", "string", "x" * 500), ("SET", "number", 17), ("RPUSH", "list", *range(5000)),
                ("SADD", "numbers", *range(100)), ("SADD", "set", *(f"member {number}" for number in range(1000))),
                ("SADD", "small set", "a", "b"), ("ZADD", "sorted", 1.5, "a", 2.5, "b"), ("HSET", "hash", "f", "v"),
                ("HSET", "large hash", *(f"f{number}" for number in range(2000))), ("PFADD", "estimate", "a", "b"),
                ("XADD", "stream", "*", "f", "v"), ("XGROUP", "CREATE", "stream", "group", 0),
                ("XREADGROUP", "GROUP", "group", "reader", "STREAMS", "stream", ">"),
                ("FUNCTION", "LOAD", "#!lua name=l\nredis.register_function('f', function() return 1 end)"))


class ModuleMigrate(EngineTest):
    def setUp(self):
        self.engine = self.make_engine()
        self.old = self.client(self.engine)
        self.server = Server(default_type="redisbloom")
        self.addCleanup(self.server.clean_up)
        self.new = self.server.start().client()
        for command in OTHER_VALUES:
            self.old.execute_command(*command)
        self.old.execute_command("ZADD", "large sorted", *(word for n in range(500) for word in (n, f"member {n}")))

    def names(self):
        return [name for name in self.old.keys() if self.old.type(name).startswith((b"MBbloom", b"bloomfltr"))]

    def assert_all_is_there(self):
        names = self.names()
        self.assertEqual(sorted(self.new.keys()), sorted(names))
        for name in names:
            with self.subTest(name):
                # What is being frozen is so in a moment, on both sides.
                wait_until(lambda each=name: self.new.execute_command("BF.DUMP", each) ==
                           self.old.execute_command("BF.DUMP", each), SECONDS, "they are the same")
                self.assertEqual(self.new.pexpiretime(name), self.old.pexpiretime(name))

    def test_a_running_server(self):
        make_filters(self.old)
        self.old.expire("default", 3600)
        report = moved(self, url(self.engine), url(self.server))
        self.assertEqual(report["moved"], len(self.names()))
        self.assertEqual(sum(report["other_keys"].values()), self.old.dbsize() - len(self.names()))
        self.assert_all_is_there()

    def test_sketches_and_other_databases(self):
        make_sketches(self.old)
        self.old.execute_command("BF.ADD", "only", "x")
        with self.engine.client(db=3) as third:
            third.execute_command("BF.ADD", "third", "x")
            third.execute_command("BF.ADD", "third:2", "x")
            third.execute_command("TOPK.RESERVE", "third:top", 3)
            third.set("third:string", 1)
        self.old.save()
        file = pathlib.Path(self.engine.directory) / "dump.rdb"
        for source in (url(self.engine), file):
            with self.subTest(source=source):
                report = moved(self, source, url(self.server), "--replace")
                self.assertEqual(report["moved"], 1)
                self.assertEqual({type: each["count"] for type, each in report["sketches"].items()},
                                 {"CMSk-TYPE": 4, "TopK-TYPE": 3, "TDIS-TYPE": 5})
                self.assertIn("0:td:merged", report["sketches"]["TDIS-TYPE"]["names"])
                self.assertEqual(report["other_keys"]["filter of database 3"], 2)
                self.assertEqual(report["other_keys"]["sketch of database 3"], 1)
        dump = pathlib.Path(self.engine.directory) / "only.bsf"
        dump.write_bytes(self.old.execute_command("BF.DUMP", "only"))
        done = subprocess.run([Server.find_program(), "import", "0:topk", dump, "-p", str(self.engine.port)],
                              capture_output=True, text=True, timeout=SECONDS, check=False, env=ENVIRONMENT)
        self.assertEqual(done.returncode, 1)
        self.assertIn('"0:topk" is a Top-K', done.stderr)

    def test_dry_run(self):
        make_filters(self.old)
        names = [name.decode() for name in self.names()]
        report = dry_run(self, url(self.engine), url(self.server))
        self.assertEqual(sorted(each["filter"] for each in report["filters"]), sorted(names))
        for each in report["filters"]:
            self.assertEqual(each["memory_before"], self.old.memory_usage(each["filter"]))
        self.assertEqual(self.new.dbsize(), 0)
        moved(self, url(self.engine), url(self.server))
        check_sizes(self, report, self.new)

    def test_its_file(self):
        make_filters(self.old)
        self.old.expire("default", 3600)
        report = moved(self, self.saved(), url(self.server))
        self.assertEqual(report["moved"], len(self.names()))
        self.assertEqual(report["other_keys"]["stream"], 1)
        self.assert_all_is_there()

    def test_live(self):
        self.old.execute_command("BF.RESERVE", "before", 0.001, 100_000)
        self.old.execute_command("BF.MADD", "before", *range(50_000))
        live = Live(url(self.engine), url(self.server))
        self.addCleanup(live.clean_up)
        live.wait_for(0)
        self.old.execute_command("BF.MADD", "before", *range(50_000, 60_000))
        make_filters(self.old)
        self.old.delete("full:classic")
        self.old.rename("full:cuckoo", "renamed")
        live.wait_for(100)
        report = live.end(self)
        self.assertEqual(report["refused_changes"], 0)
        self.assertEqual(sorted(self.new.keys()), sorted(self.names()))
        self.assertEqual(sum(self.new.execute_command("BF.MEXISTS", "before", *range(60_000))), 60_000)
        for name in self.names():
            if name.startswith(b"window"):
                continue  # those of time are moved by as much as a change takes to arrive
            with self.subTest(name):
                self.assertEqual(self.new.execute_command("BF.CARD", name), self.old.execute_command("BF.CARD", name))

    def test_verify(self):
        make_filters(self.old)
        for source in (url(self.engine), self.saved()):
            with self.subTest(source=source):
                self.new.flushall()
                # Filters of a window of time may have forgotten items since the file was written.
                report = moved(self, source, url(self.server), "--verify", "--match", "[^w]*")
                self.assertGreater(report["contents"]["equal"], 40)
                self.assertEqual(report["contents"]["equal"], report["moved"])

    def saved(self):
        self.old.save()
        return pathlib.Path(self.engine.directory) / "dump.rdb"

    def test_verify_a_replica(self):
        make_filters(self.old)
        third = self.client(self.engine, db=3)
        third.execute_command("BF.ADD", "third", "x")
        third.execute_command("CF.ADD", "third:cf", "x")
        other = self.make_engine()
        other.follow(self.engine)
        report = moved(self, url(self.engine), url(other), "--verify-only")
        self.assertEqual(report["contents"]["equal"], len(self.names()))
        words = (url(self.engine), url(other), "--verify-only", "--database", 3)
        self.assertEqual(moved(self, *words)["contents"]["equal"], 2)
        client = self.client(other, db=3)
        client.replicaof("no", "one")
        client.set("third", "no filter")
        client.delete("third:cf")
        done = migrate(*words)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "^0 filters have the same content .* 2 differ\n$")
        self.assertIn("'third': it cannot be read on the new server: WRONGTYPE", done.stderr)
        self.assertIn("'third:cf': it is missing on the new server\n", done.stderr)

    def test_verify_after_live(self):
        self.old.execute_command("BF.RESERVE", "before", 0.001, 100_000)
        self.old.execute_command("BF.MADD", "before", *range(50_000))
        live = Live(url(self.engine), url(self.server), "--verify")
        self.addCleanup(live.clean_up)
        live.wait_for(0)
        self.old.execute_command("BF.MADD", "before", *range(50_000, 60_000))
        self.old.execute_command("BF.RESERVE", "after", 0.01, 1000, "TYPE", "classic")
        self.old.execute_command("BF.ADD", "after", "x")
        live.wait_for(3)
        report = live.end(self)
        self.assertEqual((report["contents"]["equal"], report["contents"]["different"]), (2, []))


if __name__ == "__main__":
    main()
