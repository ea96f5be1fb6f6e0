"""The rows of `consumption_stop`: offset commits and the partitions that rebalances stopped, sorted and joined.

`replay.consumption` has the rules. The engine keeps only the commits of partitions that some rebalance stopped, so
groups that never rebalance cost no shuffle. One shuffle brings each partition's commits to one task, in order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.decode.records import offset_commits
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
    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.replay.inputs import ReplayInputs

_TYPE_NAMES: Final = {pa.int32(): "int", pa.int64(): "bigint", pa.string(): "string", pa.bool_(): "boolean"}
_SQL_TYPES: Final = {field.name: _TYPE_NAMES.get(field.type) for field in row_type(StoppedPartition)}


def stops_of_consumption(engine: Engine, commits: Relation, stopped: Relation, inputs: ReplayInputs) -> Relation:
    """Return rows of `replay.consumption.ConsumptionStop`.

    `commits`: log rows with offset commits and markers, their transactions resolved. `stopped`: rows of
    `replay.rows.StoppedPartition` with the names of topics.
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
    decoded = offset_commits(engine, commits, inputs.dialect)
    rows = engine.sql(text, commits=commits, decoded=decoded, stopped=stopped)
    work = partial(consumption_stops, inputs.partitions)
    schema = pa.schema(list(row_type(ConsumptionStop)))
    return engine.map_sorted(work, rows, schema, key=KEY, order=("at_offset", "what"))
