"""Columns of decoded records of streams groups (KIP-1071) -> the values of `records`."""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.kinds import Role
from kip848_records.replay.decode.columns import list_parts, texts, tuples
from kip848_records.replay.records import CurrentAssignmentValue, StreamsGroupEpochValue, StreamsMemberValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kip848_records.replay.decode.columns import Columns


class TopologyValue(NamedTuple):
    """The value of a type 23. `stateful`: the subtopologies with changelog topics."""

    epoch: int
    stateful: frozenset[str]


def _streams_members(columns: Columns) -> Iterable[StreamsMemberValue]:
    endpoints: Iterable[tuple[str, int] | None] = repeat(None, columns.rows)
    if "user_endpoint" in columns:
        column = columns["user_endpoint"]
        values = zip(texts(column.field("host")), column.field("port").to_pylist(), strict=True)
        is_set = column.is_valid().to_numpy(zero_copy_only=False).tolist()
        endpoints = [value if has else None for has, value in zip(is_set, values, strict=True)]  # type: ignore[misc]
    return tuples(
        StreamsMemberValue,
        *(columns.texts(name) for name in ("instance_id", "rack_id", "client_id", "client_host")),
        columns.ints("rebalance_timeout_ms"),
        columns.texts("process_id"),
        columns.ints("topology_epoch"),
        endpoints,
        columns.pairs("client_tags"),
    )


def _streams_assignments(columns: Columns) -> Iterable[CurrentAssignmentValue]:
    states = (None if state is None else state - 1 for state in columns.ints("state"))
    epochs = (columns.ints(name) for name in ("member_epoch", "previous_member_epoch"))
    held = columns.task_sets(), columns.task_sets("_pending_revocation")
    return tuples(CurrentAssignmentValue, *epochs, states, *held)


def _topologies(columns: Columns) -> Iterable[TopologyValue]:
    offsets, parts = list_parts(columns["subtopologies"])
    ids = texts(parts.field("subtopology_id"))
    counts = parts.field("state_changelog_topics").value_lengths().to_pylist()
    bounds = pairwise(offsets.tolist())
    stateful = (frozenset(name for name, count in zip(ids[a:b], counts[a:b], strict=True) if count) for a, b in bounds)
    return tuples(TopologyValue, columns.ints("epoch"), stateful)


READERS: Final[Mapping[Role, Callable[[Columns], Iterable[Any]]]] = {
    Role.GROUP_EPOCH: lambda columns: tuples(
        StreamsGroupEpochValue,
        columns.ints("epoch"),
        columns.ints("metadata_hash", 0),
        columns.ints("validated_topology_epoch", -1),
        columns.pairs("last_assignment_configs"),
    ),
    Role.MEMBER: _streams_members,
    Role.ASSIGNMENT_EPOCH: lambda columns: columns.ints("assignment_epoch"),
    Role.MEMBER_TARGET: lambda columns: columns.task_sets(),
    Role.CURRENT_ASSIGNMENT: _streams_assignments,
    Role.TOPOLOGY: _topologies,
}
