"""The lifetime of a filter of the C library: it ends with the last reference to its owner."""

import ctypes
from typing import Any

from . import _native


class Owner:
    """Frees a filter of the C library when the last reference to the owner is gone."""

    __slots__ = ("pointer",)

    def __init__(self) -> None:
        self.pointer = ctypes.c_void_p()

    # At the interpreter's end this module's names may be gone.
    def __del__(self, free: Any = _native.library.bitsieve_free) -> None:
        address, self.pointer.value = self.pointer.value, None  # finalizers of the same cycle may still come to use it
        free(address)


class FollowerOwner(Owner):
    """The same for a follower of the C library."""

    __slots__ = ()

    def __del__(self, free: Any = _native.library.bitsieve_follower_free) -> None:
        super().__del__(free)


class Handle:
    """The object that a call passes to the C library. Each call holds a reference until it returns, which keeps the
    filter alive regardless of what other threads, iterators and signal handlers do."""

    __slots__ = ("owner", "_as_parameter_", "__weakref__")

    def __init__(self, owner: Owner) -> None:
        self.owner, self._as_parameter_ = owner, owner.pointer
