"""Finds the dialect in which a log was written, by what decodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode.workers import decoded_counts
from kip848_records.errors import InputError
from kip848_records.protocol.messages import AUTO, DIALECTS, KAFKA
from kip848_records.sources.log import is_record, key_of_types
from kip848_records.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

__all__ = ["AUTO", "DISPUTED_TYPES", "DialectChoice", "check_dialect", "choose_dialect"]

DISPUTED_TYPES = [
    key_type
    for key_type, records in KAFKA.by_type.items()
    if any(dialect.by_type[key_type] != records for dialect in DIALECTS.values())
]
"""The record types on which dialects differ."""


def check_dialect(name: str, *, known: Iterable[str] = tuple(DIALECTS)) -> None:
    """Raise InputError if `name` is not a dialect."""
    if name not in known:
        raise InputError.unknown_dialect(name, known)


@dataclass(frozen=True)
class DialectChoice:
    """The dialect that decodes most records.

    `records`: the number of records of the types on which dialects differ. `undecoded`: those that this dialect does
    not decode.
    """

    name: str
    records: int
    undecoded: int

    def __str__(self) -> str:
        """Return the choice and its reason as text for the user."""
        types = f"types {DISPUTED_TYPES[0]} to {DISPUTED_TYPES[-1]}"
        return f"dialect {self.name}: leaves {self.undecoded:,} of {self.records:,} records of {types} undecoded"


def choose_dialect(log: DataFrame) -> DialectChoice:
    """Return the dialect that consumes most records of `log` to the last byte, Kafka's own on a tie."""
    disputed = log.filter(is_record() & key_of_types(DISPUTED_TYPES)).select("key", "value")
    schema = "records bigint, " + ", ".join(f"`{name}` bigint" for name in DIALECTS)
    counted = map_in_arrow(disputed, decoded_counts, schema)
    total, *decoded = counted.agg(*(F.coalesce(F.sum(f"`{name}`"), F.lit(0)) for name in counted.columns)).collect()[0]
    most, name = max(zip(decoded, DIALECTS, strict=True), key=lambda choice: choice[0])
    return DialectChoice(name, total, total - most)
