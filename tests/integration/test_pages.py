"""The pages of docs/: their commands are run in their order as they stand, and all that they say of redis-cli finds the
server."""

import gzip
import json
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

import redis

from harness import main
from pages import PORT, ROOT, PageTest, blocks_of, in_own_machine

# Blocks that need another machine, a container or hours: of each a part of the text.
ELSEWHERE = ("systemctl", "docker", "kubectl", "sudo chown", "/etc/bitsieve/requirepass", "scripts/bench")
COMMANDS = re.compile(r"\bredis-cli( [^\n`|]*)")


def shell_blocks(page):
    return [block for language, block in blocks_of(page) if language == "sh"]


class Commands(unittest.TestCase):
    def test_redis_cli_is_told_where_the_server_is(self):
        """Without -p it asks port 6379, where another server may answer."""
        examples = [path for path in (ROOT / "examples").rglob("*") if path.is_file()]
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(examples)]
        found = 0
        for page in pages:
            for arguments in COMMANDS.findall(page.read_text(encoding="utf-8")):
                if re.match(r" (--cluster|--bigkeys|[a-z])", arguments):
                    continue  # of Redis' own servers, or no command
                found += 1
                with self.subTest(page=str(page.relative_to(ROOT)), command="redis-cli" + arguments):
                    self.assertRegex(arguments, r"(^| )-[psu] ")
        self.assertGreater(found, 20)


class CodeTour(unittest.TestCase):
    def test_what_is_to_be_looked_at_is_in_its_file(self):
        rows = re.findall(r"^\| \d \| `(.*?)` \|.*\| ([^|]+) \|$",
                          (ROOT / "docs/code_tour.md").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertEqual(len(rows), 9)
        for path, names in rows:
            for name in re.findall(r"`(\w+)`", names):
                with self.subTest(path=path, name=name):
                    self.assertRegex((ROOT / path).read_text(encoding="utf-8"), rf"\b{name}\b")


class Pages(PageTest):
    def is_served(self):
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", PORT)) == 0

    def make_files(self):
        self.put("urls.txt", content="".join(f"https://example.org/{i}\n" for i in range(1000)))
        self.put("new-urls.txt", content="".join(f"https://example.org/{i}\n" for i in range(500, 1500)))

    def run_page(self, page):
        """Its blocks for the shell in their order. What the page starts in the foreground serves the blocks after it; a
        block that starts nothing has a server on the usual port."""
        printed = []
        for block in shell_blocks(page):
            if any(word in block for word in ELSEWHERE):
                continue
            with self.subTest(page=page, block=block):
                if "bitsieve serve" not in block and not self.is_served():
                    self.serve("bitsieve serve")
                printed.append(self.run_shell(block))
        self.assertNotEqual(printed, [], page)
        self.stop_serving()
        return printed

    def test_load(self):
        self.start_server()
        self.make_files()
        printed, with_times = self.run_page("docs/load.md")
        self.assertRegex(with_times, r"\AOK\n3 items read in [0-9.]+ s: 3 new")
        lines = printed.splitlines()
        self.assertIn("1,000 items read", lines[0])
        self.assertGreater(len(lines), 500)
        self.assertAlmostEqual(len((pathlib.Path(self.home) / "fresh.txt").read_text().splitlines()), 500, delta=5)

    def test_dedup(self):
        home = pathlib.Path(self.home)
        (home / "urls.txt").write_text("/a\n/b\n/a\n")
        (home / "part-1.gz").write_bytes(gzip.compress(b"/a\n/b\n"))
        (home / "part-2.gz").write_bytes(gzip.compress(b"/b\n/c\n"))
        (home / "users.csv").write_text("id,email\n1,a@x\n2,b@x\n3,a@x\n")
        texts = [" ".join(map(str, range(60))), " ".join(map(str, range(58))), "short"]
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        subprocess.run(["zstd", "-q", "-o", home / "docs.jsonl.zst"], input=lines.encode(), check=True)
        (home / "today.txt").write_text("/x\n/y\n/x\n")
        (home / "dump.gz").write_bytes(gzip.compress(b"1\n2\n2\n1\n"))
        (printed,) = self.run_page("docs/dedup.md")
        self.assertEqual(printed, "2\n")
        self.assertEqual((home / "unique.txt").read_text(), "/a\n/b\n")
        self.assertEqual(gzip.decompress((home / "unique" / "part-2.gz").read_bytes()), b"/c\n")
        self.assertEqual((home / "users.unique.csv").read_text(), "id,email\n1,a@x\n2,b@x\n")
        kept = subprocess.run(["zstd", "-q", "-d", "-c", home / "kept.jsonl.zst"], capture_output=True, check=True)
        self.assertEqual([json.loads(line)["text"] for line in kept.stdout.splitlines()], [texts[0], texts[2]])
        self.assertEqual((home / "new.txt").read_text(), "/x\n/y\n")

    def test_cli(self):
        self.start_server()
        (printed,) = self.run_page("docs/cli.md")
        self.assertEqual(printed.splitlines()[:6], ["1", "1", "1) (integer) 1", "2) (integer) 0", "1", "3"])
        self.assertIn("BF.RESERVE key error_rate capacity", printed)
        prompt = f"127.0.0.1:{PORT}> "
        (session,) = [block for _, block in blocks_of("docs/cli.md") if block.startswith(prompt)]
        commands = re.findall(f"^{prompt}(.*)$", session, re.MULTILINE)
        replies = re.sub(f"^{prompt}.*\n", "", session, flags=re.MULTILINE)
        shown = self.run_command(["bash", "-ec"], "bitsieve cli --no-raw", input="\n".join(commands) + "\n")
        self.assertEqual(shown, replies)

    def test_move(self):
        server, other = self.start_server(), self.start_on_host("other")
        server.client().execute_command("BF.MADD", "seen", *range(1000))
        self.run_page("docs/move.md")
        self.assertEqual(other.execute_command("BF.DUMP", "seen"), server.client().execute_command("BF.DUMP", "seen"))

    def test_faq(self):
        self.start_server().client().execute_command("BF.ADD", "seen", "x")
        size, _, restored = self.run_page("docs/faq.md")
        self.assertAlmostEqual(int(size.split()[-1]) * 8 / 1_000_000, 10.4, delta=0.1)
        self.assertIn("verified", restored)
        self.serve(f"bitsieve serve --dir restored --port {PORT + 1}")
        self.assertEqual(redis.Redis("127.0.0.1", PORT + 1).execute_command("BF.EXISTS", "seen", "x"), 1)

    def test_backup(self):
        self.start_server()
        (pathlib.Path(self.home) / "backups").mkdir()
        printed = self.run_page("docs/operations/backup.md")
        self.assertEqual(len(printed), 4)
        self.assertEqual(len(list((pathlib.Path(self.home) / "backups").iterdir())), 1)
        self.assertIn("every byte was verified", printed[2])

    def test_tls(self):
        self.run_page("docs/tls.md")

    def test_monitor(self):
        if shutil.which("curl") is None:
            self.put("bin/curl", script="exec python3 -c 'import sys, urllib.request; "
                                        "print(urllib.request.urlopen(sys.argv[1]).read().decode())' \"$@\"")
        printed = self.run_page("docs/operations/monitor.md")
        self.assertIn("bitsieve_used_memory_bytes", printed[0])

    def test_secure(self):
        self.put("requirepass", content="secret")
        self.run_page("docs/operations/secure.md")

    def test_size(self):
        self.run_page("docs/operations/size.md")

    def test_durability(self):
        server = self.start_server()
        server.client().execute_command("BF.ADD", "seen", "x")
        self.assert_stops_well(server)
        self.run_page("docs/durability.md")

    def test_plan(self):
        self.run_page("docs/plan.md")


if __name__ == "__main__":
    in_own_machine()
    main()
