"""The questions of the reports: SQL files, one text each, under the rules of `kip848_records.queries`."""

from __future__ import annotations

from importlib.resources import files

from kip848_records.expectations.sql import relation


def query(name: str) -> str:
    """Return the text of a question."""
    return with_relations((files(__name__) / f"{name}.sql").read_text(encoding="utf-8"))


def with_relations(text: str) -> str:
    """Return a text with the relation that it names in braces: expectations and reports share it."""
    return text.replace("{stuck_now}", relation("stuck_now"))
