"""docs/operations: commands of redis-cli work as they stand, the server accepts the options that are shown, figures are
right, and links lead somewhere."""

import pathlib
import re
import shlex
import subprocess

from harness import ENVIRONMENT, OwnServerTest, binary, main

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "operations"
PORT = "7379"
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


class Pages(OwnServerTest):
    def test_commands_of_redis_cli(self):
        ran = 0
        for page in pages():
            server = self.make_server().start()
            for line in lines_of_code(page, f"redis-cli -p {PORT} "):
                with self.subTest(page=page.name, line=line):
                    output = server.cli(*shlex.split(line)[3:])
                    self.assertNotRegex(output, r"\A(ERR|NOPERM|NOAUTH|WRONGTYPE)\b")
                    ran += 1
            self.assert_stops_well(server)
        self.assertGreater(ran, 6)

    def test_options_that_are_shown_exist(self):
        shown = [line for page in pages() for line in lines_of_code(page, "bitsieve serve ")]
        self.assertGreater(len(shown), 1)
        environment = dict(ENVIRONMENT)
        for line in shown:
            done = subprocess.run([binary(), *shlex.split(line)[1:], "--print-config"], env=environment,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, line + done.stderr)

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
        for page in pages():
            for path, fragment in LINKS.findall(page.read_text()):
                target = (page.parent / path).resolve() if path else page
                with self.subTest(page=page.name, link=path):
                    self.assertTrue(target.exists())
                    if fragment:
                        headings = re.findall(r"^#+ (.*)", target.read_text(), re.MULTILINE)
                        self.assertIn(fragment, [anchor(heading) for heading in headings])


if __name__ == "__main__":
    main()
