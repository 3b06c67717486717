"""`bitsieve dedup`: what it keeps is compared with a set in Python, for any number of threads."""

import csv
import gzip
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

from dedup import THREADS, DedupTest, compressed, decompressed, first_occurrences, numbered, text_of
from harness import ENVIRONMENT, PATIENCE, binary, main


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
        self.assertLess(peak_kb / 1024, (most_mb + 30) * PATIENCE)  # with the program itself; sanitizers take more

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


main()
