"""Every record that tells of a group's state as one event, whatever record table it is in."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records.timeline.losses import lost_to_groups
from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP,
    GROUP_EPOCH,
    GROUP_METADATA,
    MEMBER,
    MEMBER_TARGET,
    PARTITION_METADATA,
    REGULAR_EXPRESSION,
    TARGET_ASSIGNMENT,
)
from kip848_records.timeline.pieces import tell
from kip848_records.timeline.snapshots import ORDER, SNAPSHOT
from kip848_records.timeline.told import TOLD
from kip848_records.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

    from kip848_records.timeline.censoring import PartitionHistory

_PLACE: Final = ("partition", "offset", "timestamp", "key_type", "is_tombstone", "size")

_EVENTS: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "group_metadata": (GROUP_METADATA, ("group", "generation", "members")),
    "consumer_group_metadata": (GROUP_EPOCH, ("group_id", "epoch", "metadata_hash")),
    "consumer_group_partition_metadata": (PARTITION_METADATA, ("group_id",)),
    "consumer_group_member_metadata": (
        MEMBER,
        (
            *("group_id", "member_id", "instance_id", "client_id", "client_host", "rebalance_timeout_ms"),
            *("subscribed_topic_names", "subscribed_topic_regex"),
        ),
    ),
    "consumer_group_target_assignment_metadata": (TARGET_ASSIGNMENT, ("group_id", "assignment_epoch")),
    "consumer_group_target_assignment": (TARGET_ASSIGNMENT, ("group_id", "assignment_epoch")),
    "consumer_group_target_assignment_member": (MEMBER_TARGET, ("group_id", "member_id", "topic_partitions")),
    "consumer_group_current_member_assignment": (
        CURRENT_ASSIGNMENT,
        (
            *("group_id", "member_id", "member_epoch", "previous_member_epoch", "state"),
            *("assigned_partitions", "partitions_pending_revocation", "topic_partitions"),
        ),
    ),
    "consumer_group_regular_expression": (REGULAR_EXPRESSION, ("group_id",)),
}
"""Record table -> its key type, and the columns that events are made of.

In early dialects a record may have another key type; here it has the one of the record that took its place.
"""

EVENT_TABLES: Final[Mapping[str, tuple[str, ...]]] = {table: columns for table, (_, columns) in _EVENTS.items()}
"""The record tables that tell of a group's state, and which of their columns do."""

_OWNED: Final = "transform({}, owned -> struct(owned.topic_id AS topic_id, owned.partitions AS partitions))"
_FIELDS: Final[Mapping[str, str]] = {
    "group_id": "coalesce(group_id, `group`)",
    "member_id": "member_id",
    "group_epoch": "epoch",
    "metadata_hash": "metadata_hash",
    "assignment_epoch": "assignment_epoch",
    "member_epoch": "member_epoch",
    "previous_member_epoch": "previous_member_epoch",
    "member_state": "int(state)",
    **{name: name for name in ("instance_id", "client_id", "client_host", "rebalance_timeout_ms")},
    # A hash of nothing is a number too.
    "subscription": f"IF(key_type = {MEMBER} AND NOT is_tombstone,"
    " xxhash64(array_sort(subscribed_topic_names), subscribed_topic_regex), NULL)",
    "generation": "generation",
    "classic_members": "array_size(members)",
    "target": f"IF(key_type = {MEMBER_TARGET}, topic_partitions, NULL)",
    # Early dialects have `topic_partitions` in place of the other two.
    "assigned": f"coalesce({_OWNED.format('assigned_partitions')},"
    f" IF(key_type = {CURRENT_ASSIGNMENT}, topic_partitions, NULL))",
    "pending": _OWNED.format("partitions_pending_revocation"),
}
"""What an event has besides its place, and where it comes from."""


def group_events(
    records: DataFrame,
    history: Mapping[int, PartitionHistory],
    lost: DataFrame | None = None,
    losses: DataFrame | None = None,
    settled: DataFrame | None = None,
) -> DataFrame:
    """Make every record that tells of a group's state one row, with everything that is told of it by those before.

    A group's events are brought to one task, in order. Of a large group's it has a part in memory at a time, unless
    some of them say something of long ago (`pieces`).

    Args:
        records: ``partition, offset, timestamp, size, is_tombstone, table``, and the columns of `EVENT_TABLES`, null
            where the record's table does not have them; one row per (partition, offset).
        history: what is known of each partition's; of one that is not there no history counts as complete.
        lost: the rows of `losses.lost_records`; without it, every record of a known group decoded.
        losses: the rows of `losses.partition_losses`. Those behind a group's last record take a pass over all records
            more; without it, every record could be read.
        settled: ``partition, group_id``, and what `snapshots.SNAPSHOT` names, of groups whose records of offsets before
            ``until`` are their snapshot; without it, there are no such groups.

    Returns:
        One row per record: what `told.RECORD` names of it, null on other types and on tombstones (`member_id` is there
        on those too), and what `told.TOLD` names besides. Types 2 have no field of their own here, types 4 and 16 none
        at all. Records of a snapshot have ``of_snapshot``: of them nothing is told that was told before, and the last
        of them stands where the state of its group began.
    """
    key_types = F.create_map(*(F.lit(item) for table, (key_type, _) in _EVENTS.items() for item in (table, key_type)))
    events = records.withColumn("key_type", key_types[F.col("table")]).selectExpr(
        *_PLACE, *(f"{source} AS {name}" for name, source in _FIELDS.items())
    )
    if lost is not None:
        events = events.unionByName(lost, allowMissingColumns=True)
    if losses is not None:
        events = events.unionByName(lost_to_groups(events, losses), allowMissingColumns=True)
    if losses is None:
        none = F.lit(None).cast("bigint")
        events = events.withColumns({"first_loss": none, "last_loss": none})
    else:
        events = events.join(F.broadcast(losses), "partition", "left")
    events = events.transform(_with_snapshots, settled)
    in_snapshot = [] if settled is None else [_place_in_snapshot()]
    in_order = events.repartition(*GROUP).sortWithinPartitions(*GROUP, *in_snapshot, "offset", "key_type")
    return map_in_arrow(in_order, partial(tell, history), TOLD)


def _with_snapshots(events: DataFrame, settled: DataFrame | None) -> DataFrame:
    """Add ``snapshot``: `snapshots.SNAPSHOT`, null for all that is of none."""
    if settled is None:
        return events.withColumn("snapshot", F.lit(None).cast(SNAPSHOT))
    known = F.struct(*SNAPSHOT.names).cast(SNAPSHOT)
    of_groups = settled.select(*GROUP, known.alias("known"))
    is_before = F.col("offset") < F.col("known.until")
    # Broadcast: behind a join that shuffles by these columns Spark leaves out the shuffle that brings groups together,
    # and may then change the join to one that does not.
    return (
        events.join(F.broadcast(of_groups), [*GROUP], "left")
        .withColumn("snapshot", F.when(is_before, F.col("known")))
        .drop("known")
    )


def _place_in_snapshot() -> Column:
    """Return where a snapshot's record comes in it; other events come behind all of them."""
    place = F.array_position(F.array(*map(F.lit, ORDER)), F.col("key_type"))
    return F.when(F.col("snapshot").isNull(), len(ORDER) + 1).otherwise(place)
