"""Columns of decoded records -> the Python values of `records.py`, a whole column at a time.

A value that occurs several times in a batch (a text, a set of partitions) is one Python object, created once.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kip848_records.replay.records import (
    SHARE,
    STREAMS,
    CurrentAssignmentValue,
    GroupEpochValue,
    MemberValue,
    RegularExpressionValue,
    Role,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from kip848_records.protocol.records import RecordGroup
    from kip848_records.replay.records import PartitionNumbers, Value

    Ints = NDArray[np.int64]

SHARE_STATE_TYPE: Final = 15
"""The record of share groups that names topics."""

_NUMBER_BYTES: Final = 8
_SHARE_STATE_COLUMNS: Final = ("initializing_topics", "initialized_topics", "deleting_topics")


class Columns:
    """The fields of the values of one type and layout.

    A field that the layout lacks reads as its default, or as nulls.
    """

    def __init__(self, group: RecordGroup, numbers: PartitionNumbers) -> None:
        self.rows = len(group.rows)
        self.numbers = numbers
        self._columns: dict[str, pa.Array] = {}
        if group.layout is not None and group.value is not None:
            names = (field.column for field in group.layout.struct.fields)
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


def partition_sets(lists: pa.ListArray, numbers: PartitionNumbers, topic: str = "topic_id") -> list[frozenset[int]]:
    """Return arrays of TopicPartitions (``topic_id``, ``partitions``) as sets of the numbers of the partitions.

    `topic`: the field that identifies the topic.

    Most assignments recur within a batch: Arrow finds the distinct ones by their bytes.
    """
    offsets, elements = list_parts(lists)
    if not len(elements):
        return _no_sets(len(lists))
    topics = elements.field(topic).dictionary_encode()
    first_numbers = np.array([numbers.topic(topic_id) for topic_id in topics.dictionary.to_pylist()], np.int64)
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


def values_of(kind: str, role: Role, key_type: int, columns: Columns) -> Iterable[Value]:
    """Return the values of the records of one type and layout, in the form of `records.Value` for the role."""
    is_streams = kind == STREAMS and role not in _ROLES_OF_ALL
    if is_streams or (kind == SHARE and role == Role.OTHER and key_type != SHARE_STATE_TYPE):
        return repeat(True, columns.rows)  # noqa: FBT003 - the value
    return _READERS[role](columns)


def assigned_members(columns: Columns) -> Iterator[list[tuple[str, frozenset[int]]]]:
    """Yield the targets in each record of the draft's ConsumerGroupTargetAssignment, by member."""
    offsets, members = list_parts(columns["members"])
    sets = partition_sets(members.field("topic_partitions"), columns.numbers)
    targets = list(zip(texts(members.field("member_id")), sets, strict=True))
    return (targets[first:end] for first, end in pairwise(offsets.tolist()))  # type: ignore[misc]


def _values(value_class: type[Any], *columns: Iterable[Any]) -> Iterable[Any]:
    return map(new(value_class), zip(*columns, strict=True))


def _members(columns: Columns) -> Iterable[MemberValue]:
    is_classic: Iterable[bool] = repeat(False, columns.rows)  # noqa: FBT003 - the value
    if "classic_member_metadata" in columns:
        is_classic = columns["classic_member_metadata"].is_valid().to_numpy(zero_copy_only=False).tolist()
    return _values(
        MemberValue,
        *(columns.texts(name) for name in ("instance_id", "rack_id", "client_id", "client_host")),
        columns.sorted_texts("subscribed_topic_names"),
        (regex or None for regex in columns.texts("subscribed_topic_regex")),  # clients send an empty one for none
        columns.texts("server_assignor"),
        columns.ints("rebalance_timeout_ms"),
        is_classic,
        _assignors(columns),
    )


def _assignors(columns: Columns) -> Iterable[tuple[tuple[str | None, int, int, int], ...]]:
    if "assignors" not in columns:
        return repeat((), columns.rows)
    offsets, assignors = list_parts(columns["assignors"])
    versions = (assignors.field(name).to_pylist() for name in ("minimum_version", "maximum_version", "version"))
    items = list(zip(texts(assignors.field("name")), *versions, strict=True))
    return (tuple(items[first:end]) for first, end in pairwise(offsets.tolist()))


def _current_assignments(columns: Columns) -> Iterable[CurrentAssignmentValue]:
    return _values(
        CurrentAssignmentValue,
        *(columns.ints(name) for name in ("member_epoch", "previous_member_epoch", "state")),
        # Early dialects have `topic_partitions` instead of the other two.
        columns.partition_sets("assigned_partitions", "topic_partitions"),
        columns.partition_sets("partitions_pending_revocation"),
    )


def _topic_names(columns: Columns, names: Sequence[str] = ("topics",)) -> list[dict[str, str]]:
    found: list[dict[str, str]] = [{} for _ in range(columns.rows)]
    for name in names:
        if name in columns:
            offsets, topics = list_parts(columns[name])
            ids, labels = texts(topics.field("topic_id")), texts(topics.field("topic_name"))
            for row, (first, end) in zip(found, pairwise(offsets.tolist()), strict=True):
                pairs = zip(ids[first:end], labels[first:end], strict=True)
                row.update((topic_id, label) for topic_id, label in pairs if topic_id and label)
    return found


def new(row_class: type[Any]) -> Callable[[Iterable[Any]], Any]:
    """Return a function that creates a NamedTuple from its fields, in C, in a third of the time of the class."""
    return partial(tuple.__new__, row_class)


_READERS: Final[Mapping[Role, Callable[[Columns], Iterable[Any]]]] = {
    Role.GROUP_EPOCH: lambda columns: _values(GroupEpochValue, columns.ints("epoch"), columns.ints("metadata_hash", 0)),
    Role.MEMBER: _members,
    Role.ASSIGNMENT_EPOCH: lambda columns: columns.ints("assignment_epoch"),
    Role.MEMBER_TARGET: lambda columns: columns.partition_sets("topic_partitions"),
    Role.CURRENT_ASSIGNMENT: _current_assignments,
    Role.PARTITION_METADATA: _topic_names,
    Role.REGULAR_EXPRESSION: lambda columns: _values(
        RegularExpressionValue, columns.sorted_texts("topics"), columns.ints("version"), columns.ints("timestamp")
    ),
    Role.OTHER: partial(_topic_names, names=_SHARE_STATE_COLUMNS),
}
_ROLES_OF_ALL: Final = (Role.GROUP_EPOCH, Role.ASSIGNMENT_EPOCH)
"""The roles whose records have the same fields in streams groups."""
