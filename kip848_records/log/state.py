"""The present state in a log: the last value of every key, in offset order.

This is the state of a coordinator after it has loaded a partition, and all that compaction guarantees to keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode import to_json
from kip848_records.protocol.messages import KAFKA
from kip848_records.sources.log_rows import is_of_log, is_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pyspark.sql import Column, DataFrame


def replay(log: DataFrame, *, offsets: Mapping[int, int] | None = None, until: datetime | None = None) -> DataFrame:
    """Return the log rows that are the last of their key and not tombstones, one for each live key.

    `offsets`: by partition, the offset of the last record that counts; other partitions count up to their end. `until`:
    the time of the last record that counts. Without both, the state is that at the end of the log.

    Records of aborted and pending transactions do not count, by their outcome in the whole log. If the log has
    consecutive files, call `sources.transactions.resolve_transactions` first. A key whose last row is in error, such as
    a conflict of copies, is skipped: its earlier value is no longer valid.
    """
    in_error = F.col("error_code").isNotNull() & F.col("control").isNull() & F.col("offset").isNotNull() & is_of_log()
    is_decided = is_record() & (F.col("transaction") != "pending")
    counted = log.filter((is_decided | in_error) & F.col("key").isNotNull())
    if offsets is not None:
        counted = counted.filter(_not_after(offsets))
    if until is not None:
        counted = counted.filter(F.col("timestamp") <= F.lit(until))
    return last_of_keys(counted).filter(F.col("value").isNotNull() & F.col("error_code").isNull())


def last_of_keys(records: DataFrame) -> DataFrame:
    """Return the last log row of each key, including tombstones and errors.

    A record precedes a row in error at its offset: one copy could not read what another copy holds.
    """
    rest = [name for name in records.columns if name not in {"partition", "key", "offset"}]
    is_read = F.col("error_code").isNull().alias("is_read")
    last = records.groupBy("partition", "key").agg(F.max(F.struct("offset", is_read, *rest)).alias("last"))
    return last.select("partition", "key", "last.*").select(*records.columns)


def latest_state(log: DataFrame, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the present state as JSON, one row for each live key of a known type (`JSON_SCHEMA`).

    A key whose last value does not decode is skipped, because its earlier value is no longer valid: see the quarantine.
    """
    state = to_json(replay(log), dialect=dialect)
    return state.filter(F.col("error").isNull() & F.col("record").isNotNull()).drop("error")


def _not_after(offsets: Mapping[int, int]) -> Column:
    condition = F.lit(None).cast("bigint")
    for partition, offset in offsets.items():
        condition = F.when(F.col("partition") == partition, F.lit(offset)).otherwise(condition)
    return condition.isNull() | (F.col("offset") <= condition)
