"""Finds the dialect in which a log was written, by what decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.errors import InputError
from kip848_records.protocol.decoded_rows import decoded_counts
from kip848_records.protocol.dialects import DISPUTED_TYPES, DialectChoice
from kip848_records.protocol.messages import DIALECTS
from kip848_records.sources.predicates import IS_RECORD, key_of_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.engines.engine import Engine, Relation

# Names of dialects contain a minus, and each engine quotes such names in its own way. So SQL gets other names.
_COLUMNS: Final = {name: f"n{place}" for place, name in enumerate(("records", *DIALECTS))}
_DISPUTED: Final = f"""
SELECT log.key, log.value FROM {{log}} AS log WHERE {IS_RECORD} AND {key_of_types(DISPUTED_TYPES)}
"""  # noqa: S608 - constants
_SUMS: Final = f"""
SELECT {", ".join(f"CAST(coalesce(sum({name}), 0) AS bigint) AS {name}" for name in _COLUMNS.values())} FROM {{counted}}
"""  # noqa: S608 - constants


def check_dialect(name: str, *, known: Iterable[str] = tuple(DIALECTS)) -> None:
    """Raise InputError if `name` is not a dialect."""
    if name not in known:
        raise InputError(f"there is no dialect '{name}'", f"use one of {', '.join(known)}")


def choose_dialect(engine: Engine, log: Relation) -> DialectChoice:
    """Return the dialect that consumes most records of `log` to the last byte, Kafka's own on a tie."""
    disputed = engine.sql(_DISPUTED, log=log)
    counted = engine.map(_counts, disputed, pa.schema([pa.field(name, pa.int64()) for name in _COLUMNS.values()]))
    (sums,) = engine.collect(engine.sql(_SUMS, counted=counted))
    return DialectChoice.of({name: getattr(sums, column) for name, column in _COLUMNS.items()})


def _counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in decoded_counts(batches):
        yield batch.select(list(_COLUMNS)).rename_columns(list(_COLUMNS.values()))
