"""README.md and docs/tutorial.md in their own order, as they stand, twice, against one server on its documented port:
telnet, a shell, Python, Node, the shell and the examples. Only the installation of packages and the building are the
test's own."""

import contextlib
import functools
import http.server
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

from harness import PATIENCE, main, wait_until
from node_packages import NODE, Unavailable, require_packages, skip_without
from pages import MARK, PORT, ROOT, PageTest, blocks_of, in_own_machine

PAGES = ("README.md", "docs/tutorial.md")
TUTORIAL = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
WORDS = "/usr/share/dict/words"
# Lines that a quoting mistake would change, or that would end the load.
AWKWARD = ['say "yes"', "back\\slash", "\\n", "it's", 'a"b\\"c', "two words", "", "Ångström", "$HOME `ls` %s",
           "tab\there"]
BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def block_with(language, text):
    """The only one that contains it."""
    found = [block for of, block in BLOCKS if of == language and text in block]
    assert len(found) == 1, f"the pages have {len(found)} blocks of {language!r} with {text!r}"
    return found[0]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Readme(PageTest):
    def setUp(self):
        super().setUp()
        self.server = self.start_server()
        # Node looks for modules beside the program.
        self.put("node_modules", link=NODE / "node_modules")

    def test_everything_in_order_twice(self):
        for run in (1, 2):
            for part in (self.telnet, self.shell, self.python, self.node, self.dictionary, self.examples):
                with self.subTest(part.__name__, run=run):
                    part(run)
        self.assert_stops_well(self.server)

    def telnet(self, _):
        connection = self.server.connect()
        lines = block_with("", "BF.RESERVE crawled").splitlines()
        for command, reply in zip(lines[::2], lines[1::2], strict=True):
            self.assertEqual(connection.ask(command.encode() + b"\r\n"), reply.encode() + b"\r\n", command)

    def shell(self, _):
        """With both programs that the page names."""
        prompt = f"127.0.0.1:{PORT}> "
        dump = self.server.client().execute_command("BF.DUMP", "crawled")
        for cli in (self.server.cli, self.bitsieve_cli):
            self.server.client().execute_command("BF.RESTORE", "crawled", dump, "REPLACE")
            for part in block_with("", prompt).split(prompt)[1:]:
                command, expected = part.split("\n", 1)
                self.assertEqual(cli("--no-raw", stdin=command + "\n"), expected, command)

    def bitsieve_cli(self, *arguments, stdin):
        return self.run_command(["bash", "-ec"], " ".join(["./build/release/bitsieve cli", *arguments]), input=stdin)

    def python(self, run):
        printed = self.run_command([sys.executable, "-c"], block_with("python", "import redis"))
        self.assertEqual(printed, "new: https://example.org/\n" if run == 1 else "")

    def node(self, run):
        skip_without(require_packages)
        code = block_with("js", "from 'redis'")
        expected = re.findall(r"// (\w+)", code)
        self.assertEqual(expected, ["true", "true"])
        if run == 2:
            expected[0] = "false"  # "new, in the first run"
        printed = self.run_command(["node", "--input-type=module", "-e"], code, cwd=NODE)
        self.assertEqual(printed.split(), expected)

    def dictionary(self, _):
        """In parts, since the server is killed on the way and started again by the test."""
        load, ask, kill, after = self.split(block_with("sh", "load words"))
        printed = self.run_command(["bash", "-eo", "pipefail", "-c"], load)
        self.assertIn(" 0 refused", printed)
        words = set(pathlib.Path(WORDS).read_text(encoding="utf-8").splitlines())
        card = self.server.client().execute_command("BF.CARD", "words")
        self.assertLess(0.98 * len(words), card)
        self.assert_answers(ask)
        process = self.server.process
        self.run_command(["bash", "-ec"], kill)
        wait_until(lambda: process.poll() == -9, 30 * PATIENCE, "the tutorial's command kills this server")
        self.assertRegex(after, r"^\./scripts/serve &  +# everything is there again\n$")
        self.server.start()
        self.assertEqual(self.server.client().execute_command("BF.CARD", "words"), card)

    def assert_answers(self, questions):
        for line in questions.splitlines():
            command, expected = re.match(r"(.*?) +# (\d)", line).groups()
            answer = self.run_command(["bash", "-ec"], line).strip()
            if "certainty" in line and answer != expected:
                self.skipTest("the misspelt word is a false positive of this filter, as one in a hundred is")
            self.assertEqual(answer, expected, command)

    def split(self, code):
        """Loading, asking, killing and starting again."""
        lines = [line for line in code.splitlines() if line]
        first_question = next(i for i, line in enumerate(lines) if "BF.EXISTS" in line)
        kill = next(i for i, line in enumerate(lines) if line.startswith("kill "))
        self.assertEqual(kill, len(lines) - 2)
        parts = lines[:first_question], lines[first_question:kill], lines[kill:kill + 1], lines[kill + 1:]
        return ["\n".join(part) + "\n" for part in parts]

    def examples(self, run):
        """Those that need the server, by the names that the list has, with the server that they take by themselves."""
        listed = re.findall(r"^- \[(examples/\S+)\]\(\.\./examples/", TUTORIAL, re.MULTILINE)
        self.assertEqual(sorted(listed), sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*")
                                                if path.name != "CMakeLists.txt"))
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=self.home))
        threading.Thread(target=site.serve_forever, daemon=True).start()
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        url = f"http://127.0.0.1:{site.server_port}/examples/"
        for example in listed:
            # A user who built by hand has no bitsieve on the path.
            self.environment["PATH"] = os.environ["PATH"]
            if example.endswith("events.py"):
                event = f'{{"id": "a{run}", "time": {int(time.time())}}}\n'
                self.assertEqual(self.run_command(["bash", "-ec"], example, input=event * 2), event)
            elif example.endswith("crawlers.py"):
                continue  # needs the module bitsieve, which test_follow_page.py has
            elif example.endswith(".py"):
                printed = self.run_command(["bash", "-ec"], f"{example} {url}")
                self.assertIn(url, printed)
            elif example.endswith(".mjs"):
                self.assertIn("requests", self.run_command(["bash", "-ec"], f"node {example}"))
            elif example.endswith(".sh"):
                printed = self.run_command(["bash", "-ec"], example, input=f'{{"id": "a{run}"}}\n' * 2)
                self.assertEqual(printed, f'{{"id": "a{run}"}}\n')
        self.environment["PATH"] = f"{self.home}/bin:{os.environ['PATH']}"

    def test_the_load_changes_no_line(self):
        """The tutorial's command for its word list, with a file of other lines in its place."""
        load, *_ = self.split(block_with("sh", "load words"))
        path = self.put("lines", content="".join(line + "\n" for line in AWKWARD))
        subprocess.run(["mount", "--bind", path, os.path.realpath(WORDS)], check=True)
        self.addCleanup(subprocess.run, ["umount", os.path.realpath(WORDS)], check=True)
        self.assertIn(f"{len(AWKWARD)} items read", self.run_command(["bash", "-eo", "pipefail", "-c"], load))
        client = self.server.client()
        self.assertEqual(client.execute_command("BF.MEXISTS", "words", *AWKWARD), [1] * len(AWKWARD))
        self.assertEqual(client.execute_command("BF.CARD", "words"), len(AWKWARD))

    def test_every_block_is_run(self):
        run = [block_with("", "BF.RESERVE crawled"), block_with("", f"127.0.0.1:{PORT}> "),
               block_with("python", "import redis"), block_with("js", "from 'redis'"), block_with("sh", "load words")]
        self.assertEqual([block for _, block in BLOCKS], run)

    def test_what_installs_is_there(self):
        for script in re.findall(r"`\./(scripts/\w+)", (ROOT / "README.md").read_text(encoding="utf-8")):
            self.assertTrue((ROOT / script).is_file(), script)


if __name__ == "__main__":
    if MARK not in os.environ:
        with contextlib.suppress(Unavailable):  # the tests say what is missing
            require_packages()  # while there is a network
    in_own_machine()
    main()
