"""The rows of one expectation, of a cluster, before they are counted."""

from dataclasses import replace
from datetime import UTC, datetime

from kip848_records.expectations.sql import DETAIL, query

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def evaluated(tables, expectation, setting, kept=100_000, cluster=None):
    """All rows, also those that pass: each stands for itself."""
    (run,) = tables.chosen_runs(cluster)
    columns = ", ".join(f"every.{name}" for name in DETAIL if name != "message")
    # What passes is not told apart by a check: here it is a violation that says so.
    text = (  # of our own texts
        f"SELECT CASE WHEN every.verdict = 'pass' THEN 'violation' ELSE every.verdict END AS verdict, {columns}, "  # noqa: S608
        f"concat(every.verdict, '|', every.message) AS message FROM ({expectation.text}) AS every"
    )
    text, parameters = query(replace(expectation, text=text), setting, kept)
    rows = tables.rows(text, run.cluster, **parameters, captured_at=run.captured_at, dialect=run.dialect, now=NOW)
    return [row._replace(verdict=row.message.split("|")[0], message=row.message.split("|", 1)[1]) for row in rows]
