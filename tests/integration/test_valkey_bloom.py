"""valkey-bloom's filters on the server: its files, payloads and BF.LOAD, its answers, and its options of BF.INSERT."""

import redis

from harness import OwnServerTest, main, on_engine
from migration import dry_run, migrate, moved, url
from valkey_filters import (GOLDEN, VALUE_TYPE, ValkeyServer, check, check_adding, dump, files, filters_of, invalid,
                            objects)

FIXED_SEED = bytes.fromhex("590ff522ea7811daa714d8093b3e7bd91d898a733e988887307f97cd28073383")


# The older order of fields is not read by the module, to which engines do not show what field comes next.
ORDER = "capacity" if on_engine() else None


class ValkeyBloomTest(OwnServerTest):
    def setUp(self):
        self.server = self.make_server().start()
        self.client = self.server.client()

    def error_of(self, *command):
        with self.assertRaises(redis.ResponseError) as caught:
            self.client.execute_command(*command)
        return str(caught.exception)

    def check_all(self, keys):
        for key, made in keys.items():
            with self.subTest(key=key):
                check(self, self.client, key, made)

    # ---- what valkey-bloom saved

    def test_payloads(self):
        for file in files("dump", ORDER):
            made = objects()[file["object"]]
            with self.subTest(file=file["file"]):
                self.client.execute_command("RESTORE", "key", 0, dump(file["file"]), "REPLACE")
                self.assertEqual(self.client.type("key").decode(), VALUE_TYPE)
                check(self, self.client, "key", made)
                if "add_after_import" in made:
                    check_adding(self, self.client, "key", made)

    def test_loads(self):
        for file in files("bf.load"):
            made = objects()[file["object"]]
            with self.subTest(file=file["file"]):
                payload = (GOLDEN / file["file"]).read_bytes()
                self.assertEqual(self.client.execute_command("BF.LOAD", "key", payload), b"OK")
                check(self, self.client, "key", made)
                self.assertEqual(self.error_of("BF.LOAD", "key", payload), "BUSYKEY Target key name already exists.")
                self.client.delete("key")

    def test_they_outlive_the_server(self):
        self.server = self.make_server(appendonly="yes", appendfsync="always").start()
        self.client = self.server.client()
        keys = {}
        for file in files("dump", ORDER):
            keys[file["object"]] = objects()[file["object"]]
            self.client.execute_command("RESTORE", file["object"], 0, dump(file["file"]))
        self.server.kill()
        self.server.start()
        self.client = self.server.client()
        self.check_all(keys)

    def test_files_are_migrated(self):
        for file in files("rdb"):
            with self.subTest(file=file["file"]):
                keys = filters_of(file)
                self.client.flushall()
                report = moved(self, GOLDEN / file["file"], url(self.server))
                self.assertEqual(report["failed"], [])
                self.check_all(keys)

    def test_a_running_server_is_migrated_and_compared(self):
        """Small filters and, said to be large, one by one."""
        made = {file["object"]: objects()[file["object"]] for file in files("dump", ORDER)}
        for size in (None, 100_000_000):
            with self.subTest(size=size):
                self.client.flushall()
                old = ValkeyServer({name: {"dump": dump(name + ".dump"), "size": size or each["info_size"]}
                                    for name, each in made.items()})
                self.addCleanup(old.close)
                report = dry_run(self, url(old))
                self.assertEqual({each["type"] for each in report["filters"]}, {"valkeybloom"})
                moved(self, url(old), url(self.server), "--verify")
                self.check_all(made)
                self.assertEqual(migrate(url(old), url(self.server), "--verify-only").returncode, 0)
                self.client.execute_command("BF.ADD", "two", "another")
                self.client.delete("empty")
                done = migrate(url(old), url(self.server), "--verify-only")
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, "'two': its content differs")
                self.assertRegex(done.stderr, "'empty': it is missing")

    def test_hostile_payloads(self):
        for path in invalid(".dump"):
            with self.subTest(file=path.name):
                self.assertTrue(self.error_of("RESTORE", "key", 0, path.read_bytes()))
        for path in invalid(".load"):
            with self.subTest(file=path.name):
                self.assertTrue(self.error_of("BF.LOAD", "key", path.read_bytes()))
        self.assertEqual(self.client.exists("key"), 0)
        self.assertEqual(self.error_of("BF.LOAD", "key", b"\x02"),
                         "bloom object decoding failed. Unsupported version")
        self.assertEqual(self.error_of("BF.LOAD", "key", b"\x01"), "bloom object decoding failed")

    # ---- what its clients send

    def test_filters_as_valkey_bloom_makes_them(self):
        """With the parameters of the fixtures and their items, the same filter is made again."""
        for name, made in objects().items():
            with self.subTest(name=name):
                growth = ("EXPANSION", made["expansion"]) if made["expansion"] else ("NONSCALING",)
                options = ("CAPACITY", made["filters"][0]["capacity"], "ERROR", repr(made["fp_rate"]), *growth,
                           "TIGHTENING", made["tightening_ratio"], "SEED", bytes.fromhex(made["seed"]))
                items = ("ITEMS", *map(bytes.fromhex, made["present"])) if made["present"] else ()
                self.client.execute_command("BF.INSERT", name, *options, *items)
                check(self, self.client, name, made)

    def test_options(self):
        client = self.client
        self.assertEqual(client.execute_command("BF.INSERT", "empty", "TYPE", "valkeybloom", "CAPACITY", 100), [])
        self.assertEqual(client.execute_command("BF.CARD", "empty"), 0)
        self.assertIn("wrong number of arguments", self.error_of("BF.INSERT", "none", "CAPACITY", 100))
        client.execute_command("BF.RESERVE", "seeded", 0.01, 100, "SEED", FIXED_SEED)
        self.assertEqual(client.execute_command("BF.INFO", "seeded", "TYPE"), b"valkeybloom")
        self.assertEqual(client.execute_command("BF.INFO", "seeded", "SEED"), FIXED_SEED.hex().encode())
        self.assertEqual(client.execute_command("BF.INFO", "seeded", "TIGHTENING"), b"0.5")
        self.assertEqual(client.execute_command("BF.INFO", "seeded", "MAXSCALEDCAPACITY"), 26214300)
        for options in (("SEED", "short"), ("TYPE", "valkeybloom", "SEED", "short"), ("SEED", "x" * 64),
                        ("TYPE", "classic", "SEED", FIXED_SEED)):
            self.assertRegex(self.error_of("BF.RESERVE", "x", 0.01, 100, *options), "bad seed: .* or .* 32 bytes")
        insert = ("BF.INSERT", "x", "TYPE", "valkeybloom", "VALIDATESCALETO")
        self.assertEqual(client.execute_command(*insert, 26214300), [])
        client.delete("x")
        self.assertEqual(self.error_of(*insert, 26214301),
                         "provided VALIDATESCALETO causes bloom object to exceed memory limit")
        self.assertEqual(self.error_of(*insert, 1000, "ERROR", 1e-300, "TIGHTENING", 1e-9),
                         "provided VALIDATESCALETO causes false positive to degrade to 0")
        self.assertEqual(self.error_of(*insert, 1000, "NONSCALING"),
                         "cannot use NONSCALING and VALIDATESCALETO options together")
        self.assertIn("valkeybloom", self.error_of("BF.INSERT", "x", "VALIDATESCALETO", 1000, "ITEMS", "a"))

    def test_an_equal_filter_is_known_by_its_seed(self):
        reserve = ("BF.RESERVE", "key", 0.01, 100, "TYPE", "valkeybloom", "IFNOTEXISTS")
        self.client.execute_command(*reserve, "SEED", 7)
        self.client.execute_command(*reserve, "SEED", 7)
        self.client.execute_command(*reserve)
        self.assertIn("seed", self.error_of(*reserve, "SEED", 8))

    def test_a_damaged_file_moves_nothing(self):
        whole = (GOLDEN / "all.rdb").read_bytes()
        path = self.server.directory + "/damaged.rdb"
        with open(path, "wb") as file:
            file.write(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
        done = migrate(path, url(self.server))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.client.dbsize(), 0)


if __name__ == "__main__":
    main()
