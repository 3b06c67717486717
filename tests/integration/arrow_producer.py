"""A producer of Arrow arrays, as pyarrow is one: columns and streams of columns in the structures of Arrow's C data
interface, inside capsules. `living` counts the structures that have not been released yet."""

import array
import ctypes
import errno
import struct

_POINTER, _INT64 = ctypes.c_void_p, ctypes.c_int64
_Release = ctypes.CFUNCTYPE(None, _POINTER)
_Fill = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER)
_LastError = ctypes.CFUNCTYPE(_POINTER, _POINTER)
_Destroy = ctypes.PYFUNCTYPE(None, _POINTER)


class _Schema(ctypes.Structure):
    _fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", _POINTER), ("flags", _INT64),
                ("n_children", _INT64), ("children", _POINTER), ("dictionary", _POINTER), ("release", _POINTER),
                ("private_data", _POINTER)]


class _Array(ctypes.Structure):
    _fields_ = [("length", _INT64), ("null_count", _INT64), ("offset", _INT64), ("n_buffers", _INT64),
                ("n_children", _INT64), ("buffers", _POINTER), ("children", _POINTER), ("dictionary", _POINTER),
                ("release", _POINTER), ("private_data", _POINTER)]


class _Stream(ctypes.Structure):
    _fields_ = [("get_schema", _POINTER), ("get_next", _POINTER), ("get_last_error", _POINTER), ("release", _POINTER),
                ("private_data", _POINTER)]


_held = {}  # what the structures point to, by their private_data


def living():
    return len(_held)


def _hold(structure, *objects):
    structure.private_data = max(_held, default=0) + 1
    _held[structure.private_data] = objects


def _release_function(structure_type):
    def release(address):
        structure = structure_type.from_address(address)
        del _held[structure.private_data]
        structure.release = None
    return _Release(release)


_RELEASES = {each: _release_function(each) for each in (_Schema, _Array, _Stream)}
_NAMES = {_Schema: b"arrow_schema", _Array: b"arrow_array", _Stream: b"arrow_array_stream"}
_in_capsules = {}


def _address(function):
    return ctypes.cast(function, _POINTER).value


def _destroyer(structure_type):
    def destroy(capsule):  # an address: the capsule has no references left
        get = ctypes.pythonapi["PyCapsule_GetPointer"]
        get.restype, get.argtypes = _POINTER, (_POINTER, ctypes.c_char_p)
        structure = _in_capsules.pop(get(capsule, _NAMES[structure_type]))
        if structure.release:
            _RELEASES[structure_type](ctypes.addressof(structure))
    return _Destroy(destroy)


_DESTROYERS = {each: _destroyer(each) for each in _NAMES}


def _capsule(structure):
    make = ctypes.pythonapi["PyCapsule_New"]
    make.restype, make.argtypes = ctypes.py_object, (_POINTER, ctypes.c_char_p, _Destroy)
    _in_capsules[ctypes.addressof(structure)] = structure
    return make(ctypes.addressof(structure), _NAMES[type(structure)], _DESTROYERS[type(structure)])


class Column:
    """An Arrow array of a format, with its buffers as bytes or None: validity, then offsets and data."""

    def __init__(self, form, buffers, length, offset=0, null_count=-1, dictionary=None):
        self.form, self.length, self.offset = form, length, offset
        self.buffers = [each if each is None else ctypes.create_string_buffer(each, max(1, len(each)))
                        for each in buffers]
        self.null_count, self.dictionary, self.is_released = null_count, dictionary, False

    def fill_schema(self, schema):
        form = self.form.encode()
        schema.format, schema.dictionary = form, self.dictionary
        schema.release = None if self.is_released else _address(_RELEASES[_Schema])
        _hold(schema, form)

    def fill_array(self, into):
        pointers = (_POINTER * len(self.buffers))(*[each and ctypes.addressof(each) for each in self.buffers])
        into.length, into.null_count, into.offset = self.length, self.null_count, self.offset
        into.n_buffers, into.buffers = len(pointers), ctypes.addressof(pointers)
        into.dictionary = self.dictionary
        into.release = _address(_RELEASES[_Array])
        _hold(into, self.buffers, pointers)

    def __arrow_c_array__(self, requested_schema=None):
        schema, into = _Schema(), _Array()
        self.fill_schema(schema)
        self.fill_array(into)
        return _capsule(schema), _capsule(into)


class Chunks:
    """A stream of columns, which fails with this message, if there is one, after the last of them."""

    def __init__(self, first, *more, message=None, on_next=lambda: None):
        self.columns, self.message, self.on_next = [first, *more], message, on_next

    def __arrow_c_stream__(self, requested_schema=None):
        stream, rest = _Stream(), list(self.columns)
        message = ctypes.create_string_buffer((self.message or "").encode())

        def get_schema(_, schema):
            self.columns[0].fill_schema(_Schema.from_address(schema))
            return 0

        def get_next(_, into):
            self.on_next()
            into = _Array.from_address(into)
            into.release = None
            if rest:
                rest.pop(0).fill_array(into)
                return 0
            return 0 if self.message is None else errno.EIO

        functions = (_Fill(get_schema), _Fill(get_next),
                     _LastError(lambda _: ctypes.addressof(message) if self.message else None))
        stream.get_schema, stream.get_next, stream.get_last_error = map(_address, functions)
        stream.release = _address(_RELEASES[_Stream])
        _hold(stream, functions, message)
        return _capsule(stream)


def bits_of(values):
    """A bit for each value, the lowest of each byte first."""
    return bytes(sum(bool(value) << bit for bit, value in enumerate(values[i:i + 8])) for i in range(0, len(values), 8))


def column_of(form, items, **more):
    """A column of strings or bytes of any length, None among them: of the formats u, U, z and Z."""
    present = [item or b"" for item in items]
    offsets = array.array("i" if form in "uz" else "q", [0])
    for item in present:
        offsets.append(offsets[-1] + len(item))
    validity = bits_of([item is not None for item in items]) if None in items else None
    return Column(form, [validity, offsets.tobytes(), b"".join(present)], len(items), **more)


def view_column_of(form, items, **more):
    """A column of views, of the formats vu and vz: items of more than 12 bytes are in two buffers, in turn."""
    views, buffers = [], [b"", b"more"]
    for i, item in enumerate(items):
        if item is None:
            views.append(b"\xff" * 16)  # which no view is
        elif len(item) <= 12:
            views.append(struct.pack("<i12s", len(item), item))
        else:
            views.append(struct.pack("<i4sii", len(item), item, i % 2, len(buffers[i % 2])))
            buffers[i % 2] += item
    sizes = array.array("q", map(len, buffers)).tobytes()
    return Column(form, [bits_of([item is not None for item in items]), b"".join(views), *buffers, sizes], len(items),
                  **more)
