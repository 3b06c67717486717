"""The code blocks of README.md, run as they stand, in their order, against one fresh server: telnet, redis-cli, Python,
Node and the shell. Only the port, the installation of packages and the start of the server are the test's own."""

import pathlib
import re
import subprocess
import sys

from harness import ENVIRONMENT, PATIENCE, OwnServerTest, main, wait_until
from test_node_clients import NODE, install_clients

README = (pathlib.Path(__file__).parents[2] / "README.md").read_text()
PORT = "7379"
WORDS = "/usr/share/dict/words"
# Lines that a quoting mistake would change, or that would end the load.
AWKWARD = ['say "yes"', "back\\slash", "\\n", "it's", 'a"b\\"c', "two words", "", "Ångström", "$HOME `ls` %s",
           "tab\there"]

setUpModule = install_clients


# Of each code block its language and its text.
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block_with(language, text):
    """The only one that contains it."""
    found = [block for of, block in BLOCKS if of == language and text in block]
    assert len(found) == 1, f"README.md has {len(found)} blocks of {language!r} with {text!r}"
    return found[0]


class Readme(OwnServerTest):
    def setUp(self):
        self.server = self.make_server().start()
        self.server.options["port"] = self.server.port  # also after a restart

    def here(self, code):
        return code.replace(PORT, str(self.server.port)).replace("./build/release/bitsieve", self.server.program)

    def run_code(self, command, code, **options):
        # Each BITSIEVE_ variable is an option to the programs: the test's own are not for them.
        environment = dict(ENVIRONMENT)
        done = subprocess.run([*command, self.here(code)], capture_output=True, text=True, timeout=120 * PATIENCE,
                              env=environment, **options)
        self.assertEqual(done.returncode, 0, code + done.stdout + done.stderr)
        return done.stdout

    def test_everything_in_order(self):
        for part in (self.telnet, self.redis_cli, self.python, self.node, self.dictionary):
            with self.subTest(part.__name__):
                part()
        self.assert_stops_well(self.server)

    def telnet(self):
        connection = self.server.connect()
        lines = block_with("", "BF.RESERVE crawled").splitlines()
        for command, reply in zip(lines[::2], lines[1::2], strict=True):
            self.assertEqual(connection.ask(command.encode() + b"\r\n"), reply.encode() + b"\r\n", command)

    def redis_cli(self):
        prompt = f"127.0.0.1:{PORT}> "
        for part in block_with("", prompt).split(prompt)[1:]:
            command, expected = part.split("\n", 1)
            self.assertEqual(self.server.cli("--no-raw", stdin=command + "\n"), expected, command)

    def python(self):
        code = block_with("python", "import redis")
        self.assertEqual(self.run_code([sys.executable, "-c"], code), "new: https://example.org/\n")

    def node(self):
        code = block_with("js", "from 'redis'")
        expected = re.findall(r"// (\w+)", code)
        output = self.run_code(["node", "--input-type=module", "-e"], code, cwd=NODE)
        self.assertEqual(output.split(), expected)
        self.assertEqual(expected, ["true", "true"])

    def dictionary(self):
        code = block_with("sh", "load words")
        load, ask, kill, after = self.split(code)
        self.assertIn("BF.RESERVE words 0.01 110000\n", load)
        # With a seed, so that the absent word is no false positive by chance.
        load = load.replace("BF.RESERVE words 0.01 110000", "BF.RESERVE words 0.01 110000 SEED 1")
        self.assertIn(" 0 refused", self.run_code(["bash", "-eo", "pipefail", "-c"], load))
        words = set(pathlib.Path(WORDS).read_text().splitlines())
        card = self.server.client().execute_command("BF.CARD", "words")
        self.assertLess(0.98 * len(words), card)
        for line in ask.splitlines():
            command, expected = line.split("#")
            self.assertEqual(self.run_code(["bash", "-ec"], command).strip(), expected.split()[0], command)
        process = self.server.process
        self.run_code(["bash", "-ec"], kill)
        wait_until(lambda: process.poll() == -9, 30 * PATIENCE, "the README's command kills this server")
        self.assertTrue(after.startswith("./scripts/serve &"))
        self.server.start()
        self.assertEqual(self.server.client().execute_command("BF.CARD", "words"), card)

    def split(self, code):
        """Loading, asking, killing and starting again; without the installation of the word list."""
        lines = [line for line in code.splitlines() if line and not line.startswith("sudo apt-get install wamerican")]
        first_question = next(i for i, line in enumerate(lines) if "BF.EXISTS" in line)
        kill = next(i for i, line in enumerate(lines) if line.startswith("kill "))
        self.assertEqual(kill, len(lines) - 2)
        parts = lines[:first_question], lines[first_question:kill], lines[kill:kill + 1], lines[kill + 1:]
        return ["\n".join(part) + "\n" for part in parts]

    def test_the_load_changes_no_line(self):
        code = block_with("sh", "load words")
        load, *_ = self.split(code)
        self.assertIn(WORDS, load)
        path = pathlib.Path(self.server.home) / "lines"
        path.write_text("".join(line + "\n" for line in AWKWARD))
        self.assertIn(f"{len(AWKWARD)} items read",
                      self.run_code(["bash", "-eo", "pipefail", "-c"], load.replace(WORDS, str(path))))
        client = self.server.client()
        self.assertEqual(client.execute_command("BF.MEXISTS", "words", *AWKWARD), [1] * len(AWKWARD))
        self.assertEqual(client.execute_command("BF.CARD", "words"), len(AWKWARD))

    def test_the_configuration_has_valid_options(self):
        path = pathlib.Path(self.server.home) / "bitsieve.json"
        path.write_text(block_with("json", "requirepass-file"))
        done = subprocess.run([self.server.program, "serve", "--config", path, "--print-config"], capture_output=True,
                              text=True, timeout=20 * PATIENCE, env={})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"tls-port: from {path}", done.stderr)

    def test_every_block_is_run_or_needs_no_server(self):
        run = [block_with("", "BF.RESERVE crawled"), block_with("", f"127.0.0.1:{PORT}> "),
               block_with("python", "import redis"), block_with("js", "from 'redis'"), block_with("sh", "load words"),
               block_with("json", "requirepass-file")]
        (start,) = [block for _, block in BLOCKS if block not in run]
        self.assertEqual([line.split()[0] for line in start.splitlines()], ["./scripts/serve", "./scripts/test"])
        for script in ("serve", "test"):
            self.assertTrue((pathlib.Path(__file__).parents[2] / "scripts" / script).is_file())


if __name__ == "__main__":
    main()
