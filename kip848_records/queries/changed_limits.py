"""The limits with which a run made `diagnosis`, where they are not the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.queries.texts import query
from kip848_records.replay.inputs import ChangedLimit

if TYPE_CHECKING:
    from kip848_records.queries.tables import Tables


def changed_limits(tables: Tables, cluster: str) -> tuple[ChangedLimit, ...]:
    """Return the limits of the last run over a cluster that are not the defaults."""
    (run,) = tables.rows(query("queries/changed_limits"), cluster)
    return tuple(ChangedLimit(**each) for each in run.diagnosis_limits or ())
