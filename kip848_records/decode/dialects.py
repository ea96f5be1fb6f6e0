"""Finds the dialect in which a log was written, by what decodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.protocol.decoded_rows import decoded_counts
from kip848_records.protocol.dialects import DISPUTED_TYPES, DialectChoice
from kip848_records.protocol.messages import DIALECTS
from kip848_records.sources.log_rows import is_record, key_of_types
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame


def check_dialect(name: str, *, known: Iterable[str] = tuple(DIALECTS)) -> None:
    """Raise InputError if `name` is not a dialect."""
    if name not in known:
        raise InputError.unknown_dialect(name, known)


def choose_dialect(log: DataFrame) -> DialectChoice:
    """Return the dialect that consumes most records of `log` to the last byte, Kafka's own on a tie."""
    disputed = log.filter(is_record() & key_of_types(DISPUTED_TYPES)).select("key", "value")
    schema = "records bigint, " + ", ".join(f"`{name}` bigint" for name in DIALECTS)
    counted = map_in_arrow(disputed, decoded_counts, schema)
    sums = (F.coalesce(F.sum(f"`{name}`"), F.lit(0)).alias(name) for name in counted.columns)
    return DialectChoice.of(counted.agg(*sums).collect()[0].asDict())
