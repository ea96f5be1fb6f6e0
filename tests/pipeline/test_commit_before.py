"""Groups that only offset commits made, and commits that a coordinator does not load."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kip848_records.engines.engine import Engine
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.commit_before import with_commit_before
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE
from kip848_records.specs.log_columns import LOG_COLUMNS
from tests.audits import table_rows
from tests.expectations.evaluated import evaluated
from tests.expectations.logs import UNKNOWN
from tests.log_rows import keyed, table_of
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch
from tests.replay.loadable_logs import loadable_log

CONTROL = {"offset": 3, "control": "commit", "key": b"\0\0\0\1"}


def row(**columns: Any) -> dict[str, Any]:
    return {"partition": 0, "copies": [], **keyed(columns.get("key")), **columns}


def rows_of(name: str, shift: int = 0, group_id: str = "g") -> list[dict[str, Any]]:
    rows = loadable_log(name).rows
    return [row(**{**each, "group_id": group_id, "offset": each["offset"] + shift, "timestamp": None}) for each in rows]


def with_commits_before(engine: Engine, records: list[dict[str, Any]], commits: list[dict[str, Any]]) -> pa.Table:
    relations = (engine.relation(pa.Table.from_pylist(rows, LOG_COLUMNS)) for rows in (records, commits))
    return table_of(with_commit_before(engine, *relations))


def test_the_commit_before_a_record(engine):
    of_share = rows_of("share-behind-commits")
    of_consumer = rows_of("kafka-17306-behind-commits", 20, "h")
    commits = [of_share[0], of_consumer[0], row(**CONTROL)]
    found = with_commits_before(engine, [*of_share[1:], *of_consumer[1:]], commits)
    assert found.column_names == [*LOG_COLUMNS.names, COMMIT_BEFORE]
    assert {(each["group_id"], each["offset"], each["commit_before"]) for each in found.to_pylist()} == {
        *(("g", offset, 0) for offset in range(1, len(of_share))),
        *(("h", 20 + offset, None) for offset in range(1, len(of_consumer))),
    }


def test_a_commit_behind_a_record_is_not_before_it(engine):
    (first, *others) = rows_of("share-behind-commits")
    late = with_commits_before(engine, others, [first | {"offset": others[-1]["offset"] + 1}])
    assert set(late["commit_before"].to_pylist()) == {None}


def test_a_tombstone_of_a_commit_makes_no_group(engine):
    (first, *others) = rows_of("share-behind-commits")
    found = with_commits_before(engine, others, [first | {"value": None}])
    assert set(found["commit_before"].to_pylist()) == {None}


def write_segment(folder: Path, name: str) -> None:
    folder.mkdir(parents=True)
    records = [Record(row["offset"], 1000 + row["offset"], row["key"], row["value"]) for row in loadable_log(name).rows]
    (folder / f"{0:020}.log").write_bytes(write_batch(records))


@pytest.mark.slow
def test_an_audit_with_offset_commits_names_the_records_that_they_keep_from_loading(tmp_path):
    names = ("share-behind-commits", "commit-type-0-version-1", "value-version-5-of-1")
    for partition, name in enumerate(names):
        write_segment(tmp_path / "copy" / f"__consumer_offsets-{partition}", name)
    out = tmp_path / "out"
    run_audit(None, AuditOptions((str(tmp_path / "copy"),), str(out), cluster="c", offset_commits=True), Watcher())
    refused = [row for row in table_rows(out, "anomaly", "c") if row["kind"] == "record_not_loadable"]
    assert [(row["partition"], row["offset"], row["releases"]) for row in refused] == [(0, 1, "4.1.1 to 4.4.0")]
    (rule,) = [each for each in EXPECTATIONS if each.name == "loadable_records"]
    found = evaluated(DuckTables(str(out)), rule, Setting("error", {}))
    assert {(row.partition, row.offset, row.verdict) for row in found if row.offset is not None} == {
        *((0, 1, UNKNOWN), (1, 0, UNKNOWN), (2, 0, UNKNOWN))
    }
    assert all("; refused by Kafka 4." in row.message for row in found if row.offset is not None)
