"""Columns of decoded records of modern groups -> the values of `records`, a whole column at a time."""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import Role
from kip848_records.replay.decode.columns import list_parts, partition_sets, texts, tuples
from kip848_records.replay.records import CurrentAssignmentValue, GroupEpochValue, MemberValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kip848_records.replay.decode.columns import Columns


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
        _classic_protocols(columns),
    )


def _assignors(columns: Columns) -> Iterable[tuple[tuple[str | None, int, int, int], ...]]:
    if "assignors" not in columns:
        return repeat((), columns.rows)
    offsets, assignors = list_parts(columns["assignors"])
    versions = (assignors.field(name).to_pylist() for name in ("minimum_version", "maximum_version", "version"))
    items = list(zip(texts(assignors.field("name")), *versions, strict=True))
    return (tuple(items[first:end]) for first, end in pairwise(offsets.tolist()))


def _classic_protocols(columns: Columns) -> Iterable[tuple[str | None, ...] | None]:
    if "classic_member_metadata" not in columns:
        return repeat(None, columns.rows)
    metadata = columns["classic_member_metadata"]
    offsets, protocols = list_parts(metadata.field("supported_protocols"))
    names = texts(protocols.field("name"))
    parts = zip(metadata.is_valid().to_pylist(), pairwise(offsets.tolist()), strict=True)
    return (tuple(names[first:end]) if is_classic else None for is_classic, (first, end) in parts)


def _current_assignments(columns: Columns) -> Iterable[CurrentAssignmentValue]:
    return tuples(
        CurrentAssignmentValue,
        *(columns.ints(name) for name in ("member_epoch", "previous_member_epoch", "state")),
        # Early dialects have `topic_partitions` instead of the other two.
        columns.partition_sets("assigned_partitions", "topic_partitions"),
        columns.partition_sets("partitions_pending_revocation"),
    )


READERS: Final[Mapping[Role, Callable[[Columns], Iterable[Any]]]] = {
    Role.GROUP_EPOCH: lambda columns: tuples(GroupEpochValue, columns.ints("epoch"), columns.ints("metadata_hash", 0)),
    Role.MEMBER: _members,
    Role.ASSIGNMENT_EPOCH: lambda columns: columns.ints("assignment_epoch"),
    Role.MEMBER_TARGET: lambda columns: columns.partition_sets("topic_partitions"),
    Role.CURRENT_ASSIGNMENT: _current_assignments,
}
"""By role: what records of consumer groups and share groups have in common."""
