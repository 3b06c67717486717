"""Bitsieve's filters inside a Python program, with the shared library libbitsieve.so.1; nothing is compiled.

    from bitsieve import Filter

    with Filter(error_rate=0.001, capacity=1_000_000) as seen:
        seen.add("alice")             # True: it is new
        "alice" in seen               # True: probably added
        "bob" in seen                 # False: definitely not added
        seen.save("seen.bsf")

    with Filter.map("seen.bsf") as seen:
        seen.may_contain_many(["alice", "bob"])  # [True, False]

Items are bytes, or str, which is converted to its UTF-8 bytes as redis-py does. The files are those of
`bitsieve export` and `bitsieve import`.

Threads: many threads may use a filter; calls release Python's global lock while they work. close() during calls of
other threads closes the filter for all further calls and frees it when the last running call ends. freeze() during
other calls is refused. After os.fork() the child has a copy of each filter; it must not use a filter that another
thread was changing at that moment.

Errors: each method names the errors that it can raise. In addition, all of them raise ValueError if the filter is
closed, and UnsupportedError while another thread freezes it. Methods that take items raise TypeError if one is neither
str nor bytes.

A filter cannot be copied or pickled: `Filter.from_bytes(filter.to_bytes())` makes another one with the same content.
"""

import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any, Iterable, List, NoReturn, Optional, Type, TypeVar, Union, overload

from . import _items, _native
from ._calls import (BitsieveError, CorruptError, Description, FileError, FilePath, FullError, InvalidArgumentError,
                     OutOfMemoryError, UnsupportedError, bytes_from, call, description_from, integer, milliseconds,
                     path_of, real, text_of)
from ._followed import FollowedFilter, FollowerState
from ._handle import Handle, Owner
from ._items import Item, bytes_of
from ._lookups import Lookups

if TYPE_CHECKING:
    from ._typing import ItemArray, NumpyArray

__all__ = ["Filter", "FollowedFilter", "FollowerState", "Description", "FilePath", "Item", "version",
           "BitsieveError", "InvalidArgumentError", "OutOfMemoryError", "CorruptError", "UnsupportedError",
           "FileError", "FullError"]

_AnyFilter = TypeVar("_AnyFilter", bound="Filter")


def version() -> str:
    """Returns the version of the library, such as "1.0.0"."""
    text: bytes = _native.library.bitsieve_version()
    return text.decode()


class Filter(Lookups):
    """A filter, either new or read from a file. close() frees it, and so does leaving its `with` block."""

    def __init__(self, type: str = "blocked", error_rate: float = 0.01, capacity: int = 100, *,
                 expansion: Optional[int] = None, tightening_ratio: Optional[float] = None, seed: Optional[int] = None,
                 memory_limit_bytes: int = 0, **type_options: Union[str, int]) -> None:
        """Makes an empty filter, with the options of BF.RESERVE.

        type                blocked, classic, counting, cuckoo, window, expiring, fingerprint, ribbon or redisbloom
        error_rate          requested error rate, from 1e-9 to 0.25
        capacity            number of items that the filter is made for, from 1 to 2**30
        expansion           capacity of a further sub-filter divided by that of the previous one; 0: the filter does not
                            grow. The default is 2, or 0 for a type that never grows
        tightening_ratio    error rate of each further sub-filter divided by that of the previous one, between 0 and 1;
                            the default is 0.8
        seed                below 2**64; filters can be merged only if their seeds are equal. The default is random
        memory_limit_bytes  maximum number of bytes that the filter may take; 0: no limit
        type_options        options of the type, in the words of BF.RESERVE in lower case: hash="sip", window="24h"

        Raises InvalidArgumentError, which names the first option that is out of its range, and the range;
        OutOfMemoryError; and TypeError for a value of the wrong type.
        """
        options = _native.Options()
        _native.library.bitsieve_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.type, options.error_rate = text_of("type", type), real("error_rate", error_rate)
        options.capacity = integer("capacity", capacity, 2**64 - 1)
        options.memory_limit_bytes = integer("memory_limit_bytes", memory_limit_bytes, 2**64 - 1)
        if expansion is not None:
            options.expansion = integer("expansion", expansion, 2**32 - 1)
        if tightening_ratio is not None:
            options.tightening_ratio = real("tightening_ratio", tightening_ratio)
            if not 0 < options.tightening_ratio < 1:
                raise InvalidArgumentError(f"tightening_ratio {tightening_ratio} is not between 0 and 1")
        if seed is not None:
            options.has_seed, options.seed = 1, integer("seed", seed, 2**64 - 1)
        pairs = [_native.TypeOption(text_of("an option", word.upper()), text_of(word, str(value)))
                 for word, value in type_options.items()]
        options.type_options, options.type_option_count = (_native.TypeOption * len(pairs))(*pairs), len(pairs)
        self._make("make", ctypes.byref(options))

    @classmethod
    def load(cls: Type[_AnyFilter], path: FilePath) -> _AnyFilter:
        """Reads a filter of any type from a file into memory, and verifies it.

        Raises FileError if the file cannot be read, CorruptError if it is damaged or not a filter, UnsupportedError if
        it is of a newer version, and OutOfMemoryError.
        """
        return cls._made("load", path_of(path))

    @classmethod
    def map(cls: Type[_AnyFilter], path: FilePath) -> _AnyFilter:
        """Maps a file, in which items are then looked up in place: it opens at once, and all processes that map it
        share one copy. Supports the types blocked, classic, counting, cuckoo, fingerprint, and ribbon once frozen.

        The bits are not verified; verify() does that. The file may be replaced by renaming another file over it, but
        must not be overwritten or truncated while it is mapped: that ends the process.

        Raises what load() raises, and UnsupportedError for another type.
        """
        return cls._made("map", path_of(path))

    @classmethod
    def from_bytes(cls: Type[_AnyFilter], dump: Union[bytes, bytearray, memoryview]) -> _AnyFilter:
        """Reads a filter from the bytes that a server's BF.DUMP or to_bytes() returned.

        Raises CorruptError if they are damaged or not a filter, UnsupportedError if they are of a newer version, and
        OutOfMemoryError.
        """
        if isinstance(dump, (bytearray, memoryview)):
            dump = bytes(dump)
        if not isinstance(dump, bytes):
            raise TypeError(f"a dump must be bytes, not {type(dump).__name__}")
        dump = bytes_of(dump)
        return cls._made("from_bytes", dump, len(dump))

    @classmethod
    def _made(cls: Type[_AnyFilter], function: str, *arguments: Any) -> _AnyFilter:
        made = cls.__new__(cls)
        made._make(function, *arguments)
        return made

    def _make(self, function: str, *arguments: Any) -> None:
        owner = Owner()
        call(function, *arguments, ctypes.byref(owner.pointer))
        self._changing = threading.Lock()
        self._handle, self._is_closed = Handle(owner), False

    def add(self, item: Item, time_to_live: Optional[float] = None) -> bool:
        """Adds an item; returns True if it is new, and False if it was probably there.

        time_to_live, for filters of type expiring, is the time in seconds after which the item expires, from 0.001 to
        the filter's TTL, which is the default.

        Raises FullError if the filter accepts no further items, OutOfMemoryError if it had to grow and memory was
        refused, UnsupportedError if it is mapped or frozen, or its items do not expire, and InvalidArgumentError if
        items cannot have this time.
        """
        data, added = bytes_of(item), ctypes.c_uint8()
        if time_to_live is None:
            call("add", self._open(), data, len(data), ctypes.byref(added))
        else:
            call("add_for", self._open(), data, len(data), milliseconds("time_to_live", time_to_live),
                 ctypes.byref(added))
        return added.value != 0

    def time_to_live(self, item: Item) -> Optional[float]:
        """Returns the seconds for which the item will be found, or None if it is not there.

        Raises UnsupportedError if the items of the type do not expire (those of expiring do).
        """
        data, left_ms = bytes_of(item), ctypes.c_int64()
        call("time_to_live", self._open(), data, len(data), ctypes.byref(left_ms))
        return None if left_ms.value < 0 else left_ms.value / 1000

    def touch(self, item: Item) -> bool:
        """Lets the item, if it is there, expire a whole TTL of the filter from now; returns whether it was there.

        Raises UnsupportedError if the items of the type do not expire (those of expiring do), or the filter is mapped.
        """
        data, touched = bytes_of(item), ctypes.c_uint8()
        call("touch", self._open(), data, len(data), ctypes.byref(touched))
        return touched.value != 0

    @overload
    def add_many(self, items: "NumpyArray") -> Any: ...
    @overload
    def add_many(self, items: "ItemArray") -> memoryview: ...
    @overload
    def add_many(self, items: Iterable[Item]) -> List[bool]: ...

    def add_many(self, items: Any) -> Any:
        """Adds items in order, which is much faster than one by one; returns True for each that is new.

        items may be an iterable or an array. No item of an array is copied, and the array must not change during the
        call. The result depends on it:

        NumPy array     of dtype S<n>: strings, without zeros at their end, as in items[0]; V<n>: all n bytes; integers:
                        the bytes of items[0].tobytes(), so that 5 is one item as int32 and another one as int64; U and
                        object: text and bytes, which are converted one by one. Returns a NumPy array of bool
        Arrow array     or a stream of them, such as a chunked array, with __arrow_c_array__ or __arrow_c_stream__; of
                        strings, bytes and integers. Nulls are not added, and their result is False. Returns a
                        memoryview of bool: it has a length, an index and tolist()
        other buffers   with one of the formats s, x and integers, such as array.array("q"); as in NumPy. Returns a
                        memoryview of bool
        iterable        of bytes and str. Returns a list of bool

        Raises the errors of add(); some of the items may then have been added. Raises TypeError for arrays of other
        types, ValueError for those with gaps between items or several dimensions, and OSError if a stream fails.
        """
        return _items.answers_of(
            items, lambda array, answers: call("add_array", self._open(), ctypes.byref(array), answers))

    def remove(self, item: Item) -> bool:
        """Removes one addition of the item; returns False if the item is not there.

        Remove only items that were added: removing a false positive can cause false negatives for items that were
        added. Raises UnsupportedError if the type cannot remove items (counting, cuckoo and expiring can), or the
        filter is mapped.
        """
        data, removed = bytes_of(item), ctypes.c_uint8()
        call("remove", self._open(), data, len(data), ctypes.byref(removed))
        return removed.value != 0

    def note_false_positive(self, item: Item) -> bool:
        """Records an item as a known false positive: may_contain() returns False for it until it is added. Returns
        False if may_contain() does so anyway.

        Record only items that were never added: an item that was added would be missed. Raises FullError if 65,536
        items are recorded already, UnsupportedError for types other than blocked, classic and ribbon and for mapped
        filters, and OutOfMemoryError.
        """
        data, noted = bytes_of(item), ctypes.c_uint8()
        call("note_false_positive", self._open(), data, len(data), ctypes.byref(noted))
        return noted.value != 0

    def count(self, item: Item) -> int:
        """Returns how often the item was added minus how often it was removed; the number may be too high.

        Raises UnsupportedError if the type cannot count items (counting and cuckoo can).
        """
        data, count = bytes_of(item), ctypes.c_uint64()
        call("count", self._open(), data, len(data), ctypes.byref(count))
        return count.value

    def merge(self, other: "Filter") -> None:
        """Adds all items of another filter, which must have the same type, seed, error rate and capacity.

        Raises InvalidArgumentError, which names what differs, or the type if it cannot be merged (blocked, classic and
        counting can); and UnsupportedError if this filter is mapped.
        """
        if not isinstance(other, Filter):
            raise TypeError(f"only a Filter can be merged, not {type(other).__name__}")
        call("merge", self._open(), other._open())

    def fold(self, capacity: int) -> None:
        """Makes the filter smaller, for capacity items, without losing any: for one that was made for more items than
        will come. Filters of the types blocked and classic that have not grown can be folded, if blocked from an error
        rate of 0.00025 on.

        No other thread may use the filter: if one does, fold() raises UnsupportedError, and so do calls that begin
        before it is done. fold() also raises InvalidArgumentError, which says what would be right, if the filter cannot
        be folded or holds more items, UnsupportedError for mapped filters, and OutOfMemoryError.
        """
        self._call_alone("fold", "folded", integer("capacity", capacity, 2**64 - 1))

    def freeze(self) -> None:
        """Converts a ribbon filter that collects items into its smallest form, which accepts no further items. Takes
        about a second for ten million items.

        No other thread may use the filter: if one does, freeze() raises UnsupportedError, and so do calls that begin
        before it is done. freeze() also raises UnsupportedError for other types and mapped filters, and
        OutOfMemoryError.
        """
        self._call_alone("freeze", "frozen")

    def _call_alone(self, name: str, participle: str, *arguments: Any) -> None:
        handle = self._open()
        owner, in_use = handle.owner, weakref.ref(handle)
        del handle  # from here on only calls of others hold it
        if not self._changing.acquire(blocking=False):
            raise UnsupportedError("another thread is folding or freezing the filter")
        self._handle = None
        try:
            if in_use() is not None:
                raise UnsupportedError(f"the filter cannot be {participle} while other threads use it")
            call(name, owner.pointer, *arguments)
        finally:
            self._handle = None if self._is_closed else in_use() or Handle(owner)
            self._changing.release()

    def save(self, path: FilePath) -> None:
        """Writes the filter to a file, which appears under its name when it is complete and durable; an existing file
        is replaced in one step. Other threads may add items during the call.

        Raises FileError, and OutOfMemoryError if there was no memory for copies of what changed during the call.
        """
        call("save", self._open(), path_of(path))

    def to_bytes(self) -> bytes:
        """Returns the bytes that save() writes, for a server's BF.RESTORE and for from_bytes().

        Raises OutOfMemoryError.
        """
        return bytes_from("to_bytes", self._open())

    def verify(self) -> None:
        """Reads the whole file of a mapped filter; raises CorruptError if it is damaged. All other filters were
        verified when they were read."""
        call("verify", self._open())

    def describe(self) -> Description:
        """Returns the parameters and the state of the filter. Raises OutOfMemoryError."""
        return description_from("describe", self._open())

    def close(self) -> None:
        """Closes the filter, and frees it once no call of another thread uses it. Closing a closed filter does
        nothing."""
        self._is_closed, self._handle = True, None

    # copy.copy(), copy.deepcopy() and pickle all come here.
    def __reduce_ex__(self, protocol: Any = None) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: Filter.from_bytes(filter.to_bytes()) "
                        "makes another one, and save() and Filter.map() share one between processes")

    __reduce__ = __reduce_ex__

    # An object that no function of this class made is closed.
    _handle: Optional[Handle] = None
    _is_closed = True

    def _open(self) -> Handle:
        handle = self._handle
        if handle is not None and handle.owner.pointer:
            return handle
        if self._is_closed or handle is not None:
            raise ValueError("the filter is closed")
        raise UnsupportedError("another thread is folding or freezing the filter")
