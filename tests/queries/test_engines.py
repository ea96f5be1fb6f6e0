"""Both engines read the same rows from Delta tables, and see the versions that belong together.

The product is its own oracle: one engine for the other. `test_both_engines.py` compares all texts, over rows in memory.
"""

import errno
import json
import os
import re
import shutil
from datetime import UTC, datetime
from functools import partial

import pytest
from deltalake import DeltaTable, write_deltalake

from kip848_records.errors import InputError
from kip848_records.machine.budget import Budget
from kip848_records.queries.delta_files import DeltaFiles
from kip848_records.queries.duck import DuckTables, _database
from kip848_records.queries.engines import open_tables
from kip848_records.queries.spark import SparkTables
from kip848_records.queries.tables import words
from tests import made_tables
from tests.audits import CLUSTERS
from tests.sessions import BOTH

DEMO = CLUSTERS["kafka-4.3.1"]
TEXTS = {
    "nulls": "SELECT group_id, group_epoch, state FROM group_state ORDER BY group_epoch, group_id, partition",
    "nulls_last": "SELECT group_id, group_epoch FROM group_state ORDER BY group_epoch DESC, group_id, partition",
    "times": "SELECT began_at, unix_millis(began_at) AS ms, unix_seconds(began_at) AS s FROM rebalance "
    "ORDER BY began_at, group_id, began_offset",
    "lists": "SELECT group_id, cause, size(explode_) AS n FROM (SELECT group_id, array_sort(causes) AS explode_, "
    "array_join(causes, ', ') AS cause, began_offset FROM rebalance) ORDER BY group_id, began_offset",
    "structs": "SELECT group_id, blocker.member_id, blocker.late_ms "
    "FROM (SELECT group_id, explode(blockers) AS blocker FROM rebalance) ORDER BY 1, 2, 3",
    "sums": "SELECT group_id, CAST(sum(duration_ms) AS bigint) AS total, round(percentile(duration_ms, 0.95)) AS p95, "
    "avg(duration_ms) / 3 AS third FROM rebalance GROUP BY group_id ORDER BY group_id",
    "division": "SELECT group_epoch, group_epoch / 2 AS half FROM epoch_timeline WHERE group_id = :group "
    "ORDER BY group_epoch, partition",
    "conditional": "SELECT count_if(outcome = 'open') AS open, max_by(group_id, duration_ms) AS slowest, "
    "min_by(group_id, (duration_ms, group_id)) AS quickest FROM rebalance WHERE duration_ms IS NOT NULL",
    "with": "WITH open AS (SELECT * FROM rebalance WHERE outcome = 'open') "
    "SELECT group_id, concat('is :group ', outcome) AS said FROM open ORDER BY group_id, began_offset",
    "comment": "-- One row per outcome.\n-- WITH is the first word.\nWITH o AS (SELECT outcome FROM rebalance) "
    "SELECT outcome, count(*) AS n FROM o GROUP BY outcome ORDER BY outcome",
}


@pytest.fixture(scope="module")
def duck(audits):
    return DuckTables(str(audits.out))


@pytest.fixture(scope="module")
def spark_tables(classic, audits):
    return SparkTables(classic, str(audits.out))


@pytest.mark.parametrize(("name", "cluster"), [*((name, DEMO) for name in TEXTS), ("nulls", None), ("sums", None)])
def test_both_engines_give_the_same_answer(duck, spark_tables, name, cluster):
    answers = [tables.arrow(TEXTS[name], cluster, group="churn").to_pylist() for tables in (duck, spark_tables)]
    assert answers[0] == answers[1] != []


@BOTH
def test_the_runs_are_those_of_the_audits(duck, spark, audits):
    tables = SparkTables(spark, str(audits.out))
    assert [run.cluster for run in duck.chosen_runs()] == sorted(CLUSTERS.values())
    assert duck.runs() == tables.runs()
    answers = [each.arrow(TEXTS["times"], DEMO).to_pylist() for each in (duck, tables)]
    assert answers[0] == answers[1] != []


def test_a_query_sees_the_version_that_the_run_names(duck, audits):
    (run,) = duck.chosen_runs(DEMO)
    table = DeltaTable(audits.out / "group_state")
    assert run.table_versions["group_state"] <= table.version()
    assert duck.rows("SELECT count(*) AS n FROM group_state", DEMO)[0].n == len(
        audits.rows("kafka-4.3.1", "group_state")
    )


def test_inside_spark_submit_a_folder_of_this_machine_is_no_work_for_spark(audits, monkeypatch):
    class UsedError(Exception):
        pass

    def session():
        raise UsedError

    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert open_tables(str(audits.out), session=session, note=print).engine == "embedded"
    assert open_tables(f"file://{audits.out}", session=session, note=print).engine == "embedded"
    for elsewhere in ("s3a://bucket/tables", str(audits.out / "nowhere")):
        with pytest.raises(UsedError):
            open_tables(elsewhere, session=session, note=print)


def test_where_delta_rs_cannot_open_them_spark_does_and_says_why(classic, audits, monkeypatch):
    def refuse(*_, **__):
        raise OSError(errno.EACCES, "no credentials")

    monkeypatch.setattr("deltalake.DeltaTable", refuse)
    notes = []
    opened = open_tables(str(audits.out), session=lambda: classic, note=notes.append)
    assert (opened.engine, len(notes)) == ("spark", 1)
    assert "no credentials" in notes[0]
    with pytest.raises(InputError, match=r"the embedded engine cannot read .*no credentials"):
        open_tables(str(audits.out), "embedded", session=lambda: classic, note=notes.append)


def test_a_folder_without_tables(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError, match="has no table audit_runs"):
            DuckTables(str(folder)).runs()


def test_tables_of_an_older_version_lack_a_table(tmp_path):
    """It did not exist yet: no answer without it would be whole."""
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], group_state=[])
    shutil.rmtree(tmp_path / "diagnosis")
    with pytest.raises(InputError, match="has no table diagnosis") as raised:
        DuckTables(str(tmp_path)).rows("SELECT * FROM diagnosis")
    assert "audit the log again" in raised.value.hint


def test_words_of_texts_and_comments_are_no_tables():
    assert list(words("SELECT 'log' -- rebalance\nFROM x")) == ["select", "from", "x"]


def test_parameters_of_every_kind(duck):
    now = datetime(2026, 11, 21, 8, 18, 50, tzinfo=UTC)
    (row,) = duck.rows(
        "SELECT :a AS a, :b AS b, count_if(began_at < :now) AS n FROM rebalance", DEMO, a="'", b=2, now=now
    )
    assert (row.a, row.b) == ("'", 2)
    assert row.n > 0


def test_a_column_of_which_the_log_has_no_minimum_keeps_its_rows(tmp_path):
    """As Spark writes a BOOLEAN: with a count of nulls only."""
    rows = [{"group_id": f"g{n}", "clock_skew": n == 0, "history": "observed"} for n in range(3)]
    made_tables.write(tmp_path / "made", "c", rebalance=rows)
    made = DeltaTable(str(tmp_path / "made" / "rebalance")).to_pyarrow_table()
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}])
    write_deltalake(str(tmp_path / "rebalance"), made, partition_by=["cluster"])
    (log,) = (tmp_path / "rebalance" / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (added,) = [each["add"] for each in actions if "add" in each]
    statistics = json.loads(added["stats"])
    for ends in ("minValues", "maxValues"):
        del statistics[ends]["clock_skew"]
        del statistics[ends]["history"]
    added["stats"] = json.dumps(statistics)
    log.write_text("\n".join(map(json.dumps, actions)))
    tables = DuckTables(str(tmp_path))
    for condition, count in (("clock_skew = false", 2), ("history = 'observed'", 3), ("history >= 'p'", 0)):
        (row,) = tables.arrow(f"SELECT count(*) AS n FROM rebalance WHERE {condition}").to_pylist()  # noqa: S608
        assert row["n"] == count, condition


@pytest.mark.parametrize(("free", "limit"), [(1 << 30, "256.0 MiB"), (64 << 30, "2.0 GiB")])
def test_queries_use_no_more_memory_than_this_machine_has(monkeypatch, free, limit):
    monkeypatch.setattr(Budget, "of_machine", lambda: Budget(free // 2, 1))
    database = _database.__wrapped__()
    ((found,),) = database.execute("SELECT current_setting('memory_limit')").fetchall()
    assert found == limit


def remove_commits(folder):
    newest = DeltaTable(folder)
    newest.create_checkpoint()
    for commit in (folder / "_delta_log").glob("*.json"):
        if int(commit.stem) < newest.version():
            commit.unlink()


def remove_files(folder):
    table = DeltaTable(folder)
    table.optimize.z_order(["group_id"])
    assert table.vacuum(0, dry_run=False, enforce_retention_duration=False)


@pytest.fixture(params=["duck", "spark"])
def new_tables(request):
    """Opens the tables in a folder, with either engine."""
    return DuckTables if request.param == "duck" else partial(SparkTables, request.getfixturevalue("classic"))


@pytest.mark.parametrize("remove", [remove_commits, remove_files])
def test_the_newest_version_answers_if_that_of_the_run_is_removed(new_tables, duck, audits, tmp_path, remove):
    for name in ("audit_runs", "group_state"):
        shutil.copytree(audits.out / name, tmp_path / name)
    (run,) = duck.chosen_runs(DEMO)
    assert run.table_versions["group_state"] < DeltaTable(tmp_path / "group_state").version()
    remove(tmp_path / "group_state")
    assert new_tables(str(tmp_path)).rows(TEXTS["nulls"], DEMO) == duck.rows(TEXTS["nulls"], DEMO)


DAMAGES = {
    "missing": lambda file: file.unlink(),
    "truncated": lambda file: os.truncate(file, 100),
    "overwritten": lambda file: file.write_bytes(b"PAR1" + bytes(len(file.read_bytes()) - 8) + b"PAR1"),
    "rows": lambda file: file.write_bytes(file.read_bytes()[:4] + bytes(400) + file.read_bytes()[404:]),
}


def damaged(audits, folder, damage):
    """A copy of a few tables with a damaged file, and the file."""
    for name in ("audit_runs", "group_state"):
        shutil.copytree(audits.out / name, folder / name)
    file = folder / "group_state" / DeltaFiles(DeltaTable(folder / "group_state"), None).names[0]
    DAMAGES[damage](file)
    return str(folder), re.escape(f"{file}, a file of a table, cannot be read: it is missing, damaged or truncated")


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_a_table_is_named(audits, tmp_path, damage):
    out, message = damaged(audits, tmp_path, damage)
    tables = DuckTables(out)
    for _ in range(2):  # a second query would make a copy
        with pytest.raises(InputError, match=message):
            tables.rows("SELECT * FROM group_state", None)


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_spark_names_a_damaged_file_of_a_table(classic, audits, tmp_path, damage):
    out, message = damaged(audits, tmp_path, damage)
    with pytest.raises(InputError, match=message):
        SparkTables(classic, out).rows("SELECT * FROM group_state", None)


def test_a_damaged_commit_of_a_table_is_an_error_of_the_input(audits, tmp_path):
    out, _ = damaged(audits, tmp_path, "missing")
    os.truncate(max((tmp_path / "group_state" / "_delta_log").glob("*.json")), 50)
    with pytest.raises(InputError, match=r"the embedded engine cannot read .*group_state: .*Json"):
        DuckTables(out).rows("SELECT * FROM group_state", None)
