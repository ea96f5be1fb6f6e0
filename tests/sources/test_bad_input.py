"""What cannot be a copy of the log is refused in one line that names it, and says what was expected."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.errors import InputError
from kip848_records.sources.read import read_copies
from tests import made_tables
from tests.log_rows import table_of
from tests.sources.batches import read_rows

_ROW = {"key": b"\x00\x03", "value": None, "partition": 0, "offset": 1, "timestamp": 1763712000123}


def dump(path, **columns):
    row = {name: value for name, value in (_ROW | columns).items() if value is not ...}
    pq.write_table(pa.table({name: [value] for name, value in row.items()}), path)


def refused(engine, path, source_format=None):
    with pytest.raises(InputError) as caught:
        read_rows(engine, str(path), source_format)
    return caught.value


@pytest.mark.parametrize("source_format", [None, "segments", "parquet", "json", "delta"])
def test_a_path_where_nothing_is(engine, tmp_path, source_format):
    error = refused(engine, tmp_path / "nowhere", source_format)
    assert error.message == f"there is nothing at {tmp_path}/nowhere"
    assert "expected a broker's data folder" in error.hint


@pytest.mark.parametrize("source_format", [None, "segments", "parquet", "json"])
def test_an_empty_folder(engine, tmp_path, source_format):
    assert refused(engine, tmp_path, source_format).message == f"{tmp_path} holds no files to read"


@pytest.mark.parametrize("wanted", ["parquet", "json", "segments"])
def test_a_folder_of_files_of_another_format_than_the_one_named(engine, captures, wanted):
    source = captures / "kafka-4.3.1-all-types" / ("kafka-source.parquet" if wanted == "segments" else "segments")
    assert refused(engine, source, wanted).message == f"{source} holds no files of the format {wanted}"


def test_a_folder_of_other_files(engine, tmp_path):
    (tmp_path / "README.md").write_text("Hello")
    error = refused(engine, tmp_path)
    assert error.message == f"{tmp_path} is not a dump of __consumer_offsets: its file names match no format"
    assert error.hint.endswith("--format segments|parquet|delta|json")


@pytest.mark.parametrize("source_format", [None, "segments", "parquet", "json", "delta"])
def test_the_tables_of_an_audit(engine, tmp_path, source_format):
    made_tables.write(tmp_path / "made", "c", audit_runs=[{"version": "1"}], group_state=[{"group_id": "g"}])
    out = (tmp_path / "made").rename(tmp_path / "an [audit]'s")
    error = refused(engine, out, source_format)
    assert error.message == f"{out} holds the tables of an audit, not a log"
    assert error.hint.startswith("pass the log ")
    assert (
        refused(engine, f"file:{out}/", source_format).message == f"file:{out}/ holds the tables of an audit, not a log"
    )


def test_a_folder_with_the_tables_of_an_audit_and_one_of_the_tables(engine, tmp_path):
    made_tables.write(tmp_path / "out", "c", audit_runs=[{"version": "1"}], group_state=[{"group_id": "g"}])
    error = refused(engine, tmp_path)
    assert error.message == f"{tmp_path} is not a log: it has the tables of an audit in {tmp_path}/out"
    table = tmp_path / "out" / "group_state"
    assert refused(engine, table).message == f"{table} is a table of an audit, not a log"


def test_a_link_to_nothing_is_not_similar_to_itself(engine, tmp_path):
    (tmp_path / "copy").symlink_to("gone")
    error = refused(engine, tmp_path / "copy")
    assert (error.message, error.hint[:8]) == (f"there is nothing at {tmp_path}/copy", "expected")


def test_folders_that_cannot_be_read_together(engine, tmp_path):
    for folder in ("a dump", "a table/cluster=c"):
        (tmp_path / folder).mkdir(parents=True)
        dump(tmp_path / folder / "a.parquet", value=b"")
    assert refused(engine, tmp_path).message == (
        f"{tmp_path} holds folders that cannot be read together: {tmp_path}/a dump, {tmp_path}/a table"
    )


def test_a_readme_as_the_source(engine, tmp_path):
    (tmp_path / "README.md").write_text("Hello")
    assert "is not a dump of __consumer_offsets" in refused(engine, tmp_path / "README.md").message


def test_a_readme_called_json(engine, tmp_path):
    (tmp_path / "README.md").write_text("Hello\nWorld\n")
    error = refused(engine, tmp_path / "README.md", "json")
    assert error.message == f"{tmp_path}/README.md has no column key, value, partition, offset, timestamp"


def test_json_that_is_no_dump(engine, tmp_path):
    (tmp_path / "package.json").write_text(json.dumps({"name": "x", "version": 1}))
    error = refused(engine, tmp_path / "package.json")
    assert "has no column key, value, partition, offset, timestamp" in error.message
    assert error.hint == (
        "a dump needs the Kafka source's columns key, value, partition, offset, timestamp; "
        "if they are in a folder below, pass that"
    )


def test_a_format_that_does_not_exist(engine, tmp_path):
    assert refused(engine, tmp_path, "csv").hint == "use one of segments, parquet, delta, json"


def test_missing_columns_are_all_named(engine, tmp_path):
    dump(tmp_path / "a.parquet", value=..., offset=...)
    assert refused(engine, tmp_path / "a.parquet").message == f"{tmp_path}/a.parquet has no column value, offset"


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("key", "text", "is string, not binary"),
        ("value", "text", "is string, not binary"),
        ("partition", "0", "is string, not integer"),
        ("offset", 1.0, "is double, not"),
        ("timestamp", "2025-11-21", "is string, not timestamp"),
    ],
)
def test_a_column_of_another_type_is_named(engine, tmp_path, column, value, says):
    path = tmp_path / "a.parquet"
    dump(path, **{"value": b"", column: value})
    error = refused(engine, path)
    assert error.message.startswith(f"column {column} of {path} {says}")


def test_a_truncated_parquet_file(engine, tmp_path):
    path = tmp_path / "a b.parquet"
    dump(path, value=b"")
    path.write_bytes(path.read_bytes()[:-20])
    error = refused(engine, path)
    assert error.message == f"{path} cannot be read: it is damaged, truncated or of another format"


def test_what_is_not_delta(engine, tmp_path):
    dump(tmp_path / "a.parquet", value=b"")
    assert refused(engine, tmp_path, "delta").message == f"{tmp_path} is not a Delta table"


def test_damage_that_shows_later_is_told_in_the_same_way(engine, tmp_path):
    path = tmp_path / "a.parquet"
    keys = pa.array([b"\x00\x03%d" % i for i in range(50_000)])
    columns = {name: pa.repeat(pa.scalar(value), len(keys)) for name, value in (_ROW | {"value": b""}).items()}
    pq.write_table(pa.table(columns | {"key": keys}), path, use_dictionary=False)
    damaged = bytearray(path.read_bytes())
    damaged[1000:3000] = b"\xff" * 2000
    path.write_bytes(damaged)
    log = read_copies(engine, str(path))
    with pytest.raises(InputError, match=f"{path} cannot be read"), engine.reading():
        table_of(log)


def test_a_cut_gzip_file(engine, tmp_path):
    (tmp_path / "a.json.gz").write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00")
    assert "a.json.gz cannot be read" in refused(engine, tmp_path / "a.json.gz").message
