"""The items of add_many() and may_contain_many(), in all forms that these take, as arrays of the C library.

No item is copied, except for those of iterables. A generator of arrays keeps the memory of an array in place until the
next one is requested.
"""

import ctypes
import itertools
import re
import sys
from array import array
from typing import Any, Callable, Iterable, Iterator, List, Tuple, Union

from . import _arrow, _native

Item = Union[str, bytes]
_Answers = Callable[[bytearray], Any]

# The formats of the module struct whose bytes are items, in the order of bytes that this machine has.
_PADDED = re.compile(r"[@=<^]?\d*s")
_WHOLE = re.compile(r"[@=<^]?(\d*x|[bBhHiIlLqQnN])")
_BYTES = {"b", "B", "c", "<b", "<B", "<c"}


def bytes_of(item: Item) -> bytes:
    # The methods are those of the base classes: a subclass may answer with other types and lengths.
    if isinstance(item, bytes):
        return item if type(item) is bytes else bytes.__getitem__(item, slice(None))
    if isinstance(item, str):
        return str.encode(item)
    raise TypeError(f"an item must be bytes or str, not {type(item).__name__}")


def answers_of(items: Any, call: Callable[[_native.Array, Any], None]) -> Any:
    """Calls call(array, answers) for the items; returns the answers as an array or a list, depending on the items."""
    arrays, answers_as = _arrays_of(items)
    parts: List[bytearray] = []
    for each in arrays:
        parts.append(bytearray(each.count))
        call(each, ctypes.byref(ctypes.c_char.from_buffer(parts[-1])) if parts[-1] else None)
    return answers_as(parts[0] if len(parts) == 1 else bytearray().join(parts))


def _as_view(answers: bytearray) -> memoryview:
    return memoryview(answers).cast("?")


def _as_list(answers: bytearray) -> Any:
    return _as_view(answers).tolist()


def _arrays_of(items: Any) -> Tuple[Iterator[_native.Array], _Answers]:
    """Returns the items as arrays, and the form of the answers to them."""
    numpy: Any = sys.modules.get("numpy")  # a program that has such an array has imported it
    if isinstance(items, getattr(numpy, "ndarray", ())):
        return _arrays_of_numpy(items), lambda answers: numpy.frombuffer(answers, dtype=bool)
    if isinstance(items, (str, bytes, bytearray)):
        raise _one_item(items)
    exported = _arrow.arrays_of(items)
    if exported is not None:
        return exported, _as_view
    try:
        view = memoryview(items)
    except TypeError:
        return _arrays_of_iterable(items), _as_list
    if view.format in _BYTES and view.ndim == 1:
        raise _one_item(items)
    return _arrays_of_buffer(view, f"a buffer of format {view.format!r}"), _as_view


def _one_item(items: Any) -> TypeError:
    return TypeError(f"an iterable of items is needed, not one {type(items).__name__}: put it into a list, or take the "
                     "call for one item")


def _arrays_of_iterable(items: Iterable[Item]) -> Iterator[_native.Array]:
    parts = [bytes_of(item) for item in items]
    offsets = array("q", itertools.accumulate(itertools.chain((0,), map(len, parts))))
    data = b"".join(parts)
    yield _native.Array(layout=_native.OFFSETS_64, data=ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p),
                        offsets=offsets.buffer_info()[0], count=len(parts))


def _arrays_of_numpy(items: Any) -> Iterator[_native.Array]:
    name = f"a NumPy array of dtype {items.dtype}"
    if hasattr(items, "mask"):
        raise TypeError("a masked array does not say what to do with masked items: items.compressed() leaves them out")
    if items.dtype.kind in "UOT":  # text, as NumPy stores it, and objects are converted one by one
        _require_one_dimension(items)
        return _arrays_of_iterable(items.tolist())
    try:
        return _arrays_of_buffer(memoryview(items), name)
    except ValueError:  # of memoryview(), for dates and times
        raise _no_items(name) from None


def _arrays_of_buffer(view: memoryview, name: str) -> Iterator[_native.Array]:
    is_padded = _PADDED.fullmatch(view.format) is not None
    if not is_padded and not _WHOLE.fullmatch(view.format):
        raise _no_items(name)
    _require_one_dimension(view)
    if not view.c_contiguous:
        raise ValueError("there are gaps between the items: numpy.ascontiguousarray(items) makes a copy without gaps")
    yield _native.Array(layout=_native.PADDED if is_padded else _native.FIXED_WIDTH, data=_address_of(view),
                        width=view.itemsize, count=len(view))


def _no_items(name: str) -> TypeError:
    return TypeError(f"{name} does not hold items; dtypes S, V, U, object, and integers in this machine's byte order "
                     "do. items.view('V8') takes values of 8 bytes as they are")


def _require_one_dimension(items: Any) -> None:
    if items.ndim != 1:
        raise ValueError(f"the items must have 1 dimension, not {items.ndim}: items.ravel() of NumPy makes it one, and "
                         "items.view('V16').ravel() takes rows of 16 bytes as items")


class _PyBuffer(ctypes.Structure):
    """Py_buffer of CPython."""

    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


def _address_of(view: memoryview) -> Any:
    """Returns the address of a contiguous view's memory; for a read-only one, ctypes itself has no function."""
    buffer = _PyBuffer()
    ctypes.pythonapi["PyObject_GetBuffer"](ctypes.py_object(view), ctypes.byref(buffer), 0)
    address = buffer.buf
    ctypes.pythonapi["PyBuffer_Release"](ctypes.byref(buffer))
    return address
