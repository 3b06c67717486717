#!/usr/bin/python3
"""A server that fails is found by a soak, and its bundle repeats the failure.

BITSIEVE_BINARY names the server. Failures are planted by a script that starts it, and then does it some harm.
"""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOAK = ROOT / "scripts" / "soak"
SERVER = os.environ.get("BITSIEVE_BINARY", "")
DIES = "(sleep 1; kill -SEGV $$) &"
FILLS_DISK = "(while kill -0 $$; do truncate -s +20M \"$5/stray\"; sleep 0.1; done) > /dev/null 2>&1 &"

sys.path.insert(0, str(ROOT / "tests" / "soak"))

from trend import Trend  # noqa: E402 (found by the path above)


class Trends(unittest.TestCase):
    def test_a_slow_leak_among_noise_grows(self):
        noise = random.Random(1)
        samples = [(100 << 20) + step * 40_000 + noise.randrange(20 << 20) for step in range(1000)]
        self.assertTrue(Trend("rss_bytes", samples).grows())

    def test_noise_does_not_grow(self):
        noise = random.Random(1)
        self.assertFalse(Trend("rss_bytes", [noise.randrange(90 << 20, 110 << 20) for _ in range(1000)]).grows())

    def test_what_a_server_takes_while_it_warms_up_does_not_count(self):
        self.assertFalse(Trend("rss_bytes", [min(step, 200) << 20 for step in range(1000)]).grows())

    def test_one_descriptor_per_twenty_generations_grows(self):
        self.assertTrue(Trend("descriptors", [20 + step // 20 for step in range(1000)]).grows())


class SoakTest(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="soak-test-"))
        self.addCleanup(shutil.rmtree, self.home)

    def command(self, *arguments):
        return [sys.executable, str(SOAK), "--no-build", *map(str, arguments)]

    def soak(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=240, check=False)

    def harmed(self, harm):
        """A program in place of the server."""
        path = self.home / "server"
        path.write_text(f"#!/bin/sh\nif [ \"$1\" = serve ]; then\n{harm}\nfi\nexec {SERVER} \"$@\"\n")
        path.chmod(0o755)
        return path

    def record(self):
        return json.loads((self.home / "out" / "soak.json").read_text())

    def fail(self, harm):
        """Runs the churn on a harmed server. Returns the bundle."""
        done = self.soak("--only", "churn", "--hours", 0.002, "--seed", 7, "--output", self.home / "out", "--server",
                         self.harmed(harm))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        failure, *others = self.record()["failures"]
        self.assertLess(len(others), 3)
        self.assertIn(f"scripts/soak --replay {failure['bundle']}", (self.home / "out" / "soak.md").read_text())
        return done.stdout, pathlib.Path(failure["bundle"])

    def test_a_server_that_dies_is_a_failure_whose_bundle_repeats_it(self):
        output, bundle = self.fail(DIES)
        self.assertIn("FAILED: churn, seed ", output)
        self.assertIn("Listening on", (bundle / "files" / "server.log").read_text())
        description = json.loads((bundle / "bundle.json").read_text())
        self.assertIn("commit", description["versions"])
        again = self.soak("--replay", bundle)
        self.assertEqual(again.returncode, 1, again.stdout + again.stderr)
        self.assertIn("It failed again: exit status 1", again.stdout)
        mended = self.soak("--replay", bundle, "--server", SERVER)
        self.assertEqual(mended.returncode, 0, mended.stdout + mended.stderr)
        self.assertIn("It did not fail this time.", mended.stdout)

    def test_a_data_directory_that_grows_is_a_failure(self):
        output, bundle = self.fail(FILLS_DISK)
        self.assertRegex(output, "FAILED: (after FLUSHALL: )?disk_bytes ")
        self.assertTrue(json.loads((bundle / "files" / "samples.json").read_text()))

    def test_an_interruption_completes_the_page(self):
        process = subprocess.Popen(self.command("--only", "churn", "--hours", 1, "--output", self.home / "out"),
                                   stdout=subprocess.PIPE, text=True)
        next(line for line in process.stdout if re.search(r" churn, seed \d+$", line))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, output)
        self.assertTrue(self.record()["interrupted"])
        self.assertIn("Interrupted: ", (self.home / "out" / "soak.md").read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
