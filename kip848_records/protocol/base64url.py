"""Uuids as Kafka prints them: the URL-safe base64 of their 16 bytes, without padding, 22 characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

UUID_CHARACTERS = 22

_ALPHABET = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", np.uint8)


def uuid_text(raw: NDArray[Any]) -> pa.StringArray:
    """Return 16-byte values (dtype V16) as text.

    The ids of a few topics recur in every record, so the distinct ones are encoded and then copied.
    """
    packed = np.ascontiguousarray(raw)
    ids = pa.Array.from_buffers(pa.binary(16), len(packed), [None, pa.py_buffer(packed)])
    encoded = ids.dictionary_encode()
    return _encode(encoded.dictionary).take(encoded.indices)


def _encode(ids: pa.FixedSizeBinaryArray) -> pa.StringArray:
    padded = np.zeros((len(ids), 18), np.uint8)
    padded[:, :16] = np.frombuffer(ids.buffers()[1], np.uint8, 16 * len(ids)).reshape(-1, 16)
    first, second, third = padded[:, 0::3], padded[:, 1::3], padded[:, 2::3]
    sextets = np.empty((len(ids), 6, 4), np.uint8)
    sextets[:, :, 0] = first >> 2
    sextets[:, :, 1] = (first & 0x03) << 4 | second >> 4
    sextets[:, :, 2] = (second & 0x0F) << 2 | third >> 6
    sextets[:, :, 3] = third & 0x3F
    text = np.ascontiguousarray(_ALPHABET[sextets].reshape(-1, 24)[:, :UUID_CHARACTERS])
    offsets = np.arange(0, (len(ids) + 1) * UUID_CHARACTERS, UUID_CHARACTERS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(ids), pa.py_buffer(offsets), pa.py_buffer(text))
