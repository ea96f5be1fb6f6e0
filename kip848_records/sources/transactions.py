"""Resolves transactions whose marker is in a later file than their records, and drops aborted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.engines.choice import engine_of
from kip848_records.queries.texts import rendered
from kip848_records.sources.predicates import IS_ABORTED, IS_PENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from kip848_records.engines.engine import Engine, Relation


def resolve_transactions(log: DataFrame) -> DataFrame:
    """Return log rows with the outcome of every transaction whose marker is in a later file than its records.

    Such records are `pending`. A transaction's records share the outcome of the next marker of their producer in the
    partition and in the copy. Another copy may lack that marker, and its next one may belong to a later transaction.
    The outcome is `unknown` if that marker cannot be read, or if unreadable bytes before it may have contained one.
    """
    resolved: DataFrame = with_outcomes(engine_of(log), log)
    return resolved


def with_outcomes(engine: Engine, log: Relation) -> Relation:
    """Return log rows as `resolve_transactions` does."""
    return engine.sql(rendered("sources/sql/outcomes.sql", columns=engine.types(log), is_open=IS_PENDING), log=log)


def with_undecided(engine: Engine, pending: Relation, undecided: Mapping[int, int]) -> Relation:
    """Return rows of open transactions with the outcome `unknown` of those whose marker may have passed unseen.

    `undecided`: by partition, the offset from which on that may be.
    """
    places = (f"(rows.partition = {partition} AND rows.offset >= {first})" for partition, first in undecided.items())
    outcome = f"CASE WHEN {' OR '.join(places)} THEN 'unknown' ELSE rows.transaction END AS transaction"
    columns = ", ".join(outcome if name == "transaction" else f"rows.{name}" for name in engine.types(pending))
    return engine.sql(f"SELECT {columns} FROM {{rows}} AS rows", rows=pending)  # noqa: S608 - our own columns, and numbers


def without_aborted(engine: Engine, log: Relation) -> tuple[Relation, Callable[[], int]]:
    """Drop the records of aborted transactions; keep their markers, which resolve transactions of another file.

    The function returns the number of dropped records, once the rows were written: a record in several copies counts
    once per copy.
    """
    dropped = f"coalesce(sum(CASE WHEN {IS_ABORTED} THEN size(copies) ELSE 0 END), 0)"
    return engine.observed(log, dropped, f"NOT {IS_ABORTED}")
