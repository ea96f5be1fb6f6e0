"""The output of `kip848 audit --verbose` after the summary: the records by type, and answers to some questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.protocol.messages import DIALECTS, OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.queries.questions import questions
from kip848_records.report.terminal import fitted_table, table_cell_text
from kip848_records.tables.location import place_text
from kip848_records.text import count_text, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from kip848_records.pipeline.options import Audit
    from kip848_records.queries.tables import Tables

_QUESTIONS: Final = ("diagnosis", "not_converged", "slowest", "unowned", "partial")
_ROWS_SHOWN: Final = 10


def details(tables: Tables, audit: Audit) -> Iterator[RenderableType]:
    """Yield the parts: ids in full, times in UTC, the first ten rows of each answer."""
    yield from _records(audit)
    for name in _QUESTIONS:
        question = questions()[name]
        answer = tables.arrow(question.sql, audit.options.cluster).slice(0, _ROWS_SHOWN + 1)
        rows = [tuple(map(table_cell_text, row.values())) for row in answer.to_pylist()]
        if rows:
            more = f" The first {_ROWS_SHOWN}:" if len(rows) > _ROWS_SHOWN else ""
            yield Text(f"\n{question.words}{more}")
            yield from fitted_table(*answer.schema.names, rows=rows[:_ROWS_SHOWN], width=None, is_ruled=True)
    yield Text(f"\nDelta tables are in {printable(place_text(audit.options.out))}")


def _records(audit: Audit) -> Iterator[RenderableType]:
    unknown = sum(count for kind, count in audit.records.items() if kind is not None and kind not in RECORDS)
    yield Text(
        f"\n{count_text(sum(audit.records.values()), 'record')} read, "
        f"{count_text(audit.quarantined, 'row')} quarantined, "
        f"{unknown:,} of unknown type, {audit.aborted:,} of aborted transactions skipped"
    )
    titles = ("type", "record", "records", "view")
    right = ("type", "records")
    yield from fitted_table(*titles, rows=_counts(audit), right=right, width=None, is_ruled=True)
    if audit.copies > 1:
        yield Text(
            f"\nOf {audit.copies} copies: offset commits and aborted records are counted once per copy that has them"
        )


def _counts(audit: Audit) -> Iterator[tuple[object, ...]]:
    """Yield key type, record, count and the name of its view, for each record type in the log."""
    for key_type, records in sorted(DIALECTS[audit.dialect].by_type.items()):
        configurations = audit.group_configurations if GROUP_CONFIGURATION in records else 0
        for record in records:
            others = audit.records.get(key_type, 0) - configurations
            count = configurations if record is GROUP_CONFIGURATION else others
            skipped = key_type in OFFSET_COMMIT_TYPES and not audit.options.offset_commits
            where = "counted only: see --offset-commits" if skipped else record.table
            if count:
                yield key_type, record.name, f"{count:,}", where
