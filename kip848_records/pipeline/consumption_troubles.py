"""The rows of `diagnosis` about committed offsets: partitions that are not consumed, blocked by a transaction, or lost.

`queries/relations/consumption_now.sql` and `lost_offsets.sql` have the rules. They need what other groups and open
transactions show, so the replay of a group cannot apply them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.pipeline.open_transactions import known_partitions
from kip848_records.queries.texts import completed, read
from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.diagnosis.consumption import consumption_troubles
from kip848_records.replay.rows import Diagnosis
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.replay.inputs import ReplayInputs

_SOURCES: Final = ("commit_progress", "commit_jump", "open_transaction", "end_offset", "membership", "group_state")
_CAPTURES: Final = "captures"


def troubles_of_commits(engine: Engine, inputs: ReplayInputs, *found: Mapping[str, Rows]) -> pa.Table:
    """Return the rows, in the columns of `diagnosis` but for the cluster. `found`: rows of `_SOURCES`, by table."""
    relations = {name: _relation(engine, name, found) for name in _SOURCES}
    relations[_CAPTURES] = engine.relation(known_partitions(inputs))
    own = {name: f"SELECT given.* FROM {{{name}}} AS given" for name in relations}  # noqa: S608 - constants
    silent, lost = (
        engine.collect(engine.sql(completed(read(f"pipeline/sql/{name}.sql"), **own), **relations))
        for name in ("not_consumed", "lost_offsets")
    )
    return pa.Table.from_batches([to_batch(Diagnosis, [*consumption_troubles(silent, lost, inputs.limits)])])


def _relation(engine: Engine, name: str, found: Sequence[Mapping[str, Rows]]) -> Relation:
    columns = TABLES[name].schema_without("cluster")
    parts = [engine.relation(each[name]) for each in found if name in each] or [engine.relation(columns.empty_table())]
    listed = ", ".join(f"part.{column}" for column in columns.names)
    texts = [f"SELECT {listed} FROM {{part_{nth}}} AS part" for nth in range(len(parts))]  # noqa: S608 - constants
    return engine.sql(" UNION ALL ".join(texts), **{f"part_{nth}": part for nth, part in enumerate(parts)})
