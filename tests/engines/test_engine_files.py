"""What an engine reads of sources, equal on both."""

import bz2
import gzip
import os
import zlib
from datetime import date, datetime
from time import process_time
from zoneinfo import ZoneInfo

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.embedded.errors import EngineError
from kip848_records.errors import InputError
from kip848_records.sources.listing import Copy, find_copies
from tests.engines import engines
from tests.equal_rows import Rows

TIME = datetime(2026, 11, 1, 2, 3, 4, 5, ZoneInfo("UTC"))
PLAIN = [datetime(2026, 11, 1, 2, 3, 4, 5)]  # noqa: DTZ001 - a time without a zone is tested too


@pytest.fixture(params=[engines.EMBEDDED, engines.SPARK])
def engine(request, tmp_path):
    spark = request.getfixturevalue("spark") if request.param == engines.SPARK else None
    return engines.new_engine(request.param, spark, tmp_path / "out")


def dump(**columns):
    always = {"key": pa.array([b"\x00\x01"]), "offset": pa.array([7], pa.int64()), "timestamp": pa.array([TIME])}
    return pa.table(always | columns)


def write(file, table, **options):
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, **options)
    return file


def copy_of(engine, path, source_format=None):
    (copy,) = find_copies(engine.listing(), str(path), source_format)
    return copy


def scanned(engine, path):
    return [
        row._asdict()
        for row in engine.collect(engine.sql("SELECT * FROM {rows}", rows=engine.scan(copy_of(engine, path))))
    ]


ROW = {"key": b"\x00\x01", "offset": 7, "timestamp": TIME}


class TestParquet:
    @pytest.mark.parametrize("name", ["a", "a b", "a[b]*?{c}", "100%41", "a'b"])
    def test_folders_of_any_name(self, engine, tmp_path, name):
        write(tmp_path / name / "x.parquet", dump())
        write(tmp_path / name / "y.parquet", dump(offset=pa.array([8], pa.int64())))
        assert Rows(scanned(engine, tmp_path / name)) == Rows([ROW, ROW | {"offset": 8}])

    def test_the_first_file_has_the_columns(self, engine, tmp_path):
        write(tmp_path / "a" / "1.parquet", dump(topic=["t"]))
        write(tmp_path / "a" / "2.parquet", dump(other=["o"]))
        assert Rows(scanned(engine, tmp_path / "a")) == Rows([ROW | {"topic": "t"}, ROW | {"topic": None}])

    def test_columns_in_the_names_of_folders(self, engine, tmp_path):
        for number in ("3", "__HIVE_DEFAULT_PARTITION__"):
            write(tmp_path / "x=1" / f"partition={number}" / "name=a%20b" / "x.parquet", dump())
        found = scanned(engine, tmp_path / "x=1")
        assert Rows(found) == Rows(ROW | {"partition": number, "name": "a b"} for number in (3, None))

    @pytest.mark.parametrize(
        "options",
        [{"use_deprecated_int96_timestamps": True}, {"coerce_timestamps": "ms", "allow_truncated_timestamps": True}],
    )
    def test_times_of_other_writers(self, engine, tmp_path, options):
        write(tmp_path / "x.parquet", dump(), **options)
        (row,) = scanned(engine, tmp_path / "x.parquet")
        assert abs(row["timestamp"] - TIME).total_seconds() < 0.001

    def test_types_of_other_writers(self, engine, tmp_path):
        columns = {
            "timestamp": pa.array(PLAIN),
            "date": pa.array([date(2026, 1, 2)]),
            "small": pa.array([1], pa.int8()),
            "large": pa.array([b"x"], pa.large_binary()),
            "fixed": pa.array([b"xy"], pa.binary(2)),
            "none": pa.nulls(1),
            "words": pa.array(["a"]).dictionary_encode(),
        }
        write(tmp_path / "x.parquet", dump(**columns))
        (row,) = scanned(engine, tmp_path / "x.parquet")
        others = {"date": date(2026, 1, 2), "small": 1, "large": b"x", "fixed": b"xy", "none": None, "words": "a"}
        assert row == ROW | {"timestamp": PLAIN[0]} | others

    @pytest.mark.parametrize("content", [b"PAR1", b"no Parquet at all", "truncated"])
    @pytest.mark.parametrize("name", ["1.parquet", "3.parquet"])
    def test_damaged_files_are_named(self, engine, tmp_path, name, content):
        good = write(tmp_path / "a" / "2.parquet", dump()).read_bytes()
        (tmp_path / "a" / name).write_bytes(good[:-20] if content == "truncated" else content)
        with pytest.raises(InputError, match=f"{name} cannot be read: it is damaged"), engine.reading():
            scanned(engine, tmp_path / "a")

    def test_empty_files_are_skipped_unless_the_first_one_is_empty(self, engine, tmp_path):
        write(tmp_path / "a" / "2.parquet", dump())
        (tmp_path / "a" / "3.parquet").touch()
        assert scanned(engine, tmp_path / "a") == [ROW]
        (tmp_path / "a" / "1.parquet").touch()
        with pytest.raises(InputError, match=r"1\.parquet cannot be read: it is damaged"), engine.reading():
            scanned(engine, tmp_path / "a")

    def test_damaged_rows(self, engine, tmp_path):
        data = bytearray(write(tmp_path / "a" / "2.parquet", dump(), compression="zstd").read_bytes())
        data[4:60] = bytes(56)
        (tmp_path / "a" / "1.parquet").write_bytes(data)
        with pytest.raises(InputError, match=r"1\.parquet cannot be read: it is damaged"), engine.reading():
            scanned(engine, tmp_path / "a")

    @pytest.mark.not_everywhere
    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_files_without_permission(self, engine, tmp_path):
        write(tmp_path / "a" / "2.parquet", dump()).chmod(0)
        with pytest.raises(InputError, match=r"2\.parquet cannot be read: Permission denied"), engine.reading():
            scanned(engine, tmp_path / "a")


class TestDelta:
    def test_rows(self, engine, tmp_path):
        deltalake.write_deltalake(tmp_path / "d", dump(topic=["t"], partition=[3]), partition_by=["partition"])
        assert scanned(engine, tmp_path / "d") == [ROW | {"topic": "t", "partition": 3}]

    def test_rows_that_spark_wrote(self, engine, spark, tmp_path):
        spark.createDataFrame([ROW]).write.format("delta").save(str(tmp_path / "d"))
        assert scanned(engine, tmp_path / "d") == [ROW]

    @pytest.mark.parametrize("damage", ["gone", "truncated"])
    def test_damaged_files_are_named(self, engine, tmp_path, damage):
        deltalake.write_deltalake(tmp_path / "d 1", dump(partition=[3]), partition_by=["partition"])
        (file,) = (tmp_path / "d 1").glob("*/*.parquet")
        content = file.read_bytes()
        file.unlink()
        if damage == "truncated":
            file.write_bytes(content[:-20])
        with pytest.raises(InputError, match=f"{file} cannot be read: it is damaged"), engine.reading():
            scanned(engine, tmp_path / "d 1")


TEXT = b'{"a": 1}\n\n{"b": "\xc3\xa4"}\r\n{"c": 3}'
LINES = [b'{"a": 1}', b"", b'{"b": "\xc3\xa4"}', b'{"c": 3}']


def deflated(data):
    return zlib.compress(data)


def zstandard(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


DAMAGE = (lambda data: data[:-9], lambda _: b"x" * 99, lambda data: data[:20] + b"x" * 30)
CODECS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".deflate": deflated}


def lines(engine, path):
    return [row.value for row in engine.collect(engine.lines(copy_of(engine, path, "json")))]


class TestLines:
    @pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".deflate"])
    def test_compressed_by_the_ending_of_the_name(self, engine, tmp_path, ending):
        (tmp_path / f"x.json{ending}").write_bytes(CODECS[ending](TEXT))
        assert lines(engine, tmp_path / f"x.json{ending}") == LINES

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            (b"", []),
            (b"\n", [b""]),
            (b"a", [b"a"]),
            (b"a\r", [b"a"]),
            (b"a\rb\r\r\nc\n\r", [b"a", b"b", b"", b"c", b""]),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbf", [b"a", b"\xef\xbb\xbf"]),
        ],
    )
    def test_ends_of_lines(self, engine, tmp_path, text, expected):
        (tmp_path / "x.json").write_bytes(text)
        assert lines(engine, tmp_path / "x.json") == expected

    def test_several_files(self, engine, tmp_path):
        for name in ("a.json", "b.json", "c.json.gz"):
            (tmp_path / name).write_bytes(gzip.compress(TEXT) if name.endswith("gz") else TEXT)
        assert Rows((line,) for line in lines(engine, tmp_path)) == Rows((line,) for line in LINES * 3)

    def test_columns_in_the_names_of_folders(self, engine, tmp_path):
        for number in ("3", "4", "__HIVE_DEFAULT_PARTITION__"):
            folder = tmp_path / "x=1" / f"partition={number}" / "name=a%20b"
            folder.mkdir(parents=True)
            (folder / "x.json").write_bytes(b"one\ntwo")
        found = engine.collect(engine.lines(copy_of(engine, tmp_path / "x=1", "json")))
        assert Rows(found) == Rows(
            {"value": line, "partition": number, "name": "a b"} for line in (b"one", b"two") for number in (3, 4, None)
        )

    @pytest.mark.parametrize("ending", [".gz", ".deflate"])
    @pytest.mark.parametrize("damage", DAMAGE)
    def test_damaged_files_are_named(self, engine, tmp_path, ending, damage):
        (tmp_path / f"x.json{ending}").write_bytes(damage(CODECS[ending](TEXT * 99)))
        with pytest.raises(InputError, match=f"x.json{ending} cannot be read: it is damaged"), engine.reading():
            lines(engine, tmp_path)


@pytest.mark.parametrize("ending", [".zst", ".zstd"])
def test_zstandard(tmp_path, ending):
    """Spark needs a native library for it."""
    (tmp_path / f"x.json{ending}").write_bytes(zstandard(TEXT))
    assert lines(EmbeddedEngine(), tmp_path) == LINES


@pytest.mark.parametrize(("ending", "codec"), [(".zst", zstandard), (".bz2", bz2.compress)])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_that_spark_does_not_see(tmp_path, ending, codec, damage):
    (tmp_path / f"x.json{ending}").write_bytes(damage(codec(TEXT * 99)))
    with pytest.raises(InputError, match=f"x.json{ending} cannot be read: it is damaged"):
        lines(EmbeddedEngine(), tmp_path)


def test_lines_that_are_longer_than_what_is_read_at_once(tmp_path, monkeypatch):
    from kip848_records.engines.embedded import lines as module  # noqa: PLC0415

    text = b"\xef\xbb\xbfone\r\ntwo\r\rthree and more\n\nfour"
    (tmp_path / "x.json").write_bytes(text)
    for size in range(1, len(text) + 1):
        monkeypatch.setattr(module, "_CHUNK", size)
        assert lines(EmbeddedEngine(), tmp_path / "x.json") == [b"one", b"two", b"", b"three and more", b"", b"four"]


def test_a_line_of_many_chunks_is_read_in_linear_time(tmp_path, monkeypatch):
    from kip848_records.engines.embedded import lines as module  # noqa: PLC0415

    monkeypatch.setattr(module, "_CHUNK", 8)
    (tmp_path / "x.json").write_bytes(b"x" * 800_000)
    begun = process_time()
    (line,) = lines(EmbeddedEngine(), tmp_path / "x.json")
    assert len(line) == 800_000
    assert process_time() - begun < 3


def test_a_line_that_is_too_long_is_refused(tmp_path, monkeypatch):
    from kip848_records.engines.embedded import lines as module  # noqa: PLC0415

    monkeypatch.setattr(module, "_LONGEST", 99)
    (tmp_path / "x.json").write_bytes(b"x" * 100)
    with pytest.raises(EngineError, match=r"x.json has a line of about 2 GiB; write one JSON object a line"):
        lines(EmbeddedEngine(), tmp_path / "x.json")


@pytest.mark.parametrize("ending", [".lz4", ".snappy"])
def test_codecs_of_spark_alone(tmp_path, ending):
    (tmp_path / f"x.json{ending}").write_bytes(b"x")
    said = f"the embedded engine cannot decompress {ending} files such as .*; decompress it, or use --engine spark"
    with pytest.raises(EngineError, match=said):
        lines(EmbeddedEngine(), tmp_path)


def test_files(engine, tmp_path):
    folder = tmp_path / "__consumer_offsets-3"
    folder.mkdir()
    for number in (0, 7):
        (folder / f"{number:020}.log").write_bytes(b"x")
    copy = copy_of(engine, folder)
    paths = [row.path for row in engine.collect(engine.files(copy))]
    assert sorted(path.rpartition("/")[2] for path in paths) == [f"{number:020}.log" for number in (0, 7)]
    assert all(path.startswith("file:/") for path in paths)


def test_another_file_system():
    engine = EmbeddedEngine("s3://bucket/out")
    with pytest.raises(
        EngineError, match="reads and writes files of this machine, and s3://bucket/out is none; use --"
    ):
        engine.tables.is_there("log")
    with pytest.raises(EngineError, match="s3://bucket/copy is none"):
        engine.scan(Copy("s3://bucket/copy", "parquet", ["s3://bucket/copy/x.parquet"]))
