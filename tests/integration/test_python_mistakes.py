"""What people do wrong with the Python module: each mistake gets an exception that names it, and none ends the
interpreter. Every one runs in a process of its own, whose end by a signal is a failure."""

import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

from filter_types import type_names
from harness import ENVIRONMENT, PATIENCE

MODULE = pathlib.Path(__file__).parents[2] / "clients" / "python"
SECONDS = 60 * PATIENCE

# What every program below begins with. told(call, ...) prints the exception's class and its message.
BEGIN = """
import bitsieve, copy, ctypes, gc, io, os, pickle, signal, sys, threading
from bitsieve import Filter

def told(call, *arguments, **named):
    try:
        print("no error:", call(*arguments, **named))
    except Exception as problem:
        print(f"{type(problem).__name__}: {problem}")

def in_threads(*calls):
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


class PythonMistakes(unittest.TestCase):
    def run_program(self, program, *arguments):
        code = BEGIN + textwrap.dedent(program)
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code, *arguments], capture_output=True,
                              text=True, timeout=SECONDS, check=False,
                              env={**ENVIRONMENT, "PYTHONPATH": str(MODULE)})
        self.assertEqual((done.returncode, done.stderr), (0, ""), program + done.stdout)
        return done.stdout.splitlines()

    def assert_told(self, program, *expected):
        """Of each line that the program prints, a part."""
        with tempfile.TemporaryDirectory() as home:
            lines = self.run_program(program, home)
        self.assertEqual(len(lines), len(expected), lines)
        for line, part in zip(lines, expected):
            self.assertIn(part, line)

    def test_copies_are_refused(self):
        refusal = "TypeError: a Filter cannot be copied or pickled: Filter.from_bytes(filter.to_bytes())"
        self.assert_told("""
            filter = Filter(capacity=1000)
            filter.add("x")
            for copying in (copy.copy, copy.deepcopy, pickle.dumps, lambda each: copy.copy([each]) and
                            copy.deepcopy([each]), lambda each: each.__reduce__(), lambda each: each.__reduce_ex__(2)):
                told(copying, filter)
            print("x" in filter)
            """, *[refusal] * 6, "True")

    def test_objects_that_share_its_parts_free_it_once(self):
        self.assert_told("""
            filter = Filter(capacity=1000)
            filter.add("x")
            other = Filter.__new__(Filter)
            other.__dict__.update(filter.__dict__)
            filter.close()
            print("x" in other)
            other.close()
            told(other.add, "y")
            """, "True", "ValueError: the filter is closed")

    def test_half_built_objects_are_closed(self):
        self.assert_told("""
            class Mine(Filter):
                def __init__(self): pass
            for half in (Filter.__new__(Filter), Mine()):
                for use in (half.describe, half.freeze, half.verify, half.to_bytes, lambda: "x" in half,
                            lambda: half.merge(half), lambda: half.add_many(["x"]), lambda: half.save("/dev/null")):
                    told(use)
                half.close()
                with half: pass
            filter = Filter()
            told(filter.__init__, error_rate=2)
            filter.__init__(capacity=5)
            print(filter.add("x"))
            """, *["ValueError: the filter is closed"] * 16, "InvalidArgumentError: ", "True")

    def test_closing_beside_calls_of_other_threads(self):
        self.assert_told("""
            items = [str(i) for i in range(200_000)]
            dump = Filter(capacity=100_000).to_bytes()
            calls = [lambda each: each.add_many(items), lambda each: each.may_contain_many(items), Filter.to_bytes,
                     lambda each: each.save(f"{sys.argv[1]}/{threading.get_ident()}"), lambda each: each.merge(other)]
            other = Filter(capacity=100_000, seed=1)
            told_by = set()
            for round in range(30):
                each = Filter(capacity=100_000, seed=1)
                begun = threading.Event()
                def use():
                    begun.set()
                    try:
                        while True: calls[round % len(calls)](each)
                    except ValueError as problem:
                        told_by.add(str(problem))
                def close():
                    begun.wait()
                    each.close()
                in_threads(use, use, close)
            print(told_by)
            """, "{'the filter is closed'}")

    def test_a_closed_filter_is_freed_with_its_last_call(self):
        self.assert_told("""
            freed = []
            bitsieve._handle.Owner.__del__.__defaults__ = (lambda address: freed.append(address),)
            filter = Filter()
            filter.close()
            print(freed != [])
            filter, freed[:] = Filter(capacity=100, expansion=0), []
            def items():
                yield "x"
                filter.close()
                print(freed != [])
                raise KeyError("of the iterator")
            told(filter.add_many, items())
            filter, problems = Filter(capacity=1, expansion=0), []
            freed[:] = []
            try:
                filter.add_many(map(str, range(1000)))
            except bitsieve.FullError as problem:
                problems.append(problem)  # with its traceback
            filter.close()
            print(freed != [], problems)
            """, "True", "True", "KeyError: 'of the iterator'", "True [FullError(")

    def test_iterators_that_use_close_or_end_the_filter(self):
        self.assert_told("""
            filter = Filter(capacity=1000)
            def using():
                yield "a"
                filter.add("b")
                filter.add_many(["c"])
                yield "b"
            print(filter.add_many(using()))
            def raising():
                yield "d"
                raise OSError("from the generator")
            told(filter.add_many, raising())
            print("d" in filter)
            def closing():
                yield "e"
                filter.close()
            told(filter.may_contain_many, closing())
            class Endless(list):
                def __len__(self): return 2**62
                def __iter__(self): return iter(["f"])
            with Filter() as other: print(other.add_many(Endless()))
            """, "[True, False]", "OSError: from the generator", "False", "ValueError: the filter is closed", "[True]")

    def test_freezing_beside_calls(self):
        self.assert_told("""
            items = [str(i) for i in range(50_000)]
            told_by = set()
            for round in range(20):
                filter = Filter("ribbon", capacity=50_000)
                filter.add_many(items)
                begun = threading.Event()
                def use():
                    for _ in range(4):
                        begun.set()
                        try:
                            assert all(filter.may_contain_many(items))
                        except bitsieve.UnsupportedError as problem:
                            told_by.add(str(problem))
                def freeze():
                    begun.wait()
                    try:
                        filter.freeze()
                    except bitsieve.UnsupportedError as problem:
                        told_by.add(str(problem))
                in_threads(use, freeze, freeze)
                filter.freeze()
                assert all(filter.may_contain_many(items))
            allowed = {"the filter cannot be frozen while other threads use it",
                       "another thread is folding or freezing the filter"}
            print(bool(told_by), told_by - allowed)
            """, "True set()")

    def test_closing_while_it_is_frozen(self):
        self.assert_told("""
            for _ in range(20):
                filter = Filter("ribbon", capacity=50_000)
                filter.add_many(map(str, range(20_000)))
                def freeze():
                    try:
                        filter.freeze()
                    except ValueError:
                        pass
                in_threads(freeze, filter.close)
                try:
                    filter.add("x")
                    print("not closed")
                except ValueError:
                    pass
            """)

    def test_one_item_where_many_are_expected(self):
        refusal = "TypeError: an iterable of items is needed, not one "
        self.assert_told("""
            filter = Filter()
            for call in (filter.add_many, filter.may_contain_many):
                for item in ("abc", b"abc", bytearray(b"abc"), memoryview(b"abc"), type("S", (str,), {})("abc")):
                    told(call, item)
                told(call, None)
                told(call, 5)
            print(filter.describe().items)
            """, *([refusal] * 5 + ["TypeError: 'NoneType' object", "TypeError: 'int' object"]) * 2, "0")

    def test_items_of_wrong_types(self):
        refused = ("None", "5", "1.5", "bytearray(b'x')", "['x']", "object()", "Filter", "memoryview(b'x')")
        self.assert_told(f"""
            filter = Filter("counting")
            for item in ({", ".join(refused)}):
                for call in (filter.add, filter.may_contain, filter.remove, filter.count, filter.note_false_positive,
                             filter.__contains__):
                    told(call, item)
                told(filter.add_many, ["a", item])
            told(filter.add, "\\udcff")
            told(filter.add_many, ["a", "\\udcff"])
            """, *["TypeError: an item must be bytes or str, not "] * 7 * len(refused), *["UnicodeEncodeError: "] * 2)

    def test_subclasses_that_lie(self):
        self.assert_told("""
            class Long(bytes):
                def __len__(self): return 2**40
                def __getitem__(self, at): return 5
                def __bytes__(self): return 7
            class Text(str):
                def encode(self, *_): return 5
                def __len__(self): return 2**40
            filter = Filter(capacity=1000)
            print(filter.add(Long(b"x")), "x" in filter, filter.add_many([Long(b"y"), Text("z")]))
            print(filter.may_contain_many(["y", "z"]))
            print(Filter.from_bytes(Long(filter.to_bytes())).may_contain("z"))
            """, "True True [True, True]", "[True, True]", "True")

    def test_options_of_wrong_types_and_sizes(self):
        wrong = {
            "capacity='5'": "TypeError: capacity must be an integer, not str",
            "capacity=None": "TypeError: capacity must be an integer, not NoneType",
            "capacity=1e6": "TypeError: capacity must be an integer, not float",
            "capacity=2**64": "InvalidArgumentError: capacity 18446744073709551616 is not between",
            "capacity=10**400": "InvalidArgumentError: capacity 1000",
            "capacity=0": "InvalidArgumentError: capacity must be",
            "capacity=2**63": "InvalidArgumentError: capacity must be",
            "error_rate='0.1'": "TypeError: error_rate must be a number, not str",
            "error_rate=None": "TypeError: error_rate must be a number, not NoneType",
            "error_rate=1j": "TypeError: error_rate must be a number, not complex",
            "error_rate=float('nan')": "InvalidArgumentError: error rate must be",
            "error_rate=float('inf')": "InvalidArgumentError: error rate must be",
            "error_rate=10**400": "InvalidArgumentError: error_rate is too large",
            "expansion=-1": "InvalidArgumentError: expansion -1 is not between",
            "expansion=2**32-1": "InvalidArgumentError: expansion must be",
            "expansion='2'": "TypeError: expansion must be an integer, not str",
            "tightening_ratio=float('nan')": "InvalidArgumentError: tightening_ratio nan is not between 0 and 1",
            "tightening_ratio='x'": "TypeError: tightening_ratio must be a number, not str",
            "seed=-1": "InvalidArgumentError: seed -1 is not between",
            "seed=2.0": "TypeError: seed must be an integer, not float",
            "memory_limit_bytes=None": "TypeError: memory_limit_bytes must be an integer, not NoneType",
            "memory_limit_bytes=2**64": "InvalidArgumentError: memory_limit_bytes 18446744073709551616 is not",
            "type=None": "TypeError: type must be a str, not NoneType",
            "type=b'blocked'": "TypeError: type must be a str, not bytes",
            "type='blocked\\0x'": "InvalidArgumentError: type holds a NUL byte",
            "type='\\udcff'": "UnicodeEncodeError: ",
            "hash=None": "InvalidArgumentError: ",
            "hash='sip\\0'": "InvalidArgumentError: hash holds a NUL byte",
            "hash='x' * 10**7": "InvalidArgumentError: ",
            "no_such_option=1": "InvalidArgumentError: a blocked filter has no option",
            "**{'a\\0b': 1}": "InvalidArgumentError: an option holds a NUL byte",
        }
        self.assert_told("\n".join(f"told(Filter, {each})" for each in wrong), *wrong.values())

    def test_paths_dumps_and_others_of_wrong_types(self):
        self.assert_told("""
            filter = Filter()
            for path in (None, 5, "a\\0b", b"a\\0b", ""):
                for call in (Filter.load, Filter.map, filter.save):
                    told(call, path)
            for dump in (None, 5, "text", [1], b"", bytearray(b"x" * 100), filter):
                told(Filter.from_bytes, dump)
            for other in (None, 5, "x", object()):
                told(filter.merge, other)
            print(Filter.from_bytes(memoryview(filter.to_bytes())).describe().items)
            closed = Filter()
            closed.close()
            told(filter.merge, closed)
            told(closed.merge, filter)
            """, *["TypeError: "] * 6, *["InvalidArgumentError: the path holds a NUL byte"] * 6, *["FileError: "] * 3,
                         *["TypeError: a dump must be bytes, not "] * 4, *["CorruptError: "] * 2,
                         "TypeError: a dump must be bytes, not Filter", *["TypeError: only a Filter can be merged"] * 4,
                         "0", *["ValueError: the filter is closed"] * 2)

    def test_a_filter_merged_with_itself(self):
        for kind in type_names(merges=True):
            self.run_program(f"""
                filter = Filter("{kind}", capacity=100)
                filter.add_many(map(str, range(1000)))
                told(filter.merge, filter)
                assert all(filter.may_contain_many(map(str, range(1000))))
                """)

    def test_forked_processes(self):
        self.assert_told("""
            filter = Filter(capacity=1000)
            filter.add("x")
            child = os.fork()
            if child == 0:
                assert "x" in filter and filter.add("of the child")
                filter.close()
                sys.exit(0)
            print(os.waitpid(child, 0)[1], "of the child" in filter, "x" in filter)
            """, "0 False True")

    def test_signal_handlers_and_finalizers_that_close(self):
        self.assert_told("""
            filter = Filter(capacity=100_000)
            items = [str(i) for i in range(300_000)]
            signal.signal(signal.SIGALRM, lambda *_: filter.close())
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            def until_closed():
                while True: filter.add_many(items)
            told(until_closed)
            class Last:
                def __init__(self, filter): self.filter, self.me = filter, self
                def __del__(self): told_by.add(str(problem_of(self.filter.add, "x"))); self.filter.close()
            def problem_of(call, *arguments):
                try: return call(*arguments)
                except ValueError as problem: return problem
            told_by = set()
            for _ in range(100): Last(Filter())
            gc.collect()
            print(told_by <= {"True", "the filter is closed"}, told_by != set())
            """, "ValueError: the filter is closed", "True True")

    def test_the_interpreter_ends_beside_calls(self):
        for _ in range(10):
            self.run_program("""
                filter = Filter(capacity=100_000)
                items = [str(i) for i in range(100_000)]
                begun = threading.Event()
                def use():
                    begun.set()
                    while True: filter.add_many(items)
                for _ in range(3): threading.Thread(target=use, daemon=True).start()
                begun.wait()
                """)

    def test_a_missing_library_is_named(self):
        with tempfile.TemporaryDirectory() as home:
            done = subprocess.run([sys.executable, "-c", "import bitsieve"], capture_output=True, text=True,
                                  check=False, timeout=SECONDS, cwd=home, env={"PYTHONPATH": str(MODULE)})
        if done.returncode == 0:
            self.skipTest("the library is installed on this machine")
        self.assertRegex(done.stderr, r"ImportError: libbitsieve\.so\.1: .*the package libbitsieve1 installs it")


if __name__ == "__main__":
    unittest.main(verbosity=2)
