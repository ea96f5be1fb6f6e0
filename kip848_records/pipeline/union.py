"""The rows of several relations as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.engines.engine import Engine, Relation


def union_of(engine: Engine, parts: Sequence[Relation], columns: Iterable[str]) -> Relation:
    """Return these columns of the rows of all parts, of which there is at least one."""
    listed = ", ".join(f"part.{column}" for column in columns)
    texts = [f"SELECT {listed} FROM {{part_{nth}}} AS part" for nth in range(len(parts))]  # noqa: S608 - names of columns
    return engine.sql(" UNION ALL ".join(texts), **{f"part_{nth}": part for nth, part in enumerate(parts)})
