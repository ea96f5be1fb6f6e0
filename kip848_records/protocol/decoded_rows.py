"""Log rows -> decoded rows: RecordBatch -> RecordBatch, nothing else. Spark's Python workers call them in `mapInArrow`.

`decode_record` uses `typed_records`, the quarantine `failures`, `to_json` uses `json_records`, and `choose_dialect`
uses `decoded_counts`. Without Spark, queries use `typed_records`, and `kip848 inspect` uses `json_records`. Arguments
name dialects: a worker has the layouts, so Spark sends it the name alone.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.protocol.columnar import Error
from kip848_records.protocol.columns import (
    CHECKED_COLUMNS,
    FAILURE_COLUMNS,
    JSON_COLUMNS,
    PLACE,
    embedded_columns,
    key_columns,
    record_columns,
    value_columns,
)
from kip848_records.protocol.decoder import DecodedBatch, RecordGroup, decode_records, join_batches
from kip848_records.protocol.kafka_json import embedded_json, key_json, value_json
from kip848_records.protocol.messages import DIALECTS
from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from kip848_records.protocol.schema import Field

_TYPE_BYTES = 2


def typed_records(table: str, dialect: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that decode as records of the table, with its columns."""
    for batch in batches:
        for group in _decode(batch, dialect).groups:
            if group.record.table == table:
                yield _table_columns(table, group, batch.take(pa.array(group.rows)))


def failures(dialect: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that do not decode, with the reason."""
    for batch in join_batches(batches):
        yield from _failures(batch, _decode(batch, dialect))


def checked_commits(dialect: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield offset commits without their bytes, and those that do not decode with the reason (`CHECKED_COLUMNS`)."""
    for batch in join_batches(batches):
        decoded = _decode(batch, dialect)
        for group in decoded.groups:
            yield _with_missing(_commit_columns(batch, group), CHECKED_COLUMNS)
        for failed in _failures(batch, decoded):
            yield _with_missing(failed, CHECKED_COLUMNS)


def _failures(batch: pa.RecordBatch, decoded: DecodedBatch) -> Iterator[pa.RecordBatch]:
    failed = np.flatnonzero(decoded.errors != Error.NONE)
    if len(failed):
        rows = batch.select([*PLACE, "key", "value"]).take(pa.array(failed))
        yield pa.RecordBatch.from_arrays([*rows.columns, *failure_columns(decoded, failed)], FAILURE_COLUMNS.names)


def failure_columns(decoded: DecodedBatch, failed: NDArray[np.int64]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the error code, the reason, and the position of the error, of rows that did not decode."""
    sides = zip(decoded.errors[failed].tolist(), decoded.in_key[failed].tolist(), strict=True)
    codes = pa.array([Error(error).code(in_key=in_key) for error, in_key in sides])
    reasons = pa.array([reason(decoded, row) for row in failed.tolist()])
    return codes, reasons, pa.array(decoded.positions[failed])


def _commit_columns(batch: pa.RecordBatch, group: RecordGroup) -> pa.RecordBatch:
    rows = batch.select([*PLACE, "transaction", "producer_id"]).take(pa.array(group.rows))
    key = group.key
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    columns |= {"group_id": key.field("group"), "topic": key.field("topic"), "topic_partition": key.field("partition")}
    if group.value is not None:
        columns |= {"committed": group.value.field("offset"), "topic_id": group.value.field("topic_id")}
        expires, committed_at = (group.value.field(name) for name in ("expire_timestamp", "commit_timestamp"))
        expires = pc.if_else(pc.greater_equal(expires, 0), expires, None)
        columns |= {"expires_ms": expires, "retention_ms": pc.subtract(expires, committed_at)}
    return pa.RecordBatch.from_pydict(columns)


def _with_missing(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with the columns of a schema; missing ones are null."""
    known = dict(zip(rows.schema.names, rows.columns, strict=True))
    columns = [known[f.name] if f.name in known else pa.nulls(rows.num_rows, f.type) for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def json_records(dialect: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield every row as JSON."""
    for batch in join_batches(batches):
        decoded = _decode(batch, dialect)
        for group in decoded.groups:
            yield _json_columns(batch, group.rows, group, value=value_json(group))
        failed = np.flatnonzero(decoded.errors != Error.NONE)
        if len(failed) or len(decoded.unknown):
            yield from _undecoded(batch, dialect, decoded, failed)


def decoded_counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield a row per batch: `records`, then how many of them decode in each dialect."""
    for batch in join_batches(batches):
        counts = {"records": batch.num_rows}
        counts |= {name: np.count_nonzero(_decode(batch, name).errors == Error.NONE) for name in DIALECTS}
        yield pa.RecordBatch.from_pylist([counts])


def _decode(batch: pa.RecordBatch, dialect: str) -> DecodedBatch:
    return decode_records(batch["key"], batch["value"], DIALECTS[dialect])


def reason(decoded: DecodedBatch, row: int) -> str:
    """Return why a row did not decode, as text."""
    return f"{'key' if decoded.in_key[row] else 'value'}: {Error(decoded.errors[row]).reason}"


def _table_columns(table: str, group: RecordGroup, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return a group's fields as the columns of its table, null if the group's layout lacks them."""
    fields = {}
    if group.layout is not None and group.value is not None:
        fields = {f.column: child for f, child in zip(group.layout.struct.fields, group.value.flatten(), strict=True)}
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    columns["is_tombstone"] = pa.repeat(group.layout is None, len(group.rows))
    columns |= zip(key_columns(table), group.key.flatten(), strict=True)
    for name, field in value_columns(table).items():
        child = fields.get(field.column)
        columns[name] = pa.nulls(len(group.rows), field.type.arrow) if child is None else child
    for name, (outer, inner) in embedded_columns(table).items():
        columns[name] = _embedded(fields, outer, inner, len(group.rows))
    return pa.RecordBatch.from_pydict({name: columns[name] for name in record_columns(table).names})


def _embedded(fields: Mapping[str, pa.Array], outer: Field, inner: Field, rows: int) -> pa.Array:
    """Return a list of JSON for each group with the consumer protocol, one text for each of its members; else null."""
    if outer.column not in fields or inner.embeds is None:
        return pa.nulls(rows, pa.list_(pa.string()))
    is_consumer = pc.equal(fields["protocol_type"], CONSUMER_PROTOCOL_TYPE)
    members = fields[outer.column].filter(is_consumer)
    texts = pa.ListArray.from_arrays(members.offsets, embedded_json(inner.embeds, members.values.field(inner.column)))
    mask = is_consumer.to_numpy(zero_copy_only=False)
    return texts.take(pa.array(np.cumsum(mask) - 1, mask=~mask))


def _undecoded(
    batch: pa.RecordBatch, dialect: str, decoded: DecodedBatch, failed: NDArray[np.int64]
) -> Iterator[pa.RecordBatch]:
    """Yield the failed rows, with the JSON of a key that decodes, and the rows of unknown types."""
    rest = np.sort(np.concatenate([failed, decoded.unknown]))
    rows = batch.take(pa.array(rest))
    keys_only = decode_records(rows["key"], pa.nulls(len(rest), rows["value"].type), DIALECTS[dialect])
    for group in keys_only.groups:
        errors = [_error(decoded, row) for row in rest[group.rows]]
        yield _json_columns(rows, group.rows, group, error=pa.array(errors, pa.string()))
    opaque = np.flatnonzero(keys_only.errors != Error.NONE)
    for row in np.sort(np.concatenate([opaque, keys_only.unknown])):
        yield _opaque(rows.slice(row, 1), _error(decoded, rest[row]))


def _error(decoded: DecodedBatch, row: int) -> str | None:
    if decoded.errors[row] == Error.NONE:
        return None
    return f"{reason(decoded, row)} (byte {decoded.positions[row]})"


def _opaque(row: pa.RecordBatch, error: str | None) -> pa.RecordBatch:
    key, value = row["key"][0].as_py(), row["value"][0].as_py()
    typed = key is not None and len(key) >= _TYPE_BYTES
    known = {
        "key_type": int.from_bytes(key[:_TYPE_BYTES], "big", signed=True) if typed else None,
        "key": _base64(key),
        "value": _base64(value) if error is None else None,
        "error": error,
    }
    return _with_place(row, {name: pa.array([item]) for name, item in known.items()})


def _base64(raw: bytes | None) -> str | None:
    return None if raw is None else f'"{b64encode(raw).decode()}"'


def _json_columns(
    batch: pa.RecordBatch, rows: NDArray[np.int64], group: RecordGroup, **columns: pa.Array
) -> pa.RecordBatch:
    key = dict(zip(group.key.type.names, group.key.flatten(), strict=True))
    known = {
        "key_type": pa.repeat(group.record.key_type, len(rows)),
        "record": pa.repeat(group.record.name, len(rows)),
        "group_id": key.get("group_id", key.get("group")),
        "member_id": key.get("member_id"),
        "key": key_json(group),
    }
    return _with_place(batch.take(pa.array(rows)), known | columns)


def _with_place(rows: pa.RecordBatch, columns: dict[str, pa.Array | None]) -> pa.RecordBatch:
    for name in (*PLACE, "transaction"):
        columns[name] = rows[name]
    full = []
    for field in JSON_COLUMNS:
        column = columns.get(field.name)
        if column is None:
            column = pa.nulls(rows.num_rows, field.type)
        full.append(column.cast(field.type) if field.name == "key_type" or pa.types.is_null(column.type) else column)
    return pa.RecordBatch.from_arrays(full, JSON_COLUMNS.names)
