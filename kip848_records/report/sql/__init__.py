"""The questions of the reports: SQL files, one text each, under the rules of `kip848_records.queries`."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from kip848_records.expectations.sql import relation

_RELATIONS: Final = ("assigning_now", "captures", "stuck_now", "subscribed_shares", "waiting_now", "worker_urls")


def query(name: str) -> str:
    """Return the text of a question."""
    return with_relations((files(__name__) / f"{name}.sql").read_text(encoding="utf-8"))


def with_relations(text: str) -> str:
    """Return a text with the relations that it names in braces: expectations and reports share them."""
    for name in _RELATIONS:
        text = text.replace(f"{{{name}}}", relation(name))
    return text
