"""The rows of one expectation, of a cluster, before they are counted."""

from dataclasses import replace
from datetime import UTC, datetime

from kip848_records.check import BlockerAdvice
from kip848_records.expectations.results import Finding
from kip848_records.expectations.sql import DETAIL, NAMES_BLOCKER, query

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def evaluated(tables, expectation, setting, kept=100_000, cluster=None):
    """All rows, also those that pass: each stands for itself."""
    (run,) = tables.chosen_runs(cluster)
    names = [name for name in (*DETAIL, NAMES_BLOCKER) if name != "message"]
    columns = ", ".join(f"every.{name}" for name in names if name != NAMES_BLOCKER or NAMES_BLOCKER in expectation.text)
    # What passes is not told apart by a check: here it is a violation that says so.
    text = (  # of our own texts
        f"SELECT CASE WHEN every.verdict = 'pass' THEN 'violation' ELSE every.verdict END AS verdict, {columns}, "  # noqa: S608
        f"concat(every.verdict, '|', coalesce(every.message, '')) AS message FROM ({expectation.text}) AS every"
    )
    text, parameters = query(replace(expectation, text=text), setting, kept)
    rows = tables.rows(text, run.cluster, **parameters, captured_at=run.captured_at, dialect=run.dialect, now=NOW)
    found = [row._replace(verdict=row.message.split("|")[0], message=row.message.split("|", 1)[1]) for row in rows]
    advice = BlockerAdvice(tables)
    return [_completed(advice, run.cluster, row) for row in found]


def _completed(advice, cluster, row):
    if not getattr(row, NAMES_BLOCKER, False) or row.verdict == "pass":
        return row
    finding = advice.complete(Finding(cluster, **{name: getattr(row, name) for name in DETAIL}))
    return row._replace(member_id=finding.member_id, message=finding.message)
