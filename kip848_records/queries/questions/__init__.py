"""The named questions: one file each, whose first line is the question as a sentence."""

from __future__ import annotations

from typing import NamedTuple

from kip848_records.queries.texts import completed, folder


class Question(NamedTuple):
    """A question: its name, its sentence, what else is to be known of its answer, and its SQL."""

    name: str
    words: str
    note: str
    sql: str


def questions() -> dict[str, Question]:
    """Return all questions by name, in the order of their names."""
    return {name: _question(name, text) for name, text in folder("queries/questions").items()}


def _question(name: str, text: str) -> Question:
    lines = text.splitlines()
    length = next(nth for nth, line in enumerate(lines) if not line.startswith("--"))
    words, *note = (line.removeprefix("-- ") for line in lines[:length])
    return Question(name, words, " ".join(note), completed(text))
