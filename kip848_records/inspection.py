"""`kip848 inspect`: the records of a log, one line each, to read or to compare with Kafka's own tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Row
from pyspark.sql import functions as F

from kip848_records.decode import to_json
from kip848_records.decode.dialects import check_dialect
from kip848_records.decode.schemas import JSON_SCHEMA
from kip848_records.decode.workers import json_records
from kip848_records.protocol.messages import KAFKA
from kip848_records.sources import settle_transactions
from kip848_records.sources.copies import drop_copies
from kip848_records.sources.log import LEFT_OUT, key_of_types
from kip848_records.text import printable
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame

_ROWS_AT_ONCE: Final = 10_000
# Of the control characters, those that JSON lets pass as they are. A terminal obeys them.
_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x7F, 0xA0)}


def inspect_log(
    log: DataFrame,
    *,
    dialect: str = KAFKA.name,
    group: str | None = None,
    types: Sequence[int] = (),
    limit: int | None = None,
) -> DataFrame:
    """Return the records of log rows as JSON (`JSON_SCHEMA`, and `timestamp_ms`), by partition and offset.

    `group`, `types` and `limit` select. Rows that the source could not read (`is_unread`) are there as well, as errors,
    whatever is selected; `limit` does not count them.
    """
    settled = drop_copies(settle_transactions(log))
    rows = to_json(settled.filter(key_of_types(types)) if types else settled, dialect=dialect)
    if group is not None:
        rows = rows.filter(F.col("group_id") == group)
    if limit is not None:
        rows = rows.orderBy("partition", "offset").limit(limit)
    # All but what nobody makes here: for `control`, with which Spark sees the same rows here as above, read but once.
    is_kept = F.coalesce(F.col("control") != LEFT_OUT, F.lit(True))  # noqa: FBT003
    unread = settled.filter(F.col("error").isNotNull() & is_kept)
    told = {"partition", "offset", "timestamp", "error"}
    rows = rows.union(unread.select(*(F.col(n) if n in told else F.lit(None) for n in JSON_SCHEMA.names)))
    return rows.withColumn("timestamp_ms", F.unix_millis("timestamp")).orderBy("partition", "offset")


def inspect_plain(
    records: pa.Table,
    *,
    dialect: str = KAFKA.name,
    group: str | None = None,
    types: Sequence[int] = (),
    limit: int | None = None,
) -> Iterator[Row]:
    """Yield the rows that `inspect_log` would return of plain records (`sources.plain.read_plain`), without Spark."""
    check_dialect(dialect)
    left = len(records) if limit is None else limit
    for batch in records.to_batches(max_chunksize=_ROWS_AT_ONCE):
        decoded = pa.Table.from_batches(json_records(dialect, [batch]))
        if types:
            decoded = decoded.filter(pc.is_in(decoded["key_type"], pa.array(types, pa.int32())))
        if group is not None:
            decoded = decoded.filter(pc.equal(decoded["group_id"], group))
        # A batch is a piece of the log in its order, of which decoding has made groups.
        rows = decoded.sort_by([("partition", "ascending"), ("offset", "ascending")]).slice(0, left)
        left -= len(rows)
        timestamp_ms = rows["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
        names = [*rows.column_names, "timestamp_ms"]
        for row in zip(*(column.to_pylist() for column in (*rows.columns, timestamp_ms)), strict=True):
            yield Row(**dict(zip(names, row, strict=True)))


def is_unread(row: Row) -> bool:
    """Return whether a row of `inspect_log` is one that the source could not read."""
    # Every record has an outcome of its transaction, if only `none`.
    return row.transaction is None


def json_line(row: Row) -> str:
    """Return a row of `inspect_log` as one line of JSON.

    `error` stands in the place of `value` where the record did not decode; `unknown` is true for a type that this
    version does not know, whose key and value are the base64 of their bytes; `transaction` is there if it is pending.
    Control characters are escaped, which leaves the values as they are.
    """
    fields = {
        "partition": json.dumps(row.partition),
        "offset": json.dumps(row.offset),
        "timestamp": json.dumps(row.timestamp_ms),
        "type": json.dumps(row.key_type),
        "record": json.dumps(row.record),
        "key": row.key or "null",
    }
    if row.error is None:
        fields["value"] = row.value or "null"
    else:
        fields["error"] = json.dumps(row.error, ensure_ascii=False)
    if _is_unknown(row):
        fields["unknown"] = "true"
    if row.transaction == "pending":
        fields["transaction"] = '"pending"'
    line = "{" + ", ".join(f'"{name}": {text}' for name, text in fields.items()) + "}"
    return line.translate(_ESCAPES)


def text_line(row: Row) -> str:
    """Return a row of `inspect_log` as one line for people."""
    what = "unknown record type" if _is_unknown(row) else "undecoded record" if row.record is None else row.record
    kind = "" if row.key_type is None else f" {row.key_type}"
    value = row.value or "<tombstone>" if row.error is None else f"ERROR {row.error}"
    pending = " (transaction pending)" if row.transaction == "pending" else ""
    at = "" if row.timestamp_ms is None else utc_text(utc(row.timestamp_ms))
    return printable(f"{row.partition}:{row.offset} {at}{kind} {what} {row.key or ''} {value}{pending}")


def _is_unknown(row: Row) -> bool:
    return row.record is None and row.error is None
