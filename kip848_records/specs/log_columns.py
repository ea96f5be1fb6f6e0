"""The columns of log rows as Arrow has them. `sources.log` has the same for Spark, and explains them."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kip848_records.protocol.columns import TIMES

TOPIC: Final = "__consumer_offsets"

FILE: Final = pa.struct(
    [
        ("name", pa.string()),
        ("format", pa.string()),
        ("base_offset", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("has_gap", pa.bool_()),
        ("first_missing_offset", pa.int64()),
        ("last_gap_end", pa.int64()),
        ("first_repeated_offset", pa.int64()),
        (
            "unread",
            pa.list_(
                pa.struct([("first_offset", pa.int64()), ("next_offset", pa.int64()), ("error_code", pa.string())])
            ),
        ),
        (
            "skipped",
            pa.list_(pa.struct([("key_type", pa.int32()), ("transaction", pa.string()), ("count", pa.int64())])),
        ),
        ("newest_skipped", TIMES),
    ]
)
LOG_COLUMNS: Final = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMES),
        ("timestamp_type", pa.int32()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("key_type", pa.int32()),
        ("group_id", pa.string()),
        ("transaction", pa.string()),
        ("producer_id", pa.int64()),
        ("control", pa.string()),
        ("error_code", pa.string()),
        ("error", pa.string()),
        ("leader_epoch", pa.int32()),
        ("copies", pa.list_(pa.string())),
        ("file", FILE),
    ]
)
COPY_COLUMNS: Final = pa.schema([field for field in LOG_COLUMNS if field.name != "copies"])
"""A log row of one copy, as its reader returns it."""
