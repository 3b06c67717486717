"""docs/clients.md: its programs are run as they stand, twice, against a server on the documented port: those of the
languages that the page says are run. The others need packages that Debian does not have."""

import dataclasses
import pathlib
import re
import shutil
import subprocess
import unittest

from harness import PATIENCE, main
from pages import ROOT, PageTest, blocks_of, in_own_machine

PAGE = "docs/clients.md"
PROGRAMS = dict(blocks_of(PAGE))
REDIGO = pathlib.Path("/usr/share/gocode/src/github.com/gomodule/redigo")


@dataclasses.dataclass
class Language:
    """How the page's program is run, and what it prints: for the added items when both are new and when neither is, and
    for an absent item."""

    command: list
    suffix: str
    both_new: str
    none_new: str
    absent: str


RUN_BY_TESTS = {
    "Ruby": Language(["ruby"], ".rb", "[1, 1]", "[0, 0]", "0"),
    "PHP": Language(["php"], ".php", "[1,1]", "[0,0]", "0"),
    "Go": Language(["go", "run"], ".go", "[1 1] <nil>", "[0 0] <nil>", "false <nil>"),
}


class ClientsPage(PageTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def assert_runs(self, name):
        language = RUN_BY_TESTS[name]
        code = PROGRAMS[name.lower()]
        for printed in (language.both_new, language.absent):
            self.assertIn(f" {printed}: ", code, "the comments of the program are what it prints")
        program = self.put("seen" + language.suffix, content=code)
        for expected in ([language.both_new, language.absent],
                         ["ERR item exists", language.none_new, language.absent]):
            done = subprocess.run([*language.command, program], cwd=self.home, env=self.environment, text=True,
                                  capture_output=True, timeout=120 * PATIENCE, check=False)
            self.assertEqual((done.stdout.splitlines(), done.stderr, done.returncode), (expected, "", 0))

    def test_ruby(self):
        self.assert_runs("Ruby")

    def test_php(self):
        self.assert_runs("PHP")

    @unittest.skipUnless(shutil.which("go") and REDIGO.is_dir(),
                         "Go or redigo is missing: apt-get install golang-go golang-github-gomodule-redigo-dev")
    def test_go(self):
        self.environment.update(GO111MODULE="off", GOPATH="/usr/share/gocode", GOCACHE=f"{self.home}/go-build")
        self.assert_runs("Go")

    def test_the_page_says_which_programs_are_run(self):
        rows = re.findall(r"^\| \[([\w.]+)\]\(#\w+\) .* \| by (.*) \|$", (ROOT / PAGE).read_text(encoding="utf-8"),
                          re.MULTILINE)
        self.assertEqual(len(rows), len(PROGRAMS))
        self.assertEqual({name for name, runner in rows if runner != "no test"}, RUN_BY_TESTS.keys())


if __name__ == "__main__":
    in_own_machine()
    main()
