"""The rows of one expectation, of a cluster, before they are counted."""

from dataclasses import replace
from datetime import UTC, datetime

from kip848_records.check import BlockedGroups
from kip848_records.expectations.results import Finding
from kip848_records.expectations.sql import ADVICE, DETAIL, EXPECTATION, LASTS, NAMES_BLOCKER, PLACE, SEVERITY, query
from kip848_records.queries.marked_numbers import with_numbers
from kip848_records.queries.tables import words
from kip848_records.queries.texts import plain

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def noted(tables):
    """A list to which each text is added that these tables evaluate for expectations."""
    asked, read = [], tables._read

    def note(text, *others):
        if "evaluated_" in text:
            asked.append(text)
        return read(text, *others)

    tables._read = note
    return asked


def more_columns(expectation):
    """The columns of an expectation's rows that not each has."""
    named = words(plain(expectation.text))
    return [name for name in (EXPECTATION, SEVERITY, NAMES_BLOCKER, ADVICE, LASTS) if name in named]


def every_row(expectation):
    """The expectation, of which each row is a finding, also those that pass."""
    columns = ", ".join(f"every.{name}" for name in (*PLACE, *more_columns(expectation)))
    # What passes is not told apart by a check: here it is a violation that says so.
    text = (  # of our own texts
        f"SELECT CASE WHEN every.verdict = 'pass' THEN 'violation' ELSE every.verdict END AS verdict, {columns}, "  # noqa: S608
        f"concat(every.verdict, '|', coalesce(every.message, '')) AS message FROM ({expectation.text}) AS every"
    )
    return replace(expectation, text=text)


def evaluated(tables, expectation, setting, kept=100_000, cluster=None):
    """All rows, also those that pass: each stands for itself."""
    (run,) = tables.chosen_runs(cluster)
    text, parameters = query([every_row(expectation)], {expectation.name: setting}, kept)
    rows = tables.rows(text, run.cluster, **parameters, captured_at=run.captured_at, dialect=run.dialect, now=NOW)
    found = [
        row._replace(verdict=row.message.split("|")[0], message=with_numbers(row.message.split("|", 1)[1]))
        for row in rows
    ]
    groups = BlockedGroups(tables)
    return [_completed(groups, run.cluster, row) for row in found]


def _completed(groups, cluster, row):
    if not getattr(row, NAMES_BLOCKER, False) or row.verdict == "pass":
        return row
    finding = Finding(cluster, **{name: getattr(row, name) for name in DETAIL})
    finding = groups.complete(finding, names_blocker=True)
    return row._replace(member_id=finding.member_id, message=finding.message)
