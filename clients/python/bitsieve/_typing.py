"""What type checkers see of arrays that add_many() and may_contain_many() take. Programs do not import it."""

from array import array
from typing import Any, Protocol, Tuple, Union


class NumpyArray(Protocol):
    @property
    def __array_interface__(self) -> Any: ...


class ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Tuple[Any, Any]: ...


class ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


ItemArray = Union[ArrowArray, ArrowStream, memoryview, "array[int]"]
