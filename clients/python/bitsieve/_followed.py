"""A copy of a server's filter, which a thread of the C library keeps up to date."""

import ctypes
from typing import NamedTuple, Optional

from . import _native
from ._calls import (Description, FilePath, OutOfMemoryError, bytes_from, call, description_from, integer,
                     milliseconds, path_of, text_of)
from ._handle import FollowerOwner, Handle
from ._items import Item, bytes_of
from ._lookups import Lookups


class FollowerState(NamedTuple):
    """The state of a followed filter, as of one moment.

    staleness   seconds since the copy was last known to be current: no item that was added before then is missed
    dumps_read  number of times that the whole filter was read from the server
    position    the copy's position in the server's history of the filter
    trouble     why the copy cannot be brought up to date at the moment; empty if it can
    """

    staleness: float
    dumps_read: int
    position: str
    trouble: str


class FollowedFilter(Lookups):
    """A copy of a server's filter in this process, which a thread of the library keeps up to date. Lookups work on the
    copy, while the server cannot be reached as well; items are added at the server. close() ends it, and so does
    leaving its `with` block.

        with FollowedFilter("redis://127.0.0.1:7379", "seen") as seen:
            "alice" in seen           # without a round trip
            seen.state().staleness    # 0.04: seconds since the copy was current
    """

    _may_contain = _native.library.bitsieve_follower_may_contain
    _may_contain_array = "follower_may_contain_array"

    def __init__(self, url: str, key: Item, *, interval: float = 0.1, timeout: float = 5.0,
                 cache: Optional[FilePath] = None, memory_limit_bytes: int = 0) -> None:
        """Makes a copy, from the cache file if there is a whole one, else from the server, and begins to follow.

        url                 the server: redis://[user:password@]host[:port], bitsieve:// likewise, or unix:///path
        key                 the name of the filter
        interval            seconds between two requests for changes
        timeout             time limit in seconds of each step: connecting, and each reply
        cache               a file in which the copy is kept, at the end and once a minute, so that a program that
                            starts again needs only the changes since
        memory_limit_bytes  maximum number of bytes that the copy may take; 0: no limit

        Raises InvalidArgumentError for a malformed URL, UnsupportedError for one with TLS, FileError if there is no
        cache file and the server cannot be reached or has no such filter, and OutOfMemoryError.
        """
        options = _native.FollowOptions()
        _native.library.bitsieve_follow_options_init(ctypes.byref(options), ctypes.sizeof(options))
        options.interval_ms = milliseconds("interval", interval)
        options.timeout_ms = milliseconds("timeout", timeout)
        options.memory_limit_bytes = integer("memory_limit_bytes", memory_limit_bytes, 2**64 - 1)
        options.cache_path = None if cache is None else path_of(cache)
        name, owner = bytes_of(key), FollowerOwner()
        call("follow", text_of("url", url), name, len(name), ctypes.byref(options), ctypes.byref(owner.pointer))
        self._handle = Handle(owner)

    def state(self) -> FollowerState:
        """Returns how old the copy is, its position, and what is in the way. Raises OutOfMemoryError."""
        found = _native.FollowerState()
        status = _native.library.bitsieve_follower_get_state(self._open(), ctypes.byref(found), ctypes.sizeof(found))
        if status != 0:
            raise OutOfMemoryError("out of memory")
        return FollowerState(found.staleness_ms / 1000, found.dumps_read, found.position.decode(),
                             found.trouble.decode(errors="replace"))

    def describe(self) -> Description:
        """Returns the parameters and the state of the copy. Raises OutOfMemoryError."""
        return description_from("follower_describe", self._open())

    def to_bytes(self) -> bytes:
        """Returns the copy as the bytes of a dump, for Filter.from_bytes(). Raises OutOfMemoryError."""
        return bytes_from("follower_to_bytes", self._open())

    def close(self) -> None:
        """Ends following, writes the cache file, if there is one, and frees the copy once no call of another thread
        uses it. Closing it again does nothing."""
        self._handle = None

    _handle: Optional[Handle] = None

    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ValueError("the filter is closed")
        return handle
