"""bitsieve load and check, as people run them: every format, odd bytes, interruptions of either side, exit statuses."""

import gzip
import json
import os
import random
import select
import shutil
import signal
import subprocess
import tempfile
import time

from harness import ENVIRONMENT, PATIENCE, OwnServerTest, main, wait_until

SECONDS = 60 * PATIENCE


def odd_items():
    """Every kind of bytes that a line can have."""
    random.seed(7)
    items = [random.randbytes(random.randrange(40)).replace(b"\n", b" ") for _ in range(5000)]
    return items + [b'"quoted"', b"back\\slash\\", b"", b"cr\r", b"x" * (1 << 20), b"\xff\xfe\xc3(", b"nul\0byte", b"'"]


class LoadTest(OwnServerTest):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        self.server = self.make_server(io_threads=2).start()
        self.client = self.server.client()

    def path(self, name, content=None):
        path = os.path.join(self.home, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        return path

    def arguments(self, *words):
        return [self.server.program, *map(str, words), "--port", str(self.server.port)]

    def run_tool(self, *words, given=b""):
        return self.run_as(self.arguments(*words), given)

    def run_as(self, command, given):
        return subprocess.run(command, input=given, capture_output=True, timeout=SECONDS, check=False,
                              env=ENVIRONMENT)

    def load(self, *words, given=b"", status=0):
        done = self.run_tool("load", *words, "--json", given=given)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout)

    def check(self, *words, given=b""):
        done = self.run_tool("check", *words, given=given)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def counts(self, summary):
        return [summary[name] for name in ("read", "new", "present", "refused")]


class Load(LoadTest):
    def test_odd_bytes_arrive_as_they_are(self):
        items = odd_items()
        content = b"\n".join(items) + b"\n"
        different = len(set(items))
        self.client.execute_command("BF.RESERVE", "k", "1e-9", 10_000)
        path = self.path("odd", content)
        summary = self.load("k", "--sync", path)
        self.assertEqual(self.counts(summary), [len(items), different, len(items) - different, 0])
        self.server.restart()  # by kill -9: what was loaded is on the disk
        self.client = self.server.client()
        for item in items[-20:]:
            self.assertEqual(self.client.execute_command("BF.EXISTS", "k", item), 1, item[:20])
        self.assertEqual(self.check("k", path), content)
        self.assertEqual(self.check("k", "--absent", path), b"")
        self.assertEqual(self.check("k", given=content), content)
        self.assertEqual(self.check("k", "--format", "nul", given=b"a\nb\0back\\slash\\\0"), b"back\\slash\\\0")
        half = len(content) // 2
        zipped = self.path("odd.gz", gzip.compress(content[:half]) + gzip.compress(content[half:]))
        self.assertEqual(self.check("k", zipped), content)
        as_it_is = self.load("zipped", "--create", "--plain", "--format", "binary", "--record-bytes", 1, zipped)
        self.assertEqual(as_it_is["read"], os.path.getsize(zipped))

    def test_fields(self):
        table = b'id,url\r\n1,"x, ""y"""\r\n2,plain\r\n'
        summary = self.load("csv", "--create", "--format", "csv", "--field", "url", given=table)
        self.assertEqual(self.counts(summary), [2, 2, 0, 0])
        self.assertEqual(self.client.execute_command("BF.MEXISTS", "csv", 'x, "y"', "plain", "url"), [1, 1, 0])
        rows = b'7,plain,rest\n8,none\n9,"plain"\n'
        self.assertEqual(self.check("csv", "--format", "csv", "--field", "2", given=rows),
                         b'7,plain,rest\n9,"plain"\n')
        lines = b'{"u":"caf\\u00e9"}\n{"u":12}\n{"v":1}\nnone\n{"u":"caf\xc3\xa9"}\n'
        self.assertEqual(self.run_tool("load", "js", "--create", "--format", "jsonl", "--field", "u",
                                       given=lines).returncode, 1)
        summary = self.load("js", "--format", "jsonl", "--field", "u", "--skip-bad", given=lines, status=1)
        self.assertEqual(self.counts(summary), [5, 0, 3, 2])
        self.assertIn('line 3: has no member "u"', summary["first_refusal"])
        self.assertEqual(self.client.execute_command("BF.MEXISTS", "js", "café", "12"), [1, 1])

    def test_items_with_times_of_their_own(self):
        self.client.execute_command("BF.RESERVE", "k", "1e-6", 1000, "TYPE", "expiring", "TTL", "14h")
        hour = 3600 * 1000

        def hours_left(*items):
            return [left // hour for left in self.client.execute_command("BF.TTL", "k", *items)]

        summary = self.load("k", "--format", "csv", "--field", "id", "--ttl-field", "ttl",
                            given=b"id,ttl\na,2h\nb,10800\nc,\n")
        self.assertEqual(self.counts(summary), [3, 3, 0, 0])
        self.assertIn(hours_left("a", "b", "c"), ([2, 3, 14], [1, 2, 13], [2, 3, 13]))
        lines = b'{"u":"d","t":"5h"}\n{"u":"e"}\n{"u":"f","t":3600.5}\n{"u":"a","t":"1h"}\n{"u":"g","t":"15h"}\n'
        summary = self.load("k", "--format", "jsonl", "--field", "u", "--ttl-field", "t", given=lines, status=1)
        self.assertEqual(self.counts(summary), [5, 3, 1, 1])
        self.assertIn("up to the filter's TTL", summary["first_refusal"])
        self.assertIn(hours_left("d", "f")[0], (4, 5))
        self.assertEqual(self.client.execute_command("BF.EXISTS", "k", "g"), 0)
        bad = self.run_tool("load", "k", "--format", "csv", "--field", "1", "--ttl-field", "2", given=b"x,1h\ny,soon\n")
        self.assertEqual(bad.returncode, 1)
        self.assertIn(b'record 2: has the time "soon", which is neither a number of seconds nor a duration', bad.stderr)
        self.assertEqual(self.client.execute_command("BF.MEXISTS", "k", "x", "y"), [1, 0])
        self.client.execute_command("BF.RESERVE", "other", "0.01", 100)
        refused = self.run_tool("load", "other", "--format", "csv", "--field", "1", "--ttl-field", "2", given=b"x,1h\n")
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"--ttl-field needs a filter of type expiring", refused.stderr)

    def test_reserving(self):
        path = self.path("items", b"".join(b"%d\n" % i for i in range(30_000)))
        self.assertEqual(self.load("k", "--reserve", "1e-7,auto", "--type", "cuckoo", path)["new"], 30_000)
        info = self.client.execute_command("BF.INFO", "k", "FULL")
        info = dict(zip(info[::2], info[1::2]))
        self.assertEqual((info[b"Type"], info[b"Number of filters"], float(info[b"Error rate"])), (b"cuckoo", 1, 1e-7))
        again = self.run_tool("load", "k", "--reserve", "0.001,auto", path)
        self.assertEqual(again.returncode, 1)
        self.assertIn(b'there is a filter "k" already', again.stderr)
        self.assertEqual(self.load("k", "--delete", path)["removed"], 30_000)
        self.assertEqual(self.client.execute_command("BF.CARD", "k"), 0)
        self.client.execute_command("CF.RESERVE", "cf", 100_000)
        self.assertEqual(self.load("cf", path)["new"], 30_000)
        self.assertEqual(self.check("cf", path).count(b"\n"), 30_000)
        self.assertEqual(self.load("cf", "--delete", path)["removed"], 30_000)

    def test_reserving_for_the_different_items(self):
        path = self.path("repeated", b"".join(b"%d\n" % (i % 20_000) for i in range(100_000)))
        for options, least, most in ((["--type", "blocked"], 19_900, 20_200), ([], 19_900, 20_200),
                                     (["--type", "counting"], 100_000, 100_000)):
            key = "-".join(["k", *options])
            self.assertEqual(self.load(key, "--reserve", "0.001,auto", *options, path)["read"], 100_000)
            capacity = self.client.execute_command("BF.INFO", key, "CAPACITY")[0]
            self.assertTrue(least <= capacity <= most, (options, capacity))
            self.assertEqual(self.client.execute_command("BF.INFO", key, "FILTERS"), [1])

    def test_a_filter_that_is_not_there_is_named(self):
        """A misspelt name is an error of every command that works on a filter, and makes none."""
        self.client.execute_command("BF.ADD", "seen", "x")
        given = self.path("given", b"x\ny\n")
        file = self.path("file")
        for words in (("load", "sene", given), ("load", "sene", "--resume", given), ("load", "sene", "--delete", given),
                      ("check", "sene", given), ("check", "sene", "--absent", given), ("check", "sene", "--add", given),
                      ("export", "sene", file), ("plan", "--filter", "sene")):
            with self.subTest(words):
                done = self.run_tool(*words)
                self.assertEqual((done.returncode, done.stdout), (2 if words[0] == "plan" else 1, b""))
                self.assertIn(b'there is no filter "sene"; did you mean "seen"?', done.stderr)
        self.assertEqual(self.client.keys(), [b"seen"])
        self.assertFalse(os.path.exists(file))
        self.assertIn(b'there is no filter "other": --create makes one that grows, --reserve ERROR,ITEMS one for',
                      self.run_tool("load", "other", given).stderr)
        self.assertEqual(self.load("other", "--create", given)["new"], 2)
        self.assertEqual(self.load("other", "--create", given)["present"], 2)
        self.assertIn(b'there is no filter "third": --create makes one that grows\n',
                      self.run_tool("check", "third", "--add", given).stderr)
        self.assertEqual(self.check("third", "--add", "--create", given), b"x\ny\n")
        self.client.execute_command("ACL", "SETUSER", "default", "-scan")
        self.assertIn(b'there is no filter "sene"\n', self.run_tool("check", "sene", given).stderr)

    def test_a_filter_that_went_is_not_taken_for_the_one_that_was_loaded(self):
        lines = self.path("bad.jsonl", b'{"u":1}\nnone\n{"u":2}\n')
        self.load("js", "--create", "--resume", "--format", "jsonl", "--field", "u", lines, status=1)
        self.assertTrue(os.path.exists(lines + ".bitsieve-load"))
        self.client.delete("js")
        for words in (("--create",), ("--reserve", "0.01,100")):
            done = self.run_tool("load", "js", *words, "--resume", "--format", "jsonl", "--field", "u", lines)
            self.assertEqual(done.returncode, 1)
            self.assertIn(b'into a filter "js" that is no longer there; remove', done.stderr)
            self.assertNotIn(b"continues from there", done.stderr)
            self.client.delete("js")

    def test_counting_shows_how_far_it_is_and_can_be_interrupted(self):
        path = self.path("pipe")
        os.mkfifo(path)
        process = subprocess.Popen(self.arguments("load", "k", "--reserve", "0.01,auto", "--json", path),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        with open(path, "wb", buffering=0) as pipe:
            while not select.select([process.stderr], [], [], 0)[0]:
                pipe.write(b"item\n" * 1000)
                time.sleep(0.01)
            line = json.loads(process.stderr.readline())
            self.assertEqual(line["phase"], "counting")
            self.assertGreater(line["read"], 1000)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=SECONDS)  # while the pipe is open
        self.assertEqual(process.returncode, 130, errors)
        self.assertEqual(self.client.exists("k"), 0)

    def test_waiting_for_input_can_be_interrupted(self):
        self.client.execute_command("BF.RESERVE", "k", 0.01, 100)
        for what in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(self.arguments("load", "k", "--json"), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
            process.stdin.write(b"item\n")
            process.stdin.flush()
            wait_until(lambda: len(self.client.client_list()) >= 2, SECONDS, "it has connected")
            process.send_signal(what)
            self.assertEqual(process.wait(SECONDS), 130)  # before its input ends
            process.stdin.close()
            process.stdout.close()
            process.stderr.close()

    def test_refusals_count_and_fail(self):
        self.client.execute_command("BF.RESERVE", "full", "0.01", 100, "NONSCALING")
        summary = self.load("full", given=b"".join(b"%d\n" % i for i in range(5000)), status=1)
        self.assertEqual(summary["read"], 5000)
        self.assertEqual(summary["new"], 100)
        self.assertGreater(summary["refused"], 4000)
        self.assertIn("full", summary["first_refusal"])
        self.client.execute_command("BF.RESERVE", "blocked", "0.01", 100)
        done = self.run_tool("load", "blocked", "--delete", given=b"a\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"a blocked filter cannot remove items", done.stderr)

    def test_a_server_that_dies_is_waited_for(self):
        path = self.path("items", b"".join(b"item-%d\n" % i for i in range(400_000)))
        self.client.execute_command("BF.RESERVE", "k", "1e-6", 400_000)
        reader, writer = os.pipe()
        process = subprocess.Popen(self.arguments("load", "k", "--json"), stdin=reader, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT)
        os.close(reader)
        with open(path, "rb") as file, open(writer, "wb", buffering=0) as pipe:
            pipe.write(file.read(3_000_000))
            wait_until(lambda: self.client.execute_command("BF.CARD", "k") > 100_000, SECONDS, "some are loaded")
            self.server.kill()
            self.server.options["port"] = self.server.port
            self.server.start()
            shutil.copyfileobj(file, pipe)
        output, errors = process.communicate(timeout=SECONDS)
        # It cannot know what the killed server had in its log.
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn(b"restarted during the load", errors)
        summary = json.loads(output)
        self.assertEqual((summary["read"], summary["refused"]), (400_000, 0))
        self.assertGreater(summary["retries"], 0)
        self.assertEqual(self.load("k", path)["read"], 400_000)
        self.assertEqual(self.check("k", "--absent", path), b"")

    def test_an_interrupted_load_goes_on(self):
        content = b"".join(b"item-%07d\n" % i for i in range(1_000_000))
        path = self.path("items.gz", gzip.compress(content, 1))
        self.client.execute_command("BF.RESERVE", "k", "1e-9", 1_000_000)
        self.client.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        process = subprocess.Popen(self.arguments("load", "k", "--resume", "--json", path), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.client.execute_command("CLIENT", "UNPAUSE")
        wait_until(lambda: self.client.execute_command("BF.CARD", "k") > 20_000, SECONDS, "some are loaded")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=SECONDS)
        first = json.loads(output)
        if process.returncode == 0:
            self.skipTest("it was done before it could be interrupted")
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn(b"the same command continues from there", errors)
        self.assertLess(first["read"], 1_000_000)
        self.assertTrue(os.path.exists(path + ".bitsieve-load"))
        done = self.run_tool("load", "other", "--create", "--resume", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b'was loaded into "k" before', done.stderr)
        summary = self.load("k", "--resume", path)
        self.assertEqual(self.counts(summary), [1_000_000, 1_000_000, 0, 0])
        self.assertFalse(os.path.exists(path + ".bitsieve-load"))
        self.assertEqual(self.client.execute_command("BF.CARD", "k"), 1_000_000)

    def test_the_command_line_is_checked(self):
        for words, problem in (
                (("k", "--resume"), "--resume needs files"),
                (("k", "--type", "cuckoo"), "--type is for --reserve"),
                (("k", "--reserve", "auto"), "it needs files"),
                (("k", "--reserve", "2,100"), "--reserve is ERROR,ITEMS"),
                (("k", "--format", "csv"), "needs --field"),
                (("k", "--format", "binary"), "needs --record-bytes"),
                (("k", "--field", "x"), "--field is for"),
                (("k", "--format", "xml"), "xml"),
                (("k", "-u", "http://x"), "an unknown scheme"),
                (("k", "-u", "redis://h"), "--url already says"),
                (("k", "--create", "--delete"), "--create makes a filter, and --delete needs one"),
                (("k", "--create", "--reserve", "0.01,5"), "leave out --create"),
                ((), "KEY")):
            with self.subTest(words):
                done = self.run_tool("load", *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(problem, done.stderr.decode())
        self.assertEqual(self.run_tool("check", "k", "--create").returncode, 2)
        self.client.execute_command("BF.RESERVE", "k", 0.01, 100)
        done = self.run_tool("load", "k", self.path("missing"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"missing: No such file or directory", done.stderr)
        self.assertEqual(self.run_tool("load", "k", self.home).returncode, 1)
        self.client.execute_command("ACL", "SETUSER", "default", "-bf.madd")
        done = self.run_tool("load", "k", given=b"a\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"NOPERM", done.stderr)

    def test_users_and_urls(self):
        server = self.make_server(requirepass="s3 cret/", unixsocket=self.path("socket")).start()
        server.client(password="s3 cret/").execute_command("BF.RESERVE", "k", 0.01, 100)
        for words in (("-u", f"redis://:s3%20cret%2f@127.0.0.1:{server.port}"),
                      ("-p", server.port, "-a", "s3 cret/"),
                      ("-u", "unix://" + self.path("socket"), "--user", "default", "-a", "s3 cret/")):
            done = self.run_as([server.program, "load", "k", *map(str, words)], b"a\n")
            self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_as([server.program, "load", "k", "-u", f"redis://:wrong@127.0.0.1:{server.port}"], b"a\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"WRONGPASS", done.stderr)
        self.assertNotIn(b"wrong@", done.stderr)


    def test_a_user_of_bloom_filters_alone(self):
        """As docs/access.md makes one: it may not ask for the TYPE of a key."""
        self.client.execute_command("ACL", "SETUSER", "crawler", "on", ">s3cret", "~seen:*", "+@bloom", "+@connection")
        path = self.path("items", b"a\nb\n")
        user = ("--user", "crawler", "-a", "s3cret")
        self.assertIn(b'there is no filter "seen:1"', self.run_tool("load", "seen:1", path, *user).stderr)
        self.assertEqual(self.load("seen:1", "--create", path, *user)["new"], 2)
        self.assertEqual(self.check("seen:1", path, *user), b"a\nb\n")
        self.assertIn(b'there is no filter "seen:2"', self.run_tool("check", "seen:2", path, *user).stderr)
        self.assertIn(b'there is no filter "seen:2"',
                      self.run_tool("export", "seen:2", self.path("file"), *user).stderr)
        self.assertIn(b"NOPERM", self.run_tool("check", "other", path, *user).stderr)

    def test_a_user_without_a_password_is_not_the_default_one(self):
        self.client.execute_command("ACL", "SETUSER", "crawler", "on", ">s3cret", "~*", "+@all")
        self.client.execute_command("ACL", "SETUSER", "open", "on", "nopass", "~*", "+@all")
        items = self.path("items", b"a\n")
        for words in (("ping",), ("load", "k", "--create", items), ("export", "k", self.path("f"))):
            with self.subTest(words):
                self.assertEqual(self.run_tool(*words, "--user", "open").returncode, 0)
                done = self.run_tool(*words, "--user", "crawler")
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, b"WRONGPASS|wrong user name or password")


class Check(LoadTest):
    def test_order_is_kept_and_add_prints_each_once(self):
        lines = [b"line-%d" % (i * 7919 % 50_000) for i in range(120_000)]
        content = b"\n".join(lines) + b"\n"
        self.client.execute_command("BF.RESERVE", "seen", "1e-9", 100_000)
        first = list(dict.fromkeys(lines))
        self.assertEqual(self.check("seen", "--add", "--connections", 3, given=content).split(b"\n")[:-1], first)
        self.assertEqual(self.check("seen", "--add", given=content), b"")
        self.assertEqual(self.check("seen", given=b"new\n" + content), content)
        self.assertEqual(self.check("seen", "--absent", given=b"new\n" + content), b"new\n")

    def test_a_slow_writer_gets_its_answers(self):
        self.client.execute_command("BF.ADD", "seen", "is there already")
        process = subprocess.Popen(self.arguments("check", "seen"), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env=ENVIRONMENT)
        for line in (b"is there already\n", b"is not there yet\n", b"is there already\n"):
            process.stdin.write(line)
            process.stdin.flush()
            if b"not" not in line:
                self.assertEqual(process.stdout.readline(), line)  # while the input is still open
        process.stdin.close()
        self.assertEqual(process.stdout.read(), b"")
        process.stdout.close()
        self.assertEqual(process.wait(SECONDS), 0)

    def test_records_without_an_item(self):
        lines = b'{"u":1}\nnone\n{"u":2}\n{"v":1}\n{"u":1}\n'
        fields = ("--format", "jsonl", "--field", "u")
        self.client.execute_command("BF.ADD", "seen", "2")
        for words, printed in ((("--add",), b'{"u":1}\n'), ((), b'{"u":1}\n{"u":2}\n{"u":1}\n'), (("--absent",), b"")):
            with self.subTest(words):
                done = self.run_tool("check", "seen", *words, *fields, "--skip-bad", given=lines)
                self.assertEqual((done.returncode, done.stdout), (1, printed))
                self.assertIn(b"skipped records without an item: 2; the first: standard input: line 2: is not JSON",
                              done.stderr)
        done = self.run_tool("check", "seen", *fields, given=lines)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"line 2: is not JSON", done.stderr)

    def test_a_lost_server_is_an_error(self):
        self.client.execute_command("BF.ADD", "seen", "a")
        self.server.kill()
        begun = time.monotonic()
        done = self.run_tool("check", "seen", "--retry", 0, given=b"a\n")
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"Connection refused", done.stderr)
        self.assertLess(time.monotonic() - begun, 30 * PATIENCE)


if __name__ == "__main__":
    main()
