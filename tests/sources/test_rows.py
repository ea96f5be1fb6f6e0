"""Rows of the Kafka source become log rows, whatever types their writer gave the columns."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from kip848_records.sources.rows import ROWS_SCHEMA, log_rows

EPOCH, COMMIT = b"\x00\x03\x00\x01g", b"\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x00"
AT_MS = 1_763_712_000_123
AT = datetime(2025, 11, 21, 8, 0, 0, 123_000, tzinfo=UTC)
MISSING = ("incomplete_row", "no partition, offset or timestamp")


def batch(**columns):
    """A batch of one row for each of the longest column's values; a column of one value has it in all rows."""
    known = {
        "key": pa.array([EPOCH]),
        "value": pa.array([b"v"]),
        "partition": pa.array([0], pa.int32()),
        "offset": pa.array([5], pa.int64()),
        "timestamp": pa.array([AT_MS], pa.timestamp("ms", "UTC")),
    } | columns
    rows = max(map(len, known.values()))
    full = {name: column.take([n % len(column) for n in range(rows)]) for name, column in known.items()}
    return pa.RecordBatch.from_pydict(full)


def read(**columns):
    (rows,) = log_rows([batch(**columns)])
    assert rows.schema == ROWS_SCHEMA
    return rows.to_pylist()


def errors(**columns):
    return [(row["error_code"], row["error"]) for row in read(**columns)]


def test_a_row():
    assert read(timestampType=pa.array([0], pa.int32()), topic=pa.array(["__consumer_offsets"])) == [
        {
            **dict.fromkeys(ROWS_SCHEMA.names),
            "partition": 0,
            "offset": 5,
            "timestamp": AT,
            "timestamp_type": 0,
            "key": EPOCH,
            "value": b"v",
            "key_type": 3,
            "group_id": "g",
            "transaction": "none",
        }
    ]


def test_a_dump_does_not_show_how_transactions_ended():
    rows = read(key=pa.array([COMMIT, EPOCH, None]))
    assert [row["transaction"] for row in rows] == ["unknown", "none", "none"]


@pytest.mark.parametrize("width", [pa.int8(), pa.int16(), pa.int32(), pa.int64()])
def test_whole_numbers_of_any_width(width):
    (row,) = read(partition=pa.array([7], width), offset=pa.array([-9], width))
    assert (row["partition"], row["offset"], row["error"]) == (7, -9, None)


def test_a_number_that_does_not_fit():
    partitions = pa.array([1 << 31, -(1 << 31) - 1, -(1 << 31), (1 << 31) - 1])
    rows = read(partition=partitions)
    assert [row["partition"] for row in rows] == [None, None, -(1 << 31), (1 << 31) - 1]
    assert [(row["error_code"], row["error"]) for row in rows] == [MISSING, MISSING, (None, None), (None, None)]


@pytest.mark.parametrize("column", ["partition", "offset", "timestamp"])
def test_a_place_that_is_missing(column):
    assert errors(**{column: pa.array([None], batch().schema.field(column).type)}) == [MISSING]


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
@pytest.mark.parametrize(("unit", "of_ms"), [("ms", 1), ("us", 1000), ("ns", 1_000_000)])
def test_times_of_any_unit(unit, of_ms, zone):
    times = pa.array([AT_MS * of_ms, -of_ms, -2 * of_ms, None], pa.timestamp(unit, zone))
    before = datetime(1969, 12, 31, 23, 59, 59, 998_000, tzinfo=UTC)
    # Kafka's -1 is no time.
    assert [row["timestamp"] for row in read(timestamp=times)] == [AT, None, before, None]


def test_times_as_numbers():
    numbers = [AT_MS, AT_MS * 1000, AT_MS * 1_000_000, -1, None, -(1 << 63), (1 << 63) - 1]
    rows = read(timestamp=pa.array(numbers, pa.int64()))
    assert [row["timestamp"] for row in rows[:5]] == [AT, AT, AT, None, None]
    assert [row["timestamp"].year for row in rows[5:]] == [1677, 2262]
    assert [row["error_code"] for row in rows] == [None] * 4 + ["incomplete_row"] + [None] * 2


def test_times_outside_of_the_years_that_can_be_shown():
    far = pa.array([-62_135_596_800_000, -62_135_596_800_001, 253_402_300_799_999, 253_402_300_800_000])
    wrong = ("timestamp_out_of_range", "timestamp out of range")
    for times in (far.cast(pa.timestamp("ms", "UTC")), far.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us"))):
        assert errors(timestamp=times) == [(None, None), wrong] * 2
    assert [row["timestamp"] is None for row in read(timestamp=far.cast(pa.timestamp("ms")))] == [False, True] * 2


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (pa.array([0, 1, 13, None], pa.int64()), [0, 1, 13, None]),
        (pa.array([0.0, 1.0, None]), [0, 1, None]),
        (pa.array(["CreateTime", "LogAppendTime", "NoTimestampType", " 1 ", None]), [0, 1, None, 1, None]),
        (pa.array([1 << 40]), [None]),
        (pa.array([[0]]), [None]),
    ],
)
def test_timestamp_types(types, expected):
    assert [row["timestamp_type"] for row in read(timestampType=types)] == expected


def test_a_column_of_nulls_without_a_type():
    assert [row["value"] for row in read(value=pa.nulls(1))] == [None]


@pytest.mark.parametrize("kind", [pa.large_binary(), pa.binary()])
def test_bytes_with_offsets_of_64_bits(kind):
    (row,) = read(key=pa.array([EPOCH], kind), topic=pa.array(["x"], pa.large_string()))
    assert (row["key"], row["error"]) == (EPOCH, "a row of topic x")


def test_topics():
    topics = pa.array(["__consumer_offsets", "dc1.__consumer_offsets", "orders", None])
    other = ("other_topic", "a row of topic orders")
    assert errors(topic=topics) == [(None, None), (None, None), other, (None, None)]


def test_the_first_of_several_errors():
    nothing = pa.array([None], pa.int64())
    given = {"error_code": pa.array(["not_json"]), "error": pa.array(["no"])}
    assert errors(offset=nothing, topic=pa.array(["orders"]), **given) == [("other_topic", "a row of topic orders")]
    assert errors(offset=nothing, **given) == [("not_json", "no")]
    assert errors(offset=nothing, timestamp=pa.array([1 << 62], pa.timestamp("ms")), key=pa.array([b""])) == [MISSING]
    assert errors(key=pa.array([b"\x00", b"\x00\x03\x00\x05g"])) == [
        ("key_without_type", "key: no key, or one too short to hold a record type"),
        ("key_without_group", "key: no group id"),
    ]
