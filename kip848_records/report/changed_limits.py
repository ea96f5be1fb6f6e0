"""The limits with which a run made `diagnosis`, where they are not the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.replay.diagnosis.limits import limits_of
from kip848_records.replay.diagnosis.patterns import changed_patterns
from kip848_records.replay.inputs import ChangedLimit
from kip848_records.report.sql import query
from kip848_records.report.terminal import wrapped
from kip848_records.text import names_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.queries.tables import Tables

_SHOWN: Final = 1


def changed_limits(tables: Tables, cluster: str) -> tuple[ChangedLimit, ...]:
    """Return the limits of the last run over a cluster that are not the defaults."""
    (run,) = tables.rows(query("changed_limits"), cluster)
    return tuple(ChangedLimit(**each) for each in run.diagnosis_limits or ())


def changed_text(changes: Sequence[ChangedLimit]) -> Iterator[Text]:
    """Yield a line that names the patterns whose limits are not the defaults; none if all are."""
    if changes:
        patterns = [pattern.replace("_", " ") for pattern in changed_patterns(changes)]
        yield Text(f"Diagnosis with limits of your own (table audit_runs): {names_text(patterns, _SHOWN)}")


def off_text(changes: Sequence[ChangedLimit], group_id: str) -> Iterator[Text]:
    """Yield a line that names the patterns of which a group gets no rows; none if it gets all."""
    if off := sorted(limits_of(changes, group_id).off):
        patterns = ", ".join(pattern.replace("_", " ") for pattern in off)
        yield wrapped(f"Switched off for this group, so not shown: {patterns}")
