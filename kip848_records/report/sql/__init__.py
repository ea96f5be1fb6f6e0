"""The questions of the reports: SQL files, one text each, under the rules of `kip848_records.queries`."""

from __future__ import annotations

from importlib.resources import files

from kip848_records.queries.texts import completed


def query(name: str) -> str:
    """Return the text of a question, with the relations that it names."""
    return completed((files(__name__) / f"{name}.sql").read_text(encoding="utf-8"))
