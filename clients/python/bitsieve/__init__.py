"""Bitsieve's filters inside a Python program, by its shared library libbitsieve.so.1; nothing is compiled.

    from bitsieve import Filter

    with Filter(error_rate=0.001, capacity=1_000_000) as seen:
        seen.add("alice")             # True: it is new
        "alice" in seen               # True: probably added
        "bob" in seen                 # False: definitely not added
        seen.save("seen.bsf")

    with Filter.map("seen.bsf") as seen:
        seen.may_contain_many(["alice", "bob"])  # [True, False]

Items are bytes, or str, of which the UTF-8 bytes are taken: as redis-py sends them. The files are those of
`bitsieve export` and `bitsieve import`.

Threads: as the C library: a filter may be used by many threads, but no call may run beside freeze() and close() of the
same filter. Calls give up Python's lock while they work.
"""

import ctypes
import os
from typing import Iterable, List, NamedTuple, Optional, Union

__all__ = ["Filter", "Description", "BitsieveError", "InvalidArgumentError", "OutOfMemoryError", "CorruptError",
           "UnsupportedError", "FileError", "FullError"]

Item = Union[str, bytes]


class BitsieveError(Exception):
    """What every error of this module derives from."""


class InvalidArgumentError(BitsieveError, ValueError):
    """A parameter is outside of its range."""


class OutOfMemoryError(BitsieveError, MemoryError):
    """Memory is refused, by the system or by the filter's limit."""


class CorruptError(BitsieveError):
    """The file or the bytes are damaged, or no filter."""


class UnsupportedError(BitsieveError):
    """The filter's type, or its being mapped or frozen, does not allow it."""


class FileError(BitsieveError, OSError):
    """The system could not read or write a file."""


class FullError(BitsieveError):
    """The filter takes no further item."""


class Description(NamedTuple):
    """What a filter is and holds, as of one moment."""

    type: str
    error_rate: float  # as requested
    capacity: int  # items, over all sub-filters
    items: int  # counted as new; of a type that can remove, additions less removals
    size_bytes: int  # of a mapped filter, of its file
    seed: int
    sub_filters: int
    is_mapped: bool
    false_positives: int  # that are known, of a filter of type blocked, classic or ribbon


# The rest mirrors clients/c/bitsieve.h.
_ERRORS = {1: InvalidArgumentError, 2: OutOfMemoryError, 3: CorruptError, 4: UnsupportedError, 5: FileError,
           6: FullError}


class _Error(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 512)]


class _TypeOption(ctypes.Structure):
    _fields_ = [("word", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class _Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("type", ctypes.c_char_p), ("error_rate", ctypes.c_double),
                ("capacity", ctypes.c_uint64), ("expansion", ctypes.c_int64), ("tightening_ratio", ctypes.c_double),
                ("has_seed", ctypes.c_int), ("seed", ctypes.c_uint64), ("type_options", ctypes.POINTER(_TypeOption)),
                ("type_option_count", ctypes.c_size_t), ("memory_limit_bytes", ctypes.c_uint64)]


class _Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("error_rate", ctypes.c_double), ("capacity", ctypes.c_uint64),
                ("items", ctypes.c_uint64), ("size_bytes", ctypes.c_uint64), ("seed", ctypes.c_uint64),
                ("sub_filters", ctypes.c_uint32), ("is_mapped", ctypes.c_int),
                ("false_positives", ctypes.c_uint32)]


def _load_library():
    library = ctypes.CDLL("libbitsieve.so.1")
    handle, error = ctypes.c_void_p, ctypes.POINTER(_Error)
    item = [ctypes.c_char_p, ctypes.c_size_t]
    items = [ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_size_t), ctypes.c_size_t, ctypes.c_char_p]
    out_handle, out_byte = ctypes.POINTER(handle), ctypes.POINTER(ctypes.c_uint8)
    status = ctypes.c_int
    for name, result, *arguments in (
            ("version", ctypes.c_char_p),
            ("options_init", None, ctypes.POINTER(_Options), ctypes.c_size_t),
            ("make", status, ctypes.POINTER(_Options), out_handle, error),
            ("load", status, ctypes.c_char_p, out_handle, error),
            ("map", status, ctypes.c_char_p, out_handle, error),
            ("from_bytes", status, *item, out_handle, error),
            ("free", None, handle),
            ("add", status, handle, *item, out_byte, error),
            ("add_many", status, handle, *items, error),
            ("may_contain", ctypes.c_int, handle, *item),
            ("may_contain_many", None, handle, *items),
            ("remove", status, handle, *item, out_byte, error),
            ("note_false_positive", status, handle, *item, out_byte, error),
            ("count", status, handle, *item, ctypes.POINTER(ctypes.c_uint64), error),
            ("merge", status, handle, handle, error),
            ("freeze", status, handle, error),
            ("save", status, handle, ctypes.c_char_p, error),
            ("to_bytes", status, handle, out_handle, ctypes.POINTER(ctypes.c_size_t), error),
            ("free_bytes", None, ctypes.c_void_p),
            ("verify", status, handle, error),
            ("describe", status, handle, ctypes.POINTER(_Description), ctypes.c_size_t)):
        function = getattr(library, "bitsieve_" + name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load_library()


def version() -> str:
    """The version of the library, such as "0.1.0"."""
    return _library.bitsieve_version().decode()


def _call(name, *arguments):
    """Calls a function that returns a status; raises what it reports."""
    error = _Error()
    status = getattr(_library, "bitsieve_" + name)(*arguments, ctypes.byref(error))
    if status != 0:
        raise _ERRORS[status](error.message.decode(errors="replace"))


def _bytes_of(item: Item) -> bytes:
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode()
    raise TypeError(f"an item must be bytes or str, not {type(item).__name__}")


class _Batch:
    """Items as the C functions take them, and a place for an answer to each."""

    def __init__(self, items: Iterable[Item]):
        self.items = [_bytes_of(item) for item in items]  # holds the bytes that the pointers point to
        count = len(self.items)
        self.answers = ctypes.create_string_buffer(count)
        pointers = (ctypes.c_char_p * count)(*self.items)
        sizes = (ctypes.c_size_t * count)(*map(len, self.items))
        self.arguments = (pointers, sizes, count, self.answers)

    def booleans(self) -> List[bool]:
        return [answer != 0 for answer in self.answers.raw]


class Filter:
    """A filter, new or read from a file. close() frees it, as does leaving its `with` block."""

    def __init__(self, type: str = "blocked", error_rate: float = 0.01, capacity: int = 100, *,
                 expansion: Optional[int] = None, tightening_ratio: Optional[float] = None, seed: Optional[int] = None,
                 memory_limit_bytes: int = 0, **type_options):
        """An empty filter, with the options of BF.RESERVE.

        type                blocked, classic, counting, cuckoo, window, fingerprint, ribbon or redisbloom
        error_rate          share of false positives that is requested, from 1e-9 to 0.25
        capacity            items that it is made for, from 1 to 2**30
        expansion           capacity of a further sub-filter over that of the one before; 0: it does not grow
        tightening_ratio    between 0 and 1
        seed                filters to be merged have the same; by default one that cannot be foreseen
        memory_limit_bytes  0: none
        type_options        those of the type, by the words of BF.RESERVE in lower case: hash="sip", window="24h"
        """
        self._handle = ctypes.c_void_p()
        for name, value, largest in (("capacity", capacity, 2**64 - 1), ("seed", seed or 0, 2**64 - 1),
                                     ("expansion", expansion or 0, 2**32 - 1),
                                     ("memory_limit_bytes", memory_limit_bytes, 2**64 - 1)):
            if not 0 <= value <= largest:
                raise InvalidArgumentError(f"{name} {value} is not between 0 and {largest}")
        options = _Options()
        _library.bitsieve_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.type, options.error_rate, options.capacity = type.encode(), error_rate, capacity
        options.memory_limit_bytes = memory_limit_bytes
        if expansion is not None:
            options.expansion = expansion
        if tightening_ratio is not None:
            if not 0 < tightening_ratio < 1:
                raise InvalidArgumentError(f"tightening_ratio {tightening_ratio} is not between 0 and 1")
            options.tightening_ratio = tightening_ratio
        if seed is not None:
            options.has_seed, options.seed = 1, seed
        pairs = [_TypeOption(word.upper().encode(), str(value).encode()) for word, value in type_options.items()]
        options.type_options, options.type_option_count = (_TypeOption * len(pairs))(*pairs), len(pairs)
        _call("make", ctypes.byref(options), ctypes.byref(self._handle))

    @classmethod
    def load(cls, path) -> "Filter":
        """A filter of any type from a file, read whole and verified."""
        return cls._made("load", os.fsencode(path))

    @classmethod
    def map(cls, path) -> "Filter":
        """A filter to look items up in, where its file lies: opened at once, shared by all processes that map it. Types
        blocked, classic, counting, cuckoo, fingerprint, and ribbon once frozen. The bits are not verified (verify()
        does that); the file must not be overwritten or cut short meanwhile, but may be replaced by another."""
        return cls._made("map", os.fsencode(path))

    @classmethod
    def from_bytes(cls, dump: bytes) -> "Filter":
        """A filter from what BF.DUMP of a server returns, or to_bytes()."""
        return cls._made("from_bytes", dump, len(dump))

    @classmethod
    def _made(cls, function, *arguments):
        made = cls.__new__(cls)
        made._handle = ctypes.c_void_p()
        _call(function, *arguments, ctypes.byref(made._handle))
        return made

    def add(self, item: Item) -> bool:
        """Adds an item; True if it is new."""
        data, added = _bytes_of(item), ctypes.c_uint8()
        _call("add", self._open(), data, len(data), ctypes.byref(added))
        return added.value != 0

    def add_many(self, items: Iterable[Item]) -> List[bool]:
        """Adds items in order; True for each that is new. Much faster than one by one. If it raises, some of the items
        may have been added."""
        batch = _Batch(items)
        _call("add_many", self._open(), *batch.arguments)
        return batch.booleans()

    def may_contain(self, item: Item) -> bool:
        """True: probably added. False: definitely not."""
        data = _bytes_of(item)
        return _library.bitsieve_may_contain(self._open(), data, len(data)) != 0

    def __contains__(self, item: Item) -> bool:
        return self.may_contain(item)

    def may_contain_many(self, items: Iterable[Item]) -> List[bool]:
        """The same for many, much faster than one by one."""
        batch = _Batch(items)
        _library.bitsieve_may_contain_many(self._open(), *batch.arguments)
        return batch.booleans()

    def remove(self, item: Item) -> bool:
        """Takes one addition back; False if the item is not there. Only what was added may be removed."""
        data, removed = _bytes_of(item), ctypes.c_uint8()
        _call("remove", self._open(), data, len(data), ctypes.byref(removed))
        return removed.value != 0

    def note_false_positive(self, item: Item) -> bool:
        """Notes that an item is a false positive: may_contain() is False for it until it is added. Only what was never
        added may be noted: an item that was added would be missed. False if may_contain() is False anyway. Of the types
        blocked, classic and ribbon."""
        data, noted = _bytes_of(item), ctypes.c_uint8()
        _call("note_false_positive", self._open(), data, len(data), ctypes.byref(noted))
        return noted.value != 0

    def count(self, item: Item) -> int:
        """How often the item was added, less removals; too high at times."""
        data, count = _bytes_of(item), ctypes.c_uint64()
        _call("count", self._open(), data, len(data), ctypes.byref(count))
        return count.value

    def merge(self, other: "Filter") -> None:
        """Adds all that another filter holds, of the same type, seed, error rate and capacity."""
        _call("merge", self._open(), other._open())

    def freeze(self) -> None:
        """Turns a ribbon filter that collects items into its smallest form, which takes no further ones."""
        _call("freeze", self._open())

    def save(self, path) -> None:
        """Writes a file, which appears under its name when it is whole and on the disk."""
        _call("save", self._open(), os.fsencode(path))

    def to_bytes(self) -> bytes:
        """The bytes of that file, for BF.RESTORE of a server and from_bytes()."""
        data, size = ctypes.c_void_p(), ctypes.c_size_t()
        _call("to_bytes", self._open(), ctypes.byref(data), ctypes.byref(size))
        try:
            return ctypes.string_at(data, size.value)
        finally:
            _library.bitsieve_free_bytes(data)

    def verify(self) -> None:
        """Reads the whole file of a mapped filter; raises CorruptError if it is damaged."""
        _call("verify", self._open())

    def describe(self) -> Description:
        """What it is and holds."""
        found = _Description()
        if _library.bitsieve_describe(self._open(), ctypes.byref(found), ctypes.sizeof(found)) != 0:
            raise OutOfMemoryError("there is no memory")
        return Description(found.type.decode(), found.error_rate, found.capacity, found.items, found.size_bytes,
                           found.seed, found.sub_filters, found.is_mapped != 0, found.false_positives)

    def close(self) -> None:
        """Frees it; once more does nothing."""
        handle, self._handle = self._handle, ctypes.c_void_p()
        _library.bitsieve_free(handle)

    def __enter__(self) -> "Filter":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __del__(self):
        # At the interpreter's end, or if it was never made, there may be nothing to free.
        if _library is not None and getattr(self, "_handle", None):
            self.close()

    def _open(self):
        if not self._handle:
            raise ValueError("the filter is closed")
        return self._handle
