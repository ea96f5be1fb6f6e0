"""The tables `quarantine` and `unknown_record`: rows without a record that this version can decode."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import (
    BIGINT,
    BINARY,
    CLUSTER,
    INT,
    KEY_TYPE,
    LOGGED_AT,
    POSITION,
    POSITION_KEY,
    STRING,
    Column,
    TableSpec,
)

QUARANTINE: Final = TableSpec(
    "quarantine",
    "Rows that could not be read or decoded, with their bytes: no row is dropped silently",
    POSITION_KEY,
    (
        CLUSTER,
        Column("partition", INT, "Partition of __consumer_offsets; null if the row has none"),
        Column("offset", BIGINT, "Offset, or base offset of an unreadable batch; null if the row has none"),
        LOGGED_AT,
        Column("key_type", INT, "The record type in the key; null if the key has less than two bytes"),
        Column("group_id", STRING, "The group in the key; null if it has none of a known type in UTF-8"),
        Column("key", BINARY, "The key's bytes"),
        Column("value", BINARY, "The value's bytes, or the unreadable bytes"),
        Column("error_code", STRING, "The reason as a code", required=True),
        Column("reason", STRING, "The reason as text", required=True),
        Column("position", INT, "The byte of key or value at which decoding failed; null if it was not decoded"),
    ),
)

UNKNOWN_RECORD: Final = TableSpec(
    "unknown_record",
    "Records of types that this version does not know, with their bytes",
    POSITION_KEY,
    (
        *POSITION,
        KEY_TYPE,
        Column("key", BINARY, "The key's bytes"),
        Column("value", BINARY, "The value's bytes; null for a tombstone"),
    ),
)
