"""Hashes of the keys of records, of 64 bits: equal keys have equal ones, and others nearly never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from kip848_records.protocol.segments.rows import GroupColumns

    Keys: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint64]]
    """Some rows of a group, in order, with the hashes of their keys."""

_AT_ONCE: Final = 8_192
WORD: Final = 8
"""So many bytes before the end of each slice a hash may read."""
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)


def keys_of(columns: GroupColumns) -> Iterator[Keys]:
    """Yield the records of a group that have a key, with its hash, some thousands at once."""
    records = columns.group.records
    keyed = np.flatnonzero(~columns.is_control & (records.key_size > 0))
    for start in range(0, len(keyed), _AT_ONCE):
        rows = keyed[start : start + _AT_ONCE]
        yield rows, hashes_of(columns.group.buffer, records.key_start[rows], records.key_size[rows])


def slots_of(hashes: NDArray[np.uint64], slots: int) -> NDArray[np.uint64]:
    """Return the place of each hash in a table of so many slots."""
    return ((hashes * _MULTIPLIER) >> _HALF) % np.uint64(slots)


def hashes_of(buffer: bytes | pa.Buffer, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a hash of each slice of a buffer, by its words of eight bytes: the last eight, then those from its start.

    The buffer has at least eight bytes before the end of each slice.
    """
    words: NDArray[np.uint64] = np.ndarray((len(memoryview(buffer)) - WORD + 1,), np.dtype("<u8"), buffer, strides=(1,))
    last = words[starts + sizes - WORD]
    is_short = sizes < WORD
    last[is_short] >>= (WORD * (WORD - sizes[is_short])).astype(np.uint64)
    hashes = _mixed(sizes.astype(np.uint64) * _MULTIPLIER, last)
    for at in range(0, int(sizes.max(initial=0)) - WORD, WORD):
        longer = np.flatnonzero(sizes - WORD > at)
        hashes[longer] = _mixed(hashes[longer], words[starts[longer] + at])
    return hashes


def _mixed(hashes: NDArray[np.uint64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (hashes ^ words) * _MULTIPLIER
    mixed ^= mixed >> _HALF
    return mixed
