"""The rows of `consumption_stop`: offset commits and the partitions that rebalances stopped, sorted and joined.

`replay.consumption` has the rules. The engine keeps only the commits of partitions that some rebalance stopped. It
recognises them by the bytes of their keys, and decodes none: groups that never rebalance cost no shuffle. One shuffle
brings each partition's commits to one task, in order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

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
from kip848_records.replay.rows import StoppedPartition, row_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.replay.inputs import ReplayInputs

_TYPE_NAMES: Final = {pa.int32(): "int", pa.int64(): "bigint", pa.string(): "string", pa.bool_(): "boolean"}
_SQL_TYPES: Final = {field.name: _TYPE_NAMES.get(field.type) for field in row_type(StoppedPartition)}
_WANTED: Final = pa.schema([*(row_type(StoppedPartition).field(name) for name in KEY), pa.field("key", pa.binary())])
_LONGEST: Final = 0x7FFF
"""The most bytes of a text in a key."""


def stops_of_consumption(
    engine: Engine, commits: Relation, undecoded: Relation, stopped: Relation, inputs: ReplayInputs
) -> Relation:
    """Return rows of `replay.consumption.ConsumptionStop`.

    `commits`: log rows with offset commits and markers, their transactions resolved. `undecoded`: ``partition, offset``
    of those that do not decode. `stopped`: rows of `replay.rows.StoppedPartition` with the names of topics.
    """
    text = rendered(
        "pipeline/sql/consumption.sql",
        mark_columns=[name for name in engine.types(stopped) if name not in {"topic_id", "offset"}],
        types=_SQL_TYPES,
        key=KEY,
        commit=COMMIT,
        tombstone=TOMBSTONE,
        usual_from=USUAL_FROM,
        usual_until=USUAL_UNTIL,
        stop=STOP,
    )
    partitions = engine.sql(f"SELECT DISTINCT {', '.join(KEY)} FROM {{stopped}} AS stopped", stopped=stopped)  # noqa: S608
    wanted = engine.map(_with_keys, partitions, _WANTED)
    rows = engine.sql(text, commits=commits, undecoded=undecoded, stopped=stopped, wanted=wanted)
    work = partial(consumption_stops, inputs.partitions)
    schema = pa.schema(list(row_type(ConsumptionStop)))
    return engine.map_sorted(work, rows, schema, key=KEY, order=("at_offset", "what"))


def _with_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield partitions of groups (`KEY`) with the keys that their commits have, one of each type."""
    for batch in batches:
        rows = [
            row | {"key": key}
            for row in batch.to_pylist()
            for key in _keys(row["group_id"], row["topic"], row["partition"])
        ]
        yield pa.RecordBatch.from_pylist(rows, _WANTED)


def _keys(group: str, topic: str, partition: int) -> list[bytes]:
    if max(len(text.encode()) for text in (group, topic)) > _LONGEST:
        return []  # a name that a user gave
    key = {"group": group, "topic": topic, "partition": partition}
    return [encode_key(RECORDS[each], key) for each in OFFSET_COMMIT_TYPES]
