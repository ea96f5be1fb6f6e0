"""Saved rows of Spark's Kafka source: every format gives the same log rows, whatever is around the columns."""

import gzip
import json
from base64 import b64encode

import deltalake
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.specs.log_columns import LOG_COLUMNS
from tests.log_rows import assert_same_rows, files_of, in_log_order
from tests.sources.batches import read_batch, read_rows

_NEEDED = ["key", "value", "partition", "offset", "timestamp"]
_TOLD_BY_SEGMENTS_ALONE = ["transaction", "producer_id", "producer_epoch", "leader_epoch"]


@pytest.fixture(scope="module")
def parquet(captures):
    return captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"


@pytest.fixture(scope="module")
def kafka_rows(parquet):
    """The rows of partitions 1 and 3."""
    rows = pq.read_table(parquet).replace_schema_metadata(None)
    rows = rows.filter(pc.is_in(rows["partition"], pa.array([1, 3], pa.int32())))
    return with_column(rows, "timestamp", rows["timestamp"].cast(pa.timestamp("us", "UTC")))


@pytest.fixture(scope="module")
def expected(parquet):
    """The log rows of partitions 1 and 3."""
    return read_rows(EmbeddedEngine(), str(parquet)).filter(pc.field("partition").isin([1, 3]))


def with_column(rows, name, values):
    return rows.set_column(rows.schema.get_field_index(name), name, values)


def without_type(rows):
    return with_column(rows, "timestamp_type", pa.nulls(len(rows), pa.int32()))


def write(rows, path, written):
    """A dump with these rows: Parquet, Delta, or JSON as Spark writes it."""
    if written == "delta":
        deltalake.write_deltalake(path, rows.drop_columns("headers"))
        return
    path.mkdir()
    if written == "parquet":
        pq.write_table(rows, path / "a.parquet")
    else:
        (path / "a.json").write_text("\n".join(json_lines(rows)))


def json_lines(rows):
    """Lines without what is null, and with times and bytes as Spark writes them."""
    for row in rows.drop_columns("headers").to_pylist():
        line = {name: value for name, value in row.items() if value is not None}
        coded = {name: b64encode(line[name]).decode() for name in ("key", "value") if name in line}
        yield json.dumps(line | coded | {"timestamp": f"{row['timestamp']:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"})


def test_the_log_rows_of_a_dump_have_the_schema_of_a_log(expected):
    assert expected.schema == LOG_COLUMNS


def test_a_dump_agrees_with_the_segments_record_by_record(engine, captures, parquet):
    # The rows of the Kafka source hold no markers; segments tell of their records' transactions.
    from_dump = read_rows(engine, str(parquet)).drop_columns(_TOLD_BY_SEGMENTS_ALONE)
    segments = read_rows(engine, str(captures / "kafka-4.3.1-all-types" / "segments"))
    is_record = pc.and_(pc.is_null(segments["control"]), pc.is_null(segments["file"]))
    from_segments = segments.filter(is_record).drop_columns(_TOLD_BY_SEGMENTS_ALONE)
    # The dump was taken a moment before the copy of the files, which have one record more.
    assert from_dump.num_rows == 10108
    assert from_segments.num_rows == 10109
    places = set(places_of(from_dump))
    assert_same_rows(from_dump, from_segments.filter(pa.array([at in places for at in places_of(from_segments)])))


def places_of(rows):
    return list(zip(*rows.select(["partition", "offset"]).to_pydict().values(), strict=True))


def test_only_offset_commits_have_an_unknown_transaction(expected):
    told = {(row["key"][:2] in (b"\x00\x00", b"\x00\x01"), row["transaction"]) for row in in_log_order(expected)}
    assert told == {(True, "unknown"), (False, "none")}


@pytest.mark.parametrize("columns", [_NEEDED, [*_NEEDED, "topic"], [*_NEEDED, "topic", "timestampType", "headers"]])
def test_parquet_with_and_without_optional_columns(engine, kafka_rows, expected, tmp_path, columns):
    rows = kafka_rows.select([*reversed(columns)]).append_column("ours", pa.array(["x"] * len(kafka_rows)))
    write(rows, tmp_path / "dump", "parquet")
    told = expected if "timestampType" in columns else without_type(expected)
    assert_same_rows(read_rows(engine, str(tmp_path / "dump")), told)


def test_one_parquet_file(engine, kafka_rows, expected, tmp_path):
    pq.write_table(kafka_rows, tmp_path / "a.parquet")
    assert_same_rows(read_rows(engine, str(tmp_path / "a.parquet")), expected)


@pytest.mark.parametrize("written", ["parquet", "json"])
def test_a_dump_partitioned_by_a_column(engine, kafka_rows, expected, tmp_path, written):
    (tmp_path / "dump").mkdir()
    for number in (1, 3):
        rows = kafka_rows.filter(pc.equal(kafka_rows["partition"], number)).drop_columns("partition")
        write(rows, tmp_path / "dump" / f"partition={number}", written)
    assert_same_rows(read_rows(engine, str(tmp_path / "dump")), expected)


@pytest.mark.parametrize("written", ["delta", "json"])
def test_other_formats(engine, kafka_rows, expected, tmp_path, written):
    write(kafka_rows, tmp_path / "dump", written)
    assert_same_rows(read_rows(engine, str(tmp_path / "dump")), expected)


@pytest.mark.parametrize("unit", ["ms", "us", "ns", "s.f"])
def test_json_times_may_be_numbers_of_any_unit(engine, tmp_path, unit):
    times = {"ms": 1763712000123, "us": 1763712000123000, "ns": 1763712000123000000, "s.f": "2025-11-21T08:00:00.123Z"}
    line = {"key": "AAMAAWc=", "value": "AA==", "partition": 0, "offset": 5, "timestamp": times[unit]}
    (tmp_path / "dump.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    (row,) = in_log_order(read_rows(engine, str(tmp_path / "dump.jsonl.gz")))
    assert (row["error"], row["timestamp"], row["value"]) == (None, 1763712000123000, b"\x00")


@pytest.mark.parametrize("at", [-1, "1969-12-31T23:59:59.999Z"])
def test_a_record_without_a_timestamp_has_no_time(engine, tmp_path, at):
    """Kafka's source gives the record's -1 as a time."""
    line = {"key": "AAMAAWc=", "value": "AA==", "partition": 0, "offset": 5, "timestamp": at}
    (tmp_path / "dump.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    (row,) = in_log_order(read_rows(engine, str(tmp_path / "dump.jsonl.gz")))
    assert (row["error"], row["timestamp"], row["value"]) == (None, None, b"\x00")


@pytest.mark.parametrize("written", ["parquet", "json"])
def test_timestamp_types_as_names(engine, kafka_rows, expected, tmp_path, written):
    kinds = [("CreateTime", 0), ("LogAppendTime", 1), ("NoTimestampType", None)]
    names = [kinds[offset % 3][0] for offset in kafka_rows["offset"].to_pylist()]
    write(with_column(kafka_rows, "timestampType", pa.array(names)), tmp_path / "dump", written)
    numbers = [kinds[offset % 3][1] for offset in expected["offset"].to_pylist()]
    told = with_column(expected, "timestamp_type", pa.array(numbers, pa.int32()))
    assert_same_rows(read_rows(engine, str(tmp_path / "dump")), told)


@pytest.mark.parametrize("written", ["parquet", "json"])
def test_a_partition_that_no_topic_can_have_costs_one_row(engine, kafka_rows, expected, tmp_path, written):
    absurd = [3_000_000_000 if offset == 7 else partition for partition, offset in places_of(kafka_rows)]
    write(with_column(kafka_rows, "partition", pa.array(absurd, pa.int64())), tmp_path / "dump", written)
    log = read_rows(engine, str(tmp_path / "dump"))
    assert_same_rows(log.filter(pc.is_null(log["error"])), expected.filter(pc.field("offset") != 7))
    rows = in_log_order(log.filter(pc.is_valid(log["error"])))
    errors = [(row["partition"], row["offset"], row["error_code"], row["error"]) for row in rows]
    assert errors == [(None, 7, ErrorCode.INCOMPLETE_ROW, "no partition, offset or timestamp")] * 2


def test_parquet_that_pandas_wrote_with_nanoseconds(engine, parquet, expected, tmp_path):
    frame = pd.concat(pd.read_parquet(file, columns=_NEEDED) for file in sorted(parquet.glob("*.parquet")))
    frame = frame[frame["partition"].isin([1, 3])]
    frame["timestamp"] = frame["timestamp"].astype("datetime64[ns]")
    frame.to_parquet(tmp_path / "dump.parquet", index=False)
    assert "timestamp[ns" in str(pq.read_schema(tmp_path / "dump.parquet").field("timestamp").type)
    without = without_type(expected)
    assert_same_rows(read_rows(engine, str(tmp_path / "dump.parquet")), without)


def test_a_json_dump_of_several_topics_may_begin_with_rows_of_another(engine, tmp_path):
    place = {"partition": 0, "timestamp": 1763712000123}
    others = [{"topic": "orders", "offset": offset, "value": "AA=="} | place for offset in range(25)]
    tombstones = [{"topic": "__consumer_offsets", "offset": offset, "key": "AAM="} | place for offset in range(3)]
    (tmp_path / "dump.jsonl").write_text("\n".join(map(json.dumps, [*others, *tombstones])))
    log = read_rows(engine, str(tmp_path / "dump.jsonl"))
    rows = in_log_order(log)
    # A key of two bytes names a type of groups, and no group.
    told = {(row["error_code"], row["error"]): row["offset"] for row in rows}
    assert told == {
        (ErrorCode.OTHER_TOPIC, "a row of topic orders"): 24,
        (ErrorCode.KEY_WITHOUT_GROUP, "key: no group id"): 2,
    }
    (file,) = files_of(read_batch(engine, str(tmp_path), offset_commits=True).rows)
    assert (file["first_offset"], file["last_offset"], file["has_gap"]) == (0, 2, False)


def test_a_json_line_that_does_not_read_becomes_a_row_with_an_error(engine, tmp_path):
    good = {"key": "AAMAAWc=", "value": "AAA=", "partition": 0, "offset": 1, "timestamp": "2025-11-21T08:00:00.123Z"}
    lines = [
        good,
        "not json",
        good | {"offset": 2, "key": "***"},
        good | {"offset": 3, "value": "A"},
        {k: v for k, v in good.items() if k != "offset"},
        good | {"offset": 4, "timestamp": "yesterday"},
        good | {"offset": "five"},
        good | {"offset": 6, "timestamp": -(2**63)},
        "[1, 2]",
        good | {"offset": "5" * 5000},
        good | {"offset": 7, "timestampType": "5" * 5000},
        good | {"offset": 8, "timestampType": "\ud800"},  # half of a character
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (tmp_path / "dump.json").write_text(text)
    rows = read_rows(engine, str(tmp_path / "dump.json")).to_pylist()
    errors = [(row["error_code"], row["error"]) for row in rows]
    nowhere = (ErrorCode.INCOMPLETE_ROW, "no partition, offset or timestamp")
    assert errors[:7] == [
        (None, None),
        (ErrorCode.NOT_JSON, "the line is not a JSON object"),
        (ErrorCode.NOT_BASE64, "key is not base64"),
        (ErrorCode.NOT_BASE64, "value is not base64"),
        nowhere,
        nowhere,
        nowhere,
    ]
    assert len(rows) == 12
    assert errors[9:] == [nowhere, (None, None), (None, None)]
    assert errors[8][0] == ErrorCode.NOT_JSON
    assert rows[1]["value"] == b"not json"
    assert json.loads(rows[2]["value"])["key"] == "***"
    assert [(row["key_type"], row["group_id"]) for row in rows[:4]] == [(3, "g"), (None, None), (None, None), (3, "g")]


def test_of_an_array_on_one_line_each_object_is_a_row_of_its_own(engine, tmp_path):
    given = [{"key": "***", "value": None, "partition": 0, "offset": n, "timestamp": 1} for n in range(50)]
    (tmp_path / "dump.json").write_text(json.dumps(given))
    rows = read_rows(engine, str(tmp_path / "dump.json")).to_pylist()
    assert [json.loads(row["value"]) for row in rows] == given
