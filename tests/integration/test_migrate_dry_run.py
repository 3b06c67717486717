"""bitsieve migrate --dry-run: what would come, what it takes before and afterwards, and what cannot come."""

import pathlib
import tempfile
import time

from filter_types import needed_options, type_names
from harness import OwnServerTest, main
from migration import check_sizes, dry_run, migrate, moved, url
from rdb_payload import MODULE_2, length, rdb_file
from redisbloom_fixtures import FILES, dumps, rdb_path

TOO_SHORT = [1, 1, 5, 2, 100, 0.01, 7, 9.58, 64, 0, b"short", 1]  # a Bloom filter of RedisBloom, with too few bits


class DryRun(OwnServerTest):
    def setUp(self):
        self.new = self.make_server(default_type="redisbloom").start()
        self.client = self.new.client()

    def test_lines(self):
        done = migrate(rdb_path("bloom"), "--dry-run")  # needs no server
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'b:ttl': redisbloom, 127 bytes in the file, 332 bytes after, expires\n", done.stdout)
        self.assertRegex(done.stdout, r"\ntype +filters  in the file  memory after\nredisbloom +10 +17.0 kB +21.7 kB\n"
                                      r"10 filters would be moved\n1 other keys skipped: 1 string\n$")

    def test_sizes_of_files(self):
        for file in FILES:
            report = dry_run(self, rdb_path(file))
            self.assertEqual(report["all"]["memory_before"], None)
            self.assertEqual(sum(each["filters"] for each in report["types"].values()), len(report["filters"]))
            moved(self, rdb_path(file), url(self.new))
            check_sizes(self, report, self.client)

    def test_sizes_of_a_server(self):
        old = self.make_server().start()
        client = old.client()
        types = type_names(by_reserve=True)
        for name in types:
            for size in (100, 100_000):
                client.execute_command("BF.RESERVE", f"{name}:{size}", 0.01, size, "TYPE", name, *needed_options(name))
                client.execute_command("BF.ADD", f"{name}:{size}", "x")
        client.execute_command("CF.RESERVE", "cf:small", 100)
        client.execute_command("CF.RESERVE", "cf:large", 1_000_000)
        client.execute_command("CF.ADD", "cf:large", "x")
        client.pexpireat("cf:small", int(time.time() * 1000) + 3_600_000)
        report = dry_run(self, url(old))
        self.assertEqual(set(report["types"]), {*types, "rediscuckoo"})
        for each in report["filters"]:
            self.assertEqual(each["memory_before"], client.memory_usage(each["filter"]))
            self.assertEqual(each["expires_ms"] != 0, each["filter"] == "cf:small")
        self.assertEqual(report["all"]["memory_before"], sum(each["memory_before"] for each in report["filters"]))
        moved(self, url(old), url(self.new))
        check_sizes(self, report, self.client)
        self.assertRegex(migrate(url(old), "--dry-run").stdout, "'cf:large': rediscuckoo, 1.0 MB before, about 1.0 MB")

    def test_what_cannot_be_read(self):
        with tempfile.TemporaryDirectory() as home:
            path = pathlib.Path(home) / "some.rdb"
            path.write_bytes(rdb_file("bad", "MBbloom--", 4, TOO_SHORT)[:-9] + bytes([MODULE_2]) + length(4) + b"good" +
                             dumps()["b:auto"][1:-10] + b"\xff" + bytes(8))
            report = dry_run(self, path, status=1)
            self.assertEqual([each["filter"] for each in report["filters"]], ["good"])
            self.assertEqual([each["filter"] for each in report["failed"]], ["bad"])
            done = migrate(path, "--dry-run")
            self.assertIn("1 filters would be moved\n1 filters cannot be moved\n", done.stdout)
            self.assertIn("bitsieve migrate: 'bad': RedisBloom header: bits and bytes of filter 0 do not match\n",
                          done.stderr)

    def test_the_new_server(self):
        self.client.execute_command("BF.ADD", "b:auto", "x")
        report = dry_run(self, rdb_path("bloom"), url(self.new), status=1)
        self.assertEqual([each["filter"] for each in report["failed"]], ["b:auto"])
        self.assertEqual((report["all"]["filters"], report["fits"]), (9, True))
        report = dry_run(self, rdb_path("bloom"), url(self.new), "--replace")
        self.assertEqual((report["all"]["filters"], report["replaced"]), (10, 1))
        self.assertIn("10 filters would be moved; 1 of them would replace others",
                      migrate(rdb_path("bloom"), url(self.new), "--replace", "--dry-run").stdout)
        self.client.execute_command("BF.RESERVE", "large", 0.01, 36_000, "TYPE", "classic")  # 43 kB
        self.client.config_set("maxmemory", "64kb")
        self.assertFalse(dry_run(self, rdb_path("bloom"), url(self.new), "--replace", status=1)["fits"])
        self.assertRegex(migrate(rdb_path("bloom"), url(self.new), "--dry-run").stdout,
                         r"They do not fit: the new server has \d+\.\d kB left of a maxmemory of 65\.5 kB\n")
        done = migrate(rdb_path("bloom"), "redis://127.0.0.1:1", "--dry-run")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot connect", done.stderr)
        self.assertEqual(sorted(self.client.keys()), [b"b:auto", b"large"])

    def test_as_another_type(self):
        report = dry_run(self, rdb_path("bloom"), "--as", "cuckoo")
        self.assertEqual(set(report["types"]), {"cuckoo"})
        self.assertTrue(report["types"]["cuckoo"]["is_estimate"])
        moved(self, rdb_path("bloom"), url(self.new), "--as", "cuckoo")
        for each in report["filters"]:
            self.assertLess(abs(each["memory_after"] - self.client.memory_usage(each["filter"])), 400)


if __name__ == "__main__":
    main()
