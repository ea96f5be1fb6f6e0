"""Offset commits, most of any log: generated as columns, never one by one."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

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
HIDDEN: Final = -1
"""Instead of a key's number: an offset that readers of committed records skip, a marker or an aborted commit."""

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


@dataclass(frozen=True)
class Commits:
    """Offset commits in the order of the log: the time (ms) of each, and its key's number or `HIDDEN`."""

    times: Ints
    keys: Ints


def commits_of(spans: Sequence[Span], in_transactions: Sequence[bool], interval_ms: int) -> Commits:
    """Return the commits of members that commit all their partitions every `interval_ms` while they own them.

    `in_transactions`: whether a span commits in transactions, whose markers take offsets, too.
    """
    if not spans or not interval_ms:
        return Commits(np.zeros(0, np.int64), np.zeros(0, np.int64))
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
    hidden = is_marker | aborted[request_of]
    return Commits(times[request_of], np.where(hidden, HIDDEN, keys[rows]))


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


def commit_values(commits: Commits, timestamps: Ints, ids: NDArray[Any], release: Release) -> pa.BinaryArray:
    """Return the values of commits that are not hidden; `ids` are the topic ids by key."""
    kind = _VALUES[release.offset_commit_version]
    values = np.zeros(len(commits.keys), kind)
    values["version"] = release.offset_commit_version
    # Each partition receives records at its own rate.
    values["offset"] = (commits.times - START_MS) * (commits.keys % 97 + 3) // 1000
    values["commit_timestamp"] = timestamps
    if release.offset_commit_version >= 4:  # noqa: PLR2004 - the first flexible one
        values["metadata_length"] = 1  # compact: the length plus one
        values["tag"] = np.void(_TOPIC_ID_TAG)
        values["topic_id"] = ids[commits.keys]
    ends = np.arange(0, (len(values) + 1) * kind.itemsize, kind.itemsize, dtype=np.int32)
    return pa.BinaryArray.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(values)])


def _repeat(counts: Ints) -> tuple[Ints, Ints]:
    """Return each index `counts` times, and its number of earlier occurrences."""
    index = np.repeat(np.arange(len(counts)), counts)
    return index, np.arange(len(index)) - (np.cumsum(counts) - counts)[index]
