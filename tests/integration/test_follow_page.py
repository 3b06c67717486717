"""docs/follow.md and the example that it names: the code of the page runs as it stands, in a machine of its own."""

import os
import re
import sys

from harness import main
from pages import ROOT, PageTest, blocks_of, in_own_machine

PYTHON = str(ROOT / "clients" / "python")


class FollowPage(PageTest):
    def setUp(self):
        super().setUp()
        self.environment["PYTHONPATH"] = os.pathsep.join([PYTHON, self.environment.get("PYTHONPATH", "")])

    def test_the_program_fetches_what_is_new(self):
        client = self.start_server().client()
        client.execute_command("BF.MADD", "seen", "https://old.example/")
        (code,) = [text for language, text in blocks_of("docs/follow.md") if language == "python"]
        for url, printed in (("https://old.example/", ""), ("https://new.example/", "fetched\n")):
            program = f"url, fetch = {url!r}, lambda url: print('fetched')\n{code}"
            self.assertEqual(self.run_command([sys.executable, "-c"], program), printed)

    def test_a_fleet_of_crawlers_fetches_each_page_once(self):
        self.start_server()
        (command,) = re.findall(r"^    (examples/crawlers\.py [^#]*)#", (ROOT / "examples/crawlers.py").read_text(),
                                re.MULTILINE)
        printed = self.run_command(["bash", "-c"], f"{sys.executable} {command}")
        fetched, twice, local, links = map(int, re.findall(r"\b\d+\b", printed)[:4])
        self.assertEqual(twice, 0, printed)
        self.assertGreater(fetched, 19_500, printed)
        self.assertGreater(local, links * 0.8, printed)


if __name__ == "__main__":
    in_own_machine()
    main()
