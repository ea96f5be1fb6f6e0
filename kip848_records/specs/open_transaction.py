"""The table `open_transaction`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    CAPTURED_AT,
    CLUSTER,
    INT,
    OFFSETS_PARTITION,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    TableSpec,
    list_of,
    struct_of,
)

PENDING_KEYS: Final = list_of(struct_of(group_id=STRING, topic=STRING, partition=INT, offset=BIGINT))

OPEN_TRANSACTION: Final = TableSpec(
    "open_transaction",
    "Only with --offset-commits, and for copies that show transaction markers: each transaction with offset commits "
    "that had no marker at the end of the log, by its producer, as kafka-transactions describe-producers names it",
    ("cluster", "offsets_partition", "producer_id"),
    (
        CLUSTER,
        OFFSETS_PARTITION,
        Column("producer_id", BIGINT, "Producer id of the transactional producer", required=True),
        Column("producer_epoch", INT, "Epoch of the producer in its last record"),
        Column("first_offset", BIGINT, "Offset of the transaction's first record in the partition", required=True),
        Column("first_at", TIMESTAMP, "Time of that record (UTC)"),
        Column("last_offset", BIGINT, "Offset of its last record", required=True),
        Column("last_at", TIMESTAMP, "Time of that record (UTC)"),
        Column("records", BIGINT, "Its records in the partition", required=True),
        Column("group_ids", STRINGS, "Ids of the groups whose offsets it commits, in order", required=True),
        Column(
            "keys",
            PENDING_KEYS,
            "Partitions whose committed offset waits for its marker, with the last offset that it commits. Consumers "
            "do not get the committed offset of these partitions until then",
            required=True,
        ),
        Column("age_ms", BIGINT, "From first_at to captured_at, in ms"),
        Column(
            "blocks_from",
            BIGINT,
            "The smallest first_offset in the partition, which is its last stable offset: from here on nothing is "
            "compacted, and readers with read_committed get nothing",
            required=True,
        ),
        Column("records_behind", BIGINT, "Records of the partition from blocks_from on", required=True),
        Column(
            "status",
            STRING,
            "open; unknown: its marker may be among records that were lost, or cannot be read",
            required=True,
        ),
        CAPTURED_AT,
    ),
)
