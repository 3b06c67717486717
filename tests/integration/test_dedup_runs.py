"""`bitsieve dedup`: runs that continue what others saw, and runs that are killed, compared with runs that are not."""

import gzip
import os
import signal
import subprocess
import time

from dedup import TIMEOUT, DedupTest, first_occurrences, numbered, text_of
from harness import ENVIRONMENT, PATIENCE, binary, main

CHECKPOINT_SUFFIX = ".bitsieve-dedup"


def handles(process, number):
    """Whether the process has said what it does on a signal: until then, the signal kills it."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        masks = dict(line.split(":", 1) for line in status)
    return any(int(masks[name], 16) >> (number - 1) & 1 for name in ("SigCgt", "SigBlk"))


class State(DedupTest):
    def test_the_next_run_continues(self):
        days = [self.lines_with_repeats(20_000, 50_000) for _ in range(4)]
        for exact in ([], ["--exact"]):
            state = self.path("seen" + "".join(exact))
            seen = {}
            for i, day in enumerate(days):
                path = self.write(f"day{i}", text_of(day))
                self.dedup(path, "--state", state, "-o", self.path("new"), "--items", 50_000, *exact)
                fresh = [line for line in first_occurrences(day) if line not in seen]
                seen.update(dict.fromkeys(day))
                kept = self.read("new").splitlines()
                if exact:
                    self.assertEqual(kept, fresh)
                self.assertLessEqual(set(kept), set(fresh))
                self.assertGreaterEqual(len(kept), len(fresh) - 60)

    def test_runs_together_are_one_run(self):
        lines = self.lines_with_repeats(100_000, 80_000)
        whole = self.dedup(self.write("all", text_of(lines)), "--items", 80_000, "--error-rate", 0.01)
        parts = [lines[:30_000], lines[30_000:30_001], lines[30_001:]]
        out = b""
        for part in parts:
            out += self.dedup("--items", 80_000, "--error-rate", 0.01, "--state", self.path("seen"),
                              stdin=text_of(part))
        self.assertEqual(out, whole)

    def test_flags_that_do_not_fit(self):
        state = self.path("seen")
        self.dedup("--state", state, "--items", 1000, stdin=b"a\n")
        for flags, problem in ((["--exact"], "was made with filters"), (["--items", "2000"], "with --items 1000"),
                               (["--error-rate", "0.5"], "with --error-rate 0.001"), (["--seed", "3"], "--seed 0"),
                               (["--ngram", "3"], "was made without --ngram")):
            self.assertIn(problem, self.refused("--state", state, *flags, stdin=b"a\n"))
        self.assertEqual(self.dedup("--state", state, stdin=b"a\nb\n"), b"b\n")

    def test_damage_is_found(self):
        self.dedup("--state", self.path("seen"), "--items", 100_000, stdin=text_of(numbered(0, 50_000)))
        good = self.read("seen")
        places = [0, 9, 40, 60, len(good) // 2, len(good) - 1]
        for damaged in ([good[:at] + bytes([good[at] ^ 1]) + good[at + 1:] for at in places] +
                        [good[:at] for at in places] + [good + b"x", b"no state at all"]):
            self.write("seen", damaged)
            error = self.refused("--state", self.path("seen"), "-o", self.path("out"), stdin=b"a\n")
            self.assertIn("seen", error)
            self.assertEqual(self.read("seen"), damaged)
            self.assertEqual(self.names(), ["seen"])

    def test_failed_runs_change_nothing(self):
        self.dedup("--state", self.path("seen"), "--items", 1000, stdin=b"a\n")
        good = self.read("seen")
        cut = self.write("cut.gz", gzip.compress(text_of(numbered(0, 100_000)))[:-1000])
        self.refused(cut, "--state", self.path("seen"), "-o", self.path("out"))
        self.assertEqual(self.read("seen"), good)
        self.assertEqual(self.names(), ["cut.gz", "seen"])


class Resume(DedupTest):
    LINES = 3_000_000 if PATIENCE == 1 else 1_000_000  # sanitizers slow each of the many runs

    def setUp(self):
        super().setUp()
        repeated = self.LINES // 6
        lines = numbered(0, self.LINES - repeated) + numbered(self.LINES // 30, repeated)
        half, most = self.LINES // 2, self.LINES * 2 // 3
        self.inputs = [self.write("a.txt", text_of(lines[:half])),
                       self.write("b.txt.gz", gzip.compress(text_of(lines[half:most]), 1)),
                       self.write("c.txt", text_of(lines[most:]))]

    def flags(self, output):
        return [*self.inputs, *output, "--items", "1e6", "--error-rate", "0.01", "--resume", "--checkpoint", "0"]

    def kill(self, flags, after_s, how=signal.SIGKILL):
        """Returns the exit status; None if the run was killed."""
        process = subprocess.Popen([binary(), "dedup", "-q", *flags], env=ENVIRONMENT, stderr=subprocess.PIPE)
        try:
            _, error = process.communicate(timeout=after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(how)
            _, error = process.communicate(timeout=TIMEOUT)
        if how != signal.SIGKILL and process.returncode == -how:  # it had not begun to catch the signal
            return self.kill(flags, after_s * 2, how)
        if process.returncode not in (0, 130, -signal.SIGKILL):
            self.fail(error.decode())
        return None if process.returncode == -signal.SIGKILL else process.returncode

    def run_with_kills(self, flags):
        kills, after_s = 0, 0.05
        while self.kill(flags, after_s) is None:
            kills += 1
            after_s = self.random.uniform(0.01, 0.3) * PATIENCE + 0.02 * kills
        return kills

    def test_killed_runs_write_the_same(self):
        for name in ("whole", "whole.gz"):
            output = ["-o", self.path(name)]
            self.assertEqual(self.kill(self.flags(output), TIMEOUT), 0)
        kills = 0
        for round_number, name in enumerate(["out", "out.gz", "out", "out.gz"]):
            state = self.path(f"seen{round_number}")
            kills += self.run_with_kills([*self.flags(["-o", self.path(name)]), "--state", state])
            self.assertEqual(self.read(name), self.read(name.replace("out", "whole")))
            self.assertFalse(os.path.exists(self.path(name) + CHECKPOINT_SUFFIX))
            self.assertEqual(self.dedup(self.inputs[0], "--state", state), b"")
        self.assertGreater(kills, 1)

    def test_killed_runs_of_many_outputs(self):
        self.assertEqual(self.kill(self.flags(["--output-dir", self.path("whole")]), TIMEOUT), 0)
        self.run_with_kills(self.flags(["--output-dir", self.path("out")]))
        for path in self.inputs:
            name = os.path.basename(path)
            self.assertEqual(self.read("out/" + name), self.read("whole/" + name))
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(os.listdir(self.path("whole"))))

    def test_interrupted(self):
        flags = self.flags(["-o", self.path("out")])
        self.assertEqual(self.kill(self.flags(["-o", self.path("whole")]), TIMEOUT), 0)
        interrupted = 0
        while interrupted < 5:
            if self.kill(flags, self.random.uniform(0.02, 0.15), signal.SIGINT) == 130:
                interrupted += 1
                self.assertTrue(os.path.exists(self.path("out") + CHECKPOINT_SUFFIX))
                self.assertFalse(os.path.exists(self.path("out")))
            else:
                self.assertEqual(self.read("out"), self.read("whole"))
                os.remove(self.path("out"))
        self.dedup(*flags)
        self.assertEqual(self.read("out"), self.read("whole"))

    def interrupt(self):
        while self.kill(self.flags(["-o", self.path("out")]), self.random.uniform(0.02, 0.15), signal.SIGINT) != 130:
            os.remove(self.path("out"))

    def test_other_runs_do_not_continue_it(self):
        self.interrupt()
        checkpoint = self.path("out") + CHECKPOINT_SUFFIX
        self.assertIn("is of an interrupted run with this output", self.refused(self.inputs[0], "-o", self.path("out")))
        self.assertIn("is of a run with other arguments",
                      self.refused(*self.flags(["-o", self.path("out")])[1:]))
        os.utime(self.inputs[0])
        self.assertIn("its inputs have changed", self.refused(*self.flags(["-o", self.path("out")])))
        os.remove(checkpoint)
        self.dedup(*self.flags(["-o", self.path("out")]))

    def test_without_resume_nothing_is_left(self):
        flags = [*self.inputs, "-o", self.path("out"), "--state", self.path("seen"), "--items", "1e6"]
        before = self.names()
        while self.kill(flags, self.random.uniform(0.02, 0.15), signal.SIGTERM) != 130:
            os.remove(self.path("out"))
            os.remove(self.path("seen"))
        self.assertEqual(self.names(), before)

    def test_waiting_for_a_pipe_can_be_interrupted(self):
        process = subprocess.Popen([binary(), "dedup", "-q", "-o", self.path("out")], stdin=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=ENVIRONMENT)
        while not handles(process, signal.SIGINT):
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(TIMEOUT), 130)
        self.assertIn("interrupted", process.stderr.read().decode())
        process.stdin.close()
        process.stderr.close()


main()
