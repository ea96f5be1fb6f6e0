"""The present state in a log: the last value of every key, in offset order.

This is the state of a coordinator after it has loaded a partition, and all that compaction guarantees to keep.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.decode.dialects import check_dialect
from kip848_records.decode.records import records_as_json
from kip848_records.engines.choice import engine_of
from kip848_records.protocol.columns import TIMES
from kip848_records.protocol.messages import KAFKA
from kip848_records.queries.texts import rendered
from kip848_records.sources.predicates import IS_OF_LOG, IS_RECORD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from pyspark.sql import DataFrame

    from kip848_records.engines.engine import Engine, Relation

_ENDS: Final = pa.schema([("place", pa.int32()), ("last_offset", pa.int64())])


def replay(log: DataFrame, *, offsets: Mapping[int, int] | None = None, until: datetime | None = None) -> DataFrame:
    """Return the log rows that are the last of their key and not tombstones, one for each live key.

    `offsets`: by partition, the offset of the last record that counts; other partitions count up to their end. `until`:
    the time of the last record that counts. Without both, the state is that at the end of the log.

    Records of aborted and pending transactions do not count, by their outcome in the whole log. If the log has
    consecutive files, call `sources.transactions.resolve_transactions` first. A key whose last row is in error, such as
    a conflict of copies, is skipped: its earlier value is no longer valid.
    """
    state: DataFrame = state_of(engine_of(log), log, offsets=offsets, until=until)
    return state


def latest_state(log: DataFrame, *, dialect: str = KAFKA.name) -> DataFrame:
    """Return the present state as JSON, one row for each live key of a known type (`JSON_SCHEMA`).

    A key whose last value does not decode is skipped, because its earlier value is no longer valid: see the quarantine.
    """
    check_dialect(dialect)
    state: DataFrame = state_as_json(engine_of(log), log, dialect)
    return state


def state_of(
    engine: Engine, log: Relation, *, offsets: Mapping[int, int] | None = None, until: datetime | None = None
) -> Relation:
    """Return the log rows that `replay` returns."""
    last = last_counted(engine, log, offsets=offsets, until=until)
    return engine.sql(
        "SELECT * FROM {last} AS last WHERE last.value IS NOT NULL AND last.error_code IS NULL", last=last
    )


def last_counted(
    engine: Engine, log: Relation, *, offsets: Mapping[int, int] | None = None, until: datetime | None = None
) -> Relation:
    """Return the last row of each key that counts for `replay`, including tombstones and errors: of as much state."""
    limits = {}
    if offsets is not None:
        ends = [{"place": partition, "last_offset": offset} for partition, offset in offsets.items()]
        limits["ends"] = engine.relation(pa.Table.from_pylist(ends, _ENDS))
    if until is not None:
        # A time without a zone is one of this machine.
        limits["latest"] = engine.relation(pa.table({"until": pa.array([until.astimezone(UTC)], TIMES)}))
    text = rendered(
        "log/sql/counted.sql",
        has_offsets=offsets is not None,
        has_time=until is not None,
        is_record=IS_RECORD,
        is_of_log=IS_OF_LOG,
    )
    return last_of_keys(engine, engine.sql(text, log=log, **limits))


def last_of_keys(engine: Engine, records: Relation) -> Relation:
    """Return the last log row of each key, including tombstones and errors.

    A record precedes a row in error at its offset: one copy could not read what another copy holds.
    """
    return engine.sql(rendered("log/sql/last_of_keys.sql", columns=engine.types(records)), records=records)


def state_as_json(engine: Engine, log: Relation, dialect: str) -> Relation:
    """Return the rows that `latest_state` returns."""
    state = records_as_json(engine, state_of(engine, log), dialect)
    columns = ", ".join(f"state.{name}" for name in engine.types(state) if name != "error")
    text = f"SELECT {columns} FROM {{state}} AS state WHERE state.error IS NULL AND state.record IS NOT NULL"  # noqa: S608
    return engine.sql(text, state=state)
