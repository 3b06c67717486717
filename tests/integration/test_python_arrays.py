"""Arrays of NumPy and Arrow in the Python module: the answers are those to the same items one by one. No pyarrow is
needed; arrow_producer.py makes Arrow's arrays."""

import array
import ctypes
import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy

from arrow_producer import Chunks, Column, bits_of, column_of, living, view_column_of
from harness import PATIENCE, main

MODULE = pathlib.Path(__file__).parents[2] / "clients" / "python"
sys.path.insert(0, str(MODULE))

import bitsieve  # noqa: E402 (from the folder above)

SECONDS = 120 * PATIENCE
LENGTHS = (0, 1, 2, 63, 64, 65, 128, 1000)
INTEGERS = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8"}


class ArrayTest(unittest.TestCase):
    def assert_as_one_by_one(self, items, expected, kind):
        """The array `items` has the items `expected`, bytes or None for nulls."""
        with bitsieve.Filter("cuckoo", capacity=10_000, seed=1) as filter:
            for item in expected[::2]:
                if item is not None:
                    filter.add(item)
            found = filter.may_contain_many(items)
            self.assert_is(kind, found)
            self.assertEqual(found.tolist(), [item is not None and filter.may_contain(item) for item in expected])
        with bitsieve.Filter("cuckoo", capacity=10_000, seed=1) as filter, \
                bitsieve.Filter("cuckoo", capacity=10_000, seed=1) as other:
            added = filter.add_many(items)
            self.assert_is(kind, added)
            self.assertEqual(added.tolist(), [item is not None and other.add(item) for item in expected])
            self.assertEqual(filter.to_bytes(), other.to_bytes())

    def assert_is(self, kind, answers):
        self.assertIs(type(answers), kind)
        if kind is memoryview:
            self.assertEqual((answers.format, answers.ndim), ("?", 1))
        else:
            self.assertEqual(answers.dtype, numpy.bool_)

    def assert_refused(self, error, message, items):
        for name in ("add_many", "may_contain_many"):
            with bitsieve.Filter() as filter, self.subTest(name, items=items):
                with self.assertRaisesRegex(error, message):
                    getattr(filter, name)(items)
                self.assertEqual(filter.describe().items, 0)


class NumPyArrays(ArrayTest):
    def assert_array(self, items, expected):
        self.assert_as_one_by_one(items, expected, numpy.ndarray)

    def test_strings(self):
        for length in LENGTHS:
            texts = [b"item %d" % (i % 700) for i in range(length)]
            for width in (8, 16, 100):
                items = numpy.array(texts, f"S{width}")
                self.assert_array(items, texts)
                self.assert_array(items.astype(f"V{width}"), [text.ljust(width, b"\0") for text in texts])

    def test_zeros_at_the_end_are_padding_only_in_strings(self):
        texts = [b"abc", b"abc\0", b"a\0b", b"\0", b"", b"\0\0\0x", b"12345678"]
        self.assert_array(numpy.array(texts, "S8"), [text.rstrip(b"\0") for text in texts])
        self.assert_array(numpy.array(texts, "V8"), [text.ljust(8, b"\0") for text in texts])
        with bitsieve.Filter() as filter:
            filter.add(b"abc")
            self.assertEqual(filter.may_contain_many(numpy.array([b"abc"], "S16")).tolist(), [True])
            self.assertEqual(filter.may_contain_many(numpy.array([b"abc"], "V16")).tolist(), [False])

    def test_integers_are_their_bytes(self):
        for dtype in INTEGERS.values():
            items = numpy.arange(1000).astype(dtype)
            self.assert_array(items, [item.tobytes() for item in items])
        with bitsieve.Filter() as filter:
            filter.add_many(numpy.array([-5, 7], "i8"))
            self.assertTrue(filter.may_contain((-5).to_bytes(8, "little", signed=True)))
            self.assertFalse(any(filter.may_contain_many(numpy.array([-5, 7], "i4"))))

    def test_text_and_objects(self):
        texts = ["größe", "", "a\0b", "日本", *map(str, range(500))]
        self.assert_array(numpy.array(texts), [text.encode() for text in texts])
        mixed = ["text", b"bytes", "", *map(str, range(100))]
        self.assert_array(numpy.array(mixed, object), [getattr(item, "encode", lambda: item)() for item in mixed])
        self.assert_refused(TypeError, "an item must be bytes or str, not int", numpy.array(["a", 5], object))
        self.assert_refused(UnicodeEncodeError, "surrogates", numpy.array(["a", "\udcff"]))

    def test_slices_and_read_only_arrays(self):
        items = numpy.array([b"%d" % i for i in range(300)], "S5")
        self.assert_array(items[3:200], items[3:200].tolist())
        self.assert_array(items[:0], [])
        items.flags.writeable = False
        self.assert_array(items[100:], items[100:].tolist())
        self.assert_array(numpy.frombuffer(b"abcdefgh" * 5, "u8"), [b"abcdefgh"] * 5)
        self.assert_array(numpy.frombuffer(b"_abcdefgh" * 9, "V8", 9, 1),
                          [(b"_abcdefgh" * 9)[1 + 8 * i:9 + 8 * i] for i in range(9)])

    def test_gaps_and_dimensions_are_refused(self):
        items = numpy.array([b"%d" % i for i in range(300)], "S5")
        for gaps in (items[::2], items[::-1], numpy.zeros(9, [("a", "i8"), ("b", "S5")])["b"]):
            self.assert_refused(ValueError, r"gaps between the items: numpy.ascontiguousarray\(items\)", gaps)
        for dimensions, shaped in ((2, items.reshape(30, 10)), (0, items[0:1].reshape(())),
                                   (2, numpy.zeros((3, 3), "U5")), (3, numpy.zeros((1, 2, 3), object))):
            self.assert_refused(ValueError, f"must have 1 dimension, not {dimensions}: ", shaped)
        rows = numpy.arange(160).astype("u1").reshape(10, 16)
        self.assert_array(rows.view("V16").ravel(), [row.tobytes() for row in rows])

    def test_other_dtypes_are_refused(self):
        for dtype in ("f8", "f4", "?", "c16", ">i8", "M8[s]", "m8[s]", "i4,S4"):
            self.assert_refused(TypeError, "a NumPy array of dtype .* does not hold items; dtypes S, V, U",
                                numpy.zeros(3, dtype))
        self.assert_refused(TypeError, r"items.compressed\(\)", numpy.ma.array([1, 2], mask=[0, 1]))

    def test_numpy_is_imported_only_by_the_program(self):
        program = "import sys, bitsieve; bitsieve.Filter().add_many(['a']); print('numpy' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                              timeout=SECONDS, env={**os.environ, "PYTHONPATH": str(MODULE)})
        self.assertEqual((done.stderr, done.stdout), ("", "False\n"))


class OtherBuffers(ArrayTest):
    def test_integers_and_strings(self):
        numbers = array.array("q", range(-50, 500))
        expected = [number.to_bytes(8, "little", signed=True) for number in numbers]
        for items in (numbers, memoryview(numbers), (ctypes.c_int64 * len(numbers))(*numbers)):
            self.assert_as_one_by_one(items, expected, memoryview)
        texts = numpy.array([b"%d" % i for i in range(100)])
        self.assert_as_one_by_one(memoryview(texts), texts.tolist(), memoryview)

    def test_one_item_and_others_are_refused(self):
        for item in (b"ab", bytearray(b"ab"), memoryview(b"ab"), array.array("B", b"ab"), (ctypes.c_char * 2)()):
            self.assert_refused(TypeError, "an iterable of items is needed, not one ", item)
        self.assert_refused(TypeError, "a buffer of format 'd' does not hold items", array.array("d", [1]))
        self.assert_refused(ValueError, "must have 1 dimension, not 2", memoryview(bytes(6)).cast("B", (2, 3)))
        self.assert_refused(ValueError, "gaps between the items", memoryview(array.array("q", [1, 2, 3]))[::2])


class ArrowArrays(ArrayTest):
    def tearDown(self):
        gc.collect()
        self.assertEqual(living(), 0, "structures that were not released")

    def assert_column(self, items, expected):
        self.assert_as_one_by_one(items, expected, memoryview)

    def test_strings_and_bytes(self):
        for form in "uUzZ":
            for length in LENGTHS:
                items = [b"%d" % (i % 700) * (i % 5) for i in range(length)]
                self.assert_column(column_of(form, items), items)
                self.assert_column(column_of(form, items, null_count=0), items)

    def test_integers_and_fixed_widths(self):
        for form, dtype in INTEGERS.items():
            numbers = numpy.arange(200).astype(dtype)
            self.assert_column(Column(form, [None, numbers.tobytes()], 200), [each.tobytes() for each in numbers])
        items = [b"%-7d" % i for i in range(99)] + [bytes(7)]
        self.assert_column(Column("w:7", [None, b"".join(items)], 100), items)
        self.assert_column(Column("w:0", [None, None], 3), [b""] * 3)

    def test_views(self):
        for form in ("vu", "vz"):
            for length in LENGTHS:
                items = [b"%d" % (i % 700) * (i % 11) if i % 8 else None for i in range(length)]
                self.assert_column(view_column_of(form, items), items)
                self.assert_column(view_column_of(form, [item and item[:12] for item in items]),
                                   [item and item[:12] for item in items])
                column = view_column_of(form, items, offset=length // 3)
                column.length -= column.offset
                self.assert_column(column, items[length // 3:])
        damaged = view_column_of("vu", [b"thirteen bytes"])
        damaged.buffers[0], damaged.buffers[-1][:8] = None, (13).to_bytes(8, "little")
        self.assert_refused(bitsieve.InvalidArgumentError, "the array's view 0 is outside its buffer", damaged)

    def test_nulls_are_not_added(self):
        for length in LENGTHS:
            items = [b"%d" % i if i % 3 else None for i in range(length)]
            for form in "uZ":
                self.assert_column(column_of(form, items), items)
            numbers = numpy.arange(length)
            validity = bits_of([i % 3 for i in range(length)])
            self.assert_column(Column("l", [validity, numbers.tobytes()], length),
                               [each.tobytes() if each % 3 else None for each in numbers])
        self.assert_column(column_of("u", [None] * 70), [None] * 70)
        self.assert_column(Column("l", [b"\0", bytes(8)], 1, null_count=0), [bytes(8)])  # no nulls: the bits are idle
        with bitsieve.Filter() as filter:
            self.assertEqual(filter.add_many(column_of("u", [None, b"", b"a"])).tolist(), [False, True, True])
            self.assertEqual(filter.may_contain_many(column_of("u", [None, b""])).tolist(), [False, True])

    def test_slices(self):
        items = [b"%d" % i if i % 7 else None for i in range(300)]
        for offset, length in ((0, 300), (1, 299), (5, 8), (64, 64), (7, 100), (299, 1), (300, 0)):
            for form in "uZ":
                column = column_of(form, items, offset=offset)
                column.length = length
                self.assert_column(column, items[offset:offset + length])
            numbers = numpy.arange(300)
            self.assert_column(Column("l", [bits_of([i % 7 for i in range(300)]), numbers.tobytes()], length, offset),
                               [each.tobytes() if each % 7 else None for each in numbers[offset:offset + length]])

    def test_empty_arrays(self):
        for column in (Column("u", [None, None, None], 0), Column("u", [None, bytes(4), None], 0),
                       Column("l", [None, None], 0), Column("U", [None, bytes(8), None], 0)):
            self.assert_column(column, [])
        self.assert_column(Column("u", [None, bytes(16), None], 3), [b""] * 3)

    def test_streams(self):
        items = [b"%d" % i if i % 9 else None for i in range(500)]
        for cuts in ((0, 500), (0, 0, 500), (0, 100, 101, 101, 300, 500)):
            chunks = [column_of("u", items[start:end]) for start, end in zip(cuts, cuts[1:])]
            self.assert_column(Chunks(*chunks), items)
        nothing = Chunks(column_of("u", []))
        self.assert_column(nothing, [])

    def test_streams_that_fail(self):
        good = column_of("u", [b"a"])
        with bitsieve.Filter() as filter:
            with self.assertRaisesRegex(OSError, "the Arrow stream failed: the disk is full"):
                filter.add_many(Chunks(good, message="the disk is full"))
            self.assertIn("a", filter)
            with self.assertRaisesRegex(OSError, "the Arrow stream failed: without a message"):
                filter.may_contain_many(Chunks(good, good, message=""))
            with self.assertRaisesRegex(ValueError, "the filter is closed"):
                filter.add_many(Chunks(good, good, on_next=filter.close))
        with bitsieve.Filter(capacity=100, expansion=0) as filter:
            with self.assertRaisesRegex(bitsieve.FullError, "capacity of 100 items"):
                filter.add_many(Chunks(*[column_of("u", [b"%d" % (i + j) for i in range(100)]) for j in (0, 50, 90)]))

    def test_other_types_are_refused(self):
        for form in ("b", "g", "tsu:", "d:10,2", "+s", "+l", "n"):
            self.assert_refused(TypeError, f"an Arrow array of format '{form.replace('+', '.')}' does not hold items; "
                                "string, binary, their large and view forms", Column(form, [None, bytes(32)], 1))
        indices = Column("i", [None, bytes(8)], 2, dictionary=1)
        self.assert_refused(TypeError, r"items.dictionary_decode\(\)", indices)
        self.assert_refused(TypeError, r"items.dictionary_decode\(\)", Chunks(indices))

    def test_damaged_arrays_are_refused(self):
        narrow = array.array("i", [0, 5, 3, 4]).tobytes()
        self.assert_refused(bitsieve.InvalidArgumentError, "offset 2 is 3: offsets must not", Column(
            "u", [None, narrow, b"abcde"], 3))
        self.assert_refused(bitsieve.InvalidArgumentError, "offset 0 is -1: offsets must not", Column(
            "U", [None, array.array("q", [-1, 2]).tobytes(), b"abc"], 1))
        self.assert_refused(bitsieve.InvalidArgumentError, "offsets are NULL", Column("u", [None, None, b"a"], 1))
        self.assert_refused(bitsieve.InvalidArgumentError, "data is NULL", Column("l", [None, None], 1))
        for length, offset, buffers in ((-1, 0, 2), (1, -1, 2), (1, 0, 1), (1, 0, 3)):
            self.assert_refused(ValueError, f"length {length}, offset {offset} and {buffers} buffers; 2 buffers are",
                                Column("l", [None, bytes(8), bytes(8)][:buffers], length, offset))
        self.assert_refused(MemoryError, "", Column("l", [None, bytes(8)], 2**62))
        self.assert_refused(MemoryError, "", Column("u", [None, bytes(8), b""], 2**62))

    def test_released_arrays_are_refused(self):
        column = column_of("u", [b"a"])
        schema, into = column.__arrow_c_array__()

        class Used:
            def __arrow_c_array__(self):
                return schema, into

        address = ctypes.pythonapi["PyCapsule_GetPointer"]
        address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        release_of_array = ctypes.c_void_p.from_address(address(into, b"arrow_array") + 8 * 8)
        function, release_of_array.value = release_of_array.value, None
        self.assert_refused(ValueError, "the Arrow array was released before", Used())
        release_of_array.value = function
        self.assertEqual(living(), 2)

    def test_columns_without_pyarrow_are_iterated_over(self):
        class Column:
            def __iter__(self):
                return iter(["a", b"b"])

            def __arrow_c_stream__(self):
                raise ImportError("pyarrow is needed")

        with bitsieve.Filter() as filter:
            self.assertEqual(filter.add_many(Column()), [True, True])
            self.assertIn("a", filter)


class ArraysAndThreads(unittest.TestCase):
    def test_threads_that_add_and_look_up(self):
        items = numpy.arange(200_000)
        with bitsieve.Filter(capacity=200_000) as filter:
            added = [int(filter.add_many(items[:1000]).sum())]

            def add():
                for first in range(0, len(items), 20_000):
                    added.append(int(filter.add_many(items[first:first + 20_000]).sum()))

            threads = [threading.Thread(target=add) for _ in range(3)]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self.assertTrue(filter.may_contain_many(items[:1000]).all())
            for thread in threads:
                thread.join()
            self.assertTrue(filter.may_contain_many(items).all())
            self.assertEqual(sum(added), filter.describe().items)

    def test_an_array_is_not_resized_during_a_call(self):
        numbers = array.array("q", range(2_000_000))
        with bitsieve.Filter(capacity=2_000_000) as filter:
            begun = threading.Event()

            def use():
                begun.set()
                filter.add_many(numbers)

            thread = threading.Thread(target=use)
            thread.start()
            begun.wait()
            while thread.is_alive():
                try:
                    numbers.append(5)  # before or after the call
                except BufferError:
                    pass
            thread.join()
            self.assertTrue(all(filter.may_contain_many(numbers[:2_000_000])))

    def test_arrays_and_filters_that_cannot_take_them(self):
        items = numpy.arange(1000)
        filter = bitsieve.Filter(capacity=100)
        with tempfile.TemporaryDirectory() as home:
            filter.save(os.path.join(home, "filter"))
            with bitsieve.Filter.map(os.path.join(home, "filter")) as mapped:
                with self.assertRaisesRegex(bitsieve.UnsupportedError, "mapped from a file"):
                    mapped.add_many(items)
                self.assertFalse(mapped.may_contain_many(items).any())
        filter.close()
        for many in (items, items[:0]):
            for use in (filter.add_many, filter.may_contain_many):
                with self.assertRaisesRegex(ValueError, "the filter is closed"):
                    use(many)


if __name__ == "__main__":
    main()
