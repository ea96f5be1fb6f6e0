"""The segment reader against the plain one, as far as the damage leaves a segment comparable.

Each raises AssertionError where they differ, and returns whether every batch could be read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pyarrow as pa

from kip848_records.protocol.segments import record_fields, window
from kip848_records.protocol.segments.reader import SEGMENT_SCHEMA, SegmentError, read_segment
from tests.protocol.plain_segments import plain_rows

LEFT_ALONE = (
    *("offset", "timestamp", "timestamp_type", "key", "value", "control"),
    *("producer_id", "producer_epoch", "leader_epoch"),
)
"""What a row says whatever becomes of the batches beside its own."""


def read(segment: bytes, base_offset: int | None = 0, batch_rows: int = 10_000, **options: int) -> list[dict[str, Any]]:
    """The rows of a segment, out of valid Arrow batches of the size and schema that were asked for."""
    batches = list(read_segment(segment, base_offset=base_offset, batch_rows=batch_rows, **options))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == SEGMENT_SCHEMA
        assert batch.num_rows <= batch_rows
    return pa.Table.from_batches(batches, SEGMENT_SCHEMA).to_pylist()


def compare_segment(batches: list[bytes], base_offset: int | None, batch_rows: int = 10_000) -> bool:
    """Batches whose records may be damaged inside the compression, or whose CRCs are wrong: every row is known."""
    rows = read(b"".join(batches), base_offset, batch_rows)
    expected = plain_rows(batches, base_offset)
    readable = all(row["error"] is None for row in rows)
    for row in rows:
        assert (row.pop("error_code") is None) == (row["error"] is None)
        row["error"] = row["error"] is not None
    assert_rows(rows, expected)
    return readable


def compare_neighbours(batches: list[bytes], damaged: bytes, original: bytes, base_offset: int | None) -> bool:
    """The `damaged` batch, with a right CRC, may not decompress: the rows of the others are known."""
    rows = read(b"".join(batches), base_offset)
    whole = [original if batch == damaged else batch for batch in batches]
    first = int.from_bytes(original[:8], "big")
    last = first + int.from_bytes(original[23:27], "big")
    assert_rows(of_others(rows, first, last), of_others(plain_rows(whole, base_offset), first, last))
    inside = [row for row in rows if first <= row["offset"] <= last and row["control"] != "compacted"]
    errors = [row for row in inside if row["error"]]
    assert not errors or inside == errors[:1], "a batch has an error and records"
    return not errors


def assert_rows(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    for place, (row, plain) in enumerate(zip(rows, expected, strict=False)):
        assert row == plain, f"row {place} is {row}, not {plain}"
    assert len(rows) == len(expected)


def of_others(rows: list[dict[str, Any]], first: int, last: int) -> list[dict[str, Any]]:
    others = [row for row in rows if not first <= row["offset"] <= last and row["control"] != "compacted"]
    assert not any(row["error"] for row in others)
    return [{name: row[name] for name in LEFT_ALONE} for row in others]


def compare_damaged(segment: bytes, batches: list[bytes], base_offset: int | None, batch_rows: int = 10_000) -> bool:
    """`segment` was made out of `batches` by any damage: what it still holds was there before."""
    try:
        rows = read(segment, base_offset, batch_rows)
    except SegmentError as error:
        assert 0 <= error.position <= len(segment)  # noqa: PT017 - raised or not, both are right
        return False
    known = {(row["key"], row["value"]) for row in plain_rows(batches, base_offset)} | {(None, None)}
    assert {(row["key"], row["value"]) for row in rows if row["error"] is None} <= known
    return all(row["error"] is None for row in rows)


@contextmanager
def small_steps(few_batches: int, group_bytes: int) -> Iterator[None]:
    """Read a segment as if it were large: in windows and groups of this many bytes.

    Records of fewer than `few_batches` batches are found one by one, those of others all at once.
    """
    with (
        mock.patch.object(record_fields, "FEW_BATCHES", few_batches),
        mock.patch.object(window, "GROUP_BYTES", group_bytes),
    ):
        yield
