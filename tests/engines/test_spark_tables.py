"""Delta tables as Spark's engine creates them."""

import errno
import json

import pytest
from delta.tables import DeltaTable
from pyspark.sql import functions as F

from kip848_records.engines.spark.tables import DeltaTables, spark_schema
from kip848_records.errors import InputError
from kip848_records.tables import local
from kip848_records.tables.registry import TABLES


@pytest.mark.parametrize("name", ["epoch_timeline", "log"])
def test_an_empty_table_is_the_one_that_delta_would_create(classic, tmp_path, name):
    spec = TABLES[name]
    DeltaTables(classic, str(tmp_path)).create(spec)
    theirs = DeltaTable.createIfNotExists(classic).location(str(tmp_path / "theirs")).comment(spec.comment)
    theirs.addColumns(spark_schema(spec)).partitionedBy("cluster").execute()
    ours, theirs = (first_commit(tmp_path / name) for name in (spec.name, "theirs"))
    assert unnamed(ours["metaData"]) == unnamed(theirs["metaData"])
    assert ours["protocol"] == theirs["protocol"]
    assert ours["commitInfo"]["operation"] == theirs["commitInfo"]["operation"]


def add_row(spark, table, spec):
    rows = spark.range(1).select(
        *(F.lit("1").cast(column.dataType).alias(column.name) for column in spark_schema(spec))
    )
    rows.write.format("delta").mode("append").save(str(table))


def test_a_volume_without_links(classic, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EOPNOTSUPP, "no links here")

    monkeypatch.setattr(local.os, "link", refuse)
    spec = TABLES["topic_name"]
    DeltaTables(classic, str(tmp_path)).create(spec)
    add_row(classic, tmp_path / spec.name, spec)
    assert first_commit(tmp_path / spec.name)["metaData"]["description"] == spec.comment


def test_a_folder_that_is_not_ours_to_write(classic, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(local.os, "link", refuse)
    with pytest.raises(InputError, match=f"nothing can be written to {tmp_path}/topic_name: Operation not permitted"):
        DeltaTables(classic, str(tmp_path)).create(TABLES["topic_name"])


def test_versions_grow_with_commits(classic, tmp_path):
    spec = TABLES["topic_name"]
    assert DeltaTables(classic, str(tmp_path)).version(spec.name) is None
    DeltaTables(classic, str(tmp_path)).create(spec)
    assert DeltaTables(classic, str(tmp_path)).version(spec.name) == 0
    add_row(classic, tmp_path / spec.name, spec)
    assert DeltaTables(classic, str(tmp_path)).version(spec.name) == 1


def test_a_table_that_is_there_is_left_as_it_is(classic, tmp_path):
    spec = TABLES["topic_name"]
    DeltaTables(classic, str(tmp_path)).create(spec)
    before = first_commit(tmp_path / spec.name)
    DeltaTables(classic, str(tmp_path)).create(spec)
    assert first_commit(tmp_path / spec.name) == before
    log = tmp_path / spec.name / "_delta_log"
    assert {file.name for file in log.iterdir()} == {f"{0:020}.json", f"{0:020}.crc"}


def test_a_new_table_is_for_whom_the_user_lets_read(classic, tmp_path):
    DeltaTables(classic, str(tmp_path)).create(TABLES["topic_name"])
    (tmp_path / "theirs").touch()
    modes = {file.stat().st_mode for file in (tmp_path / "topic_name" / "_delta_log").iterdir()}
    assert modes == {(tmp_path / "theirs").stat().st_mode}


def test_a_table_without_its_first_commits_is_left_as_it_is(classic, tmp_path):
    log = tmp_path / "topic_name" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{12:020}.json").touch()
    DeltaTables(classic, str(tmp_path)).create(TABLES["topic_name"])
    assert [file.name for file in log.iterdir()] == [f"{12:020}.json"]


def first_commit(table):
    lines = (table / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    return {name: action for line in lines for name, action in json.loads(line).items()}


def unnamed(metadata):
    """Return what is the same in the metadata of two such tables."""
    same = {name: value for name, value in metadata.items() if name not in {"id", "createdTime", "name"}}
    return same | {"schemaString": json.loads(metadata["schemaString"])}
