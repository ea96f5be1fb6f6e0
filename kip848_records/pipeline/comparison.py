"""The rows of `protocol_comparison`: a group before and after each conversion of its protocol.

They are a query over other tables, not a result of the replay: so each number is the sum of rows that a reader can look
up, and only groups with a row in `group_migration` cost anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.queries.texts import query
from kip848_records.specs.tables import PROTOCOL_COMPARISON
from kip848_records.times import utc

if TYPE_CHECKING:
    from collections.abc import Callable

    from kip848_records.queries.tables import Row

QUERY: Final = query("pipeline/protocol_comparison")
SOURCES: Final = ("group_migration", "group_state_timeline", "rebalance", "consumption_stop")
"""The tables that the query reads."""


def protocol_comparison(
    ask: Callable[..., list[Row]], cluster: str, kept_since_ms: int | None = None, *, offset_commits: bool = False
) -> pa.Table:
    """Return the cluster's rows of `protocol_comparison`, from the present rows of `SOURCES`.

    `ask` answers a query over the newest version of some tables. `kept_since_ms`: retention removed rows that had ended
    before; a period that began before has lost some. `offset_commits`: they were read.
    """
    kept_since = utc(0 if kept_since_ms is None else kept_since_ms)
    found = ask(QUERY, *SOURCES, cluster=cluster, kept_since=kept_since, offset_commits=offset_commits)
    schema = PROTOCOL_COMPARISON.schema_without("cluster")
    return pa.Table.from_pylist([row._asdict() for row in found], schema)
