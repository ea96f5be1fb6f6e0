"""How a place is named, to people, to Spark and to a shell; and how a table comes to be there."""

import json

import pytest
from delta.tables import DeltaTable

from kip848_records.tables.places import create, place_arguments, place_text, schema_place, sql_name
from kip848_records.tables.specs import TABLES


@pytest.mark.parametrize(
    ("place", "text", "arguments", "name"),
    [
        ("/data/out/", "/data/out/", "/data/out/", "delta.`/data/out/log`"),
        ("/data/it's `it`", "/data/it's `it`/", "'/data/it'\"'\"'s `it`'", "delta.`/data/it's ``it``/log`"),
        ("s3://bucket/out", "s3://bucket/out/", "s3://bucket/out", "delta.`s3://bucket/out/log`"),
        (schema_place("main", "kafka"), "main.kafka", "--catalog main --schema kafka", "main.kafka.log"),
        (schema_place("a.b", "c `d"), "`a.b`.`c ``d`", "--catalog a.b --schema 'c `d'", "`a.b`.`c ``d`.log"),
    ],
)
def test_names(place, text, arguments, name):
    assert place_text(place) == text
    assert place_arguments(place) == arguments
    assert sql_name(place, "log") == name


def test_an_empty_table_is_the_one_that_delta_would_create(classic, tmp_path):
    spec = TABLES["epoch_timeline"]
    create(classic, str(tmp_path), spec)
    theirs = DeltaTable.createIfNotExists(classic).location(str(tmp_path / "theirs")).comment(spec.comment)
    theirs.addColumns(spec.schema).partitionedBy("cluster").execute()
    ours, theirs = (first_commit(tmp_path / name) for name in (spec.name, "theirs"))
    differs = {"id", "createdTime"}
    assert ours["metaData"].keys() == theirs["metaData"].keys()
    for name, value in theirs["metaData"].items():
        assert name in differs or ours["metaData"][name] == value, name
    assert ours["protocol"] == theirs["protocol"]
    assert ours["commitInfo"]["operation"] == theirs["commitInfo"]["operation"]


def test_a_table_that_is_there_is_left_as_it_is(classic, tmp_path):
    spec = TABLES["topic_name"]
    create(classic, str(tmp_path), spec)
    before = first_commit(tmp_path / spec.name)
    create(classic, str(tmp_path), spec)
    assert first_commit(tmp_path / spec.name) == before
    assert [file.name for file in (tmp_path / spec.name / "_delta_log").iterdir()] == [f"{0:020}.json"]


def test_a_table_without_its_first_commits_is_left_as_it_is(classic, tmp_path):
    log = tmp_path / "topic_name" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{12:020}.json").touch()
    create(classic, str(tmp_path), TABLES["topic_name"])
    assert [file.name for file in log.iterdir()] == [f"{12:020}.json"]


def first_commit(table):
    lines = (table / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
    actions = {name: action for line in lines for name, action in json.loads(line).items()}
    actions["metaData"]["schemaString"] = json.loads(actions["metaData"]["schemaString"])
    return actions
