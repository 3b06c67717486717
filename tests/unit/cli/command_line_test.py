"""What the program prints and with which status it ends, as people and scripts see it. Argument: the binary."""
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

BINARY = sys.argv.pop(1)
EXAMPLE = os.path.join(os.path.dirname(__file__), "../../../config/bitsieve.example.json")


def run(*arguments, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BITSIEVE_")}
    return subprocess.run([BINARY, *arguments], env=environment | variables, capture_output=True, text=True, timeout=60,
                          check=False)


class Completion(unittest.TestCase):
    """Each shell reads its script without a word, and completes what there is."""

    def shell(self, *command, given):
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout

    def test_bash(self):
        script = run("completion", "bash").stdout
        for words, expected in (("bitsieve ch", ["check", "check-config"]),
                                ("bitsieve load --res", ["--reserve", "--resume"]),
                                ("bitsieve cli --re", ["--repeat", "--resp3"]),
                                ("bitsieve serve --maxmem", ["--maxmemory", "--maxmemory-clients"])):
            ask = (f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _bitsieve; "
                   "printf '%s\\n' \"${COMPREPLY[@]}\"")
            self.assertEqual(sorted(self.shell("bash", given=script + ask).split()), expected)

    def test_zsh(self):
        script = run("completion", "zsh").stdout
        self.shell("zsh", "-f", "-n", given=script)
        self.assertIn("_bitsieve", self.shell("zsh", "-f", given="autoload -U compinit; compinit -D -u\n" + script +
                                              "\nprint $_comps[bitsieve]"))

    def test_fish(self):
        script = run("completion", "fish").stdout
        found = self.shell("fish", "--no-config", given=script + "\ncomplete -C 'bitsieve load --res'")
        self.assertEqual([line.split("\t")[0] for line in found.splitlines()], ["--reserve", "--resume"])

    def test_other_shells_are_refused(self):
        self.assertEqual(run("completion", "csh").returncode, 2)


class Program(unittest.TestCase):
    def test_help_names_the_subcommands_and_first_steps(self):
        done = run("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ("serve", "ping", "cli", "load", "check", "dedup", "export", "import", "inspect", "backup",
                     "restore", "check-config", "plan", "version", "BF.ADD"):
            self.assertIn(word, done.stdout)

    def test_nothing_asked_is_a_usage_error_that_helps(self):
        done = run()
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("Subcommands:", done.stderr)

    def test_help_is_a_command_as_well(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertEqual(run("help", "load").stdout, run("load", "--help").stdout)
        self.assertEqual(run("help", "laod").returncode, 2)

    def test_unknown_names_are_named_with_what_was_meant(self):
        for words, expected in (
                (["sevre"], 'bitsieve: unknown command "sevre"; did you mean serve?'),
                (["laod", "x"], 'bitsieve: unknown command "laod"; did you mean load?'),
                (["xyzzy"], 'bitsieve: unknown command "xyzzy"; bitsieve --help lists the commands'),
                (["--verion"], 'bitsieve: unknown option "--verion"; did you mean --version?'),
                (["load", "x", "--prot", "1"], 'bitsieve load: unknown option "--prot"; did you mean --port?'),
                (["load", "x", "--resrve=1"], 'bitsieve load: unknown option "--resrve"; did you mean --reserve?'),
                (["ping", "--hots", "x"], 'bitsieve ping: unknown option "--hots"; did you mean --host?'),
                (["backup", "x", "--dri", "y"], 'bitsieve backup: unknown option "--dri"; did you mean --dir?'),
                (["load", "x", "--nothing"],
                 'bitsieve load: unknown option "--nothing"; bitsieve load --help lists the options'),
                (["import", "a", "b", "c"],
                 'bitsieve import: unexpected argument "c"; bitsieve import --help lists the options'),
                (["load"], "bitsieve load: KEY is required; bitsieve load --help lists the options")):
            with self.subTest(words):
                done = run(*words)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", expected + "\n"))

    def test_every_command_suggests_its_options(self):
        for command in re.findall(r"^  ([a-z-]+) ", run("--help").stdout.split("Subcommands:")[1], re.MULTILINE):
            options = re.findall(r"^  (?:-\w,)?--([a-z-]{5,})", run(command, "--help").stdout, re.MULTILINE)
            for option in options[:2]:
                slip = f"--{option[1]}{option[0]}{option[2:]}"
                with self.subTest(command=command, option=option):
                    told = run(command, slip, "x", "y").stderr
                    self.assertRegex(told, f"^bitsieve {command}: .*did you mean -*[a-z]")

    def test_version(self):
        self.assertRegex(run("version").stdout, r"^bitsieve \d+\.\d+\.\d+\n$")
        self.assertEqual(run("--version").stdout, run("version").stdout)


class Serve(unittest.TestCase):
    def test_print_config_is_a_file_that_config_takes(self):
        first = run("serve", "--print-config", "--port", "1234", "--maxmemory=100mb", BITSIEVE_LOGLEVEL="debug")
        self.assertEqual(first.returncode, 0)
        values = json.loads(first.stdout)
        self.assertEqual((values["port"], values["maxmemory"], values["loglevel"]), (1234, "100mb", "debug"))
        self.assertEqual(first.stderr,
                         "port: from --port\nmaxmemory: from --maxmemory\nloglevel: from BITSIEVE_LOGLEVEL\n")
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(first.stdout)
            file.flush()
            self.assertEqual(run("serve", "--print-config", "--config", file.name).stdout, first.stdout)
            self.assertEqual(run("serve", "--print-config", BITSIEVE_CONFIG=file.name).stdout, first.stdout)

    def test_the_example_is_the_defaults(self):
        with open(EXAMPLE, encoding="utf-8") as example:
            self.assertEqual(run("serve", "--print-config", "--config", EXAMPLE).stdout, example.read())

    def test_every_problem_is_told_at_once(self):
        done = run("serve", "--prot", "1", "--loglevel", "loud", BITSIEVE_PORT="x", BITSIEVE_CONFIG="/no/such/file")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr.splitlines(), [
            'bitsieve serve: --prot: unknown option "prot"; did you mean port?',
            "bitsieve serve: /no/such/file: cannot be read: No such file or directory",
            'bitsieve serve: BITSIEVE_PORT: port must be off, or a whole number from 0 to 65535, not "x"',
            'bitsieve serve: --loglevel: loglevel must be one of trace, debug, info, warning, error, off, not "loud"',
        ])

    def test_an_empty_value_does_not_swallow_the_next_flag(self):
        done = run("serve", "--print-config", "--logfile=", "--dir=x")
        self.assertEqual((json.loads(done.stdout)["logfile"], json.loads(done.stdout)["dir"]), ("", "x"))

    def test_help_has_every_option_in_its_group(self):
        done = run("serve", "--help")
        with open(EXAMPLE, encoding="utf-8") as example:
            # Templates are a list, which only a file can hold.
            for name in json.load(example).keys() - {"templates"}:
                self.assertRegex(done.stdout, rf"\n  --{name} ")
        self.assertEqual(re.findall(r"\n([A-Z][A-Za-z ]+):\n", done.stdout),
                         ["Options", "Network", "TLS", "Access", "Monitoring", "Events", "Admin port", "Request limits",
                          "Memory", "Filters", "Cuckoo filters", "Persistence", "Logs"])


class Inspect(unittest.TestCase):
    def test_what_is_no_data_directory_cannot_be_read(self):
        with tempfile.TemporaryDirectory() as directory:
            done = run("inspect", directory + "/")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, f"bitsieve inspect: {directory}: holds no data of Bitsieve: neither MANIFEST nor "
                                      "filters/\n")

    def test_a_directory_must_be_named(self):
        done = run("inspect")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("directory is required", done.stderr)


class Answering:
    """A server of one connection that answers whatever comes with given bytes; None: not at all."""

    def __init__(self, answer, address="127.0.0.1", family=socket.AF_INET):
        self.listener = socket.create_server((address, 0), family=family)
        self.port = str(self.listener.getsockname()[1])
        self.request = b""
        self.thread = threading.Thread(target=self.serve, args=(answer,))
        self.thread.start()

    def serve(self, answer):
        connection, _ = self.listener.accept()
        with connection:
            self.request = connection.recv(100)
            if answer is not None:
                connection.sendall(answer)
            else:
                connection.recv(100)  # until the client leaves

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.thread.join()
        self.listener.close()


class Ping(unittest.TestCase):
    def assert_fails(self, done, reason):
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, reason)

    def test_pong(self):
        with Answering(b"+PONG\r\n") as server:
            done = run("ping", "--port", server.port)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "PONG\n", ""))
        self.assertEqual(server.request, b"PING\r\n")

    def test_place_is_that_of_the_server_in_the_same_environment(self):
        with Answering(b"+PONG\r\n") as server:
            self.assertEqual(run("ping", BITSIEVE_PORT=server.port, BITSIEVE_BIND="0.0.0.0, ::").returncode, 0)
        with Answering(b"+PONG\r\n") as server:
            self.assertEqual(run("ping", BITSIEVE_PORT=server.port, BITSIEVE_BIND="localhost").returncode, 0)

    def test_other_answers_are_told(self):
        with Answering(b"-ERR who are you\r\n") as server:
            self.assert_fails(run("ping", "--port", server.port), r'replied "-ERR who are you", not "\+PONG"')
        with Answering(b"") as server:
            self.assert_fails(run("ping", "--port", server.port), "closed without a reply")
        with Answering(b"x" * 100000) as server:
            self.assert_fails(run("ping", "--port", server.port), 'replied "x')

    def test_loading_is_no_sign_of_health(self):
        with Answering(b"-LOADING Bitsieve is loading its filters into memory\r\n") as server:
            self.assert_fails(run("ping", "--port", server.port),
                              "port [0-9]+: loading: the server is up, but not ready yet")

    def test_silence_ends(self):
        with Answering(None) as server:
            self.assert_fails(run("ping", "--port", server.port, "--timeout", "0.2"),
                              "timed out waiting for the server")

    def test_nobody_there(self):
        with socket.socket() as bound:  # bound, not listening: refuses
            bound.bind(("127.0.0.1", 0))
            self.assert_fails(run("ping", "--port", str(bound.getsockname()[1])), "cannot connect: Connection refused")

    def test_wrong_command_lines(self):
        for arguments in (["--port", "0"], ["--port", "x"], ["--timeout", "0"], ["--prot", "1"]):
            self.assertEqual(run("ping", *arguments).returncode, 2, arguments)
        self.assertEqual(run("ping", BITSIEVE_PORT="x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
