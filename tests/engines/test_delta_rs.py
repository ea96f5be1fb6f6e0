"""Tables that delta-rs writes: one cluster's rows change, and what cannot be written so is left to Spark."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from kip848_records.engines import delta_rs
from kip848_records.pipeline.completion import named, with_awaited_topics
from kip848_records.tables.registry import TABLES
from tests import made_tables

SPEC = TABLES["topic_name"]
ODD = "a '\\ \N{SNOWMAN}"


def batch(**columns):
    return pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in columns.items()})


def topics(**names):
    return pa.table({"topic_id": pa.array(list(names), pa.string()), "topic": pa.array(names.values(), pa.string())})


def rows(folder):
    table = DeltaTable(folder).to_pyarrow_table().to_pylist()
    return sorted((row["cluster"], row["topic_id"], row["topic"], row["source"]) for row in table)


@pytest.fixture
def folder(tmp_path):
    for cluster in (ODD, "a", "'"):
        made_tables.write(tmp_path, cluster, topic_name=[{"topic_id": "1", "topic": "one", "source": "cluster"}])
    return tmp_path / SPEC.name


def test_rows_of_one_cluster_are_replaced_in_one_commit(folder):
    before, version = rows(folder), DeltaTable(folder).version()
    new = [batch(topic_id=["2"], topic=["two"], source=["cluster"]), batch(topic_id=["3"], topic=["x"], source=["y"])]
    delta_rs.replace_rows(folder, SPEC, ODD, new)
    others = [row for row in before if row[0] != ODD]
    assert rows(folder) == sorted([*others, (ODD, "2", "two", "cluster"), (ODD, "3", "x", "y")])
    assert DeltaTable(folder).version() == version + 1


def test_a_cluster_without_rows(folder):
    others = [row for row in rows(folder) if row[0] != ODD]
    delta_rs.replace_rows(folder, SPEC, ODD, [])
    assert rows(folder) == others


PARTITION = {"partition": [1], "copy": ["x"], "first_offset": [0], "last_offset": [9], "is_base": [True]}


@pytest.fixture
def history(tmp_path):
    made_tables.write(tmp_path, "a", partition_history=[])
    return tmp_path / "partition_history"


def test_rows_get_the_columns_and_types_of_the_table(history):
    delta_rs.replace_rows(history, TABLES[history.name], "a", [batch(**PARTITION)])
    (row,) = DeltaTable(history).to_pyarrow_table().to_pylist()
    known = {name: value for name, value in row.items() if value is not None}
    assert known == {"cluster": "a", **{name: values[0] for name, values in PARTITION.items()}}


@pytest.mark.parametrize("wrong", [{"partition": [1 << 40]}, {"partition": [None]}])
def test_what_does_not_fit_is_not_written(history, wrong):
    before = DeltaTable(history).version()
    with pytest.raises(DeltaError):
        delta_rs.replace_rows(history, TABLES[history.name], "a", [batch(**PARTITION | wrong)])
    assert DeltaTable(history).version() == before


def test_what_delta_rs_cannot_write(folder):
    (folder / "_delta_log").rename(folder / "log")
    (folder / "_delta_log").write_text("no folder")
    with pytest.raises((DeltaError, OSError)):
        delta_rs.replace_rows(folder, SPEC, ODD, [])


@pytest.mark.parametrize(("name", "is_taken"), [("plain '\u00e4 -_.", True), ("a%20b", False), ("a[b]", False)])
def test_paths_that_it_takes_for_others(tmp_path, name, is_taken):
    assert (not delta_rs.mistaken(tmp_path / name)) == is_taken


def test_names_of_topics_and_ids_without_one():
    ids = pa.array(["1", "2", None, "1"])
    assert named(ids, topics(**{"1": "one"})).to_pylist() == ["one", "2", None, "one"]
    assert named(ids, topics()).to_pylist() == ["1", "2", None, "1"]


def test_awaited_partitions_have_the_names_of_their_topics():
    at = datetime(2026, 1, 1, tzinfo=UTC)
    no_task, task = {"subtopology_id": None, "role": None}, {"subtopology_id": "0", "role": "standby"}
    awaited = [
        [{"topic_id": "1", "partition": 3, "owner": "m", "released_at": None, **no_task}],
        [],
        None,
        [{"topic_id": "2", "partition": 0, "owner": None, "released_at": at, **no_task}] * 2,
        [{"topic_id": None, "partition": 7, "owner": None, "released_at": None, **task}],
    ]
    found = with_awaited_topics(topics(**{"1": "one"}), batch(awaited=awaited))["awaited"].to_pylist()
    named = {"topic_id": "2", "topic": "2", "partition": 0, "owner": None, "released_at": at, **no_task}
    assert found == [
        [{"topic_id": "1", "topic": "one", "partition": 3, "owner": "m", "released_at": None, **no_task}],
        None,
        None,
        [named] * 2,
        [{"topic_id": None, "topic": None, "partition": 7, "owner": None, "released_at": None, **task}],
    ]
