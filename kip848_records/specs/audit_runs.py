"""The table `audit_runs`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLUSTER,
    DOUBLE,
    INT,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
    list_of,
    map_of,
    struct_of,
)

RUN: Final = Column("run", BIGINT, "Number of the run, from 1", required=True)

_PARTITIONS: Final = list_of(
    struct_of(
        partition=INT,
        from_offset=BIGINT,
        until_offset=BIGINT,
        note=STRING,
        captured_at=TIMESTAMP,
        is_read_to_end=BOOLEAN,
    )
)
CHANGED_LIMITS: Final = list_of(struct_of(pattern=STRING, groups=STRING, name=STRING, value=DOUBLE))
_BY_OUTCOME: Final = map_of(STRING, BIGINT)
_MEASURED: Final = struct_of(count=BIGINT, sum_ms=BIGINT, p50_ms=BIGINT, p95_ms=BIGINT, p99_ms=BIGINT, max_ms=BIGINT)

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
            "diagnosis_limits",
            CHANGED_LIMITS,
            "Limits with which the run made `diagnosis`, as far as they are not the defaults: of a pattern, for the "
            "groups whose ids match `groups` (null: for all others). enabled 0: its rows were dropped; null: all are "
            "the defaults",
        ),
        Column(
            "offsets_retention_ms",
            BIGINT,
            "How long brokers keep an offset after its last commit, in ms: --offsets-retention, or the setting of a "
            "broker; null: not known, so the causes of lost offsets assume 7 days",
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
            struct_of(count=BIGINT, sum_ms=BIGINT),
            "Sums of new_durations of this run and all before it",
        ),
        Column("counted_until", map_of(INT, BIGINT), "For each partition, the offset from which the next run counts"),
        Column("table_versions", map_of(STRING, BIGINT), "Delta version of each table after this run"),
    ),
)
