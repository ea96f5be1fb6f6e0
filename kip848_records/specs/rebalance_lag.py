"""The table `rebalance_lag`."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLIENT,
    CLOCK_SKEW,
    GROUP,
    GROUP_TYPE,
    HAS_ENDED,
    HISTORY,
    INT,
    MEMBER_ID,
    PARTITION,
    REBALANCE_TIMEOUT,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
    list_of,
    struct_of,
)
from kip848_records.specs.completion import named, with_column

AWAITED: Final = list_of(
    struct_of(
        topic_id=STRING,
        topic=STRING,
        partition=INT,
        owner=STRING,
        released_at=TIMESTAMP,
        subtopology_id=STRING,
        role=STRING,
    )
)


def _with_topics(topics: pa.Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Add topic names to `awaited`; it is null if the member awaits nothing."""
    lists = rows["awaited"]
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    awaited = pa.RecordBatch.from_struct_array(lists.flatten())
    awaited = with_column(awaited, "topic", named(awaited["topic_id"], topics))
    columns = [awaited[field.name].cast(field.type) for field in AWAITED.value_type]
    elements = pa.StructArray.from_arrays(columns, fields=list(AWAITED.value_type))
    return with_column(rows, "awaited", pa.ListArray.from_arrays(offsets, elements, mask=pc.equal(lengths, 0)))


REBALANCE_LAG: Final = TableSpec(
    "rebalance_lag",
    "How long each member took to reconcile each target assignment that was written during its membership, and which "
    "members blocked it",
    ("cluster", "group_id", "incarnation", "group_epoch", "member_id"),
    (
        *GROUP,
        GROUP_TYPE,
        Column("group_epoch", INT, "Epoch of the assignment", required=True),
        MEMBER_ID,
        PARTITION,
        Column("target_at", TIMESTAMP, "When the assignment was written (UTC)"),
        Column("reconciled_at", TIMESTAMP, "When the member owned exactly its target, at this epoch or later (UTC)"),
        Column(
            "status",
            STRING,
            "reconciled; left: the member or the group was gone first; open: neither by the end of the log; unknown: "
            "the log does not show it. Null: it ended before the history is complete",
        ),
        Column("superseded", BOOLEAN, "Whether a later assignment was written before this row ended", required=True),
        Column("first_bumped_at", TIMESTAMP, "When the oldest epoch that this assignment answers was bumped (UTC)"),
        Column(
            "behind_since",
            TIMESTAMP,
            "Since when the member has been behind: first_bumped_at of its oldest assignment that was not reconciled "
            "when this one was written (UTC)",
        ),
        Column("lag_ms", BIGINT, "From first_bumped_at to reconciled_at, or to the capture while open; else null"),
        Column(
            "revoke_ms",
            BIGINT,
            "Time in UNREVOKED_PARTITIONS since target_at, in ms: asked to revoke partitions, and not away meanwhile",
        ),
        Column("wait_ms", BIGINT, "Time in UNRELEASED_PARTITIONS since target_at, in ms: waiting for other members"),
        Column(
            "blocked_by",
            STRINGS,
            "Ids of members that held partitions for which this one waited; if open, of those that still hold one",
            required=True,
        ),
        Column(
            "awaited",
            AWAITED,
            "If open in UNRELEASED_PARTITIONS: the partitions it waits for; owner null: no member has it, since "
            "released_at if that was seen. topic is the id if no name is known. Streams: tasks, each with its "
            "subtopology and the role in which the member gets it, without a topic",
        ),
        *CLIENT,
        REBALANCE_TIMEOUT,
        HISTORY,
        CLOCK_SKEW,
    ),
    ended_at=f"CASE WHEN {HAS_ENDED} THEN coalesce(reconciled_at, target_at) END",
    complete=_with_topics,
)
