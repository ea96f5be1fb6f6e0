"""The events of a group, in the order of its log, and the operation that each one belongs to.

A group's records are all in one partition, so (cluster, partition, group_id) ordered by offset is the group's whole
story. Timestamps never order anything: a coordinator that moves to another broker takes that broker's clock.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

GROUP: Final = ("cluster", "partition", "group_id")
INCARNATION: Final = (*GROUP, "incarnation")

GROUP_METADATA: Final = 2
GROUP_EPOCH: Final = 3
MEMBER: Final = 5
TARGET_ASSIGNMENT: Final = 6
CURRENT_ASSIGNMENT: Final = 8

_RECORDS: Final[Mapping[str, tuple[int, Mapping[str, str]]]] = {
    "group_metadata": (
        GROUP_METADATA,
        {"group_id": "`group`", "generation": "generation", "classic_members": "array_size(members)"},
    ),
    "consumer_group_metadata": (GROUP_EPOCH, {"group_epoch": "epoch"}),
    "consumer_group_partition_metadata": (4, {}),
    "consumer_group_member_metadata": (MEMBER, {"member_id": "member_id"}),
    "consumer_group_target_assignment_metadata": (TARGET_ASSIGNMENT, {"assignment_epoch": "assignment_epoch"}),
    "consumer_group_target_assignment": (TARGET_ASSIGNMENT, {"assignment_epoch": "assignment_epoch"}),
    "consumer_group_target_assignment_member": (7, {"member_id": "member_id"}),
    "consumer_group_current_member_assignment": (
        CURRENT_ASSIGNMENT,
        {"member_id": "member_id", "member_epoch": "member_epoch", "member_state": "state"},
    ),
    "consumer_group_regular_expression": (16, {}),
}
"""Record table -> its key type, and where its event columns come from.

In early dialects a record may have another key type; here it has the one of the record that took its place.
"""

EVENT_TABLES: Final = tuple(_RECORDS)
"""The record tables that tell of a group's state."""

_EVENT_COLUMNS: Final[Mapping[str, str]] = {
    "group_id": "string",
    "member_id": "string",
    "group_epoch": "int",
    "assignment_epoch": "int",
    "member_epoch": "int",
    "member_state": "tinyint",
    "generation": "int",
    "classic_members": "int",
}


def group_events(tables: Mapping[str, DataFrame], history: DataFrame | None = None) -> DataFrame:
    """Make every record that tells of a group's state one narrow row, with its operation and incarnation.

    Args:
        tables: record table name -> its rows, for each of `EVENT_TABLES`; one row per (partition, offset).
        history: ``cluster, partition, complete_from bigint, head_missing boolean``, one row per partition, as
            `history.known_history` tells it. Without it, or where it is null, no history counts as complete.

    Returns:
        One row per record: ``cluster, partition, offset, timestamp, key_type int, is_tombstone, group_id``; of the
        record's own fields ``member_id``, ``group_epoch`` (type 3), ``assignment_epoch`` (6), ``member_epoch`` and
        ``member_state`` (8), ``generation`` and ``classic_members`` (2), null on other types and on tombstones;
        the columns of `with_operations`; ``is_complete``: whether no record is missing at this offset or after it;
        ``is_headless``: whether what came before this group's first deletion is missing altogether.
    """
    records = [_events_of(tables[name], key_type, fields) for name, (key_type, fields) in _RECORDS.items()]
    events = reduce(DataFrame.unionByName, records)
    return events.transform(with_operations).transform(_with_history, history)


def _events_of(table: DataFrame, key_type: int, fields: Mapping[str, str]) -> DataFrame:
    sources = {"group_id": "group_id", **fields}
    return table.selectExpr(
        *("cluster", "partition", "offset", "timestamp", f"{key_type} AS key_type", "is_tombstone"),
        *(f"CAST({sources.get(name, 'NULL')} AS {kind}) AS {name}" for name, kind in _EVENT_COLUMNS.items()),
    )


def with_operations(events: DataFrame) -> DataFrame:
    """Add to each event the operation and the incarnation it belongs to.

    An operation (one heartbeat, one fencing, one deletion) is a run of contiguous offsets with one timestamp. Events
    hold one group's records only, so a record of anybody else shows as a gap in the offsets and ends the operation.

    Returns:
        The events with ``operation bigint``, the offset of the operation's first record; ``incarnation int``, the
        number of type-3 tombstones before the event; and ``ends_operation boolean``. A type-3 tombstone ends the
        operation for its incarnation, though the operation may go on in the next one (a downgrade writes type 2).
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    continues = (F.col("offset") == F.lag("offset").over(in_order) + 1) & (
        F.col("timestamp") == F.lag("timestamp").over(in_order)
    )
    first_offset = F.when(F.col("starts_operation"), F.col("offset"))
    deletes = (F.col("key_type") == GROUP_EPOCH) & F.col("is_tombstone")
    return (
        events.withColumn("starts_operation", ~holds(continues))
        .withColumns(
            {
                "operation": F.last(first_offset, ignorenulls=True).over(in_order),
                "ends_operation": deletes | F.lead("starts_operation", default=True).over(in_order),
                "incarnation": F.coalesce(F.sum(deletes.cast("int")).over(before), F.lit(0)).cast("int"),
            }
        )
        .drop("starts_operation")
    )


def _with_history(events: DataFrame, history: DataFrame | None) -> DataFrame:
    if history is None:
        return events.withColumns({"is_complete": F.expr("false"), "is_headless": F.expr("false")})
    known = events.join(F.broadcast(history), ["cluster", "partition"], "left")
    is_headless = holds(F.col("head_missing")) & (F.col("incarnation") == 0)
    is_complete = holds(F.col("offset") >= F.col("complete_from")) & ~is_headless
    columns = {"is_complete": is_complete, "is_headless": is_headless}
    return known.withColumns(columns).drop("complete_from", "head_missing")


def holds(condition: Column) -> Column:
    """Take a condition that is null for one that does not hold."""
    return F.coalesce(condition, F.lit(False))  # noqa: FBT003
