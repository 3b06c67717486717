"""What a type checker makes of programs that use the Python module; lint.python_types runs mypy on it. A line that is
to be refused says so, and mypy complains if it is not."""

import array
import pathlib
from typing import Any, List, Tuple, assert_type

import numpy

import bitsieve
from bitsieve import Filter


class Named(Filter):
    name = "seen"


class Column:
    def __arrow_c_array__(self, requested_schema: object = None) -> Tuple[object, object]:
        return object(), object()


class Chunks:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return object()


def use_arrays(seen: Filter) -> None:
    assert_type(seen.add_many(numpy.zeros(3, dtype="S16")), Any)  # whose type no program without NumPy could name
    assert_type(seen.add_many(array.array("q", [1])), memoryview)
    assert_type(seen.add_many(Column()), memoryview)
    assert_type(seen.may_contain_many(Chunks()), memoryview)
    assert_type(seen.may_contain_many(memoryview(b"")), memoryview)
    seen.may_contain_many(object())  # type: ignore[call-overload]


def use() -> None:
    with Named(error_rate=0.001, capacity=1_000_000, hash="sip") as seen:
        assert_type(seen, Named)
        assert_type(seen.add("alice"), bool)
        assert_type(seen.add_many(["bob", b"carol"]), List[bool])
        assert_type(seen.may_contain_many(iter([b"bob"])), List[bool])
        assert_type("alice" in seen, bool)
        assert_type(seen.count("alice"), int)
        assert_type(seen.describe().error_rate, float)
        seen.save(pathlib.Path("seen.bsf"))
        assert_type(seen.to_bytes(), bytes)
        seen.add(5)  # type: ignore[arg-type]
        seen.add_many([5])  # type: ignore[list-item]
        seen.merge("other")  # type: ignore[arg-type]
        seen.forget("alice")  # type: ignore[attr-defined]
    assert_type(Named.map("seen.bsf"), Named)
    assert_type(Filter.load(b"seen.bsf"), Filter)
    assert_type(Filter.from_bytes(memoryview(b"")), Filter)
    Filter(capacity="many")  # type: ignore[arg-type]
    Filter("blocked", 0.01, 100, 2)  # type: ignore[misc]
    assert_type(bitsieve.version(), str)


def name_of(problem: bitsieve.BitsieveError) -> str:
    return "full" if isinstance(problem, bitsieve.FullError) else str(problem)
