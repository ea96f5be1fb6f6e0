"""The table `partition_history`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CAPTURED_AT,
    CLUSTER,
    IS_READ_TO_END,
    PARTITION,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)

PARTITION_HISTORY: Final = TableSpec(
    "partition_history",
    "The range that each copy of the log holds of each partition, and where the history of its groups becomes complete",
    ("cluster", "partition", "copy"),
    (
        CLUSTER,
        PARTITION,
        Column("copy", STRING, "The path from which it was read, down to one broker's data folder", required=True),
        Column("first_offset", BIGINT, "Start of the copy; for rows of the Kafka source, the first offset read"),
        Column("last_offset", BIGINT, "Last offset covered; for rows of the Kafka source, the last offset read"),
        Column("complete_from", BIGINT, "From here to last_offset no record is missing; null: not known"),
        Column(
            "log_start_missing",
            BOOLEAN,
            "Whether the log's start is missing, not compacted; null: the log does not show it",
        ),
        Column(
            "stale_from", BIGINT, "Base copy: records from here on that it lacks do not count; null: not the base copy"
        ),
        Column(
            "is_base",
            BOOLEAN,
            "Whether history starts with this copy. Rows that only other copies hold, from stale_from to its "
            "complete_from, do not count for states and timelines",
            required=True,
        ),
        Column(
            "first_lost_offset",
            BIGINT,
            "Base copy: the first offset of records that were lost to all copies, not compacted, and may be of any "
            "group: a missing file, a batch that cannot be read. A group is unknown from here on until, "
            "after last_lost_offset, it is deleted or, for a classic group, completes another generation; null: "
            "nothing is known to be lost",
        ),
        Column("last_lost_offset", BIGINT, "Base copy: the last offset of such records"),
        Column("last_at", TIMESTAMP, "Time of the partition's newest record, of any group and in any copy (UTC)"),
        CAPTURED_AT,
        IS_READ_TO_END,
    ),
)
