"""The rows of `consumption_stop`: offset commits and the partitions that rebalances stopped, sorted and joined.

`replay.commits.consumption` has the rules. The engine keeps only the commits of partitions that some rebalance stopped.
It recognises them by the bytes of their keys, and decodes none: groups that never rebalance cost no shuffle. One
shuffle brings each partition's commits to one task, in order. They have the number of their partition instead of its
names: sorting is most of the work.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.protocol.encode import encode_key
from kip848_records.protocol.messages import OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.queries.texts import rendered
from kip848_records.replay.commits.consumption import (
    COMMIT,
    KEY,
    STOP,
    TOMBSTONE,
    USUAL_FROM,
    USUAL_UNTIL,
    ConsumptionStop,
    consumption_stops,
)
from kip848_records.replay.rows import row_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.replay.inputs import ReplayInputs

_NUMBERED: Final = """
SELECT stopped.*, CAST(dense_rank() OVER (
    PARTITION BY stopped.offsets_partition ORDER BY stopped.group_id, stopped.topic, stopped.partition
) AS bigint) AS number
FROM {stopped} AS stopped
"""
_PARTITIONS: Final = """
SELECT DISTINCT numbered.offsets_partition, numbered.number, numbered.group_id, numbered.topic, numbered.partition
FROM {numbered} AS numbered
"""
_PLACE: Final = (pa.field("offsets_partition", pa.int32()), pa.field("number", pa.int64()))
_WANTED: Final = pa.schema([*_PLACE, pa.field("key", pa.binary())])
_MARKS: Final = pa.schema(
    [*_PLACE, pa.field("what", pa.int32()), pa.field("at_offset", pa.int64()), pa.field("mark", pa.string())]
)
_LONGEST: Final = 0x7FFF
"""The most bytes of a text in a key."""


def stops_of_consumption(
    engine: Engine, commits: Relation, undecoded: Relation, stopped: Relation, inputs: ReplayInputs
) -> Relation:
    """Return rows of `replay.commits.consumption.ConsumptionStop`.

    `commits`: log rows with offset commits and markers, their transactions resolved. `undecoded`: ``partition, offset``
    of those that do not decode. `stopped`: rows of `replay.rows.StoppedPartition` with the names of topics.
    """
    numbered = engine.sql(_NUMBERED, stopped=stopped)
    rows = engine.sql(
        rendered("pipeline/sql/consumption.sql", commit=COMMIT, tombstone=TOMBSTONE),
        commits=commits,
        undecoded=undecoded,
        marks=engine.map(_marks, numbered, _MARKS),
        wanted=engine.map(_with_keys, engine.sql(_PARTITIONS, numbered=numbered), _WANTED),
    )
    work = partial(consumption_stops, inputs.partitions)
    schema = pa.schema(list(row_type(ConsumptionStop)))
    return engine.map_sorted(work, rows, schema, key=KEY, order=("at_offset", "what"))


def marks_of_stop(stop: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the marks of a stopped partition: its stop, and the generation before the rebalance if it was seen."""
    place = {"offsets_partition": stop["offsets_partition"], "number": stop["number"]}
    yield {**place, "what": STOP, "at_offset": stop["offset"], "mark": json.dumps(stop)}
    if stop["round_before"] >= 0 and stop["rebalance_offset"] >= 0:
        yield {**place, "what": USUAL_FROM, "at_offset": stop["round_before"]}
        yield {**place, "what": USUAL_UNTIL, "at_offset": stop["rebalance_offset"]}


def _marks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [mark for stop in batch.to_pylist() for mark in marks_of_stop(stop)]
        yield pa.RecordBatch.from_pylist(rows, _MARKS)


def _with_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield partitions of groups with the keys that their commits have, one of each type."""
    for batch in batches:
        rows = [row | {"key": key} for row in batch.to_pylist() for key in _keys(row)]
        yield pa.RecordBatch.from_pylist(rows, _WANTED)


def _keys(row: Mapping[str, Any]) -> list[bytes]:
    key = {"group": row["group_id"], "topic": row["topic"], "partition": row["partition"]}
    if max(len(key[name].encode()) for name in ("group", "topic")) > _LONGEST:
        return []  # a name that a user gave
    return [encode_key(RECORDS[each], key) for each in OFFSET_COMMIT_TYPES]
