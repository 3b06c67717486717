"""libbitsieve.so.1 by ctypes: its structures and functions, which mirror clients/c/bitsieve.h."""

import ctypes
import os
from typing import Any


class ErrorMessage(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 512)]


class TypeOption(ctypes.Structure):
    _fields_ = [("word", ctypes.c_char_p), ("value", ctypes.c_char_p)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("type", ctypes.c_char_p), ("error_rate", ctypes.c_double),
                ("capacity", ctypes.c_uint64), ("expansion", ctypes.c_int64), ("tightening_ratio", ctypes.c_double),
                ("has_seed", ctypes.c_int), ("seed", ctypes.c_uint64), ("type_options", ctypes.POINTER(TypeOption)),
                ("type_option_count", ctypes.c_size_t), ("memory_limit_bytes", ctypes.c_uint64)]


class Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("error_rate", ctypes.c_double), ("capacity", ctypes.c_uint64),
                ("items", ctypes.c_uint64), ("size_bytes", ctypes.c_uint64), ("seed", ctypes.c_uint64),
                ("sub_filters", ctypes.c_uint32), ("is_mapped", ctypes.c_int),
                ("false_positives", ctypes.c_uint32)]


class FollowOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("interval_ms", ctypes.c_uint64), ("timeout_ms", ctypes.c_uint64),
                ("cache_path", ctypes.c_char_p), ("memory_limit_bytes", ctypes.c_uint64)]


class FollowerState(ctypes.Structure):
    _fields_ = [("staleness_ms", ctypes.c_int64), ("dumps_read", ctypes.c_uint64), ("position", ctypes.c_char * 64),
                ("trouble", ctypes.c_char * 512)]


# The numbers are those of bitsieve_array_layout.
FIXED_WIDTH, PADDED, OFFSETS_32, OFFSETS_64, VIEWS = range(5)


class Array(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("layout", ctypes.c_int), ("data", ctypes.c_void_p),
                ("offsets", ctypes.c_void_p), ("width", ctypes.c_size_t), ("validity", ctypes.c_void_p),
                ("first", ctypes.c_size_t), ("count", ctypes.c_size_t), ("buffers", ctypes.c_void_p),
                ("buffer_sizes", ctypes.c_void_p), ("buffer_count", ctypes.c_size_t)]
    count: int

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(Array), **fields)


def _load() -> ctypes.CDLL:
    try:
        bundled = os.path.join(os.path.dirname(__file__), "libbitsieve.so.1")  # wheels bring it
        loaded = ctypes.CDLL(bundled if os.path.exists(bundled) else "libbitsieve.so.1")
    except OSError as problem:
        raise ImportError(f"{problem}; the package libbitsieve1 installs it, and LD_LIBRARY_PATH can name the folder "
                          "where it was built") from problem
    handle, error = ctypes.c_void_p, ctypes.POINTER(ErrorMessage)
    item = (ctypes.c_char_p, ctypes.c_size_t)
    array = (ctypes.POINTER(Array), ctypes.c_void_p)
    out_handle, out_byte = ctypes.POINTER(handle), ctypes.POINTER(ctypes.c_uint8)
    status = ctypes.c_int
    functions = {
        "version": (ctypes.c_char_p,),
        "options_init": (None, ctypes.POINTER(Options), ctypes.c_size_t),
        "make": (status, ctypes.POINTER(Options), out_handle, error),
        "load": (status, ctypes.c_char_p, out_handle, error),
        "map": (status, ctypes.c_char_p, out_handle, error),
        "from_bytes": (status, *item, out_handle, error),
        "free": (None, handle),
        "add": (status, handle, *item, out_byte, error),
        "add_array": (status, handle, *array, error),
        "may_contain": (ctypes.c_int, handle, *item),
        "may_contain_array": (status, handle, *array, error),
        "remove": (status, handle, *item, out_byte, error),
        "add_for": (status, handle, *item, ctypes.c_uint64, out_byte, error),
        "time_to_live": (status, handle, *item, ctypes.POINTER(ctypes.c_int64), error),
        "touch": (status, handle, *item, out_byte, error),
        "note_false_positive": (status, handle, *item, out_byte, error),
        "count": (status, handle, *item, ctypes.POINTER(ctypes.c_uint64), error),
        "merge": (status, handle, handle, error),
        "fold": (status, handle, ctypes.c_uint64, error),
        "freeze": (status, handle, error),
        "save": (status, handle, ctypes.c_char_p, error),
        "to_bytes": (status, handle, out_handle, ctypes.POINTER(ctypes.c_size_t), error),
        "free_bytes": (None, ctypes.c_void_p),
        "verify": (status, handle, error),
        "describe": (status, handle, ctypes.POINTER(Description), ctypes.c_size_t),
        "follow_options_init": (None, ctypes.POINTER(FollowOptions), ctypes.c_size_t),
        "follow": (status, ctypes.c_char_p, *item, ctypes.POINTER(FollowOptions), out_handle, error),
        "follower_free": (None, handle),
        "follower_may_contain": (ctypes.c_int, handle, *item),
        "follower_may_contain_array": (status, handle, *array, error),
        "follower_get_state": (status, handle, ctypes.POINTER(FollowerState), ctypes.c_size_t),
        "follower_describe": (status, handle, ctypes.POINTER(Description), ctypes.c_size_t),
        "follower_to_bytes": (status, handle, out_handle, ctypes.POINTER(ctypes.c_size_t), error),
    }
    for name, (result, *arguments) in functions.items():
        function = getattr(loaded, "bitsieve_" + name)
        function.restype, function.argtypes = result, arguments
    return loaded


library = _load()
