"""What the tests of `bitsieve dedup` have in common."""

import gzip
import pathlib
import random
import subprocess
import tempfile
import unittest

from harness import ENVIRONMENT, PATIENCE, binary

THREADS = (1, 2, 5, 16)
TIMEOUT = 120 * PATIENCE


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
