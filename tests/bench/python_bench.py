"""What lists and arrays cost in the Python module, next to the C++ library: `scripts/bench --python`.

A million items of 16 bytes, in a blocked filter made for a million at 1%. In a round each row adds them to an empty
filter and looks them up, so that all rows see the same machine; each figure is the median of all rounds, in ns per
item. The last row is library_bench, in which the items are string views; its figures are the best of 5 rounds.
"""

import array
import ctypes
import functools
import itertools
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "clients" / "python"), str(ROOT / "tests" / "integration")]

ITEMS, ONE_BY_ONE = 1_000_000, 100_000


def texts_of(count):
    return [b"%016x" % (i * 0x9E3779B97F4A7C15 % 2**64) for i in range(count)]


def rows_of(texts):
    """Each row's name, and its items."""
    import numpy
    from arrow_producer import Column
    data = b"".join(texts)
    offsets = array.array("i", itertools.accumulate(itertools.chain((0,), map(len, texts))))
    strings = numpy.array(texts)
    return {
        "list of bytes": texts,
        "list of str": [text.decode() for text in texts],
        "NumPy S16": strings,
        "NumPy V16": strings.view("V16"),
        "NumPy int64": numpy.frombuffer(data, "i8")[:len(texts)],
        "NumPy U16": numpy.array([text.decode() for text in texts]),
        "Arrow binary": Column("z", [None, offsets.tobytes(), data], len(texts)),
        "Arrow binary, nulls": Column("z", [b"\xff" * (len(texts) // 8 + 1), offsets.tobytes(), data], len(texts)),
        "Arrow fixed width": Column("w:16", [None, data], len(texts)),
    }


def ns_of(call, count):
    start = time.process_time_ns()
    call()
    return (time.process_time_ns() - start) / count


class Pointers:
    """Pointers to texts, for the functions of the C library that take them."""

    def __init__(self, texts):
        self.count, width = len(texts), len(texts[0])
        self.memory = ctypes.create_string_buffer(b"".join(texts), width * self.count)
        start = ctypes.addressof(self.memory)
        self.items = (ctypes.c_void_p * self.count)(*range(start, start + width * self.count, width))
        self.sizes = (ctypes.c_size_t * self.count)(*[width] * self.count)
        self.answers = ctypes.create_string_buffer(self.count)

    def measure(self, filter):
        from bitsieve import _native
        arguments = (filter._open(), self.items, self.sizes, ctypes.c_size_t(self.count), self.answers)
        return (ns_of(lambda: _native.library.bitsieve_add_many(*arguments, None), self.count),
                ns_of(lambda: _native.library.bitsieve_may_contain_many(*arguments), self.count))


def measure_arrays(filter, items):
    return (ns_of(lambda: filter.add_many(items), ITEMS), ns_of(lambda: filter.may_contain_many(items), ITEMS))


def measure_one_by_one(filter, items):
    return (ns_of(lambda: [filter.add(item) for item in items], len(items)),
            ns_of(lambda: [filter.may_contain(item) for item in items], len(items)))


def measure(texts, rounds):
    """Returns the pairs of figures of each row."""
    from bitsieve import Filter
    rows = {name: functools.partial(measure_arrays, items=items) for name, items in rows_of(texts).items()}
    rows["one by one, bytes"] = functools.partial(measure_one_by_one, items=texts[:ONE_BY_ONE])
    rows["C, pointers"] = Pointers(texts).measure
    pairs = {name: [] for name in rows}
    for _ in range(rounds):
        for name, measure_row in rows.items():
            with Filter(capacity=ITEMS, expansion=0) as filter:
                pairs[name].append(measure_row(filter))
    return pairs


def run(rounds):
    print(f"{'ns per item':22} {'add':>8} {'found':>8}")
    for name, pairs in measure(texts_of(ITEMS), rounds).items():
        added, found = (statistics.median(column) for column in zip(*pairs))
        print(f"{name:22} {added:8.1f} {found:8.1f}", flush=True)


def start(library, library_bench, rounds):
    """Runs this file in a process that finds the library, then the program that measures the same in C++."""
    subprocess.run([sys.executable, __file__, str(rounds)], check=True,
                   env={**os.environ, "LD_LIBRARY_PATH": str(library.parent)})
    subprocess.run([library_bench, library.parent, "blocked"], check=True)


if __name__ == "__main__":
    run(int(sys.argv[1]))
