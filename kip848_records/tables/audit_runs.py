"""The table `audit_runs`."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import ArrayType, MapType, StructType

from kip848_records.tables.columns import BIGINT, BOOLEAN, CLUSTER, INT, STRING, STRINGS, TIMESTAMP, Column, TableSpec

RUN: Final = Column("run", BIGINT, "Number of the run, from 1", required=True)

_PARTITIONS: Final = ArrayType(
    StructType()
    .add("partition", INT)
    .add("from_offset", BIGINT)
    .add("until_offset", BIGINT)
    .add("note", STRING)
    .add("captured_at", TIMESTAMP)
    .add("is_read_to_end", BOOLEAN)
)
_BY_OUTCOME: Final = MapType(STRING, BIGINT)
_MEASURED: Final = (
    StructType()
    .add("count", BIGINT)
    .add("sum_ms", BIGINT)
    .add("p50_ms", BIGINT)
    .add("p95_ms", BIGINT)
    .add("p99_ms", BIGINT)
    .add("max_ms", BIGINT)
)

AUDIT_RUNS: Final = TableSpec(
    "audit_runs",
    "Every audit of a cluster: what was read, when and how. A run writes its row last, after all tables are complete",
    ("cluster", "run"),
    (
        CLUSTER,
        RUN,
        Column(
            "captured_at",
            TIMESTAMP,
            "When the log was copied, or when the run asked where the live topic ends, not before the newest record. "
            "The ages of what is open are measured to group_state.captured_at (UTC)",
        ),
        Column(
            "has_capture_time",
            BOOLEAN,
            "Whether that time is known; false: no time of the copy was named, so it is that of the newest record",
            required=True,
        ),
        Column("sources", STRINGS, "The sources read, as passed to the audit", required=True),
        Column("dialect", STRING, "The dialect in which the records were decoded", required=True),
        Column("version", STRING, "The version of kip848-records that wrote the tables", required=True),
        Column("offset_commits", BOOLEAN, "Whether offset commits were decoded too", required=True),
        Column("is_copy", BOOLEAN, "Whether the run read a copy of the log, not a live topic", required=True),
        Column(
            "is_archived", BOOLEAN, "Whether it archives partitions that were truncated or recreated", required=True
        ),
        Column(
            "partitions",
            _PARTITIONS,
            "The range read of each partition of a live topic, and up to when it is known; else null",
        ),
        Column(
            "new_rebalances",
            _BY_OUTCOME,
            "How many rebalances ended since the run before, by outcome; the first run counts all of its log",
        ),
        Column("new_durations", _MEASURED, "Durations of those whose beginning and end the log shows, in ms"),
        Column(
            "total_rebalances", _BY_OUTCOME, "Sums of new_rebalances of this run and all before it; they never fall"
        ),
        Column(
            "total_durations",
            StructType().add("count", BIGINT).add("sum_ms", BIGINT),
            "Sums of new_durations of this run and all before it",
        ),
        Column("counted_until", MapType(INT, BIGINT), "For each partition, the offset from which the next run counts"),
        Column("table_versions", MapType(STRING, BIGINT), "Delta version of each table after this run"),
    ),
)
