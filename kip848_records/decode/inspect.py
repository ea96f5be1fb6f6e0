"""The records of a log as JSON, in their order, for `kip848 inspect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode import to_json
from kip848_records.decode.schemas import JSON_SCHEMA
from kip848_records.engines.frames import engine_of
from kip848_records.protocol.messages import KAFKA
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.log_rows import is_unread, key_of_types
from kip848_records.sources.transactions import resolve_transactions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def inspect_log(
    log: DataFrame,
    *,
    dialect: str = KAFKA.name,
    group: str | None = None,
    types: Sequence[int] = (),
    limit: int | None = None,
) -> DataFrame:
    """Return the records of log rows as JSON (`JSON_SCHEMA`, and `timestamp_ms`), by partition and offset.

    `group`, `types` and `limit` select records. Rows that the source could not read (`is_unread`) are always included,
    as errors; `limit` does not count them.
    """
    resolved = drop_copies(engine_of(log), resolve_transactions(log))
    # The conditions cover the columns of both selections: so Spark sees the same rows in both, and reads them once.
    # `control` is never empty.
    read = resolved.filter(F.col("error").isNull() | ~is_unread())
    unread = resolved.filter(is_unread() & F.col("file").isNull() & ~F.col("control").eqNullSafe(""))
    rows = to_json(read.filter(key_of_types(types)) if types else read, dialect=dialect)
    if group is not None:
        rows = rows.filter(F.col("group_id") == group)
    if limit is not None:
        rows = rows.orderBy("partition", "offset").limit(limit)
    shown = {"partition", "offset", "timestamp", "error"}
    rows = rows.union(unread.select(*(F.col(n) if n in shown else F.lit(None) for n in JSON_SCHEMA.names)))
    return rows.withColumn("timestamp_ms", F.unix_millis("timestamp")).orderBy("partition", "offset")
