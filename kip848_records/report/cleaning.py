"""Sentences about partitions of `__consumer_offsets` that the cleaner does not clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.machine.paths import with_page_paths
from kip848_records.report.sql import query
from kip848_records.report.terminal import wrapped
from kip848_records.text import count_text, lasting_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from kip848_records.queries.tables import Row, Tables
    from kip848_records.report.group_history import GroupHistory

_KILO: Final = 1000
_RUNBOOK: Final = "docs/runbook.md#compaction_alive"


def not_cleaned(tables: Tables, cluster: str) -> list[Text]:
    """Return a sentence for each of the worst partitions, and how many more there are."""
    rows = tables.rows(query("not_cleaned"), cluster)
    said = [wrapped(_sentence(row)) for row in rows]
    if rows and rows[0].total > len(rows):
        said.append(
            wrapped(f"and {count_text(rows[0].total - len(rows), 'more partition')}: kip848 query DIR compaction")
        )
    return said


def group_not_cleaned(group: GroupHistory) -> Iterator[Text]:
    """Yield a sentence if a group is in such a partition."""
    for row in group.rows("not_cleaned_of_group"):
        yield wrapped(f"\n{_sentence(row)}")
        yield wrapped(with_page_paths(_RUNBOOK), "  runbook  ")


def _sentence(row: Row) -> str:
    since = f"{time_text(row.since_ms)},{lasting_text(row.dirty_ms)}"
    return (
        f"Partition {row.partition} of __consumer_offsets has not been cleaned since {since}: "
        f"its coordinator reads {count_text(row.dirty_records, 'record')} of {count_text(row.dirty_keys, 'key')} "
        f"({-(-row.dirty_bytes // _KILO):,} kB) before it serves the groups there"
    )
