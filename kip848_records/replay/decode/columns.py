"""Columns of decoded records as Python values, a whole column at a time.

A value that occurs several times in a batch (a text, a set of partitions) is one Python object, created once.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kip848_records.replay.numbers import ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from kip848_records.protocol.decoder import RecordGroup
    from kip848_records.replay.numbers import PartitionNumbers

    Ints = NDArray[np.int64]

_NUMBER_BYTES: Final = 8


class Columns:
    """The fields of the values of one type and layout.

    A field that the layout lacks reads as its default, or as nulls. `fields`: those that the layout has.
    """

    def __init__(self, group: RecordGroup, numbers: PartitionNumbers) -> None:
        self.rows = len(group.rows)
        self.numbers = numbers
        self._columns: dict[str, pa.Array] = {}
        self.fields: frozenset[str] = frozenset()
        if group.layout is not None and group.value is not None:
            names = [field.column for field in group.layout.struct.fields]
            self.fields = frozenset(names)
            columns = zip(names, group.value.flatten(), strict=True)
            self._columns = {name: column for name, column in columns if column.null_count < len(column)}

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> pa.Array:
        return self._columns[name]

    def ints(self, name: str, default: int | None = None) -> Iterable[int | None]:
        """Return the integers of a field; `default` for null."""
        if name not in self:
            return repeat(default, self.rows)
        column = self[name]
        if default is not None and column.null_count:
            column = column.fill_null(default)
        integers: list[int | None] = int_objects(column).tolist()
        return integers

    def texts(self, name: str) -> Iterable[str | None]:
        """Return the strings of a field."""
        return texts(self[name]) if name in self else repeat(None, self.rows)

    def sorted_texts(self, name: str) -> list[tuple[str, ...]]:
        """Return the arrays of strings of a field, each sorted, because the coordinator writes sets."""
        return sorted_texts(self[name]) if name in self else [()] * self.rows

    def partition_sets(self, *names: str) -> list[frozenset[int]]:
        """Return the topic partitions of the first of these fields that the layout has."""
        return next((partition_sets(self[name], self.numbers) for name in names if name in self), _no_sets(self.rows))

    def task_sets(self, suffix: str = "") -> list[frozenset[int]]:
        """Return the tasks in all roles (`tasks`) of the fields `active_tasks`, `standby_tasks` and `warmup_tasks`."""
        sets = _no_sets(self.rows)
        for role, name in zip(ROLES, ("active_tasks", "standby_tasks", "warmup_tasks"), strict=True):
            if name + suffix in self:
                found = partition_sets(self[name + suffix], self.numbers, "subtopology_id", role)
                sets = [before | now if now else before for before, now in zip(sets, found, strict=True)]
        return sets

    def pairs(self, name: str) -> list[tuple[tuple[str, str], ...]]:
        """Return the arrays of ``key, value`` of a field."""
        if name not in self:
            return [()] * self.rows
        offsets, elements = list_parts(self[name])
        items: list[Any] = list(zip(*(texts(elements.field(each)) for each in ("key", "value")), strict=True))
        return [tuple(items[first:end]) for first, end in pairwise(offsets.tolist())]


def texts(values: pa.Array) -> list[str | None]:
    """Return the values of a string array; equal ones are one object."""
    encoded = values.dictionary_encode()
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(distinct))
        distinct.append(None)
    return gather(distinct, indices.to_numpy())


def sorted_texts(lists: pa.ListArray) -> list[tuple[str, ...]]:
    """Return arrays of strings, each sorted."""
    offsets, flat = list_parts(lists)
    items: list[Any] = texts(flat)
    return [tuple(sorted(items[first:end])) for first, end in pairwise(offsets.tolist())]


def gather(items: Sequence[Any], places: NDArray[Any]) -> list[Any]:
    """Return the items at these positions."""
    taken: list[Any] = np.fromiter(items, object, len(items))[places].tolist()
    return taken


def int_objects(column: pa.Array) -> NDArray[Any]:
    """Return an integer array in NumPy: of int64, or of objects if there are nulls (None)."""
    values: NDArray[Any] = column.fill_null(0).to_numpy()
    if not column.null_count:
        return values
    values = values.astype(object)
    values[column.is_null().to_numpy(zero_copy_only=False)] = None
    return values


def partition_sets(
    lists: pa.ListArray, numbers: PartitionNumbers, id_field: str = "topic_id", role: int = 0
) -> list[frozenset[int]]:
    """Return arrays of TopicPartitions (``topic_id``, ``partitions``) as sets of the numbers of the partitions.

    `id_field`, `role`: those of tasks, see `tasks`. Most assignments recur within a batch: Arrow finds the distinct
    ones by their bytes.
    """
    offsets, elements = list_parts(lists)
    if not len(elements):
        return _no_sets(len(lists))
    topics = elements.field(id_field).dictionary_encode()
    first_numbers = np.array([numbers.topic(topic_id) + role for topic_id in topics.dictionary.to_pylist()], np.int64)
    inner_offsets, partitions = list_parts(elements.field("partitions"))
    # A damaged partition may be negative, and must not become a partition of another topic.
    numbered = partitions.to_numpy().view(np.uint32).astype(np.int64)
    numbered += np.repeat(first_numbers[topics.indices.to_numpy()], np.diff(inner_offsets))
    bounds = (inner_offsets[offsets] * _NUMBER_BYTES).astype(np.int32)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(numbered)]
    encoded = pa.Array.from_buffers(pa.binary(), len(lists), buffers).dictionary_encode()
    return gather(_sets(encoded.dictionary), encoded.indices.to_numpy())


def _sets(numbers: pa.BinaryArray) -> list[frozenset[int]]:
    _, offset_buffer, content = numbers.buffers()
    bounds = np.frombuffer(offset_buffer, np.int32, len(numbers) + 1) // _NUMBER_BYTES
    flat = np.frombuffer(content, np.int64, bounds[-1]).tolist() if bounds[-1] else []
    return [frozenset(flat[first:end]) for first, end in pairwise(bounds.tolist())]


def _no_sets(rows: int) -> list[frozenset[int]]:
    return [frozenset()] * rows


def list_parts(lists: pa.ListArray) -> tuple[Ints, pa.Array]:
    """Return the start of each list in the elements of all lists, with the end, and the elements."""
    offsets = lists.offsets.to_numpy().astype(np.int64)
    first, end = int(offsets[0]), int(offsets[-1])
    return offsets - first, lists.values.slice(first, end - first)


def tuples(value_class: type[Any], *columns: Iterable[Any]) -> Iterable[Any]:
    """Return one NamedTuple of this class per row; each column has the values of one field."""
    return map(new(value_class), zip(*columns, strict=True))


def new(row_class: type[Any]) -> Callable[[Iterable[Any]], Any]:
    """Return a function that creates a NamedTuple from its fields, in C, in a third of the time of the class."""
    return partial(tuple.__new__, row_class)
