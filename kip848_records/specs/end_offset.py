"""The table `end_offset`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import BIGINT, CLUSTER, TIMESTAMP, TOPIC_PARTITION, Column, TableSpec

END_OFFSET: Final = TableSpec(
    "end_offset",
    "Only with --offset-commits, and if end offsets are given, or a live topic was audited before: where the topics of "
    "groups ended, asked before the log was read to its end",
    ("cluster", "topic", "partition"),
    (
        CLUSTER,
        *TOPIC_PARTITION,
        Column("start_offset", BIGINT, "Offset at which its log begins; null: not asked"),
        Column("end_offset", BIGINT, "Offset of the next message", required=True),
        Column("asked_at", TIMESTAMP, "When it was asked (UTC)", required=True),
        Column("earlier_offset", BIGINT, "The end offset that the run before was given; null: none, or it was higher"),
        Column("earlier_at", TIMESTAMP, "When that was asked (UTC)"),
    ),
)
