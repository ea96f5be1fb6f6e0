"""Log rows -> typed records: one DataFrame per record type, and the rows that did not decode.

The JVM drops unneeded rows before Python sees them; Python workers get Arrow batches and decode them as columns. All
of it is lazy: an action on one of the DataFrames reads the log once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode.dialects import check_dialect
from kip848_records.decode.schemas import FAILURE_SCHEMA, JSON_SCHEMA, record_schema
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE, PLACE
from kip848_records.protocol.decoded_rows import failures, json_records, typed_records
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.sources.log_rows import (
    is_record,
    is_unread,
    key_ends_after_group,
    key_of_types,
    key_of_unknown_type,
    key_type,
    without_offset_commits,
)
from kip848_records.sources.transactions import resolve_transactions
from kip848_records.spark.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class DecodedLog:
    """The records of a log.

    `records`: a DataFrame for each table of record types, by its name, with the columns of `record_schema`.
    `quarantine`: the rows that did not decode (`FAILURE_SCHEMA`).
    `unknown_record`: the rows whose key has a type that this version does not know (`UNKNOWN_SCHEMA`).
    """

    records: Mapping[str, DataFrame]
    quarantine: DataFrame
    unknown_record: DataFrame


def decode(
    log: DataFrame,
    *,
    dialect: str = KAFKA.name,
    offset_commits: bool = False,
    tables: Collection[str] | None = None,
) -> DecodedLog:
    """Decode log rows (`sources.log.LOG_SCHEMA`).

    `dialect`: the writer of the log, a name in `protocol.messages.DIALECTS`. `offset_commits`: decode these too.
    `tables`: the names of the tables to decode, because Spark needs time for each DataFrame; None for all.

    The result has no transaction markers, and no records of aborted transactions. Raises InputError for an unknown
    dialect.
    """
    check_dialect(dialect)
    kept = log if offset_commits else without_offset_commits(log)
    wanted = {record.table for record in DIALECTS[dialect].records}
    wanted -= set() if offset_commits else {OFFSET_COMMIT_TABLE}
    wanted &= wanted if tables is None else set(tables)
    records = {table: decode_record(kept, table, dialect=dialect) for table in sorted(wanted)}
    return DecodedLog(records, _quarantine(kept, dialect), _unknown(kept))


def decode_record(log: DataFrame, table: str, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records of one table from log rows; rows that do not decode are skipped.

    `table`: a name such as `consumer_group_metadata`. The result has the columns of `decode.schemas.record_schema`.
    Raises InputError for an unknown dialect.
    """
    check_dialect(dialect)
    transaction = []
    if table == OFFSET_COMMIT_TABLE:
        log, transaction = resolve_transactions(log), ["transaction"]
    rows = log.filter(is_record() & key_of_types(record.key_type for record in DIALECTS[dialect].of_table(table)))
    if table == GROUP_CONFIGURATION.table:  # workers need not read the other records of its type
        rows = rows.filter(key_ends_after_group())
    selected = rows.select(*PLACE, *transaction, "key", "value")
    return map_in_arrow(selected, partial(typed_records, table, dialect), record_schema(table))


def to_json(log: DataFrame, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records among log rows as the JSON that Kafka's tools print (`JSON_SCHEMA`), unordered.

    Offset commits of aborted transactions are skipped. If the log has consecutive files, call
    `sources.transactions.resolve_transactions` first: the marker of a transaction may be in a later file. Raises
    InputError for an unknown dialect.
    """
    check_dialect(dialect)
    selected = log.filter(_to_decode()).select(*PLACE, "transaction", "key", "value")
    return map_in_arrow(selected, partial(json_records, dialect), JSON_SCHEMA)


def _to_decode() -> Column:
    """Return whether a row is a record, even with a wrong key: the decoder reports the byte."""
    is_not_aborted = F.coalesce(F.col("transaction") != "aborted", F.lit(False))  # noqa: FBT003
    return ~is_unread() & F.col("control").isNull() & F.col("file").isNull() & is_not_aborted


def _quarantine(log: DataFrame, dialect: str) -> DataFrame:
    reason, position = F.col("error").alias("reason"), F.lit(None).cast("int").alias("position")
    unread = log.filter(is_unread())
    unread = unread.select(*PLACE, "key", "value", "error_code", reason, position)
    readable = log.filter(_to_decode() & ~key_of_unknown_type()).select(*PLACE, "key", "value")
    return unread.unionByName(map_in_arrow(readable, partial(failures, dialect), FAILURE_SCHEMA))


def _unknown(log: DataFrame) -> DataFrame:
    rows = log.filter(is_record() & key_of_unknown_type())
    return rows.select(*PLACE, key_type().alias("key_type"), "key", "value")
