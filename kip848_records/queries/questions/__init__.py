"""The named questions: one SQL file each, whose header has the question, its needs, and what an empty answer says."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.queries.headers import split_header
from kip848_records.queries.needs import lacking
from kip848_records.queries.texts import completed, folder, plain, rendered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.queries.tables import Run, Tables


class Question(NamedTuple):
    """A question, by its name and as a sentence.

    `note`: what else is to be known of its answer. `needs`: names in `queries.needs` without which it is refused.
    `without`: by the name of a need, what is not looked for without it. `about`: a noun for what it looks at, one for
    each row of `among`, SQL behind FROM; `undecided`: a condition for those of which the log does not show it. `empty`:
    what an empty answer says.
    """

    name: str
    words: str
    sql: str
    note: str
    needs: Sequence[str]
    about: str
    among: str | None
    undecided: str | None
    empty: str
    without: Mapping[str, str]

    def missing(self, run: Run) -> list[str]:
        """Return what the answer does not look for, and why, in sentences."""
        lacks = lacking(run)
        return [f"{lacks[name].missing}: {text}" for name, text in self.without.items() if name in lacks]

    @property
    def counted(self) -> str:
        """SQL for one row: ``looked_at``, how many it looks at; ``undecided``, of how many the log does not show it."""
        text = rendered("queries/looked_at.sql", among=plain(self.among or ""), undecided=self.undecided or "false")
        return completed(text)

    def nothing(self, tables: Tables, cluster: str) -> str:
        """Return an empty answer in words, with how many were looked at."""
        if self.among is None:
            return self.empty
        (row,) = tables.rows(self.counted, cluster)
        if not row.looked_at:
            return f"{self.empty}: there is no {self.about}"
        unknown = f"; for {row.undecided:,} the log does not show it" if row.undecided else ""
        noun = self.about if row.looked_at == 1 else f"{self.about}s"
        return f"{self.empty} (0 of {row.looked_at:,} {noun}{unknown})"


def questions() -> dict[str, Question]:
    """Return all questions by name, in the order of their names."""
    return {name: _question(name, text) for name, text in folder("queries/questions").items()}


def _question(name: str, text: str) -> Question:
    header, sql = split_header(text)
    return Question(
        name,
        header["question"],
        completed(sql),
        header.get("note", ""),
        header["needs"],
        header["about"],
        header.get("among"),
        header.get("undecided"),
        header["empty"],
        header.get("without", {}),
    )
