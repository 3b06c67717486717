"""Lookups in a filter of the C library: what Filter and FollowedFilter have in common."""

import ctypes
from typing import TYPE_CHECKING, Any, ClassVar, Iterable, List, TypeVar, overload

from . import _items, _native
from ._calls import call
from ._handle import Handle
from ._items import Item, bytes_of

if TYPE_CHECKING:
    from ._typing import ItemArray, NumpyArray

_AnyLookups = TypeVar("_AnyLookups", bound="Lookups")


class Lookups:
    """Looks up items with the functions that a subclass names. Leaving its `with` block closes it."""

    _may_contain: ClassVar[Any] = _native.library.bitsieve_may_contain
    _may_contain_array: ClassVar[str] = "may_contain_array"

    def _open(self) -> Handle:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def may_contain(self, item: Item) -> bool:
        """Returns True if the item was probably added, and False if it definitely was not."""
        data = bytes_of(item)
        return bool(self._may_contain(self._open(), data, len(data)))

    def __contains__(self, item: Item) -> bool:
        return self.may_contain(item)

    @overload
    def may_contain_many(self, items: "NumpyArray") -> Any: ...
    @overload
    def may_contain_many(self, items: "ItemArray") -> memoryview: ...
    @overload
    def may_contain_many(self, items: Iterable[Item]) -> List[bool]: ...

    def may_contain_many(self, items: Any) -> Any:
        """Looks up many items, which is much faster than one by one; returns the result of each.

        Takes iterables and arrays, and returns lists and arrays, as add_many() does; the result of a null is False.
        """
        return _items.answers_of(
            items, lambda array, answers: call(self._may_contain_array, self._open(), ctypes.byref(array), answers))

    def __enter__(self: _AnyLookups) -> _AnyLookups:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
