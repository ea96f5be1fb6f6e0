"""The present state that a log holds: the last value of every key, in offset order.

That is what a coordinator holds once it has loaded a partition, and all that compaction promises to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode import to_json
from kip848_records.protocol.messages import KAFKA
from kip848_records.sources.log import is_of_log, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pyspark.sql import Column, DataFrame


def replay(log: DataFrame, *, offsets: Mapping[int, int] | None = None, until: datetime | None = None) -> DataFrame:
    """Return the log rows that are the last of their key and not tombstones, one for each live key.

    As of the end of the log; or, per partition, of the record at an offset, that record included (partitions not named:
    their end); or of a time, records of that time included. Aborted and pending transactional records do not count,
    by their outcome in the whole log: settle it first where files follow each other (`settle_transactions`). A key
    whose last row is in error, as where copies disagree, is left out: what stood before it no longer holds.
    """
    in_error = F.col("error").isNotNull() & F.col("control").isNull() & F.col("offset").isNotNull() & is_of_log()
    is_decided = is_record() & (F.col("transaction") != "pending")
    counted = log.filter((is_decided | in_error) & F.col("key").isNotNull())
    if offsets is not None:
        counted = counted.filter(_not_after(offsets))
    if until is not None:
        counted = counted.filter(F.col("timestamp") <= F.lit(until))
    return last_of_keys(counted).filter(F.col("value").isNotNull() & F.col("error").isNull())


def last_of_keys(records: DataFrame) -> DataFrame:
    """Return the last log row of each key, tombstones and errors too."""
    rest = [name for name in records.columns if name not in {"partition", "key", "offset"}]
    last = records.groupBy("partition", "key").agg(F.max(F.struct("offset", *rest)).alias("last"))
    return last.select("partition", "key", "last.*").select(*records.columns)


def latest_state(log: DataFrame, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the present state as JSON, one row for each live key of a type that is known (`JSON_SCHEMA`).

    A key whose last value does not decode is left out, for what stood before it no longer holds: see the quarantine.
    """
    state = to_json(replay(log), dialect=dialect)
    return state.filter(F.col("error").isNull() & F.col("record").isNotNull()).drop("error")


def _not_after(offsets: Mapping[int, int]) -> Column:
    condition = F.lit(None).cast("bigint")
    for partition, offset in offsets.items():
        condition = F.when(F.col("partition") == partition, F.lit(offset)).otherwise(condition)
    return condition.isNull() | (F.col("offset") <= condition)
