"""Dumps in Parquet that need no Spark: their lines are those that Spark would print; Spark reads all other dumps."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.decode.inspect import inspect_log
from kip848_records.machine.paths import SPARK_VARIABLES
from kip848_records.report.inspection import inspect_plain, json_line
from kip848_records.sources import plain_parquet
from kip848_records.sources.plain_parquet import read_plain_parquet
from kip848_records.sources.read import read_log
from tests.sources.test_segments import offset_commit

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _without_settings_of_spark(monkeypatch):
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def row(offset, **columns):
    record = offset_commit(offset)
    known = {"key": record.key, "value": record.value, "topic": "__consumer_offsets", "partition": 0, "offset": offset}
    return known | {"timestamp": AT} | columns


def dump(path, *rows, schema=None, **options):
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema), path, **options)
    return str(path)


def test_every_line_is_what_spark_would_print(spark, captures):
    source = str(captures / "kafka-4.3.1-all-types" / "kafka-source.parquet")
    expected = [json_line(each) for each in inspect_log(read_log(spark, source)).collect()]
    assert [json_line(each) for each in inspect_plain(read_plain_parquet(source))] == expected
    assert len(expected) > 100


def test_records_are_in_the_order_of_the_log(tmp_path):
    dump(tmp_path / "d" / "1.parquet", row(3), row(1), row(0, partition=1))
    dump(tmp_path / "d" / "2.parquet", row(2))
    (tmp_path / "d" / "_SUCCESS").touch()
    found = read_plain_parquet(str(tmp_path / "d"))
    assert found.select(["partition", "offset"]).to_pylist() == [
        *({"partition": 0, "offset": offset} for offset in (1, 2, 3)),
        {"partition": 1, "offset": 0},
    ]
    assert {*found["transaction"].to_pylist()} == {"unknown"}


def test_times_as_spark_writes_them_by_default(tmp_path):
    found = read_plain_parquet(dump(tmp_path / "d.parquet", row(1), use_deprecated_int96_timestamps=True))
    assert found["timestamp"].to_pylist() == [AT]


@pytest.mark.parametrize(
    "rows",
    [
        (),
        (row(1), row(1)),
        (row(1), row(2, topic="orders")),
        (row(1, topic=["__consumer_offsets"]),),
        (row(1, key=None),),
        (row(1, key=b"\0\2\0\5abc"),),
        (row(1, key="text"),),
        (row(1), row(2) | {"offset": None}),
        (row(1, partition=1 << 40),),
        (row(1, timestamp=1_767_225_600_000),),
    ],
    ids=["none", "twice", "topic", "topics", "no key", "no group", "type", "no offset", "partition", "number as time"],
)
def test_other_rows_are_left_to_spark(tmp_path, rows):
    schema = None if rows else pa.Table.from_pylist([row(1)]).schema
    assert read_plain_parquet(dump(tmp_path / "d.parquet", *rows, schema=schema)) is None


def test_other_files_are_left_to_spark(tmp_path, monkeypatch):
    file = dump(tmp_path / "d" / "1.parquet", row(1))
    assert len(read_plain_parquet(str(tmp_path / "d"))) == len(read_plain_parquet(file)) == 1
    monkeypatch.setattr(plain_parquet, "LARGEST_BYTES", 10)
    assert read_plain_parquet(file) is None
    monkeypatch.undo()
    (tmp_path / "d" / "notes.txt").touch()
    assert read_plain_parquet(str(tmp_path / "d")) is None
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert read_plain_parquet(str(tmp_path / "broken.parquet")) is None
    (tmp_path / "parts").mkdir()
    dump(tmp_path / "parts" / "date=2026-01-01" / "1.parquet", row(1))
    assert read_plain_parquet(str(tmp_path / "parts")) is None
    assert read_plain_parquet(str(tmp_path / "nowhere")) is None
