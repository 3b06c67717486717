#!/usr/bin/python3
"""The simulation by itself: seeds that find nothing, the same run for the same seed, and faults that are found.

BITSIEVE_SIMULATION names the program.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SIMULATION = os.environ["BITSIEVE_SIMULATION"]
SEEDS = 60
# As a user would: a script of a few lines.
SCRIPT = """seed 3
switch 4
option appendonly yes
option appendfsync always
option default-type blocked
option default-error-rate 0.000000001
option io-threads 2
life
client 0 BF.MADD c0:0 c0:i1 c0:i2
client 1 MULTI | BF.ADD c1:0 c1:i3 | BF.EXISTS c1:0 c1:i3 | EXEC
end power step 30
life
end kill time 1000
"""


def run(*arguments):
    return subprocess.run([SIMULATION, *arguments], capture_output=True, text=True, timeout=600)


class Simulation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, text):
        path = Path(self.folder.name, "script")
        path.write_text(text)
        return str(path)

    def test_seeds_find_nothing(self):
        done = run("--seed", "1", "--runs", str(SEEDS), "--bundle", self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        figures = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(figures["seeds"], SEEDS)
        self.assertGreater(figures["commands"], 300 * SEEDS)
        self.assertGreater(figures["crashes"], 5 * SEEDS)
        self.assertGreater(figures["without_memory"], 10 * SEEDS)

    def test_a_seed_is_the_same_run_every_time(self):
        for seed in ("7", "8", "9"):
            first, second = (json.loads(run("--seed", seed, "--runs", "1").stdout) for _ in range(2))
            self.assertEqual(first["digest"], second["digest"])
            self.assertEqual(first["commands"], second["commands"])
            self.assertNotEqual(first["digest"], 0)

    def test_runs_a_script(self):
        done = run("--script", self.write(SCRIPT))
        self.assertEqual((done.returncode, done.stdout), (0, "no fault\n"), done.stderr)

    def test_a_line_that_is_not_understood_is_an_error(self):
        done = run("--script", self.write(SCRIPT + "explode\n"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("is not a script of the simulation", done.stderr)

    def test_a_disk_that_lies_is_found_and_the_script_is_made_shorter(self):
        for seed in range(1, 40):
            honest = run("--seed", str(seed), "--print").stdout
            path = self.write(honest.replace("life\n", "life\nlie 0 1000000\n"))
            if run("--script", path).returncode != 0:
                break
        else:
            self.fail("no seed finds a disk that lies")
        self.assertEqual(run("--script", self.write(honest)).returncode, 0)
        path = self.write(honest.replace("life\n", "life\nlie 0 1000000\n"))
        self.assertEqual(run("--reduce", path, "--seconds", "30").returncode, 1)
        shorter = Path(path + ".reduced").read_text()
        self.assertLess(shorter.count("\n"), honest.count("\n"))
        self.assertIn("\nlie", shorter)
        self.assertEqual(run("--script", path + ".reduced").returncode, 1)


if __name__ == "__main__":
    unittest.main()
