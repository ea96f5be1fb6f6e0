"""What is older than is to be kept goes, and what is there now, or told later, stays as it was."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable
from pyspark.sql.types import StructType

from kip848_records import __version__
from kip848_records.cli import main
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.spark.tables import spark_schema
from kip848_records.errors import InputError
from kip848_records.pipeline import maintain
from kip848_records.pipeline.audit import audit_copies
from kip848_records.pipeline.maintain import plan
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.simulate.spec import START_MS
from kip848_records.tables.registry import TABLES
from tests import made_tables
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.live import two_days
from tests.live.topics import DAY_MS, tables
from tests.progress import Watcher

COPY = "of a copy"
COPY_INFO = {"is_copy": True, "sources": ["a dump"], "version": __version__, "dialect": "kafka", "names": []}
COPY_INFO |= {"offset_commits": False, "is_archived": False, "read_ms": 0}
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
ENDS = {
    "epoch_timeline": lambda row: has_end(row) and (row["converged_at"] or row["assigned_at"] or row["bumped_at"]),
    "rebalance_lag": lambda row: has_end(row) and (row["reconciled_at"] or row["target_at"]),
    "partition_handover": lambda row: row["acquired_at"] or gap_end(row),
    "group_state_timeline": lambda row: row["to_at"],
    "rebalance": lambda row: row["outcome"] not in {"open", "unknown"} and (row["ended_at"] or row["began_at"]),
    "membership": lambda row: row["left_at"],
    "member_state_timeline": lambda row: row["to_at"],
    "anomaly": lambda row: row["at"],
    "refused_record": lambda row: row["at"],
    "classic_generation": lambda row: row["ended_at"],
    "group_migration": lambda row: (row["mixed_until"] or row["at"]) if has_mixed_end(row) else None,
    "task_handover": lambda row: row["status"] != "open" and row["ended_at"],
    "ownership": lambda row: row["to_at"],
    "share_partition_state": lambda row: row["to_at"],
    "commit_progress": lambda row: row["released_at"],
    "commit_jump": lambda row: row["jumped_at"],
    "consumption_stop": lambda row: row["first_progress_at"],
    "diagnosis": lambda row: row["ended_at"],
}
"""When what a row tells of had ended, if it has."""

pytestmark = pytest.mark.slow

WITHOUT_ROWS = {
    *("anomaly", "classic_generation", "group_migration", "refused_record"),
    *("task_handover", "ownership", "share_partition_state", "diagnosis"),
    *("commit_progress", "commit_jump", "consumption_stop"),
}
"""Tables of which the log has no row that ended."""


def has_mixed_end(row):
    return row["direction"] != "upgrade" or row["mixed_until"] is not None


def has_end(row):
    return row["status"] not in {"open", "unknown"} and "right" not in row["history"] and row["history"] != "censored"


def gap_end(row):
    """When a gap ended that no new owner ended: the group became Empty, or was deleted."""
    if row["history"] in {"right_censored", "censored"} or row["unowned_ms"] is None:
        return None
    return row["released_at"] + timedelta(milliseconds=row["unowned_ms"])


def every_row(out, cluster):
    return {name: table_rows(out, name, cluster) for name in TABLES if (out / name).exists()}


def versions(out):
    return {path.name: DeltaTable(path).version() for path in out.iterdir() if (path / "_delta_log").is_dir()}


def young(name, rows, since):
    ended = ENDS.get(name, lambda _: None)
    return [row for row in rows if not ended(row) or ended(row) >= since]


def gone_of(rows, since, kept_groups):
    """Which records of the kept log may go, told record by record."""
    reads = {row["partition"]: row["read"] for row in rows if row["read"]}
    records = sorted((row for row in rows if row["content"] == "record"), key=lambda row: row["offset"])
    gone = set()
    for partition, read in reads.items():
        here = [row for row in records if row["partition"] == partition]
        start = min((row["offset"] for row in here if row["timestamp"] >= since), default=read["until_offset"])
        old = [row for row in here if row["offset"] < start]
        last = {row["key"]: row["offset"] for row in old}
        at = {row["offset"]: row for row in old}
        for row in old:
            is_last = last[row["key"]] == row["offset"] and row["value"] is not None
            is_deletion = row["value"] is None and deletes_group(row, at.get(row["offset"] + 1))
            if row["group_id"] not in kept_groups and not (
                is_last or is_deletion or row["offset"] == read["compaction_probe"]
            ):
                gone.add((partition, row["offset"]))
    return gone


def deletes_group(tombstone, following):
    """Whether a tombstone ended an incarnation: that of a classic group does not if another type takes its place."""
    if tombstone["key"][:2] != bytes([0, 2]):
        return tombstone["key"][:2] == bytes([0, 3])
    is_conversion = following is not None and following["value"] is not None
    same = ("group_id", "timestamp")
    return not (is_conversion and all(following[name] == tombstone[name] for name in same))


def open_groups(tables):
    rows = [*tables["epoch_timeline"], *tables["rebalance_lag"]]
    return {row["group_id"] for row in rows if row["status"] == "open"}


def positions(rows):
    return {(row["partition"], row["offset"]) for row in rows if row["content"] == "record"}


def states(rows):
    """How groups are now; since when may not be told any more."""
    return {row["group_id"]: (row["state"], row["group_epoch"], row["members"]) for row in rows}


@pytest.fixture(scope="module")
def first(log, tmp_path_factory):
    """The tables after the second night, with those of a copy beside them."""
    out = tmp_path_factory.mktemp("maintained")
    topic = two_days.topic(log.folder, {0: log.ends[0], 1: log.ends[1] - 7})
    topic.audit(out)
    of_copy = {
        "audit_runs": [
            {
                "run": 1,
                "version": __version__,
                "dialect": "kafka",
                "is_copy": True,
                "is_archived": False,
                "captured_at": datetime.now(UTC),
            }
        ],
        "log": [{"run": 1, "content": "knowledge", "run_info": COPY_INFO}],
    }
    made_tables.write(out, COPY, **of_copy)
    (captured,) = {row["captured_at"] for row in table_rows(out, "audit_runs", "default")}
    return SimpleNamespace(
        out=out, topic=topic, since=captured - DAY, ours=every_row(out, "default"), copy=every_row(out, COPY)
    )


@pytest.fixture(scope="module")
def maintained(first):
    """Of the tables' files, those of a few alone are tidied: each table takes Delta seconds."""
    few = {name: maintain.TABLES[name] for name in ("log", "audit_runs")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintain, "TABLES", few)
        assert main(["maintain", str(first.out), "--keep", "1d"]) == 0
    first.kept = every_row(first.out, "default")
    return first


def test_every_table_with_an_end_is_known_here():
    assert ENDS.keys() == {name for name, spec in TABLES.items() if spec.ended_at is not None}


def test_a_plan_says_what_would_go_and_changes_nothing(first, capsys):
    before = versions(first.out)
    copy, ours = sorted(plan(EmbeddedEngine(str(first.out)), DAY), key=lambda each: each.cluster != COPY)
    assert (copy.cluster, copy.is_copy, copy.rows) == (COPY, True, {})
    gone = {name: len(rows) - len(young(name, rows, first.since)) for name, rows in first.ours.items()}
    gone["log"] = len(gone_of(first.ours["log"], first.since, open_groups(first.ours)))
    assert ours.rows == {name: count for name, count in gone.items() if count}
    assert all(ours.rows.get(name) for name in ("log", *(ENDS.keys() - WITHOUT_ROWS)))
    assert main(["maintain", str(first.out), "--keep", "1d", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"Cluster {COPY}: nothing to remove, because each audit of a copy replaces its tables" in said
    assert "Cluster default: history that ended before " in said
    assert [line.split() for line in said.splitlines() if line.strip().startswith("log ")] == [
        ["log", str(gone["log"])]
    ]
    assert versions(first.out) == before


def test_what_had_ended_is_gone_and_nothing_else(maintained):
    gone = gone_of(maintained.ours["log"], maintained.since, open_groups(maintained.ours))
    assert positions(maintained.kept["log"]) == positions(maintained.ours["log"]) - gone
    for name in ("latest_state", "topic_name", "quarantine"):
        kept, ours = (Rows(rows.get(name, ())) for rows in (maintained.kept, maintained.ours))
        assert kept == ours, name
    assert states(maintained.kept["group_state"]) == states(maintained.ours["group_state"])
    for name in ENDS:
        key = [column for column in TABLES[name].key if column != "cluster"]
        told, before = (
            {tuple(row[column] for column in key) for row in rows}
            for rows in (maintained.kept[name], young(name, maintained.ours[name], maintained.since))
        )
        assert told == before, name


def test_the_log_is_as_its_spec_says(maintained):
    table = DeltaTable(maintained.out / "log")
    assert StructType.fromJson(json.loads(table.schema().to_json())) == spark_schema(TABLES["log"])
    assert (table.metadata().description, table.metadata().partition_columns) == (TABLES["log"].comment, ["cluster"])
    rows = [row for row in every_row(maintained.out, "default")["log"] if row["content"] == "record"]
    keys = [tuple(row[column] for column in TABLES["log"].key) for row in rows]
    assert len(set(keys)) == len(keys) > 0


def test_a_copy_s_cluster_is_left_alone(maintained):
    assert every_row(maintained.out, COPY) == maintained.copy


@pytest.mark.nightly
def test_there_is_nothing_more_to_remove(maintained):
    (ours,) = [each for each in plan(EmbeddedEngine(str(maintained.out)), DAY) if each.cluster == "default"]
    assert ours.rows == {}


def test_a_later_run_tells_what_all_of_the_kept_log_tells(log, maintained, tmp_path):
    maintained.topic.until = log.ends
    maintained.topic.audit(maintained.out)
    assert DuckTables(str(maintained.out)).chosen_runs("default")
    later = tables(maintained.out)
    assert later["latest_state"] == log.tables["latest_state"]
    shutil.copytree(maintained.out / "log", tmp_path / "log")
    with pytest.raises(InputError, match="has no table audit_runs"):
        DuckTables(str(tmp_path)).chosen_runs("default")
    maintained.topic.audit(tmp_path)
    anew = tables(tmp_path)
    assert later.keys() == anew.keys()
    for name in later:
        assert later[name] == anew[name], name


@pytest.mark.nightly
def test_what_to_keep_counts_back_from_the_last_run(maintained, tmp_path):
    """An earlier one was given a time far ahead."""
    shutil.copytree(maintained.out, tmp_path / "out")
    before = plan(EmbeddedEngine(str(tmp_path / "out")), DAY)
    runs = DeltaTable(tmp_path / "out" / "audit_runs")
    runs.update(new_values={"captured_at": LONG_AGO.replace(year=2050)}, predicate="cluster = 'default' AND run = 1")
    assert plan(EmbeddedEngine(str(tmp_path / "out")), DAY) == before


@pytest.mark.nightly
def test_what_to_keep_counts_back_from_no_time_after_the_topic_was_read(log, tmp_path):
    """Of a record that claims to be of a later time the broker's clock was wrong."""
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    topic.now_ms = START_MS
    topic.audit(tmp_path)
    (planned,) = plan(EmbeddedEngine(str(tmp_path)), DAY)
    assert planned.since_ms == START_MS - DAY_MS


def test_what_does_not_fit_the_runs_before(maintained, tmp_path):
    topic, out = maintained.topic, maintained.out
    before = versions(out)
    with pytest.raises(InputError, match="hold a copy of the log; pass another --cluster or --out for a live topic"):
        topic.audit(out, cluster=COPY)
    for other in ({"offset_commits": True}, {"dialect": "kafka-3.5"}):
        with pytest.raises(InputError, match="earlier runs had --dialect kafka, without --offset-commits"):
            topic.audit(out, **other)
    two_days.write(tmp_path)
    options = AuditOptions((str(tmp_path / "dump.parquet"),), str(out))
    with pytest.raises(InputError, match=r"'default' in .* hold the runs of a live topic; pass another --cluster"):
        audit_copies(EmbeddedEngine(options.out), options, Watcher())
    assert versions(out) == before


def test_tables_of_a_run_that_did_not_finish_are_not_judged(maintained, tmp_path):
    """The log has what a run read, and the other tables do not."""
    shutil.copytree(maintained.out, tmp_path / "out")
    runs = DeltaTable(tmp_path / "out" / "audit_runs")
    last = max(row["run"] for row in table_rows(tmp_path / "out", "audit_runs", "default"))
    runs.delete(f"cluster = 'default' AND run = {last}")
    with pytest.raises(InputError, match=r"the last run of cluster 'default' in .* did not finish"):
        DuckTables(str(tmp_path / "out")).chosen_runs()
    assert DuckTables(str(tmp_path / "out")).chosen_runs(COPY)


@pytest.mark.parametrize("keep", ["", "0d", "90", "-1d", "1.5d", "36501d", "100000d", "d", "1w", "\u0663d", "1d "])
def test_what_is_no_number_of_days(capsys, monkeypatch, keep):
    monkeypatch.setattr("kip848_records.spark.session.get_session", lambda: pytest.fail("Spark was started"))
    with pytest.raises(SystemExit) as ended:
        main(["maintain", "out", f"--keep={keep}"])
    assert ended.value.code == 2
    assert f"argument --keep: {keep!r} is not a number of days such as 90d" in capsys.readouterr().err


def test_a_folder_without_tables(tmp_path):
    with pytest.raises(InputError, match="has no table audit_runs"):
        plan(EmbeddedEngine(str(tmp_path)), DAY)
