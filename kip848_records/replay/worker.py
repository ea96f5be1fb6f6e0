"""The work of a Python worker on the log rows of some groups: decode, replay, and return all tables' rows as Arrow."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.messages import RECORDS
from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.decode.latest import LatestStates, RawRecord
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.reading import RecordReader
from kip848_records.replay.rows import LatestState, TopicName, row_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kip848_records.replay.inputs import ReplayInputs
    from kip848_records.replay.reading import DecodedRows, GroupRecords
    from kip848_records.replay.records import Record
    from kip848_records.replay.rows import Row

    Output = tuple[type[Any], pa.RecordBatch]

BATCH_SIZE: Final = 10_000
"""The size of a batch: rows of a class, and the items of their lists."""

COLLECTED_OBJECTS: Final = 100_000
"""Python searches for cyclic garbage after so many objects; with its default of 700 that takes as long as reading."""

_NAMING_RECORDS: Final[Mapping[int, str]] = {
    key_type: RECORDS[key_type].table
    for key_type in (KeyType.CONSUMER_GROUP_PARTITION_METADATA, KeyType.SHARE_GROUP_STATE_PARTITION_METADATA)
}
"""Records that contain topic names: key type -> table."""
NAMING_TYPES: Final = tuple(_NAMING_RECORDS)
"""The key types of records that contain topic names."""


class Replay(Protocol):
    """A replay of one group."""

    def replay(self, record: Record) -> None:
        """Replay the next record in offset order."""

    def finish(self) -> Iterator[Row]:
        """Yield the rows of the group."""


def replay_batches(
    inputs: ReplayInputs,
    batches: Iterable[pa.RecordBatch],
    new_replay: Callable[[ReplayInputs, PartitionNumbers, int, str], Replay] = GroupReplay,
) -> Iterator[Output]:
    """Yield the rows of all tables for log rows (`specs.log_columns.LOG_COLUMNS`), each batch of one class of rows.

    Memory holds the state of one group and the rows that wait for their batch.
    """
    numbers = PartitionNumbers()
    groups = _Groups(inputs.dialect, lambda *group: new_replay(inputs, numbers, *group))
    with _few_collections():
        for decoded in RecordReader(inputs.dialect, numbers).read(batches):
            yield from groups.take(decoded)
            del decoded  # before the next rows are decoded: both would be in memory
        yield from groups.end()


def names_of_topics(inputs: ReplayInputs, batches: Iterable[pa.RecordBatch]) -> Iterator[Output]:
    """Yield the names of topics in the records of any groups, without a replay of the groups."""
    return (output for output in replay_batches(inputs, batches, _NoReplay) if output[0] is TopicName)


class _NoReplay:
    """Ignores a group."""

    def __init__(self, *_: object) -> None:
        pass

    def replay(self, record: Record) -> None:
        pass

    def finish(self) -> Iterator[Row]:
        return iter(())


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python search for cyclic garbage less often: there are millions of record tuples, none of them in a cycle."""
    threshold, *others = gc.get_threshold()
    gc.set_threshold(max(threshold, COLLECTED_OBJECTS), *others)
    try:
        yield
    finally:
        gc.set_threshold(threshold, *others)


class _Groups:
    """Consecutive groups, one at a time: the state of one while its records arrive, and rows that wait."""

    def __init__(self, dialect: str, new_replay: Callable[[int, str], Replay]) -> None:
        self._new_replay = new_replay
        self._key: tuple[int, str] | None = None
        self._replay: Replay | None = None
        self._live: dict[bytes, RawRecord] = {}
        self._topic_names: dict[tuple[str, str], Row] = {}
        self._waiting: dict[type[Any], _Waiting] = {}
        self._latest = LatestStates(dialect)

    def take(self, decoded: DecodedRows) -> Iterator[Output]:
        """Add the next rows; yield the batches that are full."""
        yield from decoded.others
        names_topics = not decoded.key_types.isdisjoint(_NAMING_RECORDS)
        for part in decoded.groups:
            key = part.partition, part.group_id
            if key != self._key:
                yield from self._end_group()
                self._key = key
            self._keep_latest(part)
            if names_topics:
                self._keep_names(part)
            if part.records and self._replay is None:
                self._replay = self._new_replay(*key)
            if self._replay is not None:
                replay = self._replay.replay
                for record in part.records:
                    replay(record)

    def end(self) -> Iterator[Output]:
        """End the last group; yield all waiting rows."""
        yield from self._end_group()
        yield from (waiting.batch() for waiting in self._waiting.values() if waiting.rows)
        yield from ((LatestState, batch) for batch in self._latest.flush())

    def _end_group(self) -> Iterator[Output]:
        replay, self._replay = self._replay, None
        if replay is not None:
            yield from self._add(replay.finish())
        yield from self._add(self._topic_names.values())
        if self._key is not None:
            yield from ((LatestState, batch) for batch in self._latest.add(self._key[0], self._live))
        self._live.clear()
        self._topic_names.clear()

    def _keep_latest(self, part: GroupRecords) -> None:
        for key, record in part.latest:
            if record is None:
                self._live.pop(key, None)
            else:
                self._live[key] = record

    def _keep_names(self, part: GroupRecords) -> None:
        for record in part.records:
            if record.key_type in _NAMING_RECORDS and record.value is not None:
                source = _NAMING_RECORDS[record.key_type]
                for topic_id, topic in _names_in(record.value):
                    name = TopicName(
                        topic_id=topic_id,
                        topic=topic,
                        source=source,
                        partition=part.partition,
                        offset=record.offset,
                    )
                    self._topic_names[topic_id, source] = name

    def _add(self, rows: Iterable[Row]) -> Iterator[Output]:
        for row in rows:
            row_class = type(row)
            waiting = self._waiting.get(row_class)
            if waiting is None:
                waiting = self._waiting[row_class] = _Waiting(row_class)
            waiting.rows.append(row)
            waiting.size += 1
            for place in waiting.lists:
                if items := row[place]:
                    waiting.size += len(items)
            if waiting.size >= BATCH_SIZE:
                yield waiting.batch()


def _names_in(value: Any) -> Iterable[tuple[str, str]]:  # noqa: ANN401 - of a type 4 or 15
    """Return the topics that a record names, by id."""
    return value.items() if isinstance(value, dict) else value.topic_names()


class _Waiting:
    """Rows of one class that wait for their batch; `size` counts them and the items of their lists."""

    def __init__(self, row_class: type[Any]) -> None:
        self.row_class = row_class
        self.rows: list[tuple[Any, ...]] = []
        self.size = 0
        fields = enumerate(row_type(row_class))
        self.lists = tuple(place for place, field in fields if pa.types.is_list(field.type))

    def batch(self) -> Output:
        rows, self.rows, self.size = self.rows, [], 0
        return self.row_class, to_batch(self.row_class, rows)
