"""The table `audit_runs`."""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import ArrayType, MapType, StructType

from kip848_records.tables.columns import (
    BIGINT,
    BOOLEAN,
    CLUSTER,
    INT,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
)

RUN: Final = Column("run", BIGINT, "Number of the run, from 1", required=True)

_PARTITIONS: Final = ArrayType(
    StructType().add("partition", INT).add("from_offset", BIGINT).add("until_offset", BIGINT).add("note", STRING)
)

AUDIT_RUNS: Final = TableSpec(
    "audit_runs",
    "Every audit of a cluster: what was read, when and how. A run writes its row last, after all tables are complete",
    ("cluster", "run"),
    (
        CLUSTER,
        RUN,
        Column("captured_at", TIMESTAMP, "When the log was copied; the age of open rows is measured to it (UTC)"),
        Column("sources", STRINGS, "The sources read, as passed to the audit", required=True),
        Column("dialect", STRING, "The dialect in which the records were decoded", required=True),
        Column("version", STRING, "The version of kip848-records that wrote the tables", required=True),
        Column("offset_commits", BOOLEAN, "Whether offset commits were decoded too", required=True),
        Column("is_copy", BOOLEAN, "Whether the run read a copy of the log, not a live topic", required=True),
        Column(
            "is_archived", BOOLEAN, "Whether it archives partitions that were truncated or recreated", required=True
        ),
        Column("partitions", _PARTITIONS, "The range read of each partition of a live topic; else null"),
        Column("table_versions", MapType(STRING, BIGINT), "Delta version of each table after this run"),
    ),
)
