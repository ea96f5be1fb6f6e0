"""The rows of `diagnosis` about committed offsets: partitions that are not consumed, or whose offsets are lost or none.

`queries/relations/consumption_now.sql` and `lost_offsets.sql` have the rules. They need what other groups and open
transactions show, so the replay of a group cannot apply them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.engines.engine import union_of
from kip848_records.kinds import STREAMS
from kip848_records.pipeline.open_transactions import known_partitions
from kip848_records.queries.texts import completed, rendered
from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.commits.arrays import FAR
from kip848_records.replay.diagnosis.consumption import consumption_troubles
from kip848_records.replay.rows import Diagnosis
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.queries.tables import Row
    from kip848_records.replay.inputs import ReplayInputs

_SOURCES: Final = (
    *("commit_progress", "commit_jump", "open_transaction", "end_offset", "membership", "group_state"),
    *("group_state_timeline", "regex_resolution", "consumption_stop", "rebalance"),
)
_CAPTURES: Final = "captures"
_FEWEST_COMMITS: Final = 5
"""Fewer commits of a client without a member id are a person's, with a tool."""
_SHORTEST_MS: Final = 10_000
"""A shorter time without progress is a rebalance's."""
_RECOVERED_MS: Final = 60_000
"""A partition that moves so soon after a rebalance does so because of it."""
_LEAST_MS: Final = 60 * 1000
"""A client may commit many times a second, and its process takes longer to start."""
_VALUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "subscribe_and_assign": {"fewest": _FEWEST_COMMITS, "least_ms": _LEAST_MS, "streams": STREAMS},
    "past_stalls": {"shortest_ms": _SHORTEST_MS, "recovered_ms": _RECOVERED_MS, "far": FAR},
}
_FOUND_IN: Final = {
    "not_consumed": "commit_progress",
    "lost_offsets": "commit_jump",
    "negative_offsets": "commit_progress",
    "client_retention": "commit_progress",
    "stale_commits": "commit_jump",
    "subscribe_and_assign": "commit_progress",
    "past_stalls": "consumption_stop",
}
"""The table that each text starts from. Without rows there the text is not run, because planning it takes a while."""


def troubles_of_commits(
    engine: Engine, inputs: ReplayInputs, commits: Relation, *found: Mapping[str, Rows]
) -> pa.Table:
    """Return the rows, in the columns of `diagnosis` but for the cluster.

    `commits`: decoded, as `decode.records.checked_commits` does. `found`: rows of `_SOURCES`, by table.
    """
    relations = {name: _relation(engine, name, found) for name in _SOURCES}
    relations[_CAPTURES] = engine.relation(known_partitions(inputs))
    own = {name: f"SELECT given.* FROM {{{name}}} AS given" for name in relations}  # noqa: S608 - constants
    asked: dict[str, Sequence[Row]] = {}
    for name, table in _FOUND_IN.items():
        asked[name] = []
        if any(table in each for each in found):
            text = completed(rendered(f"pipeline/sql/{name}.sql", **_VALUES.get(name, {})), **own)
            asked[name] = engine.collect(engine.sql(text, **relations, commits=commits))
    troubles = consumption_troubles(asked, inputs.offsets_retention_ms, inputs.limits)
    return pa.Table.from_batches([to_batch(Diagnosis, [*troubles])])


def _relation(engine: Engine, name: str, found: Sequence[Mapping[str, Rows]]) -> Relation:
    columns = TABLES[name].schema_without("cluster")
    parts = [engine.relation(each[name]) for each in found if name in each] or [engine.relation(columns.empty_table())]
    return union_of(engine, parts, columns.names)
