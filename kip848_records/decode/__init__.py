"""Log rows -> typed records: one DataFrame per record type, and the rows that did not decode.

`decode.records` has the rules. All of it is lazy: an action on one of the DataFrames reads the log once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.decode.dialects import check_dialect
from kip848_records.decode.records import (
    records_as_json,
    records_of_table,
    records_of_unknown_types,
    undecoded,
)
from kip848_records.engines.choice import engine_of
from kip848_records.protocol.columns import OFFSET_COMMIT_TABLE
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.sources.predicates import WITHOUT_OFFSET_COMMITS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import DataFrame


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
    """Decode log rows (`specs.log_columns.LOG_COLUMNS`).

    `dialect`: the writer of the log, a name in `protocol.messages.DIALECTS`. `offset_commits`: decode these too.
    `tables`: the names of the tables to decode, because Spark needs time for each DataFrame; None for all.

    The result has no transaction markers, and no records of aborted transactions. Raises InputError for an unknown
    dialect.
    """
    check_dialect(dialect)
    kept = log if offset_commits else log.filter(WITHOUT_OFFSET_COMMITS)
    wanted = {record.table for record in DIALECTS[dialect].records}
    wanted -= set() if offset_commits else {OFFSET_COMMIT_TABLE}
    wanted &= wanted if tables is None else set(tables)
    engine = engine_of(log)
    records = {table: records_of_table(engine, kept, table, dialect) for table in sorted(wanted)}
    return DecodedLog(records, undecoded(engine, kept, dialect), records_of_unknown_types(engine, kept))


def decode_record(log: DataFrame, table: str, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records of one table from log rows; rows that do not decode are skipped.

    `table`: a name such as `consumer_group_metadata`. The result has the columns of `decode.schemas.record_schema`.
    Raises InputError for an unknown dialect.
    """
    check_dialect(dialect)
    records: DataFrame = records_of_table(engine_of(log), log, table, dialect)
    return records


def to_json(log: DataFrame, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the records among log rows as the JSON that Kafka's tools print (`JSON_SCHEMA`), unordered.

    Offset commits of aborted transactions are skipped. If the log has consecutive files, call
    `sources.transactions.resolve_transactions` first: the marker of a transaction may be in a later file. Raises
    InputError for an unknown dialect.
    """
    check_dialect(dialect)
    records: DataFrame = records_as_json(engine_of(log), log, dialect)
    return records
