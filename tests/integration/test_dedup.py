"""`bitsieve dedup`: what it keeps is compared with a set in Python; runs that are killed, with runs that are not."""

import csv
import gzip
import io
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import time
import unittest

from harness import ENVIRONMENT, PATIENCE, binary, main

THREADS = (1, 2, 5, 16)
TIMEOUT = 120 * PATIENCE
CHECKPOINT_SUFFIX = ".bitsieve-dedup"


def first_occurrences(items):
    return list(dict.fromkeys(items))


def text_of(lines):
    return b"".join(line + b"\n" for line in lines)


def compressed(text, suffix):
    if suffix == ".gz":
        return gzip.compress(text)
    if suffix == ".zst":
        return subprocess.run(["zstd", "-q", "-c"], input=text, capture_output=True, check=True).stdout
    return text


def decompressed(text, suffix):
    if suffix == ".gz":
        return gzip.decompress(text)
    if suffix == ".zst":
        return subprocess.run(["zstd", "-q", "-d", "-c"], input=text, capture_output=True, check=True).stdout
    return text


def numbered(first, count, width=15):
    return [b"%0*d" % (width, number) for number in range(first, first + count)]


class DedupTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)
        self.random = random.Random(20261128)

    def path(self, name):
        return str(self.directory / name)

    def write(self, name, content):
        (self.directory / name).write_bytes(content)
        return self.path(name)

    def read(self, name):
        return (self.directory / name).read_bytes()

    def names(self):
        return sorted(path.name for path in self.directory.iterdir())

    def run_dedup(self, *arguments, stdin=b"", **options):
        return subprocess.run([binary(), "dedup", *map(str, arguments)], input=stdin, capture_output=True,
                              timeout=TIMEOUT, check=False, env=ENVIRONMENT, **options)

    def dedup(self, *arguments, stdin=b""):
        done = self.run_dedup(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout

    def refused(self, *arguments, status=1, **options):
        done = self.run_dedup(*arguments, **options)
        self.assertEqual(done.returncode, status, done.stderr.decode())
        return done.stderr.decode()

    def lines_with_repeats(self, count, distinct):
        return [b"line %d" % self.random.randrange(distinct) for _ in range(count)]


class Records(DedupTest):
    def test_first_occurrences_stay_in_order(self):
        lines = self.lines_with_repeats(200_000, 60_000)
        path = self.write("in.txt", text_of(lines))
        for threads in THREADS:
            self.assertEqual(self.dedup(path, "--exact", "--threads", threads), text_of(first_occurrences(lines)))

    def test_lines_are_byte_for_byte(self):
        lines = [b"", b"a\r", b"a", b"", b"\xff\0\xfe", b"a ", b"a\r", b'"', b"\xff\0\xfe", b"a"]
        self.assertEqual(self.dedup("--exact", stdin=text_of(lines)), text_of(first_occurrences(lines)))
        self.assertEqual(self.dedup("--exact", stdin=b""), b"")
        # The last line gets the end that it lacks.
        self.assertEqual(self.dedup("--exact", stdin=b"b\na\nb\nc"), b"b\na\nc\n")
        self.assertEqual(self.dedup("--exact", "--crlf", stdin=b"b\r\nb\nc"), b"b\r\nc\r\n")

    def test_lines_of_all_lengths(self):
        """Longer than a chunk, and longer than what is read at a time."""
        lengths = [0, 1, 63, 64, 65, 1000, 300_000, 1_200_000, 5_000_000, 2, 16 << 20]
        lines = [bytes([97 + i]) * length for i, length in enumerate(lengths)]
        lines += self.random.sample(lines, len(lines)) + [b"end"]
        path = self.write("in.txt", text_of(lines))
        for threads in (1, 5):
            self.assertEqual(self.dedup(path, "--exact", "--threads", threads), text_of(first_occurrences(lines)))
        path = self.write("long.txt", b"short\n" + b"x" * (17 << 20) + b"\n")
        self.assertIn("long.txt: line 2: is longer than 16777216 bytes", self.refused(path))

    def test_many_blocks(self):
        """Several blocks, whose boundaries lie between and within chunks."""
        lines = numbered(0, 1_300_000) + numbered(600_000, 300_000) + numbered(1_299_990, 20)
        path = self.write("in.txt", text_of(lines))
        expected = text_of(first_occurrences(lines))
        for threads in THREADS:
            self.assertEqual(self.dedup(path, "--exact", "--items", "1e6", "--threads", threads), expected)

    def test_nul_and_binary(self):
        items = [b"a\nb", b"c", b"", b"a\nb", b""]
        self.assertEqual(self.dedup("--exact", "--format", "nul", stdin=b"\0".join(items) + b"\0"), b"a\nb\0c\0\0")
        records = [self.random.randrange(5000).to_bytes(7, "big") for _ in range(30_000)]
        self.assertEqual(self.dedup("--exact", "--format", "binary", "--record-bytes", "7", stdin=b"".join(records)),
                         b"".join(first_occurrences(records)))
        self.assertIn("record 3: has 1 bytes, not 2: the input ends",
                      self.refused("--format", "binary", "--record-bytes", "2", stdin=b"abcde"))

    @staticmethod
    def csv_row(row):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        return text.getvalue().encode()

    def csv_rows(self, first, count):
        values = ["x", 'a "b"', "two\nlines", "c,d", "\u00fc"]
        return [[str(i), self.random.choice(values) + str(self.random.randrange(count)), "end"]
                for i in range(first, first + count)]

    def kept_rows(self, rows, column=1):
        seen = set()
        return [row for row in rows if not (row[column] in seen or seen.add(row[column]))]

    def test_tables(self):
        rows = self.csv_rows(0, 40_000)
        header = ["id", "name", "rest"]
        path = self.write("in.csv", b"".join(map(self.csv_row, [header, *rows])))
        for threads in (1, 5):
            kept = self.dedup(path, "--exact", "--format", "csv", "--field", "name", "--threads", threads)
            self.assertEqual(kept, b"".join(map(self.csv_row, [header, *self.kept_rows(rows)])))
        bare = self.write("bare.csv", b"".join(map(self.csv_row, rows)))
        self.assertEqual(self.dedup(bare, "--exact", "--format", "csv", "--field", "2"),
                         b"".join(map(self.csv_row, self.kept_rows(rows))))
        tabbed = text_of([b"id\tname"] + [b"%d\t%d" % (i, i % 100) for i in range(1000)])
        self.assertEqual(self.dedup("--exact", "--format", "tsv", "--field", "name", stdin=tabbed),
                         text_of([b"id\tname"] + [b"%d\t%d" % (i, i) for i in range(100)]))

    def test_headers_of_many_tables(self):
        first = self.write("a.csv", b"id,name\n1,x\n2,y\n")
        second = self.write("b.csv", b"id,name\n3,x\n4,z\n")
        flags = ["--exact", "--format", "csv", "--field", "name"]
        self.assertEqual(self.dedup(first, second, *flags), b"id,name\n1,x\n2,y\n4,z\n")
        self.dedup(first, second, *flags, "--output-dir", self.path("each"))
        self.assertEqual(self.read("each/a.csv"), b"id,name\n1,x\n2,y\n")
        self.assertEqual(self.read("each/b.csv"), b"id,name\n4,z\n")
        other = self.write("c.csv", b"name,id\nq,3\n")
        self.assertIn("c.csv: the first line is not that of", self.refused(first, other, *flags))
        self.dedup(first, other, *flags, "--output-dir", self.path("each"))
        self.assertEqual(self.read("each/c.csv"), b"name,id\nq,3\n")
        self.assertIn('the first line has no column "nam"', self.refused(first, *flags[:-1], "nam"))

    def test_json_lines(self):
        records = [json.dumps({"id": i, "key": self.random.randrange(3000), "more": "x" * (i % 50)}).encode()
                   for i in range(20_000)]
        seen = set()
        expected = [r for r in records if not (json.loads(r)["key"] in seen or seen.add(json.loads(r)["key"]))]
        for threads in THREADS:
            kept = self.dedup("--exact", "--format", "jsonl", "--field", "key", "--threads", threads,
                              stdin=text_of(records))
            self.assertEqual(kept, text_of(expected))

    def test_bad_records(self):
        good = [b'{"id": %d}' % i for i in range(50_000)]
        records = [*good, b"no JSON", *good, b'{"name": 1}']
        path = self.write("in.jsonl", text_of(records))
        flags = [path, "--exact", "--format", "jsonl", "--field", "id"]
        self.assertIn("in.jsonl: line 50001: is not JSON", self.refused(*flags, "-o", self.path("out")))
        self.assertEqual(self.names(), ["in.jsonl"])
        done = self.run_dedup(*flags, "--skip-bad")
        self.assertEqual((done.returncode, done.stdout), (0, text_of(good)))
        self.assertIn("100,002 records read", done.stderr.decode())
        self.assertIn("50,000 kept, 50,000 dropped, 2 without an item dropped", done.stderr.decode())


class Files(DedupTest):
    def test_compressed(self):
        lines = self.lines_with_repeats(300_000, 100_000)
        expected = text_of(first_occurrences(lines))
        for suffix in ("", ".gz", ".zst"):
            path = self.write("in" + suffix, compressed(text_of(lines), suffix))
            outputs = set()
            for threads in THREADS:
                self.dedup(path, "--exact", "--threads", threads, "-o", self.path("out" + suffix))
                outputs.add(self.read("out" + suffix))
            self.assertEqual(len(outputs), 1)
            self.assertEqual(decompressed(outputs.pop(), suffix), expected)
            # What was written can be read.
            self.assertEqual(self.dedup(self.path("out" + suffix), "--exact"), expected)
        empty = self.write("empty", b"")
        for suffix in (".gz", ".zst"):
            self.dedup(empty, "-o", self.path("none" + suffix))
            self.assertEqual(decompressed(self.read("none" + suffix), suffix), b"")
        plain = self.write("plain.gz", gzip.compress(b"a\na\n"))
        self.assertEqual(self.dedup(plain, "--plain", "--exact").rstrip(b"\n"), self.read("plain.gz").rstrip(b"\n"))

    def test_one_output_for_each_input(self):
        first, second = numbered(0, 5000), numbered(4000, 3000)
        inputs = [self.write("a.txt", text_of(first)), self.write("b.txt.gz", compressed(text_of(second), ".gz")),
                  self.write("empty.txt", b""), self.write("again.txt", text_of(first))]
        self.dedup(*inputs, "--exact", "--output-dir", self.path("out"))
        self.assertEqual(self.read("out/a.txt"), text_of(first))
        self.assertEqual(gzip.decompress(self.read("out/b.txt.gz")), text_of(numbered(5000, 2000)))
        self.assertEqual(self.read("out/empty.txt"), b"")
        self.assertEqual(self.read("out/again.txt"), b"")
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["a.txt", "again.txt", "b.txt.gz", "empty.txt"])

    def test_many_small_files(self):
        names, lines = [], []
        for i in range(1500):
            of_file = [b"%d" % self.random.randrange(2000) for _ in range(i % 7)]
            names.append(self.write(f"{i}.txt", b"\n".join(of_file)))
            lines += of_file
        self.assertEqual(self.dedup(*names, "--exact"), text_of(first_occurrences(lines)))

    def test_report(self):
        first = self.write("a.txt", b"a\nb\na\n")
        second = self.write("b.txt", b"b\nc\n")
        self.dedup(first, second, "--report", self.path("report.json"), "-o", self.path("out"))
        report = json.loads(self.read("report.json"))
        self.assertEqual(report["files"], [
            {"file": first, "records": 3, "kept": 2, "dropped": 1, "bad": 0, "bytes": 6, "kept_bytes": 4},
            {"file": second, "records": 2, "kept": 1, "dropped": 1, "bad": 0, "bytes": 4, "kept_bytes": 2}])
        self.assertEqual(report["total"], {"records": 5, "kept": 3, "dropped": 2, "bad": 0, "bytes": 10,
                                           "kept_bytes": 6})
        self.assertEqual((report["exact"], report["error_rate"], report["items_seen"]), (False, 0.001, 3))
        self.assertLessEqual(report["estimated_error_rate"], 0.001)

    def test_inputs_are_never_overwritten(self):
        path = self.write("a.txt", b"a\na\n")
        self.assertIn("is an input, which is never overwritten", self.refused(path, "-o", path))
        self.assertIn("is an input, which is never overwritten", self.refused(path, "--output-dir", self.directory))
        os.mkdir(self.path("sub"))
        self.assertIn("would be the output of both",
                      self.refused(path, self.write("sub/a.txt", b"b\n"), "--output-dir", self.path("out")))
        self.assertEqual(self.read("a.txt"), b"a\na\n")

    def test_nothing_appears_unless_all_is_done(self):
        good = self.write("good.txt", b"a\nb\n")
        self.write("out", b"before")
        self.assertIn("none.txt: No such file", self.refused(good, self.path("none.txt"), "-o", self.path("out")))
        cut = self.write("cut.gz", gzip.compress(text_of(numbered(0, 100_000)))[:-1000])
        self.assertIn("cut.gz: ", self.refused(good, cut, "-o", self.path("out"), "--items", "1e6"))
        self.assertEqual(self.read("out"), b"before")
        self.assertEqual(self.names(), ["cut.gz", "good.txt", "out"])

    def test_full_disk(self):
        path = self.write("in.txt", text_of(numbered(0, 1_000_000)))

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

        error = self.refused(path, "-o", self.path("out"), preexec_fn=limit)
        self.assertIn("out: cannot be written: File too large", error)
        self.assertEqual(self.names(), ["in.txt"])

    def test_devices_and_pipes(self):
        path = self.write("in.txt", b"a\na\nb\n")
        self.dedup(path, "-o", "/dev/null")
        self.assertEqual(self.dedup(path, "-o", "/dev/stdout", "--exact"), b"a\nb\n")
        self.assertEqual(self.dedup(path, "-", "--exact", stdin=b"b\nc\n"), b"a\nb\nc\n")


class Promise(DedupTest):
    def test_rate_is_kept(self):
        """Of new lines, no larger share is dropped; no line is kept twice; and all is the same for any threads."""
        for rate in (0.05, 0.01, 0.0001):
            lines = numbered(0, 400_000)
            self.random.shuffle(lines)
            repeated = lines + self.random.choices(lines, k=100_000)
            path = self.write("in.txt", text_of(repeated))
            outputs = {self.dedup(path, "--error-rate", rate, "--items", 400_000, "--threads", threads)
                       for threads in THREADS}
            self.assertEqual(len(outputs), 1)
            kept = outputs.pop().splitlines()
            self.assertEqual(len(kept), len(set(kept)))
            places = {line: place for place, line in enumerate(lines)}
            order = [places[line] for line in kept]
            self.assertEqual(order, sorted(order))
            dropped = len(lines) - len(kept)
            self.assertLessEqual(dropped, rate * len(lines) + 4 * (rate * len(lines)) ** 0.5)
            if rate >= 0.01:
                self.assertGreater(dropped, 0)

    def test_more_items_than_expected(self):
        path = self.write("in.txt", text_of(numbered(0, 500_000)))
        done = self.run_dedup(path, "--items", 10_000, "--error-rate", 0.01)
        self.assertEqual(done.returncode, 0)
        self.assertIn("There were more different items than expected (10,000)", done.stderr.decode())
        self.assertGreaterEqual(len(done.stdout.splitlines()), 495_000 - 300)
        error = self.refused(path, "--items", 10_000, "--memory-limit", "50mb", "--exact", "-o", self.path("out"))
        self.assertIn("more different items than the memory is for", error)
        self.assertEqual(self.names(), ["in.txt"])

    def test_memory_is_said_beforehand(self):
        done = self.run_dedup("--items", "1e8", "--error-rate", 0.01, "--dry-run")
        self.assertRegex(done.stderr.decode(), r"memory \d+ MB: 12\d MB for 100,000,000 items, error rate 1%; \d+ MB")
        self.assertIn("20 bytes", self.run_dedup("--help").stdout.decode())
        self.assertIn("more than --memory-limit 100 MB",
                      self.refused("--items", "1e8", "--dry-run", "--memory-limit", "100mb"))
        path = self.write("in.txt", text_of(numbered(0, 100_000)))
        said = self.run_dedup(path, "--dry-run").stderr.decode()
        self.assertRegex(said, r"for 1[01]\d,\d{3} items \(estimated from the inputs")

    def test_memory_is_as_said(self):
        path = self.write("in.txt", text_of(numbered(0, 3_000_000)))
        said = self.run_dedup(path, "--items", "5e7", "--dry-run").stderr.decode()
        most_mb = float(said.split("memory ")[1].split(" MB")[0])
        with open(os.devnull, "wb") as null:
            process = subprocess.Popen([binary(), "dedup", path, "--items", "5e7", "-q"], stdout=null, env=ENVIRONMENT)
            peak_kb = 0
            while process.poll() is None:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
                peak_kb = max([peak_kb] + [int(line.split()[1]) for line in status.splitlines() if "VmHWM" in line])
                time.sleep(0.001)
        self.assertEqual(process.returncode, 0)
        self.assertGreater(peak_kb / 1024, 50)
        self.assertLess(peak_kb / 1024, most_mb + 30)  # with the program itself

    def test_wrong_arguments(self):
        for arguments, problem in (
                (["--items", "many"], "--items is a number such as 1000000"),
                (["--error-rate", "2"], "--error-rate is a rate such as 0.001"),
                (["--memory-limit", "x"], "--memory-limit is a size such as 512mb"),
                (["--exact", "--error-rate", "0.1"], "--exact makes no errors"),
                (["-o", "x", "--output-dir", "y"], "give one of the two"),
                (["--output-dir", "y"], "standard input has no name"),
                (["--resume", "-o", "x"], "--resume needs files"),
                (["--format", "csv"], "needs --field"),
                (["--threads", "0"], "--threads"),
                (["--thread", "1"], "did you mean --threads?")):
            self.assertIn(problem, self.refused(*arguments, status=2), arguments)
        self.assertEqual(self.names(), [])


def ngrams(text, length):
    words = text.split()
    if len(words) < length:
        return {" ".join(words)}
    return {" ".join(words[i:i + length]) for i in range(len(words) - length + 1)}


class Ngrams(DedupTest):
    def documents(self, count):
        """Some near others, with words exchanged, cut off or repeated."""
        words = [f"w{i}" for i in range(400)]
        documents = []
        for _ in range(count):
            if documents and self.random.random() < 0.6:
                of_other = self.random.choice(documents).split()
                for _ in range(self.random.randrange(4)):
                    if of_other:
                        of_other[self.random.randrange(len(of_other))] = self.random.choice(words)
                document = of_other[self.random.randrange(3):] + self.random.choices(words, k=self.random.randrange(4))
            else:
                document = self.random.choices(words, k=self.random.choice((0, 1, 3, 13, 40, 120)))
            documents.append(self.random.choice((" ", "  ", "\t")).join(document))
        return documents

    def kept(self, documents, length, threshold):
        seen, kept = set(), []
        for document in documents:
            own = ngrams(document, length)
            if not len(own & seen) >= threshold * len(own):
                kept.append(document)
            seen |= own
        return kept

    def test_as_the_model(self):
        documents = self.documents(4000)
        path = self.write("in.txt", text_of(d.encode() for d in documents))
        for length, threshold in ((13, 0.8), (1, 0.5), (3, 1.0)):
            expected = text_of(d.encode() for d in self.kept(documents, length, threshold))
            for threads in THREADS:
                self.assertEqual(self.dedup(path, "--exact", "--ngram", length, "--threshold", threshold,
                                            "--threads", threads), expected)

    def test_fields(self):
        documents = self.documents(1000)
        records = [json.dumps({"id": i, "text": text}).encode() for i, text in enumerate(documents)]
        kept = self.dedup("--exact", "--ngram", "5", "--format", "jsonl", "--field", "text", stdin=text_of(records))
        self.assertEqual([json.loads(line)["text"] for line in kept.splitlines()], self.kept(documents, 5, 0.8))

    def test_filters_are_the_same_for_any_threads(self):
        path = self.write("in.txt", text_of(d.encode() for d in self.documents(4000)))
        outputs = {self.dedup(path, "--ngram", "3", "--error-rate", "0.01", "--threads", threads)
                   for threads in THREADS}
        self.assertEqual(len(outputs), 1)


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
    LINES = 3_000_000

    def setUp(self):
        super().setUp()
        lines = numbered(0, self.LINES - 500_000) + numbered(100_000, 500_000)
        half = len(lines) // 2
        self.inputs = [self.write("a.txt", text_of(lines[:half])),
                       self.write("b.txt.gz", gzip.compress(text_of(lines[half:half + 400_000]), 1)),
                       self.write("c.txt", text_of(lines[half + 400_000:]))]

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
        self.assertGreater(kills, 4)

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
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", error.decode())


main()
