"""The record type and the group id in the first bytes of keys, column by column."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar.encoded import Encoded
from kip848_records.protocol.columnar.slices import Slices
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS

TYPE_BYTES: Final = 2
GROUP_AT: Final = 4
"""The start of a group id in a key: after an int16 type and an int16 length."""

GROUP_TYPES: Final = tuple(key_type for key_type in RECORDS if key_type not in OFFSET_COMMIT_TYPES)
"""The record types that contain a group's state."""


def key_columns(keys: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the record type (int32) and the group id (string) of each of these keys (binary).

    The type is null without a key, or if the key has less than two bytes. The group id is null if the type is not in
    `RECORDS`, if the id runs past the key's end, or if it is not UTF-8.
    """
    key = Encoded(keys)
    sizes = key.ends - key.starts
    is_typed = sizes >= TYPE_BYTES
    types = np.where(is_typed, key.view(">i2")[np.where(is_typed, key.starts, 0)], 0).astype(np.int32)
    is_named = is_typed & (sizes >= GROUP_AT) & np.isin(types, list(RECORDS))
    length = key.view(">i2")[np.where(is_named, key.starts + TYPE_BYTES, 0)].astype(np.int64)
    is_named &= (length >= 0) & (length <= sizes - GROUP_AT)
    starts = key.starts + np.where(is_named, GROUP_AT, 0)
    ids = Slices.of(key.buffer, starts, starts + np.where(is_named, length, 0)).array(pa.binary(), ~is_named)
    return pa.array(types, mask=~is_typed), _text(ids)


def commit_topics(keys: pa.Array, key_type: pa.Array, group_id: pa.Array) -> pa.Array:
    """Return the topic (string) in the key of each offset commit; null for other keys, or if it is not whole.

    `key_type`, `group_id`: what `key_columns` returned of the keys.
    """
    key = Encoded(keys)
    is_named = pc.is_in(key_type, pa.array(OFFSET_COMMIT_TYPES, pa.int32())).to_numpy(zero_copy_only=False)
    is_named &= pc.is_valid(group_id).to_numpy(zero_copy_only=False)
    at = GROUP_AT + np.where(is_named, key.view(">i2")[np.where(is_named, key.starts + TYPE_BYTES, 0)], 0).astype(
        np.int64
    )
    left = key.ends - key.starts - at
    is_named &= left >= TYPE_BYTES
    length = key.view(">i2")[np.where(is_named, key.starts + at, 0)].astype(np.int64)
    is_named &= (length >= 0) & (length <= left - TYPE_BYTES)
    starts = key.starts + np.where(is_named, at + TYPE_BYTES, 0)
    return _text(Slices.of(key.buffer, starts, starts + np.where(is_named, length, 0)).array(pa.binary(), ~is_named))


def _text(ids: pa.BinaryArray) -> pa.StringArray:
    try:
        return ids.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([_text_or_none(raw) for raw in ids.to_pylist()], pa.string())


def _text_or_none(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


def lacks_group(key_type: pa.Array, group_id: pa.Array) -> pa.Array:
    """Return which records of a group's type have no readable group id; false, not null, for all others."""
    is_of_group = pc.is_in(key_type, pa.array(GROUP_TYPES, pa.int32()))
    return pc.and_(is_of_group, pc.is_null(group_id))
