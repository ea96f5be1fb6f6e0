"""The first commit of a table, which is written without delta-rs and without Spark."""

import json
import os
from threading import Barrier, Thread

import pytest
from deltalake import DeltaTable

from kip848_records.tables.local import create_locally, delta_schema
from kip848_records.tables.registry import TABLES

SPEC = TABLES["topic_name"]
FIRST = f"_delta_log/{0:020}"


def actions(table):
    lines = (table / f"{FIRST}.json").read_text(encoding="utf-8").splitlines()
    return {name: action for line in lines for name, action in json.loads(line).items()}


def same(metadata):
    """Return what two such tables have in common."""
    found = {name: value for name, value in metadata.items() if name not in {"id", "createdTime"}}
    return found | {"schemaString": json.loads(metadata["schemaString"])}


@pytest.mark.parametrize("some", range(4))
def test_an_empty_table_is_the_one_that_delta_rs_would_create(tmp_path, some):
    for name, spec in list(TABLES.items())[some::4]:
        create_locally(tmp_path / name, spec)
        theirs = tmp_path / f"their {name}"
        schema = delta_schema(spec)
        DeltaTable.create(theirs, schema, partition_by=["cluster"], description=spec.comment)
        made, expected = actions(tmp_path / name), actions(theirs)
        assert same(made["metaData"]) == same(expected["metaData"])
        assert made["protocol"] == expected["protocol"]
        assert made["commitInfo"]["operation"] == expected["commitInfo"]["operation"]
        table = DeltaTable(tmp_path / name)
        assert (table.version(), table.schema(), table.metadata().description) == (0, schema, spec.comment)
        assert table.history()[0]["timestamp"] == made["metaData"]["createdTime"]


def test_of_runs_at_once_one_creates_the_table(tmp_path):
    runs, ready = 8, Barrier(8)

    def create():
        ready.wait()
        create_locally(tmp_path, SPEC)

    threads = [Thread(target=create) for _ in range(runs)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {file.name for file in (tmp_path / "_delta_log").iterdir()} == {f"{0:020}.json", f"{0:020}.crc"}
    made = actions(tmp_path)
    assert json.loads((tmp_path / f"{FIRST}.crc").read_text())["metadata"] == made["metaData"]


def test_a_table_that_is_there_stays(tmp_path):
    create_locally(tmp_path, SPEC)
    before = actions(tmp_path)
    create_locally(tmp_path, TABLES["log"])
    assert actions(tmp_path) == before


@pytest.mark.parametrize("at", ["write_text", "link"])
def test_a_failure_leaves_no_table(tmp_path, monkeypatch, at):
    def fail(*_, **__):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(*{"write_text": ("pathlib.Path.write_text",), "link": (os, "link")}[at], fail)
    with pytest.raises(OSError, match="No space left"):
        create_locally(tmp_path, SPEC)
    assert list(tmp_path.iterdir()) == []
