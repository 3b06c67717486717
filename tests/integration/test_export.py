"""bitsieve export and import: every type comes back byte for byte, and damage never becomes a filter."""

import json
import os
import shutil
import subprocess
import tempfile

from filter_types import needed_options, type_names
from harness import ENVIRONMENT, PATIENCE, OwnServerTest, lasting_info, main
from module_sketches import golden_dumps

SECONDS = 60 * PATIENCE


class Export(OwnServerTest):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.server, self.other = self.make_server().start(), self.make_server().start()
        self.client = self.server.client()

    def run_tool(self, server, *words, given=None):
        command = [server.program, *map(str, words)]
        if words[0] not in ("inspect", "restore"):
            command += ["--port", str(server.port)]
        return subprocess.run(command, input=given, capture_output=True, timeout=SECONDS, check=False, env=ENVIRONMENT)

    def path(self, name):
        return os.path.join(self.home, name)

    def done(self, *arguments, **options):
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def fails(self, problem, *arguments, status=1, **options):
        done = self.run_tool(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(problem, done.stderr.decode())

    def test_every_type_comes_back(self):
        types = type_names(by_reserve=True)
        for name in types:
            options = needed_options(name, WINDOW=20_000)  # of time, its oldest age would differ from look to look
            self.client.execute_command("BF.RESERVE", name, 0.001, 20_000, "TYPE", name, *options)
            self.client.execute_command("BF.MADD", name, *range(15_000))
        self.client.execute_command("CF.RESERVE", "rediscuckoo", 20_000)
        self.client.execute_command("CF.INSERT", "rediscuckoo", "ITEMS", *range(15_000))
        self.client.execute_command("BF.ADD", "tiny", "x")
        for name in (*types, "rediscuckoo", "tiny"):
            with self.subTest(name):
                path = self.path(name)
                self.done(self.server, "export", name, path)
                self.done(self.other, "import", name, path)
                self.assertEqual(lasting_info(self.other.connect(), name), lasting_info(self.server.connect(), name))
                self.assertEqual(self.other.client().execute_command("BF.DUMP", name),
                                 self.client.execute_command("BF.DUMP", name))
                shown = json.loads(self.done(self.server, "inspect", "--json", path).stdout)
                self.assertEqual(shown["type"], "blocked" if name == "tiny" else name)
                self.assertEqual(shown["items"], self.client.execute_command("BF.CARD", name))

    def test_a_large_one_comes_in_pieces(self):
        self.client.execute_command("BF.RESERVE", "large", 0.0001, 20_000_000)
        self.client.execute_command("BF.MADD", "large", *range(1000))
        piped = self.done(self.server, "export", "large", "-").stdout
        self.assertGreater(len(piped), 40 << 20)
        self.done(self.other, "import", "large", "-", given=piped)
        self.assertEqual(self.other.client().execute_command("BF.MEXISTS", "large", *range(1000)), [1] * 1000)

    def test_damage_is_no_filter(self):
        self.client.execute_command("BF.RESERVE", "k", 0.01, 10_000)
        self.client.execute_command("BF.MADD", "k", *range(1000))
        dump = self.done(self.server, "export", "k", "-").stdout
        for content, problem in ((dump[:-1], "ends after"), (dump[:100], "ends after"), (b"", "is not a dump"),
                                 (b"no dump at all, but long enough for a head", "is not a dump"),
                                 (dump + b"x", "1 bytes after the end"), (dump + b"\n\n", "2 bytes after the end"),
                                 (dump[:5000] + bytes([dump[5000] ^ 1]) + dump[5001:], "fails its checksum")):
            with self.subTest(problem):
                path = self.path("damaged")
                with open(path, "wb") as file:
                    file.write(content)
                self.fails(problem, self.other, "import", "k", path)
                self.assertEqual(self.other.client().dbsize(), 0)
                if content.startswith(b"BSFD"):
                    self.fails(problem, self.other, "inspect", path)
        for content, way in ((b"REDIS0011\xfa\x09redis-ver", "is an RDB file, whose filters `bitsieve migrate "),
                             (b"VALKEY080\xfa", "is an RDB file, whose filters `bitsieve migrate "),
                             (b"\x07\x81\x4c\x16", "RESTORE takes; `bitsieve migrate` moves"),
                             (golden_dumps()["topk:a"], "is what DUMP returned for a Top-K; a Bitsieve server has"),
                             (golden_dumps()["cms:dim"][:20], "returned for a Count-Min Sketch; "),
                             (b"BSF", "are moved by `bitsieve migrate`"), (b"", "are moved by `bitsieve migrate`")):
            with self.subTest(way), open(self.path("other"), "wb") as file:
                file.write(content)
                file.flush()
                self.fails(way, self.other, "import", "k", file.name)
        with open(self.path("dump.rdb"), "wb") as file:
            file.write(b"REDIS0011")
        advice = "dump.rdb: this is an RDB file, whose filters `bitsieve migrate "
        for words in (("import", "k", file.name), ("inspect", file.name),
                      ("restore", file.name, "--dir", self.path("d"))):
            done = subprocess.run([self.server.program, *words], capture_output=True, timeout=SECONDS, check=False,
                                  env={**ENVIRONMENT, "BITSIEVE_PORT": str(self.other.port)})
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr.decode(), "RDB file, whose filters `bitsieve migrate|" + advice)
        with open(self.path("newline"), "wb") as file:
            file.write(self.client.execute_command("BF.DUMP", "k") + b"\n")
        done = self.done(self.other, "import", "k", self.path("newline"))
        self.assertIn(b"as redis-cli --raw adds one", done.stderr)
        self.assertEqual(self.other.client().execute_command("BF.DUMP", "k"), dump)

    def test_a_data_directory_of_one_filter(self):
        for name, capacity in (("small", 1000), ("large", 5_000_000)):
            self.client.execute_command("BF.RESERVE", name, 0.001, capacity, "TYPE", "cuckoo")
            self.client.execute_command("BF.MADD", name, *range(1000))
            self.done(self.server, "export", name, self.path(name))
            restored = self.make_server()
            done = self.done(self.server, "restore", self.path(name), "--key", "an other\n", "--dir",
                             restored.directory)
            self.assertIn(b"1 filters", done.stdout)
            self.done(self.server, "inspect", "--verify", restored.directory)
            for change in range(2):  # also with what comes after, of which the log has a part
                client = restored.start().client()
                self.assertEqual(client.dbsize(), 1)
                self.assertEqual(client.execute_command("BF.MEXISTS", "an other\n", *range(1000)), [1] * 1000)
                self.assertEqual(client.execute_command("BF.CARD", "an other\n"), 1000 + change)
                client.execute_command("BF.ADD", "an other\n", "one more")
                self.assert_stops_well(restored)

    def test_what_restore_refuses(self):
        self.client.execute_command("BF.RESERVE", "k", 0.01, 10_000)
        self.done(self.server, "export", "k", self.path("k"))
        place = self.path("restored")
        self.fails("without its name: give that as --key", self.server, "restore", self.path("k"), "--dir", place,
                   status=2)
        with open(self.path("k"), "rb") as file:
            dump = file.read()
        for content, arguments, problem, status in (
                (dump[:-1], ("--key", "k"), "ends after", 1), (dump[:10], ("--key", "k"), "is not a dump", 1),
                (dump[:5000] + bytes([dump[5000] ^ 1]) + dump[5001:], ("--key", "k"), "fails its checksum", 1),
                (b"something else", ("--key", "k"), "which " + self.path("damaged") + " is not", 2)):
            with open(self.path("damaged"), "wb") as file:
                file.write(content)
            self.fails(problem, self.server, "restore", self.path("damaged"), *arguments, "--dir", place, status=status)
            self.assertFalse(os.path.exists(place))
        self.fails("is not empty, it holds", self.server, "restore", self.path("k"), "--key", "k", "--dir",
                   self.server.directory)

    def test_names_that_are_taken(self):
        for i in range(2):
            self.client.execute_command("BF.ADD", f"k{i}", f"item{i}")
        self.done(self.server, "export", "k0", self.path("k0"))
        self.fails('there is a filter "k1" already', self.server, "import", "k1", self.path("k0"))
        self.done(self.server, "import", "k1", self.path("k0"), "--replace")
        self.assertEqual(self.client.execute_command("BF.MEXISTS", "k1", "item0", "item1"), [1, 0])
        self.assertEqual(self.client.dbsize(), 2)
        self.fails("there is no filter \"missing\"", self.server, "export", "missing", self.path("missing"))
        self.assertEqual(os.listdir(self.home), ["k0"])
        self.fails("No such file", self.server, "export", "k0", self.path("no/such/place"))
        self.fails("No such file", self.server, "import", "x", self.path("missing"))


if __name__ == "__main__":
    main()
