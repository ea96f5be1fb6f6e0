"""The named questions: one file each, whose first line is the question as a sentence."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple


class Question(NamedTuple):
    """A question: its name, its sentence, and its SQL."""

    name: str
    words: str
    sql: str


def questions() -> dict[str, Question]:
    """Return all questions by name, in the order of their names."""
    found = (file for file in files(__name__).iterdir() if file.name.endswith(".sql"))
    texts = {file.name.removesuffix(".sql"): file.read_text(encoding="utf-8") for file in found}
    split = {name: text.split("\n", 1) for name, text in sorted(texts.items())}
    return {name: Question(name, words.removeprefix("-- "), sql) for name, (words, sql) in split.items()}
