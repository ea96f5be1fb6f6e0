"""What is older than is to be kept goes, and what is there now, or told later, stays as it was."""

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from deltalake import DeltaTable

from kip848_records import maintain
from kip848_records.cli import main
from kip848_records.live.retention import _ENDED
from kip848_records.maintain import plan
from kip848_records.tables.specs import TABLES
from kip848_records.timeline.operations import GROUP_EPOCH
from tests import made_tables
from tests.audits import table_rows
from tests.live import two_days

COPY = "of a copy"
LONG_AGO = datetime(2020, 1, 1, tzinfo=timezone.utc)
DAY = timedelta(days=1)
ENDS = {
    "epoch_timeline": lambda row: (
        row["status"] != "open" and (row["converged_at"] or row["assigned_at"] or row["bumped_at"])
    ),
    "rebalance_lag": lambda row: row["status"] != "open" and (row["reconciled_at"] or row["target_at"]),
    "partition_handover": lambda row: row["acquired_at"],
    "group_state_timeline": lambda row: row["to_at"],
    "group_event": lambda row: row["timestamp"],
}
"""When what a row tells of had ended, if it has."""


def every_row(out, cluster):
    return {name: table_rows(out, name, cluster) for name in TABLES if (out / name).exists()}


def versions(out):
    return {path.name: DeltaTable(path).version() for path in out.iterdir() if (path / "_delta_log").is_dir()}


def young(name, rows, since):
    ended = ENDS.get(name, lambda _: None)
    return [row for row in rows if not ended(row) or ended(row) >= since]


def gone_of(rows, since):
    """Which records of the kept log may go, told record by record."""
    reads = {row["partition"]: row["read"] for row in rows if row["read"]}
    records = sorted((row for row in rows if not row["read"]), key=lambda row: row["offset"])
    gone = set()
    for partition, read in reads.items():
        here = [row for row in records if row["partition"] == partition]
        start = min((row["offset"] for row in here if row["timestamp"] >= since), default=read["until_offset"])
        old = [row for row in here if row["offset"] < start]
        last = {row["key"]: row["offset"] for row in old}
        for row in old:
            is_last = last[row["key"]] == row["offset"] and row["value"] is not None
            is_deletion = row["key"][:2] == bytes([0, GROUP_EPOCH]) and row["value"] is None
            if not (is_last or is_deletion or row["offset"] == read["witness"]):
                gone.add((partition, row["offset"]))
    return gone


@pytest.fixture(scope="module")
def first(spark, log, tmp_path_factory):
    """The tables after the second night, with those of a copy beside them."""
    out = tmp_path_factory.mktemp("maintained")
    topic = two_days.topic(spark, log.folder, {0: log.ends[0], 1: log.ends[1] - 7})
    topic.audit(out)
    of_copy = {
        "audit_runs": [{"run": 1, "version": "0.0.1", "dialect": "kafka", "captured_at": datetime.now(timezone.utc)}],
        "group_event": [{"group_id": "g", "timestamp": LONG_AGO}],
    }
    made_tables.write(spark, out, COPY, **of_copy)
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
    assert ENDS.keys() == _ENDED.keys()


def test_a_plan_says_what_would_go_and_changes_nothing(spark, first, capsys):
    before = versions(first.out)
    copy, ours = sorted(plan(spark, str(first.out), DAY), key=lambda each: each.cluster != COPY)
    assert (copy.cluster, copy.is_copy, copy.rows) == (COPY, True, {})
    gone = {name: len(rows) - len(young(name, rows, first.since)) for name, rows in first.ours.items()}
    gone["log"] = len(gone_of(first.ours["log"], first.since))
    assert ours.rows == {name: count for name, count in gone.items() if count}
    assert all(ours.rows.get(name) for name in ("log", *ENDS))
    assert main(["maintain", str(first.out), "--keep", "1d", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"Cluster {COPY}: nothing to remove, each audit of a copy replaces its tables" in said
    assert "Cluster default: what was ended before " in said
    assert [line.split() for line in said.splitlines() if line.strip().startswith("log ")] == [
        ["log", str(gone["log"])]
    ]
    assert versions(first.out) == before


def test_a_copy_s_cluster_is_left_alone(maintained):
    assert every_row(maintained.out, COPY) == maintained.copy


def test_there_is_nothing_more_to_remove(spark, maintained):
    (ours,) = [each for each in plan(spark, str(maintained.out), DAY) if each.cluster == "default"]
    assert ours.rows == {}
