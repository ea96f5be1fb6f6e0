"""Log rows -> typed records: one DataFrame per record type, and what did not decode.

The JVM drops the rows that nobody asked for before Python sees them; Python workers get Arrow batches and decode them
as columns. All of it is lazy: an action on one of the DataFrames reads the log once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode.dialects import check_dialect
from kip848_records.decode.schemas import (
    FAILURE_SCHEMA,
    JSON_SCHEMA,
    OFFSET_COMMIT_TABLE,
    PLACE,
    SIZE,
    joint_schema,
    record_schema,
)
from kip848_records.decode.workers import failures, joint_records, json_records, typed_records
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.sources import settle_transactions
from kip848_records.sources.log import (
    is_record,
    key_ends_after_group,
    key_of_types,
    key_of_unknown_type,
    key_type,
    without_offset_commits,
)
from kip848_records.workers import map_in_arrow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import DataFrame

_PLACE = [field.name for field in PLACE]


@dataclass(frozen=True)
class DecodedLog:
    """A log's records.

    `records`: by table name, a DataFrame each with the columns of `record_schema`.
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
    """Decode log rows by a dialect (a name in `protocol.messages.DIALECTS`); offset commits only if asked for.

    Whoever knows which tables have records names them in `tables`: every DataFrame takes Spark time to build.

    Control records and the records of aborted transactions are left out of all three. Raises InputError for a dialect
    that does not exist.
    """
    check_dialect(dialect)
    kept = log if offset_commits else without_offset_commits(log)
    wanted = {record.table for record in DIALECTS[dialect].records}
    wanted -= set() if offset_commits else {OFFSET_COMMIT_TABLE}
    wanted &= wanted if tables is None else set(tables)
    records = {table: decode_record(kept, table, dialect=dialect) for table in sorted(wanted)}
    return DecodedLog(records, _quarantine(kept, dialect), _unknown(kept))


def decode_record(log: DataFrame, table: str, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records of one table (`record_schema`) out of log rows; rows that do not decode are left out."""
    check_dialect(dialect)
    transaction = []
    if table == OFFSET_COMMIT_TABLE:
        log, transaction = settle_transactions(log), ["transaction"]
    rows = log.filter(is_record() & key_of_types(record.key_type for record in DIALECTS[dialect].of_table(table)))
    if table == GROUP_CONFIGURATION.table:  # spares the workers the type's other records
        rows = rows.filter(key_ends_after_group())
    selected = rows.select(*_PLACE, *transaction, "key", "value")
    return map_in_arrow(selected, partial(typed_records, table, dialect), record_schema(table))


def decode_together(log: DataFrame, tables: Mapping[str, Sequence[str]], *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records of several tables in one DataFrame (`joint_schema`), decoded in one pass over the log.

    `tables` names the columns of each table that are wanted. Offset commits have no `transaction` here.
    """
    check_dialect(dialect)
    of_dialect = [record.key_type for table in tables for record in DIALECTS[dialect].of_table(table)]
    size = F.octet_length("key") + F.coalesce(F.octet_length("value"), F.lit(0))
    rows = log.filter(is_record() & key_of_types(of_dialect)).select(*_PLACE, size.alias(SIZE.name), "key", "value")
    return map_in_arrow(rows, partial(joint_records, dict(tables), dialect), joint_schema(tables))


def to_json(log: DataFrame, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records among log rows as the JSON that Kafka's tools print (`JSON_SCHEMA`), in no order.

    Offset commits count as their `transaction` says: settle it first where files follow each other.
    """
    check_dialect(dialect)
    selected = log.filter(is_record()).select(*_PLACE, "transaction", "key", "value")
    return map_in_arrow(selected, partial(json_records, dialect), JSON_SCHEMA)


def _quarantine(log: DataFrame, dialect: str) -> DataFrame:
    unread = log.filter(F.col("error").isNotNull()).select(
        *_PLACE, "key", "value", F.col("error").alias("reason"), F.lit(None).cast("int").alias("position")
    )
    readable = log.filter(is_record() & ~key_of_unknown_type()).select(*_PLACE, "key", "value")
    return unread.unionByName(map_in_arrow(readable, partial(failures, dialect), FAILURE_SCHEMA))


def _unknown(log: DataFrame) -> DataFrame:
    rows = log.filter(is_record() & key_of_unknown_type())
    return rows.select(*_PLACE, key_type().alias("key_type"), "key", "value")
