"""The content of a part of the log by key: how often each key was written, and which commits changed nothing.

A record never becomes a row for it: some thousands at once are counted in columns. What is kept grows with the distinct
keys, not with the records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columns import TIMES
from kip848_records.protocol.keys import commit_topics, key_columns
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES
from kip848_records.sources.key_hashes import hashes_of, slots_of
from kip848_records.specs.log_columns import BY_KEY, KEYS, NAMED
from kip848_records.times import MICROS_PER_MS, NO_TIMESTAMP_MS, can_be_shown

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

_AT_ONCE_BITS: Final = 16
_FEWEST: Final = 1 << 10
_LOAD: Final = 4
"""So many slots a key, at least: nearly every hash is then found where it is looked for first."""
_TOMBSTONE: Final = np.uint64(0)
_NONE_YET: Final = np.uint64(1)
_VALUES: Final = np.uint64(2)
"""A value that no commit has, which is not compared. Those below have a meaning too."""
_FIRST_HASH: Final = np.uint64(3)

_VERSION: Final = 2
_OFFSET: Final = 8
_EPOCH: Final = 4
_LENGTH: Final = 2
_WITHOUT_METADATA: Final = _VERSION + _OFFSET + _EPOCH + _LENGTH
_WITH_EPOCH: Final = 3
_FLEXIBLE: Final = 4
_MORE: Final = 0x80


class Slices(NamedTuple):
    """Slices of a buffer. `sizes`: in bytes, -1 for null."""

    buffer: bytes | pa.Buffer
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def of(self, rows: NDArray[np.int64] | slice) -> Slices:
        """Return some of them."""
        return Slices(self.buffer, self.starts[rows], self.sizes[rows])

    def __len__(self) -> int:
        return len(self.starts)


class KeyedRecords(NamedTuple):
    """Records with a key, in the order of their offsets. `share`: of each the bytes on the disk; None if not known."""

    hashes: NDArray[np.uint64]
    keys: Slices
    values: Slices
    offset: NDArray[np.int64]
    millis: NDArray[np.int64]
    share: NDArray[np.float64] | None = None
    is_aborted: NDArray[np.bool_] | None = None

    def of(self, rows: NDArray[np.int64], hashes: NDArray[np.uint64]) -> KeyedRecords:
        """Return some of them, in this order. `hashes`: those of their keys."""
        chosen: NDArray[np.int64] | slice = rows
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            # Nearly always no marker is between them, and nothing is copied.
            chosen = slice(int(rows[0]), int(rows[-1]) + 1)
        return KeyedRecords(
            hashes,
            self.keys.of(chosen),
            self.values.of(chosen),
            self.offset[chosen],
            self.millis[chosen],
            None if self.share is None else self.share[chosen],
            None if self.is_aborted is None else self.is_aborted[chosen],
        )


class KeyContents:
    """Counts records by key.

    A commit changes nothing if its value has the version, the offset, the leader epoch and the metadata of the commit
    of its key before; only its time differs then. A record of an aborted transaction counts, but is no state of a key.
    """

    def __init__(self) -> None:
        self._ids = _Ids()
        self._keys: list[pa.Array] = []
        self._has_share = True
        self._records = _Growing(np.int64)
        self._tombstones = _Growing(np.int64)
        self._unchanged = _Growing(np.int64)
        self._clean_records = _Growing(np.int64)
        self._clean_unchanged = _Growing(np.int64)
        self._bytes = _Growing(np.float64)
        self._first_offset, self._last_offset = _Growing(np.int64, -1), _Growing(np.int64, -1)
        self._first_ms, self._oldest_ms = _Growing(np.int64, NO_TIMESTAMP_MS), _Growing(np.int64, NO_TIMESTAMP_MS)
        self._newest_ms = _Growing(np.int64, NO_TIMESTAMP_MS)
        self._first_value, self._last_value = _Growing(np.uint64, _NONE_YET), _Growing(np.uint64, _NONE_YET)
        self._states = _Growing(np.int64)

    def add(self, records: KeyedRecords) -> None:
        """Count at most 2 ** 16 records, which are behind those before."""
        if not len(records.hashes):
            return
        ids, new = self._ids.of(records.hashes)
        if len(new):
            self._add_keys(records.keys.of(new))
        self._has_share &= records.share is not None
        # One sort of numbers brings the records of a key together, in their order.
        packed = np.sort((ids << _AT_ONCE_BITS) | np.arange(len(ids)))
        order = packed & ((1 << _AT_ONCE_BITS) - 1)
        self._count(packed >> _AT_ONCE_BITS, records, order)
        if records.is_aborted is not None and records.is_aborted.any():
            order = order[~records.is_aborted[order]]
        if len(order):
            self._follow(ids[order], records, order)

    def clean(self) -> None:
        """Begin to count anew what the cleaner has not been to."""
        self._clean_records.copy(self._records)
        self._clean_unchanged.copy(self._unchanged)

    def rows(self) -> dict[str, pa.StructArray]:
        """Return the fields `named` and `keys` of `specs.log_columns.BY_KEY`, as rows."""
        if not len(self._ids):
            return {"named": pa.array([], NAMED), "keys": pa.array([], KEYS)}
        every = pa.concat_arrays(self._keys)
        place, named = _named(every)
        keys = {
            "place": pa.array(place.astype(np.int32)),
            "hash": pa.array(self._ids.hashes().view(np.int64)),
            "states": self._states.array(),
            "first_offset": self._first_offset.array(),
            "last_offset": self._last_offset.array(),
            "first_at": self._first_ms.times(),
            "first_value": pa.array(self._first_value.values.view(np.int64)),
            "last_value": pa.array(self._last_value.values.view(np.int64)),
        }
        return {
            "named": _rows(NAMED, named | self._sums(place, pc.fill_null(named["key_type"], -1).to_numpy())),
            "keys": _rows(KEYS, keys),
        }

    def _sums(self, place: NDArray[np.int64], key_type: NDArray[np.int32]) -> dict[str, pa.Array]:
        """Return what is counted of the keys at each place. `key_type`: of the places."""
        count = len(key_type)
        is_commit = np.isin(key_type, OFFSET_COMMIT_TYPES)[place]
        unchanged = np.where(is_commit, self._unchanged.values, 0)
        dirty_records = self._records.values - self._clean_records.values
        dirty_unchanged = np.where(is_commit, self._unchanged.values - self._clean_unchanged.values, 0)
        found = {
            "records": _sum(self._records.values, place, count),
            "tombstones": _sum(self._tombstones.values, place, count),
            "unchanged": _sum(unchanged, place, count),
            "dirty_records": _sum(dirty_records, place, count),
            "dirty_unchanged": _sum(dirty_unchanged, place, count),
        }
        size = _sum(self._bytes.values, place, count)
        oldest = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(
            oldest, place, np.where(self._oldest_ms.values == NO_TIMESTAMP_MS, oldest[0], self._oldest_ms.values)
        )
        newest = np.full(count, NO_TIMESTAMP_MS)
        np.maximum.at(newest, place, self._newest_ms.values)
        oldest = np.where(oldest == np.iinfo(np.int64).max, NO_TIMESTAMP_MS, oldest)
        return {
            **{name: pa.array(values) for name, values in found.items()},
            "bytes": pa.array(np.round(size).astype(np.int64), mask=np.full(count, not self._has_share)),
            "oldest": _times(oldest),
            "newest": _times(newest),
        }

    def _add_keys(self, keys: Slices) -> None:
        self._keys.append(slices_of(keys))
        for each in vars(self).values():
            if isinstance(each, _Growing):
                each.grow(len(self._ids))

    def _count(self, ids: NDArray[np.int64], records: KeyedRecords, order: NDArray[np.int64]) -> None:
        """Count all records: they lie on the disk. `ids`: of the records in this order, ascending."""
        starts = _starts(ids)
        keys = ids[starts]
        self._records.values[keys] += np.diff(starts, append=len(ids))
        is_tombstone = records.values.sizes < 0
        if is_tombstone.any():
            np.add.at(self._tombstones.values, ids[is_tombstone[order]], 1)
        if records.share is not None:
            self._bytes.values[keys] += np.add.reduceat(records.share[order], starts)
        self._note_times(keys, records.millis[order], starts)

    def _note_times(self, keys: NDArray[np.int64], millis: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
        lowest, highest = np.minimum.reduceat(millis, starts), np.maximum.reduceat(millis, starts)
        if (lowest <= NO_TIMESTAMP_MS).any() or not can_be_shown(highest).all():
            is_shown = (millis > NO_TIMESTAMP_MS) & can_be_shown(millis)
            most = np.iinfo(np.int64).max
            lowest = np.minimum.reduceat(np.where(is_shown, millis, most), starts)
            lowest = np.where(lowest == most, NO_TIMESTAMP_MS, lowest)
            highest = np.maximum.reduceat(np.where(is_shown, millis, NO_TIMESTAMP_MS), starts)
        before = self._oldest_ms.values[keys]
        is_first = (before == NO_TIMESTAMP_MS) | ((lowest != NO_TIMESTAMP_MS) & (lowest < before))
        self._oldest_ms.values[keys] = np.where(is_first, lowest, before)
        self._newest_ms.values[keys] = np.maximum(self._newest_ms.values[keys], highest)

    def _follow(self, ids: NDArray[np.int64], records: KeyedRecords, order: NDArray[np.int64]) -> None:
        """Note the states that records give their keys. `ids`: of the records in this order, ascending."""
        starts = _starts(ids)
        ends = np.append(starts[1:], len(ids)) - 1
        keys = ids[starts]
        values = value_hashes(records.values)[order]
        before = np.empty_like(values)
        before[1:] = values[:-1]
        before[starts] = self._last_value.values[keys]
        is_unchanged = np.flatnonzero((values == before) & (values >= _FIRST_HASH))
        if len(is_unchanged):
            np.add.at(self._unchanged.values, ids[is_unchanged], 1)
        self._states.values[keys] += np.diff(starts, append=len(ids))
        is_new = self._last_offset.values[keys] < 0
        if is_new.any():
            fresh, first = keys[is_new], order[starts[is_new]]
            self._first_offset.values[fresh] = records.offset[first]
            millis = records.millis[first]
            self._first_ms.values[fresh] = np.where(can_be_shown(millis), millis, NO_TIMESTAMP_MS)
            self._first_value.values[fresh] = values[starts[is_new]]
        self._last_offset.values[keys] = records.offset[order[ends]]
        self._last_value.values[keys] = values[ends]


def by_key(fields: Mapping[str, pa.Array], number: int = 0) -> pa.Array:
    """Return a column `by_key` of one row. `fields`: the elements of each list of `BY_KEY`."""
    lists = [
        pa.ListArray.from_arrays(
            pa.array([0, len(fields[field.name])], pa.int32()), fields[field.name].cast(field.type.value_type)
        )
        for field in BY_KEY
        if field.name in fields
    ]
    struct = pa.StructArray.from_arrays([pa.array([number], pa.int32()), *lists], fields=list(BY_KEY))
    return pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), struct)


def value_hashes(values: Slices) -> NDArray[np.uint64]:
    """Return a hash of what each offset commit says but for its times; 0 for a tombstone.

    Source: Kafka's `OffsetCommitValue`. Version 3 and later have a leader epoch; in version 4 the length of the
    metadata is a varint. Values of other records are read as if they were commits: that they are equal says nothing.
    """
    found = np.where(values.sizes < 0, _TOMBSTONE, _VALUES)
    rows: NDArray[np.int64] | slice = slice(None)
    if (values.sizes < _WITHOUT_METADATA).any():
        rows = np.flatnonzero(values.sizes >= _WITHOUT_METADATA)
    buffer, starts, sizes = values.of(rows)
    if not len(starts):
        return found
    version = _int16(buffer, starts)
    ends = _WITHOUT_METADATA + _int16(buffer, starts + (_WITHOUT_METADATA - _LENGTH))
    is_known = (ends >= _WITHOUT_METADATA) & (ends <= sizes)
    if len(others := np.flatnonzero(version != _WITH_EPOCH)):
        ends[others] = _ends_of_metadata(buffer, starts[others], version[others])
        is_whole = (ends[others] >= _VERSION + _OFFSET) & (ends[others] <= sizes[others])
        is_known[others] = (version[others] >= 0) & (version[others] <= _FLEXIBLE) & is_whole
    if is_known.all():
        found[rows] = np.maximum(hashes_of(buffer, starts, ends), _FIRST_HASH)
    else:
        known = np.flatnonzero(is_known)
        of_rows = known if isinstance(rows, slice) else rows[known]
        found[of_rows] = np.maximum(hashes_of(buffer, starts[known], ends[known]), _FIRST_HASH)
    return found


def _ends_of_metadata(
    buffer: bytes | pa.Buffer, starts: NDArray[np.int64], version: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return where the metadata of commits of several versions ends, counted from the start of each."""
    fixed = np.where(version < _WITH_EPOCH, _VERSION + _OFFSET, _VERSION + _OFFSET + _EPOCH)
    ends = fixed + _LENGTH + _int16(buffer, starts + fixed)
    raw = np.frombuffer(buffer, np.uint8)
    low, high = raw[starts + fixed].astype(np.int64), raw[starts + fixed + 1].astype(np.int64)
    is_long = low >= _MORE
    length = np.where(is_long, (low & (_MORE - 1)) | (high << 7), low) - 1
    return np.where(version >= _FLEXIBLE, fixed + 1 + is_long + length, ends)


def slices_of(slices: Slices) -> pa.BinaryArray:
    """Return a copy of slices of a buffer."""
    offsets = np.zeros(len(slices) + 1, np.int64)
    np.cumsum(slices.sizes, out=offsets[1:])
    raw = np.frombuffer(slices.buffer, np.uint8)
    at = np.arange(offsets[-1]) + np.repeat(slices.starts - offsets[:-1], slices.sizes)
    content, bounds = pa.py_buffer(raw[at]), pa.py_buffer(offsets.astype(np.int32))
    return pa.BinaryArray.from_buffers(pa.binary(), len(slices), [None, bounds, content])


def _starts(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each of ascending numbers begins."""
    return np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))


def _int16(buffer: bytes | pa.Buffer, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    # A start at the end of the buffer is that of nothing.
    words: NDArray[np.int16] = np.ndarray((len(memoryview(buffer)) - 1,), np.dtype(">i2"), buffer, strides=(1,))
    return words[np.minimum(starts, len(words) - 1)].astype(np.int64)


def _rows(kind: pa.StructType, columns: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays([columns[field.name].cast(field.type) for field in kind], fields=list(kind))


def _named(keys: pa.Array) -> tuple[NDArray[np.int64], dict[str, pa.Array]]:
    """Return the place of each key in the list of what keys name, and that list: type, group id, topic."""
    key_type, group_id = key_columns(keys)
    columns = {"key_type": key_type, "group_id": group_id, "topic": commit_topics(keys, key_type, group_id)}
    codes = np.zeros(len(keys), np.int64)
    for column in columns.values():
        encoded = column.dictionary_encode()
        # Null is a value too.
        codes = codes * (len(encoded.dictionary) + 1) + pc.fill_null(encoded.indices, -1).to_numpy() + 1
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    named = {name: column.take(pa.array(first)) for name, column in columns.items()}
    return place, {"place": pa.array(np.arange(len(first)), pa.int32()), **named}


def _sum(values: NDArray, place: NDArray[np.int64], count: int) -> NDArray:  # type: ignore[type-arg]
    found = np.zeros(count, values.dtype)
    np.add.at(found, place, values)
    return found


def _times(millis: NDArray[np.int64]) -> pa.Array:
    """Return ms as times; null for none."""
    return pa.array(millis * MICROS_PER_MS, mask=millis == NO_TIMESTAMP_MS).cast(TIMES)


class _Growing:
    """A number for each key."""

    def __init__(self, dtype: type, nothing: int | np.uint64 = 0) -> None:
        self._nothing = nothing
        self._all: NDArray[Any] = np.full(_FEWEST, nothing, dtype)
        self.values: NDArray = self._all[:0]  # type: ignore[type-arg]

    def grow(self, size: int) -> None:
        """Give keys that are new the value of nothing."""
        if size > len(self._all):
            more = np.full(2 * size, self._nothing, self._all.dtype)
            more[: len(self._all)] = self._all
            self._all = more
        self.values = self._all[:size]

    def copy(self, other: _Growing) -> None:
        """Take the values of another."""
        self.values[:] = other.values

    def array(self) -> pa.Array:
        """Return the values."""
        return pa.array(self.values)

    def times(self) -> pa.Array:
        """Return ms as times; null for none."""
        return _times(self.values)


class _Ids:
    """A small number for each hash of a key, in an open hash table: linear probing, many hashes at a time."""

    def __init__(self) -> None:
        self._slots = _FEWEST * _LOAD
        self._hashes = np.zeros(self._slots, np.uint64)
        self._numbers = np.zeros(self._slots, np.int64)
        self._known = np.empty(_FEWEST, np.uint64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def hashes(self) -> NDArray[np.uint64]:
        """Return the hash of each number."""
        return self._known[: self._count]

    def of(self, hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of each hash, and the indexes of the first ones of new hashes, in the order of numbers."""
        # An empty slot has the hash 0.
        hashes = np.maximum(hashes, np.uint64(1))
        slots = slots_of(hashes, self._slots).astype(np.int64)
        is_other = self._hashes[slots] != hashes
        if not is_other.any():
            return self._numbers[slots], np.empty(0, np.int64)
        sought = np.flatnonzero(is_other)
        slots[sought] = self._probed(hashes[sought], slots[sought])
        missing = sought[self._hashes[slots[sought]] == 0]
        if not len(missing):
            return self._numbers[slots], missing
        new, first = np.unique(hashes[missing], return_index=True)
        self._add(new)
        return self.of(hashes)[0], missing[first]

    def _probed(self, hashes: NDArray[np.uint64], slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the slot that each hash has, or would have, from a slot on."""
        slots = slots.copy()
        left = np.arange(len(hashes))
        while len(left):
            found = self._hashes[slots[left]]
            left = left[(found != hashes[left]) & (found != 0)]
            slots[left] = (slots[left] + 1) % self._slots
        return slots

    def _add(self, new: NDArray[np.uint64]) -> None:
        count = self._count + len(new)
        if count > len(self._known):
            more = np.empty(2 * count, np.uint64)
            more[: self._count] = self.hashes()
            self._known = more
        self._known[self._count : count] = new
        numbers = np.arange(self._count, count)
        self._count = count
        if count * _LOAD > self._slots:
            self._slots = 1 << int(count * _LOAD * 2).bit_length()
            self._hashes, self._numbers = np.zeros(self._slots, np.uint64), np.zeros(self._slots, np.int64)
            new, numbers = self.hashes(), np.arange(count)
        while len(new):
            slots = self._probed(new, slots_of(new, self._slots).astype(np.int64))
            # Of several that want a slot the last one gets it.
            self._hashes[slots] = new
            is_placed = self._hashes[slots] == new
            self._numbers[slots[is_placed]] = numbers[is_placed]
            new, numbers = new[~is_placed], numbers[~is_placed]
