"""Columns of decoded records -> the Python values of `records.py`, a whole column at a time."""

from __future__ import annotations

from functools import partial
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay import streams_values
from kip848_records.replay.columns import list_parts, partition_sets, texts, tuples
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

    from kip848_records.replay.columns import Columns
    from kip848_records.replay.records import Value

SHARE_STATE_TYPE: Final = 15
"""The record of share groups that names topics."""

_SHARE_STATE_COLUMNS: Final = ("initializing_topics", "initialized_topics", "deleting_topics")


def values_of(kind: str, role: Role, key_type: int, columns: Columns) -> Iterable[Value]:
    """Return the values of the records of one type and layout, in the form of `records.Value` for the role."""
    if kind == SHARE and role == Role.OTHER and key_type != SHARE_STATE_TYPE:
        return repeat(True, columns.rows)  # noqa: FBT003 - the value
    return streams_values.READERS[role](columns) if kind == STREAMS else _READERS[role](columns)


def assigned_members(columns: Columns) -> Iterator[list[tuple[str, frozenset[int]]]]:
    """Yield the targets in each record of the draft's ConsumerGroupTargetAssignment, by member."""
    offsets, members = list_parts(columns["members"])
    sets = partition_sets(members.field("topic_partitions"), columns.numbers)
    targets = list(zip(texts(members.field("member_id")), sets, strict=True))
    return (targets[first:end] for first, end in pairwise(offsets.tolist()))  # type: ignore[misc]


def _members(columns: Columns) -> Iterable[MemberValue]:
    is_classic: Iterable[bool] = repeat(False, columns.rows)  # noqa: FBT003 - the value
    if "classic_member_metadata" in columns:
        is_classic = columns["classic_member_metadata"].is_valid().to_numpy(zero_copy_only=False).tolist()
    return tuples(
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
    return tuples(
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


_READERS: Final[Mapping[Role, Callable[[Columns], Iterable[Any]]]] = {
    Role.GROUP_EPOCH: lambda columns: tuples(GroupEpochValue, columns.ints("epoch"), columns.ints("metadata_hash", 0)),
    Role.MEMBER: _members,
    Role.ASSIGNMENT_EPOCH: lambda columns: columns.ints("assignment_epoch"),
    Role.MEMBER_TARGET: lambda columns: columns.partition_sets("topic_partitions"),
    Role.CURRENT_ASSIGNMENT: _current_assignments,
    Role.PARTITION_METADATA: _topic_names,
    Role.REGULAR_EXPRESSION: lambda columns: tuples(
        RegularExpressionValue, columns.sorted_texts("topics"), columns.ints("version"), columns.ints("timestamp")
    ),
    Role.OTHER: partial(_topic_names, names=_SHARE_STATE_COLUMNS),
}
