"""Offset commits, most of any log: generated as columns, never one by one."""

from __future__ import annotations

import struct
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.encode import encode_key
from kip848_records.protocol.messages import RECORDS
from kip848_records.simulate.spec import START_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from kip848_records.simulate.broker.releases import Release
    from kip848_records.simulate.consumption import CommitKeys, Span

    Ints = NDArray[np.int64]

OFFSET_COMMIT: Final = 1
COMMIT: Final = np.dtype(
    [
        ("time", np.int64),
        ("timestamp", np.int64),
        ("key", np.int64),
        ("offset", np.int64),
        ("producer_id", np.int64),
        ("producer_epoch", np.int16),
        ("control", np.int8),
        ("is_hidden", np.bool_),
        ("comes_first", np.bool_),
    ]
)
"""An offset commit, or a marker of a transaction.

`time`: the simulation's, in ms; `timestamp`: the coordinator's, likewise. `key`: the number of its key. `producer_id`:
-1 outside transactions. `control`: `NO_MARKER`, `ABORT` or `COMMITTED`. `is_hidden`: readers of committed records do
not see it: a marker, or a commit of a transaction that is not committed. `comes_first`: before an operation of that
time.
"""
NO_MARKER: Final = -1
ABORT: Final = 0
COMMITTED: Final = 1

_MARKER: Final = struct.pack(">hi", 0, 0)
"""The value of a marker: its version, and the epoch of the transaction coordinator."""
_ABORTED_OF: Final = 20
"""One of this many transactions is aborted."""

_TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field: tag 0, 16 bytes
_VALUES: Final = {
    3: np.dtype(
        [
            ("version", ">i2"),
            ("offset", ">i8"),
            ("leader_epoch", ">i4"),
            ("metadata_length", ">i2"),
            ("commit_timestamp", ">i8"),
        ]
    ),
    4: np.dtype(
        [
            ("version", ">i2"),
            ("offset", ">i8"),
            ("leader_epoch", ">i4"),
            ("metadata_length", "u1"),
            ("commit_timestamp", ">i8"),
            ("tag", "V3"),
            ("topic_id", "V16"),
        ]
    ),
}
"""OffsetCommit values with empty metadata, by version: all have the same length."""


def no_commits(count: int = 0) -> NDArray[Any]:
    """Return so many offset commits outside transactions, which are to be filled in."""
    commits = np.zeros(count, COMMIT)
    commits["producer_id"] = commits["producer_epoch"] = commits["control"] = -1
    return commits


def commits_of(spans: Sequence[Span], in_transactions: Sequence[bool], interval_ms: int) -> NDArray[Any]:
    """Return the commits of members that commit all their partitions every `interval_ms` while they own them.

    `in_transactions`: whether a span commits in transactions, whose markers take offsets, too. Timestamps are 0.
    """
    if not spans or not interval_ms:
        return no_commits()
    origins, starts, ends = np.array([(span.origin, span.start, span.end) for span in spans], np.int64).T
    sizes = np.array([len(span.keys) for span in spans], np.int64)
    keys = np.fromiter((key for span in spans for key in span.keys), np.int64, int(sizes.sum()))
    first = np.maximum((starts - origins - 1) // interval_ms + 1, 1)
    count = np.maximum((ends - origins - 1) // interval_ms - first + 1, 0)

    span_of, nth = _repeat(count)
    times = origins[span_of] + (first[span_of] + nth) * interval_ms
    order = np.argsort(times, kind="stable")
    span_of, times = span_of[order], times[order]

    transactional = np.array(in_transactions, bool)[span_of]
    aborted = transactional & (times // interval_ms % _ABORTED_OF == 0)
    request_of, place = _repeat(sizes[span_of] + transactional)
    starts_at = np.cumsum(sizes) - sizes
    is_marker = place == sizes[span_of][request_of]
    rows = np.where(is_marker, 0, starts_at[span_of][request_of] + place)
    commits = no_commits(len(rows))
    commits["time"] = times[request_of]
    commits["key"] = keys[rows]
    commits["offset"] = offsets_of(commits)
    commits["control"] = np.where(is_marker, COMMITTED, NO_MARKER)
    commits["is_hidden"] = is_marker | aborted[request_of]
    return commits


def offsets_of(commits: NDArray[Any]) -> Ints:
    """Return how many messages the partitions have at the times of commits: each receives them at its own rate."""
    offsets: Ints = (commits["time"] - START_MS) * (commits["key"] % 97 + 3) // 1000
    return offsets


def commit_keys(keys: CommitKeys, since: int) -> list[bytes]:
    """Return the bytes of the keys that have numbers from `since` on."""
    fields = zip(keys.groups[since:], keys.topics[since:], keys.partitions[since:], strict=True)
    return [
        encode_key(RECORDS[OFFSET_COMMIT], {"group": group, "topic": topic[0], "partition": partition})
        for group, topic, partition in fields
    ]


def topic_ids(keys: CommitKeys) -> NDArray[Any]:
    """Return the topic id of each key."""
    raw = {topic: urlsafe_b64decode(topic + "==") for _, topic in set(keys.topics)}
    return np.array([raw[topic] for _, topic in keys.topics], "V16")


def commit_values(commits: NDArray[Any], ids: NDArray[Any], release: Release) -> pa.BinaryArray:
    """Return the values of commits and markers; `ids` are the topic ids by key."""
    kind = _VALUES[release.offset_commit_version]
    values = np.zeros(len(commits), kind)
    values["version"] = release.offset_commit_version
    values["offset"] = commits["offset"]
    values["commit_timestamp"] = commits["timestamp"]
    if release.offset_commit_version >= 4:  # noqa: PLR2004 - the first flexible one
        values["metadata_length"] = 1  # compact: the length plus one
        values["tag"] = np.void(_TOPIC_ID_TAG)
        values["topic_id"] = ids[commits["key"]]
    ends = np.arange(0, (len(values) + 1) * kind.itemsize, kind.itemsize, dtype=np.int32)
    encoded = pa.BinaryArray.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(values)])
    return pc.if_else(pa.array(commits["control"] == NO_MARKER), encoded, pa.scalar(_MARKER, pa.binary()))


def marker_key(control: int) -> bytes:
    """Return the key of a marker, `ABORT` or `COMMITTED`: its version and type."""
    return struct.pack(">hh", 0, control)


def _repeat(counts: Ints) -> tuple[Ints, Ints]:
    """Return each index `counts` times, and its number of earlier occurrences."""
    index = np.repeat(np.arange(len(counts)), counts)
    return index, np.arange(len(index)) - (np.cumsum(counts) - counts)[index]
