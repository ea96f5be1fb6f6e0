"""DuckDB reads the files of a table on this machine itself, unless a file has other columns than its table."""

import deltalake
import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from kip848_records.queries.delta_files import DeltaFiles

ROWS = pa.table(
    {
        "cluster": ["a b", "a b", "it's [1]*%20"],
        "offset": [1, 2, 3],
        "error": pa.nulls(3, pa.string()),
        "at": pa.array([1, None, 3], pa.timestamp("us", "UTC")),
    }
)


def read(folder, here):
    """The rows by the files of a table, in order, and how many Arrow datasets were read."""
    connection, data = duckdb.connect(), list[pa.Table]()

    def named(rows):
        data.append(rows)
        connection.register(f"data_{len(data)}", rows)
        return f"data_{len(data)}"

    text = DeltaFiles(DeltaTable(folder), here).text(named)
    return connection.execute(f'SELECT * FROM ({text}) ORDER BY "offset"').to_arrow_table().to_pylist(), len(data)  # noqa: S608


@pytest.fixture
def folder(tmp_path):
    deltalake.write_deltalake(tmp_path / "a t", ROWS, partition_by=["cluster"])
    return tmp_path / "a t"


def test_duckdb_reads_files_on_this_machine(folder):
    assert read(folder, folder) == (ROWS.to_pylist(), 0)


def test_arrow_reads_files_elsewhere(folder):
    assert read(folder, None) == (ROWS.to_pylist(), 1)


def test_arrow_reads_files_from_before_a_column_was_added(folder):
    table = ROWS.slice(0, 1).append_column("added", pa.array([7]))
    deltalake.write_deltalake(folder, table, mode="append", schema_mode="merge")
    rows, datasets = read(folder, folder)
    assert datasets == 1
    assert sorted((row["offset"], row["added"] or 0) for row in rows) == [(1, 0), (1, 7), (2, 0), (3, 0)]


def test_arrow_reads_files_with_times_in_the_older_form(spark, tmp_path):
    folder = tmp_path / "t"
    spark.createDataFrame(ROWS.to_pylist(), "cluster string, offset bigint, error string, at timestamp").write.format(
        "delta"
    ).partitionBy("cluster").save(str(folder))
    rows, datasets = read(folder, folder)
    assert datasets == 1
    assert [(row["cluster"], row["offset"], row["at"]) for row in rows] == [
        (row["cluster"], row["offset"], row["at"]) for row in ROWS.to_pylist()
    ]


def test_a_table_without_files(tmp_path):
    DeltaTable.create(tmp_path / "t", deltalake.Schema.from_arrow(ROWS.schema))
    assert read(tmp_path / "t", tmp_path / "t") == ([], 1)


def test_a_table_that_may_have_deleted_rows_in_its_files_is_not_read_by_them(tmp_path):
    """DuckDB would show these rows."""
    features = {"delta.enableDeletionVectors": "true"}
    deltalake.write_deltalake(tmp_path / "t", ROWS, configuration=features)
    table = DeltaTable(tmp_path / "t")
    assert "deletionVectors" in table.protocol().reader_features
    with pytest.raises(DeltaError, match="deletionVectors"):
        DeltaFiles(table, tmp_path / "t")
