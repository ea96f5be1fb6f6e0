"""Saved rows of Spark's Kafka source: every format gives the same log rows, whatever is around the columns."""

import gzip
import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from chispa.schema_comparer import assert_schema_equality
from pyspark.sql import functions as F

from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.read import read_log
from kip848_records.sources.topic.log_rows import LOG_SCHEMA
from tests.log_rows import assert_same_rows, files_of, in_log_order
from tests.sources.batches import read_batch

_NEEDED = ["key", "value", "partition", "offset", "timestamp"]
_TOLD_BY_SEGMENTS_ALONE = ("transaction", "producer_id", "leader_epoch")


@pytest.fixture(scope="module")
def parquet(captures):
    return captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"


@pytest.fixture(scope="module")
def kafka_rows(spark, parquet):
    return spark.read.parquet(str(parquet)).filter("partition in (1, 3)").coalesce(1)


@pytest.fixture(scope="module")
def expected(spark, parquet):
    """The log rows of partitions 1 and 3."""
    return read_log(spark, str(parquet)).filter("partition in (1, 3)")


def without_type(rows):
    return rows.withColumn("timestamp_type", F.lit(None).cast("int"))


def test_the_log_rows_of_a_dump_have_the_schema_of_a_log(spark, parquet):
    assert_schema_equality(read_log(spark, str(parquet)).schema, LOG_SCHEMA, ignore_nullable=True)


def test_a_dump_agrees_with_the_segments_record_by_record(spark, captures, parquet):
    # The rows of the Kafka source hold no markers; segments tell of their records' transactions.
    from_dump = read_log(spark, str(parquet)).drop(*_TOLD_BY_SEGMENTS_ALONE)
    segments = read_log(spark, str(captures / "kafka-4.3.1-all-types" / "segments"))
    from_segments = segments.filter("control IS NULL AND file IS NULL").drop(*_TOLD_BY_SEGMENTS_ALONE)
    # The dump was taken a moment before the copy of the files, which have one record more.
    assert from_dump.count() == 10108
    assert from_segments.count() == 10109
    places = from_dump.select("partition", "offset")
    assert_same_rows(from_dump, from_segments.join(places, ["partition", "offset"]).select(*from_dump.columns))


def test_only_offset_commits_have_an_unknown_transaction(expected):
    told = {(row["key"][:2] in (b"\x00\x00", b"\x00\x01"), row["transaction"]) for row in in_log_order(expected)}
    assert told == {(True, "unknown"), (False, "none")}


@pytest.mark.parametrize("columns", [_NEEDED, [*_NEEDED, "topic"], [*_NEEDED, "topic", "timestampType", "headers"]])
def test_parquet_with_and_without_optional_columns(spark, kafka_rows, expected, tmp_path, columns):
    kafka_rows.select(*reversed(columns), F.lit("x").alias("ours")).write.parquet(str(tmp_path / "dump"))
    told = expected if "timestampType" in columns else without_type(expected)
    assert_same_rows(read_log(spark, str(tmp_path / "dump")), told)


def test_one_parquet_file(spark, kafka_rows, expected, tmp_path):
    kafka_rows.write.parquet(str(tmp_path / "dump"))
    (file,) = (tmp_path / "dump").glob("*.parquet")
    assert_same_rows(read_log(spark, str(file)), expected)


@pytest.mark.parametrize("writer", ["parquet", "json"])
def test_a_dump_partitioned_by_a_column(spark, kafka_rows, expected, tmp_path, writer):
    kafka_rows.write.partitionBy("partition").format(writer).save(str(tmp_path / "dump"))
    assert_same_rows(read_log(spark, str(tmp_path / "dump")), expected)


def test_delta(spark, kafka_rows, expected, tmp_path):
    kafka_rows.write.format("delta").save(str(tmp_path / "dump"))
    assert_same_rows(read_log(spark, str(tmp_path / "dump")), expected)


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_json_lines_as_spark_writes_them(spark, kafka_rows, expected, tmp_path, compression):
    kafka_rows.write.json(str(tmp_path / "dump"), compression=compression)
    assert_same_rows(read_log(spark, str(tmp_path / "dump")), expected)


@pytest.mark.parametrize("unit", ["ms", "us", "ns", "s.f"])
def test_json_times_may_be_numbers_of_any_unit(spark, tmp_path, unit):
    times = {"ms": 1763712000123, "us": 1763712000123000, "ns": 1763712000123000000, "s.f": "2025-11-21T08:00:00.123Z"}
    line = {"key": "AAMAAWc=", "value": "AA==", "partition": 0, "offset": 5, "timestamp": times[unit]}
    (tmp_path / "dump.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    (row,) = in_log_order(read_log(spark, str(tmp_path / "dump.jsonl.gz")))
    assert (row["error"], row["timestamp"], row["value"]) == (None, 1763712000123000, b"\x00")


@pytest.mark.parametrize("at", [-1, "1969-12-31T23:59:59.999Z"])
def test_a_record_without_a_timestamp_has_no_time(spark, tmp_path, at):
    """Kafka's source gives the record's -1 as a time."""
    line = {"key": "AAMAAWc=", "value": "AA==", "partition": 0, "offset": 5, "timestamp": at}
    (tmp_path / "dump.jsonl.gz").write_bytes(gzip.compress(json.dumps(line).encode()))
    (row,) = in_log_order(read_log(spark, str(tmp_path / "dump.jsonl.gz")))
    assert (row["error"], row["timestamp"], row["value"]) == (None, None, b"\x00")


@pytest.mark.parametrize("written", ["parquet", "json"])
def test_timestamp_types_as_names(spark, kafka_rows, expected, tmp_path, written):
    names = {0: "CreateTime", 1: "LogAppendTime", None: "NoTimestampType"}
    kind = F.when(F.col("offset") % 3 == 0, names[0]).when(F.col("offset") % 3 == 1, names[1]).otherwise(names[None])
    kafka_rows.withColumn("timestampType", kind).write.format(written).save(str(tmp_path / "dump"))
    number = F.when(F.col("offset") % 3 < 2, F.col("offset") % 3).cast("int")
    told = expected.withColumn("timestamp_type", number)
    assert_same_rows(read_log(spark, str(tmp_path / "dump")), told)


@pytest.mark.parametrize("written", ["parquet", "json"])
def test_a_partition_that_no_topic_can_have_costs_one_row(spark, kafka_rows, expected, tmp_path, written):
    absurd = F.when(F.col("offset") == 7, F.lit(3_000_000_000)).otherwise(F.col("partition").cast("bigint"))
    kafka_rows.withColumn("partition", absurd).write.format(written).save(str(tmp_path / "dump"))
    log = read_log(spark, str(tmp_path / "dump"))
    assert_same_rows(log.filter("error IS NULL"), expected.filter("offset != 7"))
    rows = in_log_order(log.filter("error IS NOT NULL"))
    errors = [(row["partition"], row["offset"], row["error_code"], row["error"]) for row in rows]
    assert errors == [(None, 7, ErrorCode.INCOMPLETE_ROW, "no partition, offset or timestamp")] * 2


def test_parquet_that_pandas_wrote_with_nanoseconds(spark, parquet, expected, tmp_path):
    frame = pd.concat(pd.read_parquet(file, columns=_NEEDED) for file in sorted(parquet.glob("*.parquet")))
    frame = frame[frame["partition"].isin([1, 3])]
    frame["timestamp"] = frame["timestamp"].astype("datetime64[ns]")
    frame.to_parquet(tmp_path / "dump.parquet", index=False)
    assert "timestamp[ns" in str(pq.read_schema(tmp_path / "dump.parquet").field("timestamp").type)
    without = without_type(expected)
    assert_same_rows(read_log(spark, str(tmp_path / "dump.parquet")), without)


def test_a_json_dump_of_several_topics_may_begin_with_rows_of_another(spark, tmp_path):
    place = {"partition": 0, "timestamp": 1763712000123}
    others = [{"topic": "orders", "offset": offset, "value": "AA=="} | place for offset in range(25)]
    tombstones = [{"topic": "__consumer_offsets", "offset": offset, "key": "AAM="} | place for offset in range(3)]
    (tmp_path / "dump.jsonl").write_text("\n".join(map(json.dumps, [*others, *tombstones])))
    log = read_log(spark, str(tmp_path / "dump.jsonl"))
    rows = in_log_order(log)
    # A key of two bytes names a type of groups, and no group.
    told = {(row["error_code"], row["error"]): row["offset"] for row in rows}
    assert told == {
        (ErrorCode.OTHER_TOPIC, "a row of topic orders"): 24,
        (ErrorCode.KEY_WITHOUT_GROUP, "key: no group id"): 2,
    }
    (file,) = files_of(read_batch(spark, str(tmp_path), offset_commits=True).rows)
    assert (file["first_offset"], file["last_offset"], file["has_gap"]) == (0, 2, False)


def test_a_json_line_that_does_not_read_becomes_a_row_with_an_error(spark, tmp_path):
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
    ]
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (tmp_path / "dump.json").write_text(text)
    rows = read_log(spark, str(tmp_path / "dump.json")).filter("file IS NULL").collect()
    errors = [(row.error_code, row.error) for row in rows]
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
    assert len(rows) == 9
    assert errors[8][0] == ErrorCode.NOT_JSON
    assert bytes(rows[1].value) == b"not json"
    assert json.loads(bytes(rows[2].value))["key"] == "***"
    assert [(row.key_type, row.group_id) for row in rows[:4]] == [(3, "g"), (None, None), (None, None), (3, "g")]
