"""Uuids as Kafka prints them: the URL-safe base64 of their 16 bytes, without padding, 22 characters."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

UUID_BYTES = 16
UUID_CHARACTERS = 22

_FEW = 500  # up to this number, ids are encoded without a search for the distinct ones
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_PAIRS = np.frombuffer(b"".join(bytes(pair) for pair in product(_ALPHABET, repeat=2)), np.uint16)
"""The characters of 12 bits."""

_SHIFTS = np.array([[52, 40, 28, 16, 4], [48, 36, 24, 12, 0]])[:, :, np.newaxis]
"""The positions of five groups of 12 bits, in the 64 bits from byte 0 on and in those from byte 7 on."""


def uuid_text(raw: NDArray[Any]) -> pa.StringArray:
    """Return 16-byte values (dtype V16) as text.

    The ids of a few topics recur in every record, so the distinct ones are encoded and then copied.
    """
    ids = np.ascontiguousarray(raw)
    if len(ids) < _FEW:
        text = _encode(ids)
    else:
        distinct, places = _distinct(ids)
        text = _encode(distinct).take(places)
    offsets = np.arange(0, (len(text) + 1) * UUID_CHARACTERS, UUID_CHARACTERS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(text), pa.py_buffer(offsets), pa.py_buffer(text))


def _distinct(ids: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct ids, and for every id its position among them.

    Half of an id nearly always identifies it, and hashing 64-bit numbers is cheap.
    """
    halves = ids.view(np.uint64).reshape(-1, 2)
    encoded = pa.array(np.ascontiguousarray(halves[:, 1])).dictionary_encode()
    places = encoded.indices.to_numpy().astype(np.int64)
    one_of_each = np.empty(len(encoded.dictionary), np.int64)
    one_of_each[places] = np.arange(len(ids))
    distinct = ids[one_of_each]
    if np.array_equal(halves[one_of_each, 0].take(places), halves[:, 0]):
        return distinct, places
    encoded = pa.Array.from_buffers(pa.binary(UUID_BYTES), len(ids), [None, pa.py_buffer(ids)]).dictionary_encode()
    distinct = np.frombuffer(encoded.dictionary.buffers()[1], ids.dtype, len(encoded.dictionary))
    return distinct, encoded.indices.to_numpy().astype(np.int64)


def _encode(ids: NDArray[Any]) -> NDArray[Any]:
    """Return the text of each id as one value of 22 bytes: two characters for every 12 bits."""
    words: NDArray[np.int64] = np.ndarray((2, 1, len(ids)), ">i8", ids, strides=(7, 0, UUID_BYTES)).astype(np.int64)
    pairs = words >> _SHIFTS & 0xFFF
    text = np.empty((len(ids), UUID_CHARACTERS // 2), _PAIRS.dtype)
    text[:, :10] = _PAIRS.take(pairs.reshape(10, -1)).T
    text[:, 10] = _PAIRS.take(ids.view(np.uint8)[15::UUID_BYTES].astype(np.int64) << 4)
    return text.view(f"V{UUID_CHARACTERS}").ravel()
