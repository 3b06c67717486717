"""The Python module without a server: its functions, and its errors."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from filter_types import types_that_can
from harness import PATIENCE, main

CLIENTS = pathlib.Path(__file__).parents[2] / "clients"
sys.path.insert(0, str(CLIENTS / "python"))

import bitsieve  # noqa: E402 (from the folder above)

SECONDS = 120 * PATIENCE


class PythonModule(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="bitsieve-test-")
        self.addCleanup(shutil.rmtree, self.home)

    def test_the_page_runs_as_it_stands(self):
        page = (CLIENTS.parent / "docs" / "library.md").read_text(encoding="utf-8")
        code = "".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
        answers = [(text.strip(), answer)
                   for text, answer in re.findall(r"^ +(.*?)  # (True|\[.*?\])", code, re.MULTILINE)]
        self.assertEqual(len(answers), 6)
        for text, answer in answers:
            code = code.replace(text, f"print(({text}) == {answer})")
        done = subprocess.run([sys.executable, "-c", code], cwd=self.home, capture_output=True, text=True, check=False,
                              timeout=SECONDS, env={**os.environ, "PYTHONPATH": str(CLIENTS / "python")})
        self.assertEqual((done.stderr, done.stdout), ("", "True\n" * 6))

    def test_items_are_bytes_or_text(self):
        with bitsieve.Filter(capacity=1000) as filter:
            self.assertTrue(filter.add("größe"))
            self.assertFalse(filter.add("größe".encode()))
            self.assertIn("größe", filter)
            self.assertNotIn("", filter)
            self.assertTrue(filter.add(b""))
            self.assertIn("", filter)
            self.assertTrue(filter.add(b"a\0b"))
            self.assertEqual(filter.may_contain_many([b"a\0b", b"a\0c", "a"]), [True, False, False])
            self.assertEqual(filter.may_contain_many([]), [])
            with self.assertRaisesRegex(TypeError, "must be bytes or str, not int"):
                filter.add(5)
            with self.assertRaisesRegex(TypeError, "must be bytes or str, not NoneType"):
                filter.may_contain_many(["a", None])

    def test_errors_are_exceptions_that_say_what_is_wrong(self):
        for error, message, make in (
                (bitsieve.InvalidArgumentError, r"error rate must be in the range \[1e-09, 0.25\]",
                 lambda: bitsieve.Filter(error_rate=2)),
                (ValueError, "unknown type \"bloom\", must be one of: blocked", lambda: bitsieve.Filter("bloom")),
                (ValueError, "capacity -1 is not between", lambda: bitsieve.Filter(capacity=-1)),
                (ValueError, "no option \"BUCKETSIZE\"; its options are: HASH", lambda: bitsieve.Filter(bucketsize=2)),
                (MemoryError, "cannot allocate", lambda: bitsieve.Filter(capacity=2**30, memory_limit_bytes=1000)),
                (OSError, "/none: No such file", lambda: bitsieve.Filter.load("/none")),
                (bitsieve.CorruptError, "magic number", lambda: bitsieve.Filter.from_bytes(b"nothing"))):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                make()
        with bitsieve.Filter(capacity=100, expansion=0) as filter:
            with self.assertRaisesRegex(bitsieve.FullError, "capacity of 100 items"):
                filter.add_many(map(str, range(1000)))
            with self.assertRaisesRegex(bitsieve.UnsupportedError, types_that_can("removes")):
                filter.remove("1")

    def test_a_closed_filter_says_so(self):
        filter = bitsieve.Filter()
        filter.close()
        filter.close()
        for use in (filter.describe, filter.freeze, lambda: filter.add("x"), lambda: "x" in filter):
            with self.assertRaisesRegex(ValueError, "closed"):
                use()

    def test_items_expire(self):
        with bitsieve.Filter("expiring", capacity=1000, ttl="1h") as filter:
            self.assertTrue(filter.add("x"))
            self.assertTrue(filter.add("soon", time_to_live=0.001))
            self.assertFalse(filter.add("x", time_to_live=2))
            self.assertTrue(3599 < filter.time_to_live("x") <= 3600 * 15 / 14 + 1)
            self.assertLessEqual(filter.time_to_live("soon"), 3600 / 14 + 1)
            self.assertIsNone(filter.time_to_live("y"))
            self.assertTrue(filter.touch("soon"))
            self.assertFalse(filter.touch("y"))
            self.assertGreater(filter.time_to_live("soon"), 3599)
            for time in (0, 3601, 1e30, float("inf")):
                with self.assertRaises(bitsieve.InvalidArgumentError):
                    filter.add("z", time_to_live=time)
            with self.assertRaisesRegex(TypeError, "must be a number"):
                filter.add("z", time_to_live="1h")
            self.assertNotIn("z", filter)
        with bitsieve.Filter() as filter:
            for use in (lambda: filter.add("x", 1), lambda: filter.time_to_live("x"), lambda: filter.touch("x")):
                with self.assertRaisesRegex(bitsieve.UnsupportedError, "types that can: expiring"):
                    use()

    def test_removes_counts_merges_folds_and_freezes(self):
        with bitsieve.Filter("counting", capacity=100, counterbits=8) as filter:
            for _ in range(20):
                filter.add("x")
            self.assertEqual(filter.count("x"), 20)
            self.assertTrue(filter.remove("x"))
            self.assertFalse(filter.remove("y"))
            self.assertEqual(filter.count("x"), 19)
        with bitsieve.Filter(capacity=1000, seed=1) as one, bitsieve.Filter(capacity=1000, seed=1) as other:
            other.add("x")
            one.merge(other)
            self.assertIn("x", one)
            self.assertEqual(one.describe()._replace(size_bytes=0, items=0),
                             bitsieve.Description("blocked", 0.01, 1000, 0, 0, 1, 1, False, 0))
        with bitsieve.Filter(capacity=1000, error_rate=0.1) as filter:
            filter.add_many(map(str, range(1000)))
            wrong = [str(i) for i in range(1000, 2000) if str(i) in filter]
            self.assertTrue(all(map(filter.note_false_positive, wrong)))
            self.assertFalse(filter.note_false_positive(wrong[0]))
            self.assertFalse(any(filter.may_contain_many(wrong)))
            self.assertEqual(filter.describe().false_positives, len(wrong))
            self.assertTrue(filter.add(wrong[0]))
            self.assertIn(wrong[0], filter)
        with bitsieve.Filter(capacity=1_000_000) as filter:
            filter.add_many(map(str, range(1000)))
            before = filter.describe().size_bytes
            filter.fold(10_000)
            self.assertLess(filter.describe().size_bytes, before / 50)
            self.assertTrue(all(filter.may_contain_many(map(str, range(1000)))))
            with self.assertRaisesRegex(bitsieve.InvalidArgumentError, "it holds 1000 items, which is the smallest"):
                filter.fold(500)
            for capacity in (-1, 2**64):
                with self.assertRaises(bitsieve.InvalidArgumentError):
                    filter.fold(capacity)
        path = os.path.join(self.home, "ribbon")
        with bitsieve.Filter("ribbon", capacity=1000) as filter:
            filter.add_many(map(str, range(1000)))
            filter.freeze()
            filter.save(path)
        with bitsieve.Filter.map(pathlib.Path(path)) as filter:
            self.assertTrue(all(filter.may_contain_many(map(str, range(1000)))))
            self.assertTrue(filter.describe().is_mapped)

    def test_threads_share_a_filter(self):
        with bitsieve.Filter(capacity=100_000) as filter:
            told = []
            threads = [threading.Thread(target=lambda: told.append(sum(filter.add_many(map(str, range(50_000))))))
                       for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(sum(told), filter.describe().items)


if __name__ == "__main__":
    main()
