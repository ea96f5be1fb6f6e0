"""The questions of the reports: SQL files, one text each, under the rules of `kip848_records.queries`."""

from __future__ import annotations

from kip848_records.queries import texts


def query(name: str) -> str:
    """Return the text of a question, with the relations that it names."""
    return texts.query(f"report/sql/{name}")
