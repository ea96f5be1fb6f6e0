"""A small log of offset commits as segment files, for tests of `kip848 offsets`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.specs.log_columns import TOPIC
from tests.protocol.segment_writer import Record, write_batch, write_marker

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

START = 1_795_780_000_000
"""The time of a record at second 0, in ms since 1970."""

OLD, NEW = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"
"""Topic ids."""


@dataclass(frozen=True)
class Row:
    """A record at a second: its key and value, or a marker; `producer`: of its transaction."""

    seconds: int
    key: bytes = b""
    value: bytes | None = None
    producer: int = -1
    marker: str | None = None


def commit(  # noqa: PLR0913 - what a commit has
    seconds: int,
    committed: int | None,
    partition: int = 0,
    *,
    group: str = "g",
    topic: str = "t",
    producer: int = -1,
    topic_id: str | None = None,
    retention_s: int | None = None,
) -> Row:
    """A commit, or a tombstone if nothing is committed. `retention_s`: the client asked to keep it for so long."""
    kind = RECORDS[1]
    value = {"offset": committed, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0}
    version = 3 if topic_id is None else 4
    if retention_s is not None:
        at = START + seconds * 1000
        version, value = 1, value | {"commitTimestamp": at, "expireTimestamp": at + retention_s * 1000}
        del value["leaderEpoch"]
    layout = kind.value_layouts(version)[0]
    encoded = None if committed is None else encode_message(layout, value | ({"topicId": topic_id} if topic_id else {}))
    return Row(seconds, encode_key(kind, {"group": group, "topic": topic, "partition": partition}), encoded, producer)


def marker(seconds: int, outcome: str, producer: int) -> Row:
    """The end of a transaction."""
    return Row(seconds, producer=producer, marker=outcome)


def member(seconds: int, *topics: str, group: str = "g") -> list[Row]:
    """A member that joins a group of the new protocol."""
    client = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h", "serverAssignor": None}
    subscribed = {"subscribedTopicNames": [*topics], "subscribedTopicRegex": None, "rebalanceTimeoutMs": 1}
    values = {5: ({"memberId": "m"}, client | subscribed), 3: ({}, {"epoch": 1})}
    return [
        Row(
            seconds,
            encode_key(RECORDS[kind], {"groupId": group, **key}),
            encode_message(RECORDS[kind].value_layouts(0)[0], value),
        )
        for kind, (key, value) in values.items()
    ]


def write(
    folder: Path,
    *rows: Row,
    partition: int = 0,
    without: Collection[int] = (),
    damaged: int | None = None,
    roll: int = 0,
) -> Path:
    """Write a partition, one batch a record; compaction took some offsets, and the batch of one is `damaged`.

    `roll`: the offset with which a second file begins.
    """
    files = {0: b"", roll: b""}
    for offset, row in enumerate(rows):
        if offset not in without:
            batch = bytearray(_batch(offset, row))
            if offset == damaged:
                batch[-1] ^= 1
            files[roll if offset >= roll else 0] += batch
    place = folder / f"{TOPIC}-{partition}"
    place.mkdir(parents=True)
    for base, data in files.items():
        (place / f"{base:020}.log").write_bytes(data)
    return folder


def _batch(offset: int, row: Row) -> bytes:
    time = START + row.seconds * 1000
    if row.marker is not None:
        return write_marker(offset, row.producer, row.marker, time)
    record = Record(offset, time, row.key, row.value)
    return write_batch([record], producer_id=row.producer, transactional=row.producer >= 0)
