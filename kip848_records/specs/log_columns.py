"""The columns of log rows, the output of every source."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kip848_records.protocol.columns import TIMES

TOPIC: Final = "__consumer_offsets"

KEYS_KEPT: Final = 1024
"""How many hashes of keys are kept of a file: with more keys, their number is an estimate, right to about 3 percent."""

NAMED: Final = pa.struct(
    [
        ("place", pa.int32()),
        ("key_type", pa.int32()),
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("records", pa.int64()),
        ("tombstones", pa.int64()),
        ("unchanged", pa.int64()),
        ("dirty_records", pa.int64()),
        ("dirty_unchanged", pa.int64()),
        ("bytes", pa.int64()),
        ("oldest", TIMES),
        ("newest", TIMES),
    ]
)
"""What is in a file by what its keys name: the type of the record, the group, of offset commits the topic.

`place`: its number in the file. `unchanged`: commits that change nothing (`sources.key_contents.KeyContents`).
`dirty_`: behind the last gap that the cleaner left in the file. `bytes`: the part of the batches on the disk; null if
not known.
"""

KEYS: Final = pa.struct(
    [
        ("place", pa.int32()),
        ("hash", pa.int64()),
        ("states", pa.int64()),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("first_at", TIMES),
        ("first_value", pa.int64()),
        ("last_value", pa.int64()),
    ]
)
"""A key in a file, by a hash. `place`: that of `NAMED`. `states`: its records but those of aborted transactions.

`first_`, `last_`: the first and the last one of these; -1 for the offsets if there is none. Values are hashes, 0 for a
tombstone.
"""

OPEN: Final = pa.struct(
    [
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int32()),
        ("first_offset", pa.int64()),
        ("first_at", TIMES),
        ("last_offset", pa.int64()),
        ("records", pa.int64()),
        ("group_ids", pa.list_(pa.string())),
    ]
)
"""A transaction without a marker up to the end of a file."""

BY_KEY: Final = pa.struct(
    [
        ("number", pa.int32()),
        ("named", pa.list_(NAMED)),
        ("keys", pa.list_(KEYS)),
        ("open", pa.list_(OPEN)),
        ("ended", pa.list_(pa.int64())),
    ]
)
"""What is in a file by key, counted only if it is asked for: it grows with the distinct keys.

`number`: that of the part of a dump. `open`: transactions without a marker. `ended`: producers with a marker in the
file. Both are empty for a dump, which shows no markers.
"""

CONTENTS: Final = pa.struct(
    [
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("oldest", TIMES),
        ("newest", TIMES),
        ("dirty_records", pa.int64()),
        ("dirty_bytes", pa.int64()),
        ("dirty_oldest", TIMES),
        ("dirty_newest", TIMES),
        ("dirty_keys", pa.list_(pa.int64())),
        ("largest_bytes", pa.int64()),
        ("largest_offset", pa.int64()),
    ]
)
"""What is in a segment file: records of all types, those that do not become rows too.

`records`: without transaction markers. `bytes`: the size on the disk of the batches that have them. `oldest`,
`newest`: the lowest and the highest time of a record. `dirty_`: the same of the part behind the last gap that the
cleaner left in the file; of the whole file if there is none. `dirty_keys`: the smallest hashes of the keys in it, at
most `KEYS_KEPT`, in order. `largest_bytes`, `largest_offset`: the largest batch, as it is on the disk, and its base
offset.
"""

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
        ("contents", CONTENTS),
    ]
)
"""The coverage of one segment file in its partition; for a dump, the coverage of the copy in one partition.

`name`: the file's path; null for a dump. `format`: the source's, such as `segments` or `parquet`.
`base_offset`: the offset in the file's name; null for a dump.
`first_offset`: the start of the partition in this copy: the base offset of its first file, or a dump's lowest offset.
`last_offset`: the last covered offset; null for a file in which nothing could be read.
`has_gap`: compaction may have removed offsets between `base_offset` (a dump's `first_offset`) and `last_offset`. A dump
does not show transaction markers, whose offsets look like gaps too.
`first_missing_offset`, `last_gap_end`: the first offset of the first such gap, and the offset after the last one; null
without a gap, and for a dump.
`first_repeated_offset`: the offset of the second of the first two records of one key, both in this file and outside
transactions; null if there are none, and for a dump. Offset commits count too.
`unread`: the unreadable batches, adjacent ones merged: the lowest offset that the first can have, the offset of the
next readable record (null if there was none), and the error code of the first. The code `missing_offsets` stands for
offsets that are missing after `first_repeated_offset`: the cleaner was never there, so they were lost. Empty for a
dump: each of its rows in error has its own offset.
`skipped`: how many records did not become rows, by key type and outcome of their transaction: offset commits that were
not requested, and records of aborted transactions. `newest_skipped`: their highest timestamp.
`contents`: what is in the file; null for a dump, which does not show what the cleaner removed.
"""

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
        ("producer_epoch", pa.int32()),
        ("control", pa.string()),
        ("error_code", pa.string()),
        ("error", pa.string()),
        ("leader_epoch", pa.int32()),
        ("copies", pa.list_(pa.string())),
        ("file", FILE),
        ("by_key", pa.list_(BY_KEY)),
    ]
)
"""A row of the log. There are four kinds:

- a record: `control`, `error_code` and `file` are null;
- a transaction marker: `control` is not null;
- unreadable bytes, or something that is not a record: `error_code` is not null, and `value` has the bytes;
- the coverage of a file: `file` is not null, `partition` and `copies` name the partition and the copy, `offset` is
  `file.last_offset` (`file.base_offset` if that is null), and all other columns are null.

The columns that need an explanation:

`timestamp_type`: 0 if `timestamp` is the creation time of the record, 1 if it is the append time; null if unknown.
`key_type`: the first two bytes of the key, signed; null without a key, or with a shorter one.
`group_id`: only for key types that this version knows; null if the key does not hold a complete one in UTF-8.
`transaction`: `none`, `committed`, `aborted`, `pending` (no marker up to the end of the file), or `unknown` if the
source does not show it. Kafka writes only offset commits in transactions.
`producer_id`: the transactional or idempotent producer, -1 for none; null if unknown. `producer_epoch`: its epoch, null
without a producer or if unknown.
`control`: a marker's `commit` or `abort`; `unknown` for a control record of another kind.
`error_code`: a value of `sources.error_codes.ErrorCode`, or of `Fault` for bytes that cannot be read; `error`: the same
as text, with location and value.
`leader_epoch`: the partition leader's epoch when the batch was appended; null if unknown.
`copies`: the names of the copies of the partition that hold the row.
`by_key`: of the coverage of a file, if it was asked for, what is in it by key: one element; of a dump one a part.
"""

COPY_COLUMNS: Final = pa.schema([field for field in LOG_COLUMNS if field.name != "copies"])
"""A log row of one copy, as its reader returns it."""
