"""The programs of examples/, run as their first lines say, against a real server."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import redis

from harness import ENVIRONMENT, PATIENCE, OwnServerTest, main
from node_packages import NODE, needs, require_packages

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
PROGRAMS = pathlib.Path(os.environ["EXAMPLE_PROGRAMS"])  # where those in C++ were built
SECONDS = 60 * PATIENCE


class Site(http.server.BaseHTTPRequestHandler):
    """100 pages that link to each other, and elsewhere; each request is counted."""

    requests = []

    def do_GET(self):  # noqa: N802 (the library calls it)
        self.requests.append(self.path)
        number = int(self.path.strip("/") or 0)
        links = [f"/{(number * 7 + i) % 100}#part" for i in range(1, 6)] + ["http://elsewhere.invalid/", "mailto:x"]
        self.send_response(200)
        self.end_headers()
        self.wfile.write("".join(f'<a href="{link}">x</a>' for link in links).encode())

    def log_message(self, *arguments):
        pass


class Examples(OwnServerTest):
    def setUp(self):
        self.server = self.make_server().start()
        self.url = f"redis://127.0.0.1:{self.server.port}"
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)
        os.symlink(self.server.program, os.path.join(self.home, "bitsieve"))

    def run_example(self, *command, given=None):
        environment = {**ENVIRONMENT, "PATH": self.home + ":" + os.environ["PATH"]}
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=SECONDS, check=False,
                              env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_crawler(self):
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        start = f"http://127.0.0.1:{site.server_port}/"
        crawler = [sys.executable, str(EXAMPLES / "crawler.py"), start, "--server", self.url]
        pages = self.run_example(*crawler).splitlines()
        self.assertEqual(len(pages), len(set(pages)))
        self.assertGreater(len(pages), 95)
        self.assertEqual(len(Site.requests), len(pages))
        self.assertIn("was crawled before", self.run_example(*crawler))
        self.assertEqual(len(Site.requests), len(pages))

    @needs(require_packages)
    def test_cache_guard(self):
        # Modules are looked for beside the program.
        program = shutil.copy(EXAMPLES / "cache_guard.mjs", self.home)
        os.symlink(os.path.join(NODE, "node_modules"), os.path.join(self.home, "node_modules"))
        output = self.run_example("node", program, self.url)
        # A page comes from the cache from its third request on; some that are requested once are false positives.
        requests, hits, kept = (int(word) for word in output.split() if word.isdigit())
        self.assertEqual((requests, hits), (4000, 2000 - 2 * 20))
        self.assertLessEqual(20, kept)
        self.assertLess(kept, 20 + 60)

    def test_dedup(self):
        events = [f'{{"id": "event-{i % 300}", "n": {i}}}' for i in range(1000)]
        passed = self.run_example(str(EXAMPLES / "dedup.sh"), self.url, given="\n".join(events) + "\n").splitlines()
        self.assertEqual(passed, events[:300])
        self.assertEqual(self.run_example(str(EXAMPLES / "dedup.sh"), self.url, given=events[5] + "\n"), "")

    def test_events(self):
        now = int(time.time())
        hours = [0, 5, 23, 25, -3]  # since an event happened; one day later it is forgotten
        events = [json.dumps({"id": f"event-{i % 250}", "time": now - hours[i % 5] * 3600, "n": i}) for i in range(500)]
        run = [sys.executable, str(EXAMPLES / "events.py"), "--server", self.url]
        passed = self.run_example(*run, given="\n".join(events) + "\n").splitlines()
        self.assertEqual(passed, [event for i, event in enumerate(events[:250]) if i % 5 != 3])
        self.assertEqual(self.run_example(*run, given=events[7] + "\n"), "")
        client = redis.Redis.from_url(self.url)
        left = client.execute_command("BF.TTL", "events:once", "event-0", "event-1", "event-2", "event-3", "event-4")
        epoch = 24 / 14
        for sent, found_ms in zip(hours, left):
            if sent == 25:
                self.assertEqual(found_ms, -2)
            else:
                due = min(24, 24 - sent)
                self.assertTrue(due - 0.1 < found_ms / 3_600_000 < due + epoch, (sent, found_ms))

    def test_embed(self):
        file = os.path.join(self.home, "seen.bsf")
        lines = [f"line {i % 700}" for i in range(1000)]
        printed = self.run_example(str(PROGRAMS / "embed"), file, given="\n".join(lines) + "\n").splitlines()
        self.assertEqual(printed, [line for line in lines[:700] if line in printed])  # each once, in order
        self.assertGreater(len(printed), 680)
        more = self.run_example(str(PROGRAMS / "embed"), file, given="line 5\nline 800\nline 801\n")
        self.assertIn(more, ("line 800\nline 801\n", "line 800\n", "line 801\n"))

    def test_cache_guard_in_cpp(self):
        without, with_guard = map(float, re.findall(r"([\d.]+)%", self.run_example(str(PROGRAMS / "cache_guard"))))
        self.assertGreater(with_guard, 1.5 * without)

    def test_bloom_join(self):
        keys = 200_000
        with self.server.connect() as connection:
            connection.command("BF.RESERVE", "customers", 0.01, keys // 10)
            connection.command("BF.RESERVE", "customers_exact", "1e-9", keys // 10)
            for first in range(0, keys, 10_000):
                customers = [f"customer:{i}" for i in range(first, first + 10_000, 10)]
                connection.command("BF.MADD", "customers", *customers)
                connection.command("BF.MADD", "customers_exact", *customers)
        orders = os.path.join(self.home, "orders")
        pathlib.Path(orders).write_text("".join(f"customer:{i}\n" for i in range(keys)), encoding="utf-8")
        report = self.run_example(str(PROGRAMS / "bloom_join"), "127.0.0.1", str(self.server.port), "customers",
                                  "customers_exact", orders)
        asked, survived, joined = map(int, re.match(r"(\d+) keys, (\d+) survive, (\d+) are there", report).groups())
        self.assertEqual((asked, joined), (keys, keys // 10))
        self.assertLess(survived - joined, 2 * 0.01 * keys)


if __name__ == "__main__":
    main()
