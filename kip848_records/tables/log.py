"""The table `log`, from which all others are derived."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import BOOLEAN, STRING, Column, TableSpec
from kip848_records.specs.loading import shared_columns, struct_type
from kip848_records.specs.log_columns import LOG_COLUMNS

RUN_INFO: Final = struct_type("run_info")
PARTITION_READ: Final = struct_type("range_read")

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
    "by_key": "Of such a row, what the file holds by key, if the audit counted it; null for all others",
}

LOG: Final = TableSpec(
    "log",
    "Every row of a group as read, from which the other tables of its cluster are derived. Separate rows hold the "
    "facts about each run and the ranges that it read",
    ("cluster", "run", "partition", "offset"),
    (
        *shared_columns("cluster"),
        Column(
            "content",
            STRING,
            "record, offset_commit, or knowledge: a row of `run_info`, `read` or `file`",
            required=True,
        ),
        *shared_columns("run"),
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
