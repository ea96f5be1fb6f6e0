"""Rows that a log holds more than once: overlapping dumps, replicas, a dump that was saved twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.queries.texts import rendered
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.predicates import IS_READABLE

if TYPE_CHECKING:
    from kip848_records.engines.engine import Engine, Relation

_CONFLICT: Final = "another row has the same partition and offset, but other bytes"


def drop_copies(engine: Engine, log: Relation) -> Relation:
    """Keep one of the rows that are equal; rows that differ at one (partition, offset) all get an error.

    The kept one has the transaction's outcome, if one has it. Rows that already have an error,
    transaction markers and coverage rows of files do not change.
    """
    return _drop_copies(engine, log, f"'{_CONFLICT}'", several=False)


def merge_copies(engine: Engine, log: Relation) -> Relation:
    """Drop copies of rows as `drop_copies` does across several copies; each kept row names all copies that hold it.

    A conflict's error names the copies of its row. Resolve transactions before: each copy is a log by itself.
    """
    named = f"concat('{_CONFLICT}; this one is of ', array_join(marked.all_copies, ', '))"
    return _drop_copies(engine, log, named, several=True)


def _drop_copies(engine: Engine, log: Relation, conflict: str, *, several: bool) -> Relation:
    text = rendered(
        "sources/sql/drop_copies.sql",
        columns=engine.types(log),
        code=ErrorCode.CONFLICT.value,
        conflict=conflict,
        several=several,
        is_readable=IS_READABLE,
    )
    return engine.sql(text, log=log)
