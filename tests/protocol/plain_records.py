"""Decodes one log row at a time: which record it is, in which layout, or that it is none.

What `decode_records` is compared with; see there for the rules.
"""

from typing import Any, NamedTuple

from kip848_records.protocol.columnar import Error
from kip848_records.protocol.messages import Dialect, Record
from kip848_records.protocol.schema import Layout
from tests.protocol.plain_decoder import BadMessageError, plain_decode


class Found(NamedTuple):
    """A record; of a tombstone, layout and value are None."""

    record: Record
    layout: Layout | None
    key: dict[str, Any]
    value: dict[str, Any] | None


class Bad(NamedTuple):
    """No record; `error` None is any. The error is in key or value, from byte `first` to `last` of it."""

    error: Error | None
    in_key: bool
    first: int
    last: int


UNKNOWN = None
"""What a row of an unknown record type is."""


def plain_record(key: bytes | None, value: bytes | None, dialect: Dialect) -> Found | Bad | None:
    if key is None or len(key) < 2:
        return Bad(Error.MISSING_KEY, in_key=True, first=0, last=0)
    records = dialect.by_type.get(int.from_bytes(key[:2], "big"), ())
    if not records:
        return UNKNOWN
    for record in records:
        decoded_key = attempt(record.key_layout, key[2:])
        if decoded_key is not None:
            return of_record(record, decoded_key, value)
    return Bad(None, in_key=True, first=2, last=len(key))


def of_record(record: Record, key: dict[str, Any], value: bytes | None) -> Found | Bad:
    if value is None:
        return Found(record, None, key, None)
    if len(value) < 2:
        return Bad(Error.TRUNCATED, in_key=False, first=0, last=0)
    version = int.from_bytes(value[:2], "big", signed=True)
    layouts = record.value_layouts(version)
    if not layouts:
        error = Error.NEGATIVE_VERSION if version < 0 else Error.UNKNOWN_VERSION
        return Bad(error, in_key=False, first=0, last=0)
    for layout in layouts:
        decoded = attempt(layout, value[2:])
        if decoded is not None:
            return Found(record, layout, key, decoded)
    return Bad(None, in_key=False, first=2, last=len(value))


def attempt(layout: Layout, message: bytes) -> dict[str, Any] | None:
    """The message, or None where it is damaged."""
    try:
        return plain_decode(layout, message)
    except BadMessageError:
        return None
