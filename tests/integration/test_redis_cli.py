"""Debian's redis-cli in each of its ways of working."""

import json
import re
import subprocess

from harness import ServerTest, encode, main


class NonInteractive(ServerTest):
    def test_one_command(self):
        cli = self.server.cli
        self.assertEqual(cli("PING"), "PONG\n")
        self.assertEqual(cli("BF.RESERVE", "k", "0.01", 1000), "OK\n")
        self.assertEqual(cli("BF.ADD", "k", "two words"), "1\n")
        self.assertEqual(cli("BF.MEXISTS", "k", "two words", "two"), "1\n0\n")
        self.assertEqual(cli("--no-raw", "BF.EXISTS", "k", "two words"), "(integer) 1\n")
        self.assertEqual(cli("-x", "BF.ADD", "k", stdin="from stdin"), "1\n")
        self.assertEqual(cli("BF.EXISTS", "k", "from stdin"), "1\n")
        self.assertEqual(cli("-r", 3, "PING"), "PONG\n" * 3)
        self.assertEqual(cli("-n", 0, "DBSIZE"), "1\n")

    def test_resp3(self):
        cli = self.server.cli
        self.assertEqual(cli("-3", "--no-raw", "BF.ADD", "k", "a"), "(true)\n")
        self.assertEqual(cli("-3", "--no-raw", "BF.MEXISTS", "k", "a", "b"), "1) (true)\n2) (false)\n")
        self.assertRegex(cli("-3", "--no-raw", "BF.INFO", "k", "ITEMS"),
                         r'^1# .?Number of items inserted.? => \(integer\) 1\n$')
        self.assertIn("proto", cli("-3", "HELLO"))

    def test_json_output(self):
        self.server.cli("BF.ADD", "k", "a")
        info = json.loads(self.server.cli("--json", "-3", "BF.INFO", "k", "FULL"))
        self.assertEqual((info["Number of items inserted"], info["Type"], info["Error rate"]), (1, "blocked", 0.01))

    def test_errors(self):
        failed = self.server.try_cli("-e", "BF.INFO", "none")
        self.assertIn("ERR not found", failed.stdout + failed.stderr)
        self.assertNotEqual(failed.returncode, 0)


class Interactive(ServerTest):
    def test_commands_from_stdin(self):
        """With its standard input piped, redis-cli works as at its prompt: COMMAND DOCS first."""
        commands = ('BF.ADD k "a b"', 'BF.EXISTS k "a b"', "HELP BF.ADD", "BF.INFO none", "MULTI", "PING", "EXEC",
                    "QUIT")
        output = self.server.cli(stdin="\n".join(commands) + "\n")
        lines = output.splitlines()
        self.assertEqual(lines[:2], ["1", "1"])
        self.assertIn("BF.ADD", output)
        for expected in ("ERR not found", "QUEUED", "PONG"):
            self.assertTrue(any(expected in line for line in lines), (expected, output))

    def test_resp3_prompt(self):
        self.assertEqual(self.server.cli("-3", "--no-raw", stdin="BF.ADD k a\nBF.EXISTS k a\n"), "(true)\n(true)\n")

    def test_help_is_made_from_our_documentation(self):
        for version in ((), ("-3",)):
            output = self.server.cli(*version, stdin="HELP BF.RESERVE\nHELP BF.INSERT\nHELP @bf\n")
            self.assertIn("BF.RESERVE key error_rate capacity", output)
            self.assertIn("summary: Creates an empty filter", output)
            self.assertRegex(output, r"BF.CARD key\n")
            self.assertRegex(output, r"BF.INSERT key .*ITEMS item \[item ...\]")


class Pipe(ServerTest):
    def pipe(self, stream):
        output = self.server.cli("--pipe", "--pipe-timeout", 20, stdin=stream)
        errors, replies = re.search(r"errors: (\d+), replies: (\d+)", output).groups()
        return int(errors), int(replies)

    def test_plain_lines(self):
        lines = "".join(f"BF.ADD k item{i}\n" for i in range(50_000))
        self.assertEqual(self.pipe("BF.RESERVE k 0.001 50000\n" + lines), (0, 50_001))
        self.assertGreater(int(self.server.cli("BF.CARD", "k")), 49_900)

    def test_arrays(self):
        stream = b"".join(encode("BF.ADD", "k", i) for i in range(20_000)).decode()
        self.assertEqual(self.pipe(stream), (0, 20_000))

    def test_errors_are_counted(self):
        self.assertEqual(self.server.try_cli("--pipe", stdin="PING\nNOSUCH\nPING\n").stdout.splitlines()[-1],
                         "errors: 1, replies: 3")


class Surveys(ServerTest):
    def setUp(self):
        super().setUp()
        for i in range(30):
            self.server.connect().command("BF.ADD", f"key:{i}", "x")

    def test_scan(self):
        self.assertEqual(len(self.server.cli("--scan").split()), 30)
        found = self.server.cli("--scan", "--pattern", "key:1?").split()
        self.assertEqual(set(found), {f"key:{i}" for i in range(10, 20)})

    def test_bigkeys_and_memkeys(self):
        for survey in ("--bigkeys", "--memkeys"):
            output = self.server.cli(survey)
            self.assertIn("Sampled 30 keys in the keyspace!", output)
            self.assertRegex(output, r"30 MBbloom--")

    def test_stat(self):
        command = ["redis-cli", "-p", str(self.server.port), "-i", "0.05", "--stat"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            lines = [process.stdout.readline() for _ in range(6)]
            process.kill()  # it never ends by itself
        self.assertRegex("".join(lines), r"\n30 +\d")

    def test_latency(self):
        output = self.server.cli("--latency", "-i", 1, "--raw")
        self.assertRegex(output, r"^\d+ \d+ \d+\.\d+ \d+\s*$")


class Benchmark(ServerTest):
    def test_redis_benchmark_runs(self):
        command = ["redis-benchmark", "-p", str(self.server.port), "-n", "2000", "-P", "16", "-q", "-r", "1000"]
        for extra in (["-t", "ping"], ["BF.ADD", "k", "__rand_int__"], ["BF.EXISTS", "k", "__rand_int__"]):
            done = subprocess.run(command + extra, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("requests per second", done.stdout)
            self.assertNotIn("Error", done.stdout)


if __name__ == "__main__":
    main()
