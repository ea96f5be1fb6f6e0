"""The table `log`, from which all others are derived."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.audit_runs import CHANGED_LIMITS, RUN
from kip848_records.specs.columns import (
    BIGINT,
    BOOLEAN,
    CLUSTER,
    INT,
    STRING,
    STRINGS,
    Column,
    TableSpec,
    list_of,
    struct_of,
)
from kip848_records.specs.log_columns import LOG_COLUMNS

RUN_INFO: Final = struct_of(
    is_copy=BOOLEAN,
    sources=STRINGS,
    topic_id=STRING,
    version=STRING,
    dialect=STRING,
    offset_commits=BOOLEAN,
    read_ms=BIGINT,
    captured_ms=BIGINT,
    kept_since_ms=BIGINT,
    is_pruning=BOOLEAN,
    is_archived=BOOLEAN,
    record_tables=BOOLEAN,
    names=list_of(struct_of(topic_id=STRING, topic=STRING, source=STRING)),
    limits=CHANGED_LIMITS,
    offsets_retention_ms=BIGINT,
    end_offsets=list_of(
        struct_of(
            topic=STRING,
            partition=INT,
            start_offset=BIGINT,
            end_offset=BIGINT,
            asked_ms=BIGINT,
            earlier_offset=BIGINT,
            earlier_ms=BIGINT,
        )
    ),
)
"""The facts about a run: see `log.runs.RunInfo`."""

PARTITION_READ: Final = struct_of(
    from_offset=BIGINT,
    until_offset=BIGINT,
    last_ms=BIGINT,
    note=STRING,
    first_offset=BIGINT,
    range_from=BIGINT,
    is_gapless=BOOLEAN,
    first_repeated_key=BIGINT,
    compaction_probe=BIGINT,
    kept_from=BIGINT,
    is_tombstone_gap=BOOLEAN,
    captured_ms=BIGINT,
    is_read_to_end=BOOLEAN,
)
"""The range that a run read of one partition of a live topic: see `log.runs.PartitionRead`."""

RECORD, OFFSET_COMMIT, KNOWLEDGE = "record", "offset_commit", "knowledge"
"""Values of `content`."""

_COMMENTS: Final = {
    "partition": "Partition of __consumer_offsets",
    "offset": "Offset of the record",
    "timestamp": "When the record was appended, by the coordinator's clock (UTC)",
    "timestamp_type": "0: creation time; 1: append time",
    "key": "The key's bytes",
    "value": "The value's bytes; null for a tombstone",
    "key_type": "Record type: the first two bytes of the key",
    "group_id": "Group id, in full; null if the key has none",
    "transaction": "none, committed, aborted, pending (no marker yet); unknown: the source does not show markers",
    "producer_id": "Transactional or idempotent producer; null if the source does not show it",
    "producer_epoch": "Epoch of the producer; null without one, or if the source does not show it",
    "control": "commit, abort, unknown: a marker of a transaction; null for records",
    "error_code": "Why the row does not count as a record; null for all others",
    "error": "The error as text",
    "leader_epoch": "Partition leader epoch of its batch; null if the source does not show it",
    "copies": "Copies of the log that hold the row; null for a live topic",
    "file": "The range that one file, or one copy of a partition, covers; null for records",
}

LOG: Final = TableSpec(
    "log",
    "Every row of a group as read, from which the other tables of its cluster are derived. Separate rows hold the "
    "facts about each run and the ranges that it read",
    ("cluster", "run", "partition", "offset"),
    (
        CLUSTER,
        Column(
            "content",
            STRING,
            "record, offset_commit, or knowledge: a row of `run_info`, `read` or `file`",
            required=True,
        ),
        RUN,
        *(Column(field.name, field.type, _COMMENTS[field.name]) for field in LOG_COLUMNS),
        Column(
            "is_inferred",
            BOOLEAN,
            "Whether the log no longer has the record. When the topic was read again, a key was missing, so its "
            "deletion is inferred: at the first free offset after the earlier read, with the time to which that read "
            "knew the partition",
            required=True,
        ),
        Column("run_info", RUN_INFO, "The facts about a run; null for all other rows"),
        Column("read", PARTITION_READ, "The range that a run read of a live partition; null for all other rows"),
    ),
)
