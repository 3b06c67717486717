"""`bitsieve plan`: its BF.RESERVE lines, pasted into a server, make filters of the planned size and error rate."""

import gzip
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import xml.etree.ElementTree

import redis
from harness import ENVIRONMENT, PATIENCE, ServerTest, binary, main, wait_until

FREEZE_SECONDS = 60 * PATIENCE


def run(*arguments, stdin=b"", **variables):
    return subprocess.run([binary(), "plan", *arguments], input=stdin, capture_output=True, timeout=60 * PATIENCE,
                          check=False, env={**ENVIRONMENT, **variables})


def plan(*arguments, stdin=b""):
    done = run(*arguments, "--json", stdin=stdin)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return json.loads(done.stdout)


class Planned(ServerTest):
    def reserve(self, line, name):
        """As pasted, of another key."""
        words = line.split()
        self.assertEqual(words[:2], ["BF.RESERVE", "key"])
        self.assertIn(self.client().execute_command(words[0], name, *words[2:]), (True, b"OK"))

    def info(self, name, field):
        client = redis.Redis(connection_pool=self.client().connection_pool)
        value = client.execute_command("BF.INFO", name, field)
        return value[0] if isinstance(value, list) else value  # of valkeybloom no list

    def add(self, name, first, count):
        client = self.client()
        for begin in range(first, first + count, 10_000):
            client.bf().madd(name, *range(begin, min(begin + 10_000, first + count)))

    def wrong(self, name, count):
        """Of so many lookups of items that are not there."""
        client = self.client()
        return sum(sum(client.bf().mexists(name, *range(begin, begin + 10_000)))
                   for begin in range(10**9, 10**9 + count, 10_000))

    def test_a_filter_that_is_to_be_smaller(self):
        client = self.client()
        server = ["--port", str(self.server.port)]
        for kind in ("blocked", "classic"):
            client.execute_command("BF.RESERVE", kind, 0.01, 3_000_000, "TYPE", kind)
            self.add(kind, 0, 10_000)
            found = plan("--fold", kind, *server, "--items", "100k")
            self.assertEqual(found["filter"]["capacity"], 3_000_000)
            self.assertGreater(len(found["steps"]), 5)
            last = found["steps"][-1]
            self.assertGreaterEqual(last["capacity"], 100_000)
            self.assertEqual(found["fold"], f"BF.FOLD {kind} {last['capacity']}")
            shown = run("--fold", kind, *server).stdout.decode()
            self.assertIn(f"Filter '{kind}' now: {kind}, ", shown)
            self.assertRegex(shown, r"BF.FOLD \w+ 2\d{4}\n$")
            # Each step is what the command does: with one more it would be refused, or divide by less.
            for step in found["steps"]:
                self.assertEqual(client.execute_command("COPY", kind, "copy", "REPLACE"), 1)
                self.assertEqual(client.execute_command("BF.FOLD", "copy", step["capacity"]), b"OK")
                size = self.info("copy", "SIZE")
                self.assertAlmostEqual(size, step["memory_bytes"], delta=1000)
        self.assertIn("a cuckoo filter cannot be folded; types that can: blocked, classic",
                      self.refusal("cuckoo", "TYPE", "cuckoo"))
        self.assertIn("two lines, which do not fold", self.refusal("low", rate=1e-6))
        self.assertIn("still a list of its items", self.refusal("list", capacity=100))
        self.assertIn('there is no filter "none"', run("--fold", "none", *server).stderr.decode())
        self.assertIn("--error excludes --fold", run("--fold", "blocked", "--error", "0.1").stderr.decode())

    def refusal(self, name, *options, rate=0.01, capacity=100_000):
        self.client().execute_command("BF.RESERVE", name, rate, capacity, *options)
        done = run("--fold", name, "--port", str(self.server.port))
        self.assertEqual(done.returncode, 2)
        return done.stderr.decode()

    def test_a_filter_that_is_there(self):
        client = self.client()
        client.bf().create("there", 0.002, 50_000)
        self.add("there", 0, 30_000)
        server = ["--filter", "there", "--port", str(self.server.port)]
        found = plan(*server)
        self.assertEqual((found["need"]["items"], found["need"]["error_rate"]), (50_000, 0.002))
        self.assertEqual(found["filter"], {
            "name": "there", "type": "blocked", "items": self.info("there", "ITEMS"), "capacity": 50_000,
            "memory_bytes": self.info("there", "SIZE"), "bits_per_item": 8 * self.info("there", "SIZE") / 50_000,
            "requested_error_rate": 0.002, "estimated_error_rate": float(self.info("there", "ESTIMATED"))})
        self.assertEqual(plan(*server, "--items", "1e6")["need"]["items"], 1_000_000)
        self.assertEqual(plan(*server, "--memory", "1mb")["need"]["memory_bytes"], 1 << 20)
        shown = run(*server, "--plot", "-").stdout.decode()
        self.assertIn("Filter 'there' now: blocked, ", shown)
        self.assertIn("@", shown)
        self.assertIn("there is no filter \"none\"", run("--filter", "none", *server[2:]).stderr.decode())

    def test_the_size_is_the_planned_one_of_every_type(self):
        needs = (["--static"], ["--nonscaling"], ["--delete"], ["--delete", "--error", "1e-9"], ["--window", "24h"],
                 ["--window", "200000"], ["--ttl", "24h"], ["--ttl", "24h", "--delete"])
        for need in needs:
            items = [] if "200000" in need else ["--items", "200k"]
            rate = [] if "--error" in need else ["--error", "0.002"]
            found = plan(*items, *rate, *need)
            for each in found["types"]:
                name = " ".join([*need, each["type"]])
                with self.subTest(name):
                    self.reserve(each["reserve"], name)
                    if each["type"] != "ribbon":  # that collects first
                        self.assertEqual(self.info(name, "SIZE"), each["memory_bytes"])

    def test_the_size_and_rate_are_the_planned_ones_at_every_stage(self):
        found = plan("--items", "100000", "--error", "1%")
        self.reserve(found["reserve"], "k")
        added = 0
        for stage in ("half", "full", "twice"):
            expected = found[stage]
            self.add("k", added, expected["items"] - added)
            added = expected["items"]
            self.assertEqual(self.info("k", "FILTERS"), expected["sub_filters"])
            self.assertEqual(self.info("k", "SIZE"), expected["memory_bytes"])
            lookups = 200_000
            wrong = self.wrong("k", lookups)
            mean = expected["error_rate"] * lookups
            # 5 standard deviations of chance, and a tenth for filters that differ from each other.
            self.assertLess(abs(wrong - mean), 5 * mean ** 0.5 + mean / 10, stage)

    def test_a_frozen_filter_is_as_small_as_planned(self):
        found = plan("--items", "100000", "--error", "0.01", "--static")
        self.assertEqual(found["type"], "ribbon")
        self.reserve(found["reserve"], "frozen")
        self.add("frozen", 0, 100_000)
        staging = self.info("frozen", "SIZE")
        self.client().execute_command("BF.FREEZE", "frozen")
        wait_until(lambda: self.info("frozen", "STATE") in (b"frozen", "frozen"), FREEZE_SECONDS, "it is frozen")
        size = self.info("frozen", "SIZE")
        self.assertLess(abs(size - found["memory_bytes"]), size / 1000)
        self.assertLessEqual(staging + size, found["full"]["peak_bytes"])

    def test_what_fits_into_a_memory_fits(self):
        memory = 3 << 20
        for given in (["--items", "1e6"], ["--error", "0.003"]):
            found = plan("--memory", "3mb", *given)
            name = " ".join(given)
            self.reserve(found["reserve"], name)
            self.assertLessEqual(self.info(name, "SIZE"), memory)
            self.assertGreater(self.info(name, "SIZE"), memory * 0.98)


class Lines(ServerTest):
    """Of files and of the command line; the server is not needed."""

    def test_different_lines_are_counted(self):
        lines = b"".join(b"line %d\n" % (i % 50_000) for i in range(120_000)) + b"\n\r\n\0\n" + b"x" * (3 << 20)
        with tempfile.NamedTemporaryFile() as file:
            file.write(lines)
            file.flush()
            from_file = plan("--from", file.name, "--error", "0.01")
        sample = from_file["sample"]
        self.assertEqual(sample["lines"], 120_004)
        self.assertLess(abs(sample["distinct"] - 50_004), 50_004 * 4.5 * sample["standard_error"])
        self.assertGreater(from_file["need"]["items"], sample["distinct"])
        for given in (lines, gzip.compress(lines)):
            from_input = plan("--from", "-", "--error", "0.01", stdin=given)
            self.assertEqual(from_input["sample"]["distinct"], sample["distinct"])

    def test_a_window_by_its_rate(self):
        found = plan("--window", "1h", "--rate", "100/s", "--error", "0.01")
        self.assertEqual((found["type"], found["need"]["items"]), ("window", 360_000))
        self.assertEqual(found["reserve"], "BF.RESERVE key 0.01 360000 TYPE window WINDOW 1h")

    def test_items_that_expire(self):
        found = plan("--ttl", "90m", "--rate", "100/s", "--error", "0.01")
        self.assertEqual((found["type"], found["need"]["items"], found["need"]["ttl"]), ("expiring", 540_000, "90m"))
        self.assertEqual(found["reserve"], "BF.RESERVE key 0.01 540000 TYPE expiring TTL 90m")
        self.assertEqual([each["type"] for each in found["types"]], ["expiring"])
        self.assertNotIn("expiring", [each["type"] for each in plan("--items", "9", "--error", "0.01")["types"]])

    def test_text_for_people(self):
        done = run("--items", "1e9", "--error", "0.001")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        text = done.stdout.decode()
        self.assertTrue(text.endswith("\nBF.RESERVE key 0.001 1000000000 TYPE blocked\n"), text)
        self.assertIn("1,000,000,000 items at an error rate of 0.1%", text)

    def test_plots(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "plan.svg")
            done = run("--items", "1e6", "--error", "0.01", "--plot", path)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            root = xml.etree.ElementTree.parse(path).getroot()
            self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
            done = run("--items", "1e6", "--error", "0.01", "--plot", os.path.join(path, "below"))
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"cannot be written: Not a directory", done.stderr)
            png = os.path.join(directory, "plan.png")
            self.assertEqual(run("--items", "1e6", "--error", "0.01", "--plot", png).returncode, 0)
            head = pathlib.Path(png).read_bytes()[:24]
            self.assertEqual((head[:8], struct.unpack(">II", head[16:])), (b"\x89PNG\r\n\x1a\n", (1120, 380)))
            done = run("--items", "1e6", "--error", "0.01", "--plot", png, PATH=directory)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"a PNG needs rsvg-convert", done.stderr)
            self.assertEqual(run("--items", "1e6", "--error", "0.01", "--plot", path + "/x.png").returncode, 1)
        self.assertIn(b"Error rate of blocked as it fills", run("--items", "1e6", "--error", "0.01", "--plot",
                                                               "-").stdout)

    def test_the_page_shows_what_is_printed(self):
        page = pathlib.Path(__file__).parents[2].joinpath("docs/plan.md").read_text(encoding="utf-8")
        arguments = ("--items", "1e9", "--error", "0.001")
        plain = run(*arguments).stdout.decode()
        plot = run(*arguments, "--plot", "-").stdout.decode().removeprefix(plain + "\n")
        self.assertIn("```\n$ bitsieve plan " + " ".join(arguments) + "\n" + plain + "```\n", page)
        self.assertIn("```\n" + plot + "```\n", page)

    def test_wrong_command_lines(self):
        missing = os.path.join(tempfile.gettempdir(), "no", "such", "file")
        for arguments, reason in (
                ([], "two of --items, --error and --memory are needed"),
                (["--items", "1e9"], "two of --items, --error and --memory are needed"),
                (["--items", "1e9", "--error", "0.1", "--memory", "1gb"], "give two"),
                (["--items", "many", "--error", "0.1"], '--items: "many" is not a number of items'),
                (["--items", "10", "--error", "2"],
                 '--error: "2" is not an error rate from 1e-9 to 0.25, or a larger one below 1, which is taken as'),
                (["--items", "10", "--memory", "x"], '--memory: "x" is not a size such as 512mb'),
                (["--error", "0.1", "--window", "1y"], '--window: "1y" is not a number of items, or a time'),
                (["--error", "0.1", "--window", "1h", "--rate", "5"], '--rate: "5" is not a rate such as 5000/s'),
                (["--error", "0.1", "--window", "100", "--items", "100"], "omit --items"),
                (["--error", "0.1", "--rate", "5/s"], "--rate needs --window or --ttl with a time"),
                (["--error", "0.1", "--ttl", "soon"], '--ttl: "soon" is not a time such as 500ms'),
                (["--error", "0.1", "--ttl", "1h", "--window", "1h"], "--window excludes --ttl"),
                (["--error", "0.1", "--from", missing], "no/such/file: No such file"),
                (["--error", "0.1", "--from", "/dev/null"], "/dev/null has no lines"),
                (["--error", "0.1", "--from", tempfile.gettempdir()], "is a directory"),
                (["--items", "1e9", "--memory", "1mb"], "1.00 MB do not hold 1,000,000,000 items"),
                (["--items", "9", "--error", "0.1", "--type", "x"], '"x" is not a suitable filter type; blocked, '),
                (["--items", "9", "--from", "x"], "--from"),
                (["--items", "9", "--error", "0.1", "--json", "--plot", "-"], "--plot - draws on standard output"),
        ):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, b""), arguments)
            self.assertIn(reason, done.stderr.decode())


if __name__ == "__main__":
    main()
