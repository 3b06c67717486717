"""Arrays of Arrow as arrays of the C library, by Arrow's C data interface and its capsules: any library's arrays, and
without pyarrow. https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html

The structures are read where their owner put them. Those in a capsule are released by its destructor, once nothing
refers to it; those that a stream fills are released here.
"""

import ctypes
from typing import Any, Iterator, Optional, Tuple

from . import _native

_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Schema(ctypes.Structure):
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", _Release), ("private_data", ctypes.c_void_p)]


class _Array(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                ("dictionary", ctypes.c_void_p), ("release", _Release), ("private_data", ctypes.c_void_p)]


_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Stream(ctypes.Structure):
    _fields_ = [("get_schema", _Fill), ("get_next", _Fill),
                ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)), ("release", _Release),
                ("private_data", ctypes.c_void_p)]


# Of each format whose values are items: the layout, and the width of an item.
_LAYOUTS = {"u": (_native.OFFSETS_32, 0), "z": (_native.OFFSETS_32, 0),
            "U": (_native.OFFSETS_64, 0), "Z": (_native.OFFSETS_64, 0),
            "vu": (_native.VIEWS, 0), "vz": (_native.VIEWS, 0),
            **{letter: (_native.FIXED_WIDTH, width) for letters, width in (("cC", 1), ("sS", 2), ("iI", 4), ("lL", 8))
               for letter in letters}}


def arrays_of(items: Any) -> Optional[Iterator[_native.Array]]:
    """Returns the arrays of an Arrow array, or of a stream of them; None if the items are neither."""
    for method, arrays in (("__arrow_c_array__", _of_capsules), ("__arrow_c_stream__", _of_stream)):
        if hasattr(type(items), method):
            try:
                return arrays(getattr(items, method)())
            except ImportError:  # pandas needs pyarrow for it, and its columns can be iterated over
                return None
    return None


def _of_capsules(capsules: Tuple[Any, Any]) -> Iterator[_native.Array]:
    schema = _Schema.from_address(_pointer_in(capsules[0], b"arrow_schema"))
    yield _array_of(_Array.from_address(_pointer_in(capsules[1], b"arrow_array")), _layout_of(schema))


def _of_stream(capsule: Any) -> Iterator[_native.Array]:
    stream = _Stream.from_address(_pointer_in(capsule, b"arrow_array_stream"))
    if not stream.release:
        raise ValueError("the Arrow stream was read before")
    schema = _Schema()
    _fill(stream, stream.get_schema, schema)
    try:
        layout = _layout_of(schema)
    finally:
        schema.release(ctypes.addressof(schema))
    while True:
        chunk = _Array()
        _fill(stream, stream.get_next, chunk)
        if not chunk.release:
            return
        try:
            yield _array_of(chunk, layout)
        finally:
            chunk.release(ctypes.addressof(chunk))


def _fill(stream: _Stream, fill: Any, structure: ctypes.Structure) -> None:
    code = fill(ctypes.addressof(stream), ctypes.addressof(structure))
    if code != 0:
        message = stream.get_last_error(ctypes.addressof(stream)) or b"without a message"
        raise OSError(code, "the Arrow stream failed: " + message.decode(errors="replace"))


def _layout_of(schema: _Schema) -> Tuple[int, int]:
    if not schema.release:
        raise ValueError("the Arrow array was released before")
    if schema.dictionary:
        raise TypeError("an Arrow array with a dictionary holds indices instead of items; in pyarrow, "
                        "items.dictionary_decode() has the items")
    name = schema.format.decode()
    if name.startswith("w:"):
        return _native.FIXED_WIDTH, int(name[2:])
    if name not in _LAYOUTS:
        raise TypeError(f"an Arrow array of format {name!r} does not hold items; string, binary, their large "
                        "and view forms, fixed_size_binary and integers do. Take one column of a table, and cast it if "
                        "necessary")
    return _LAYOUTS[name]


# Of each layout: the least number of buffers. The first one is of validity.
_BUFFERS = {_native.FIXED_WIDTH: 2, _native.OFFSETS_32: 3, _native.OFFSETS_64: 3, _native.VIEWS: 3}


def _array_of(array: _Array, form: Tuple[int, int]) -> _native.Array:
    (layout, width), count = form, array.n_buffers
    if not array.release:
        raise ValueError("the Arrow array was released before")
    is_right = count >= 3 if layout == _native.VIEWS else count == _BUFFERS[layout]
    if array.length < 0 or array.offset < 0 or not is_right:
        raise ValueError(f"the Arrow array has length {array.length}, offset {array.offset} and {count} buffers; "
                         f"{_BUFFERS[layout]} buffers are needed")
    made = _native.Array(layout=layout, width=width, first=array.offset, count=array.length,
                         validity=array.buffers[0] if array.null_count != 0 else None, data=array.buffers[1])
    if layout == _native.VIEWS:  # views, any number of buffers, and the sizes of these
        made.buffers = ctypes.addressof(array.buffers.contents) + 2 * ctypes.sizeof(ctypes.c_void_p)
        made.buffer_sizes, made.buffer_count = array.buffers[count - 1], count - 3
    elif layout != _native.FIXED_WIDTH:
        made.offsets, made.data = array.buffers[1], array.buffers[2]
    return made


def _pointer_in(capsule: Any, name: bytes) -> int:
    get = ctypes.pythonapi["PyCapsule_GetPointer"]
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    address: int = get(capsule, name)
    return address
