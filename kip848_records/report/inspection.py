"""`kip848 inspect`: the records of a log, one per line, to read or to compare with Kafka's own tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kip848_records.text import printable
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from kip848_records.queries.tables import Row

# Control characters that JSON does not escape, but that a terminal interprets.
_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x7F, 0xA0)}


def is_unread(row: Row) -> bool:
    """Return whether the source could not read a row of `inspect_log`."""
    # Every record has an outcome of its transaction, at least `none`.
    return row.transaction is None


def json_line(row: Row) -> str:
    """Return a row of `inspect_log` as one line of JSON.

    `error` replaces `value` if the record did not decode. `unknown` is true for a type that this version does not know;
    its key and value are base64 of their bytes. `transaction` is present if it is pending. Control characters are
    escaped, which does not change the values.
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
    """Return a row of `inspect_log` as one line of readable text."""
    what = "unknown record type" if _is_unknown(row) else "undecoded record" if row.record is None else row.record
    kind = "" if row.key_type is None else f" {row.key_type}"
    value = row.value or "<tombstone>" if row.error is None else f"ERROR {row.error}"
    pending = " (transaction pending)" if row.transaction == "pending" else ""
    at = "" if row.timestamp_ms is None else utc_text(utc(row.timestamp_ms))
    return printable(f"{row.partition}:{row.offset} {at}{kind} {what} {row.key or ''} {value}{pending}")


def _is_unknown(row: Row) -> bool:
    return row.record is None and row.error is None
