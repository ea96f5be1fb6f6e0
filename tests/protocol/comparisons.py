"""The decoder against the plain one, over a batch: same values, same verdict, row by row.

Each raises AssertionError where they differ, and returns how many rows are good.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kip848_records.protocol.columnar import Error, decode
from kip848_records.protocol.decoder import DecodedBatch, RecordGroup, decode_records
from kip848_records.protocol.kafka_json import key_json, value_json
from kip848_records.protocol.messages import Dialect
from kip848_records.protocol.schema import Layout
from tests.protocol.plain_json import plain_json
from tests.protocol.plain_records import UNKNOWN, Bad, Found, attempt, plain_record

Row = tuple[bytes | None, bytes | None]
"""Key and value."""


def compare_messages(layout: Layout, messages: Sequence[bytes | None], column: pa.Array | None = None) -> int:
    """`column` holds the messages in another form than the usual one."""
    decoded = decode(layout, pa.array(messages, pa.binary()) if column is None else column)
    expected = [None if message is None else attempt(layout, message) for message in messages]
    assert_equal(decoded.values, expected, layout.struct.arrow, messages)
    for place, (message, value) in enumerate(zip(messages, expected, strict=True)):
        error, position = Error(decoded.errors[place]), int(decoded.positions[place])
        if message is None or value is not None:
            assert (error, position) == (Error.NONE, -1), shown(message)
        else:
            assert error != Error.NONE, shown(message)
            assert 0 <= position <= len(message), f"position {position}: {shown(message)}"
    return sum(value is not None for value in expected)


def compare_records(rows: Sequence[Row], dialect: Dialect, columns: tuple[pa.Array, pa.Array] | None = None) -> int:
    """Whole log rows: every one is in exactly one of groups, unknown and errors."""
    batch = decode_records(*(columns or binary_columns(rows)), dialect)
    expected = [plain_record(key, value, dialect) for key, value in rows]
    grouped = [row for group in batch.groups for row in group.rows.tolist()]
    failed = np.flatnonzero(batch.errors).tolist()
    assert sorted([*grouped, *batch.unknown.tolist(), *failed]) == list(range(len(rows))), "a row is lost, or twice"
    assert set(batch.unknown.tolist()) == {row for row, fate in enumerate(expected) if fate is UNKNOWN}
    for row, fate in enumerate(expected):
        compare_error(fate, batch, row, rows[row])
    for group in batch.groups:
        compare_group(group, expected, rows)
    return len(grouped)


def compare_error(fate: Found | Bad | None, batch: DecodedBatch, row: int, shown_row: Row) -> None:
    error, position = Error(batch.errors[row]), int(batch.positions[row])
    if isinstance(fate, Bad):
        assert error == fate.error if fate.error else error != Error.NONE, shown(shown_row)
        assert bool(batch.in_key[row]) == fate.in_key, shown(shown_row)
        assert fate.first <= position <= fate.last, f"position {position}: {shown(shown_row)}"
    else:
        assert (error, position, bool(batch.in_key[row])) == (Error.NONE, -1, False), shown(shown_row)


def compare_group(group: RecordGroup, expected: Sequence[Found | Bad | None], rows: Sequence[Row]) -> None:
    places = group.rows.tolist()
    assert places == sorted(places)
    found = [expected[row] for row in places]
    theirs = [rows[row] for row in places]
    for fate, row in zip(found, theirs, strict=True):
        assert isinstance(fate, Found), shown(row)
        assert (fate.record, fate.layout) == (group.record, group.layout), shown(row)
    assert_equal(group.key, [fate.key for fate in found], group.record.key.arrow, theirs)
    if group.layout is None:
        assert group.value is None
    else:
        assert_equal(group.value, [fate.value for fate in found], group.layout.struct.arrow, theirs)


def compare_json(rows: Sequence[Row], dialect: Dialect) -> int:
    """Keys and values of all groups, printed, parse and say what the plain decoder found."""
    printed = 0
    for group in decode_records(*binary_columns(rows), dialect).groups:
        texts = zip(group.rows.tolist(), key_json(group).to_pylist(), value_json(group).to_pylist(), strict=True)
        for row, key, value in texts:
            fate = plain_record(*rows[row], dialect)
            assert isinstance(fate, Found), shown(rows[row])
            assert json.loads(key) == plain_json(group.record.key_layout, fate.key), shown(rows[row])
            if group.layout is None:
                assert value is None
            else:
                assert json.loads(value) == plain_json(group.layout, fate.value), shown(rows[row])
            printed += 1
    return printed


def assert_equal(found: pa.Array, expected: list[Any], kind: pa.DataType, inputs: Sequence[Any]) -> None:
    """Names the first input whose value differs. Arrow compares a batch many times as fast as Python does."""
    assert found.type == kind
    found.validate(full=True)
    if found.equals(pa.array(expected, kind)):
        return
    for ours, plain, given in zip(found.to_pylist(), expected, inputs, strict=True):
        assert ours == plain, shown(given)
    raise AssertionError("unequal to Arrow, equal to Python")


def binary_columns(rows: Sequence[Row]) -> tuple[pa.Array, pa.Array]:
    return pa.array([key for key, _ in rows], pa.binary()), pa.array([value for _, value in rows], pa.binary())


def shown(given: Any) -> str:
    """An input in hexadecimal digits."""
    if isinstance(given, tuple):
        return " ".join(map(shown, given))
    return "null" if given is None else given.hex() or "empty"
