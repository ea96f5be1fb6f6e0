"""What lasts from one operation of a group to another: a stay, an interval of an owner, a state of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Context

Key = TypeVar("Key")
Begin = TypeVar("Begin")


class Lasting(Generic[Key, Begin]):
    """What is open in a group, by key, with how it began."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: dict[Key, Begin] = {}

    def end(self, key: Key, offset: int | None = None) -> None:
        """End one with the operation, if it is open; `offset`: of the record that ends it, the latest by default."""
        begin = self._open.pop(key, None)
        if begin is not None:
            operation = self._context.operation
            self._emit(key, begin, operation.at, operation.last if offset is None else offset)

    def end_all(self) -> None:
        """End all with the operation."""
        for key in list(self._open):
            self.end(key)

    def lose(self) -> None:
        """End all with the operation, for all that is known: records of the group are missing that may have."""
        operation = self._context.operation
        for key, begin in self._open.items():
            self._emit(key, begin, operation.at, operation.last, has_end=False)
        self._open.clear()

    def finish(self) -> None:
        """Write what is open at the end of the log."""
        for key, begin in self._open.items():
            self._emit(key, begin, None, None, has_end=False)

    def _emit(self, key: Key, begin: Any, at: int | None, offset: int | None, *, has_end: bool = True) -> None:  # noqa: ANN401 - a Begin
        """Write one that lasted until a time and an offset; without `has_end`, at least."""
        raise NotImplementedError
