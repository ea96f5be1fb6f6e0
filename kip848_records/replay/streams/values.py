"""Columns of decoded records of streams groups (KIP-1071) -> the values of `records`."""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kip848_records.kinds import Role
from kip848_records.replay.decode.columns import list_parts, sorted_texts, texts, tuples
from kip848_records.replay.records import CurrentAssignmentValue, StreamsGroupEpochValue, StreamsMemberValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kip848_records.replay.decode.columns import Columns


class TopologyValue(NamedTuple):
    """The value of a type 23. `stateful`: the subtopologies with changelog topics.

    `sources`: by subtopology, the topics that its tasks read; those that match a regular expression are not in it.
    """

    epoch: int
    stateful: frozenset[str]
    sources: Mapping[str, tuple[str, ...]]


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
    bounds = list(pairwise(offsets.tolist()))
    stateful = (frozenset(name for name, count in zip(ids[a:b], counts[a:b], strict=True) if count) for a, b in bounds)
    topics = _source_topics(parts)
    sources: Iterable[dict[Any, tuple[str, ...]]] = (dict(zip(ids[a:b], topics[a:b], strict=True)) for a, b in bounds)
    return tuples(TopologyValue, columns.ints("epoch"), stateful, sources)


def _source_topics(subtopologies: pa.StructArray) -> list[tuple[str, ...]]:
    """Return the topics that each subtopology reads: sources and repartition topics, sorted."""
    repartition = subtopologies.field("repartition_source_topics")
    offsets, named = list_parts(repartition)
    names = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), named.field("name"))
    lists = sorted_texts(subtopologies.field("source_topics")), sorted_texts(names)
    return [tuple(sorted({*read, *written})) for read, written in zip(*lists, strict=True)]


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
