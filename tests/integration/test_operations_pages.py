"""docs/operations: the server accepts the options that are shown, figures are right. Links of all pages lead somewhere.
test_pages.py runs the commands."""

import pathlib
import re
import shlex
import subprocess

from harness import ENVIRONMENT, OwnServerTest, binary, main

ROOT = pathlib.Path(__file__).parents[2]
PAGES = ROOT / "docs" / "operations"
# Of each code block its language and its text.
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINKS = re.compile(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)")


def pages():
    return sorted(PAGES.glob("*.md"))


def lines_of_code(page, start):
    """Of its blocks for the shell, without what comes after the command: & or a comment."""
    for language, block in BLOCKS.findall(page.read_text()):
        if language == "sh":
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith(start):
                    yield re.sub(r"\s+[#&].*", "", line)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text):
    """As GitHub has them: what is there already gets a number."""
    found = []
    for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE):
        repeated = sum(re.fullmatch(re.escape(anchor(heading)) + r"(-\d+)?", each) is not None for each in found)
        found.append(anchor(heading) + (f"-{repeated}" if repeated else ""))
    return found


class Pages(OwnServerTest):
    def test_options_that_are_shown_exist(self):
        shown = [line for page in pages() for line in lines_of_code(page, "bitsieve serve ")]
        self.assertGreater(len(shown), 1)
        environment = dict(ENVIRONMENT)
        for line in shown:
            done = subprocess.run([binary(), *shlex.split(line)[1:], "--print-config"], env=environment,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, line + done.stderr)

    def test_configurations_that_are_shown_are_accepted(self):
        blocks = [found for page in pages() for found in BLOCKS.findall(page.read_text())]
        shown = [block for language, block in blocks if language == "json"]
        self.assertGreater(len(shown), 0)
        path = pathlib.Path(self.make_server().home) / "bitsieve.json"
        for block in shown:
            path.write_text(block)
            done = subprocess.run([binary(), "serve", "--config", path, "--print-config"], env={}, capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, block + done.stderr)

    def test_bits_per_item(self):
        server = self.make_server().start()
        text = (PAGES / "size.md").read_text()
        table = re.findall(r"^\| (\w+)[^|]* \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", text, re.MULTILINE)
        self.assertGreater(len(table), 3)
        for name, *bits in table:
            if name == "ribbon":
                continue  # takes its size when it is frozen
            for rate, expected in zip((0.01, 0.001, 0.0001), bits, strict=True):
                key = f"{name}:{rate}"
                server.cli("BF.RESERVE", key, rate, 1000000, "TYPE", name, "NONSCALING")
                size = int(server.cli("BF.INFO", key, "SIZE"))
                self.assertAlmostEqual(size * 8 / 1000000, float(expected), delta=0.06, msg=key)
        self.assert_stops_well(server)

    def test_links(self):
        for page in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
            for path, fragment in LINKS.findall(page.read_text()):
                target = (page.parent / path).resolve() if path else page
                with self.subTest(page=str(page.relative_to(ROOT)), link=path):
                    self.assertTrue(target.exists())
                    if fragment:
                        self.assertIn(fragment, anchors(target.read_text()))


if __name__ == "__main__":
    main()
