"""Calls of the C library: its errors as exceptions, its structures as tuples, and the arguments that it takes."""

import ctypes
import operator
import os
from typing import Any, Dict, NamedTuple, Type, Union

from . import _native
from ._handle import Handle

FilePath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class BitsieveError(Exception):
    """Base class of all errors of this module."""


class InvalidArgumentError(BitsieveError, ValueError):
    """A parameter is outside its range."""


class OutOfMemoryError(BitsieveError, MemoryError):
    """The system or the filter's limit refused memory."""


class CorruptError(BitsieveError):
    """The file or the bytes are damaged, or are not a filter."""


class UnsupportedError(BitsieveError):
    """A filter of this type, or one that is mapped or frozen, does not support the operation."""


class FileError(BitsieveError, OSError):
    """The system could not read or write a file."""


class FullError(BitsieveError):
    """The filter is full and accepts no further items."""


class Description(NamedTuple):
    """The parameters and the state of a filter, as of one moment.

    type             filter type, as in Filter()
    error_rate       requested error rate, from 1e-9 to 0.25
    capacity         number of items that all sub-filters together are made for
    items            number of items counted as new; for types that can remove items, additions minus removals
    size_bytes       size of the filter in memory; for a mapped filter, the size of its file
    seed             seed of the hash function, below 2**64
    sub_filters      number of sub-filters: 1, and one more for each time that the filter grew
    is_mapped        whether the filter is mapped from a file, and therefore cannot change
    false_positives  number of known false positives; 0 for types other than blocked, classic and ribbon
    """

    type: str
    error_rate: float
    capacity: int
    items: int
    size_bytes: int
    seed: int
    sub_filters: int
    is_mapped: bool
    false_positives: int


# The numbers are those of bitsieve_status in clients/c/bitsieve.h.
_ERRORS: Dict[int, Type[BitsieveError]] = {
    1: InvalidArgumentError, 2: OutOfMemoryError, 3: CorruptError, 4: UnsupportedError, 5: FileError,
    6: FullError}


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status; raises the error that it reports."""
    error = _native.ErrorMessage()
    status = getattr(_native.library, "bitsieve_" + name)(*arguments, ctypes.byref(error))
    if status != 0:
        del arguments  # the error's traceback would keep a closed filter from being freed
        raise _ERRORS.get(status, BitsieveError)(error.message.decode(errors="replace"))


def text_of(name: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    return without_nul(name, str.encode(value))


def path_of(path: FilePath) -> bytes:
    return without_nul("the path", os.fsencode(path))


def without_nul(name: str, text: bytes) -> bytes:
    if b"\0" in text:  # would end it in C
        raise InvalidArgumentError(f"{name} holds a NUL byte: {text!r}")
    return text


def integer(name: str, value: Any, largest: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if not 0 <= number <= largest:
        raise InvalidArgumentError(f"{name} {number} is not between 0 and {largest}")
    return number


def real(name: str, value: Any) -> float:
    try:
        return float(value + 0)  # not of a str
    except TypeError:
        raise TypeError(f"{name} must be a number, not {type(value).__name__}") from None
    except OverflowError:
        raise InvalidArgumentError(f"{name} is too large") from None


def milliseconds(name: str, seconds: Any) -> int:
    result = real(name, seconds) * 1000
    if not 0 <= result < 2**63:
        raise InvalidArgumentError(f"{name} {seconds} is not a time in seconds")
    return round(result)


def bytes_from(function: str, handle: Handle) -> bytes:
    """Returns the bytes of a dump that a function of the library makes."""
    data, size = ctypes.c_void_p(), ctypes.c_size_t()
    call(function, handle, ctypes.byref(data), ctypes.byref(size))
    try:
        # string_at() takes sizes below 2 GiB.
        return ctypes.cast(data, ctypes.POINTER(ctypes.c_char * size.value)).contents.raw
    finally:
        _native.library.bitsieve_free_bytes(data)


def description_from(function: str, handle: Handle) -> Description:
    found = _native.Description()
    if getattr(_native.library, "bitsieve_" + function)(handle, ctypes.byref(found), ctypes.sizeof(found)) != 0:
        raise OutOfMemoryError("out of memory")
    return Description(found.type.decode(), found.error_rate, found.capacity, found.items, found.size_bytes,
                       found.seed, found.sub_filters, found.is_mapped != 0, found.false_positives)
