"""Every record that tells of a group's state as one event, whatever record table it is in."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame

from kip848_records.timeline.assignments import with_assignments
from kip848_records.timeline.censoring import with_history
from kip848_records.timeline.losses import lost_to_groups
from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    GROUP_METADATA,
    LOST,
    MEMBER,
    MEMBER_TARGET,
    PARTITION_METADATA,
    REGULAR_EXPRESSION,
    TARGET_ASSIGNMENT,
    with_operations,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEMBER_FIELDS: Final = ("instance_id", "client_id", "client_host", "rebalance_timeout_ms")
# Early dialects have `topic_partitions` in place of the other two.
_OWNED: Final = "transform(coalesce({}), owned -> struct(owned.topic_id AS topic_id, owned.partitions AS partitions))"

_RECORDS: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {
    "group_metadata": (
        GROUP_METADATA,
        {"group_id": "`group`", "generation": "generation", "classic_members": "array_size(members)"},
    ),
    "consumer_group_metadata": (GROUP_EPOCH, {"group_epoch": "epoch", "metadata_hash": "metadata_hash"}),
    "consumer_group_partition_metadata": (PARTITION_METADATA, {}),
    "consumer_group_member_metadata": (
        MEMBER,
        {
            "member_id": "member_id",
            **{name: name for name in _MEMBER_FIELDS},
            "subscription": "xxhash64(array_sort(subscribed_topic_names), subscribed_topic_regex)",
        },
    ),
    "consumer_group_target_assignment_metadata": (TARGET_ASSIGNMENT, {"assignment_epoch": "assignment_epoch"}),
    "consumer_group_target_assignment": (TARGET_ASSIGNMENT, {"assignment_epoch": "assignment_epoch"}),
    "consumer_group_target_assignment_member": (
        MEMBER_TARGET,
        {"member_id": "member_id", "target": _OWNED.format("topic_partitions")},
    ),
    "consumer_group_current_member_assignment": (
        CURRENT_ASSIGNMENT,
        {
            "member_id": "member_id",
            "member_epoch": "member_epoch",
            "previous_member_epoch": "previous_member_epoch",
            "member_state": "state",
            "assigned": _OWNED.format(
                "assigned_partitions, transform(topic_partitions, t -> struct(t.topic_id AS"
                " topic_id, t.partitions AS partitions, CAST(NULL AS array<int>) AS assignment_epochs))"
            ),
            "pending": _OWNED.format("partitions_pending_revocation"),
        },
    ),
    "consumer_group_regular_expression": (REGULAR_EXPRESSION, {}),
}
"""Record table -> its key type, and where its event columns come from.

In early dialects a record may have another key type; here it has the one of the record that took its place.
"""

EVENT_TABLES: Final = tuple(_RECORDS)
"""The record tables that tell of a group's state."""

_PARTITIONS: Final = "array<struct<topic_id:string,partitions:array<int>>>"
_EVENT_COLUMNS: Final[Mapping[str, str]] = {
    "group_id": "string",
    "member_id": "string",
    "group_epoch": "int",
    "metadata_hash": "bigint",
    "assignment_epoch": "int",
    "member_epoch": "int",
    "previous_member_epoch": "int",
    "member_state": "tinyint",
    "instance_id": "string",
    "client_id": "string",
    "client_host": "string",
    "rebalance_timeout_ms": "int",
    "subscription": "bigint",
    "generation": "int",
    "classic_members": "int",
    "target": _PARTITIONS,
    "assigned": _PARTITIONS,
    "pending": _PARTITIONS,
}


def group_events(
    tables: Mapping[str, DataFrame],
    history: DataFrame | None = None,
    lost: DataFrame | None = None,
    losses: DataFrame | None = None,
) -> DataFrame:
    """Make every record that tells of a group's state one row, with its operation, incarnation and assignments.

    Args:
        tables: record table name -> its rows, for each of `EVENT_TABLES`; one row per (partition, offset).
        history: as `with_history` takes it.
        lost: the rows of `losses.lost_records`; without it, every record of a known group decoded.
        losses: the rows of `losses.partition_losses`. Those behind a group's last record take a pass over all records
            more; without it, every record could be read.

    Returns:
        One row per record: ``cluster, partition, offset, timestamp, key_type int, is_tombstone, group_id``; of the
        record's own fields, null on other types and on tombstones: ``member_id`` (5, 7, 8, of tombstones too),
        ``group_epoch, metadata_hash`` (type 3), ``assignment_epoch`` (6), ``member_epoch, previous_member_epoch,
        member_state, assigned, pending`` (8), ``instance_id, client_id, client_host, rebalance_timeout_ms``, and
        ``subscription``, a hash of topic names and regular expression (5), ``target`` (7), ``generation,
        classic_members`` (2); partitions are arrays of structs ``topic_id, partitions``: whoever needs none leaves
        these three columns unread. And the columns of `with_operations`, `with_history` and `with_assignments`.
    """
    records = [_events_of(tables[name], key_type, fields) for name, (key_type, fields) in _RECORDS.items()]
    if lost is not None:
        records.append(_events_of(lost, LOST, {}))
    events = reduce(DataFrame.unionByName, records)
    if losses is not None:
        events = events.unionByName(_events_of(lost_to_groups(events, losses), LOST, {}))
    return events.transform(with_operations).transform(with_history, history, losses).transform(with_assignments)


def _events_of(table: DataFrame, key_type: int, fields: Mapping[str, str]) -> DataFrame:
    sources = {"group_id": "group_id", **{name: _unless_deleted(name, source) for name, source in fields.items()}}
    return table.selectExpr(
        *("cluster", "partition", "offset", "timestamp", f"{key_type} AS key_type", "is_tombstone"),
        *(f"CAST({sources.get(name, 'NULL')} AS {kind}) AS {name}" for name, kind in _EVENT_COLUMNS.items()),
    )


def _unless_deleted(name: str, source: str) -> str:
    """A hash of nothing is a number too."""
    return f"IF(is_tombstone, NULL, {source})" if name == "subscription" else source
