"""Logs that Kafka's cleaner has been through: the present is that of the whole log, and no claim about the past false.

Each log is simulated twice, once with the cleaner: what the simulator knows is what was before it ran.
"""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kip848_records.audit import AuditOptions, run_audit
from kip848_records.simulate import Simulation, simulate
from kip848_records.simulate.broker.cluster import offsets_partition
from tests.audits import table_rows
from tests.simulate.decoded import in_ms
from tests.timeline.truth import TABLES, comparable

SHAPE = Simulation(groups=8, members=4, hours=0.5, happening_s=20, partitions=2, commit_interval_ms=30_000)
SHAPES = [
    replace(SHAPE, seed=11),
    replace(SHAPE, seed=12, release="4.0"),
    replace(SHAPE, seed=13, delete_retention_ms=0),
    replace(SHAPE, seed=14, delete_retention_ms=5 * 60_000),
    replace(SHAPE, seed=15, groups=3, members=10, happening_s=10, delete_retention_ms=60_000),
]
STRIDE = 100
PLACES = {
    "epoch_timeline": ("group_id", "bump_offset"),
    "rebalance_lag": ("group_id", "group_epoch", "member_id", "target_at"),
    "partition_handover": ("group_id", "topic_id", "partition", "acquired_at", "to_member"),
    "group_state_timeline": ("group_id", "from_offset"),
}
"""What tells a row without its incarnation: the log may have lost the deletions that are counted."""


class Logs:
    """The shapes' logs as one, each with partitions and group ids of its own."""

    def __init__(self, folder):
        self.source, self.out = folder / "log", folder / "out"
        self.source.mkdir()
        self.truth = {table: {} for table in TABLES}
        self.missing_to, self.partition_of = {}, {}
        for nth, shape in enumerate(SHAPES):
            whole = simulate(replace(shape, compacted=False), folder / f"whole-{nth}")
            cleaned = simulate(replace(shape, compacted=True), folder / f"cleaned-{nth}")
            rows = moved(pq.read_table(cleaned.log), nth)
            pq.write_table(rows, self.source / f"{nth}.parquet")
            left = set(zip(rows["partition"].to_pylist(), rows["offset"].to_pylist(), strict=True))
            for row in moved(pq.read_table(whole.log), nth).select(["partition", "offset"]).to_pylist():
                if (row["partition"], row["offset"]) not in left:
                    self.missing_to[row["partition"]] = row["offset"]
            for table in TABLES:
                for row in map(in_ms, pq.read_table(whole.truth / f"{table}.parquet").to_pylist()):
                    partition = STRIDE * nth + offsets_partition(row["group_id"], shape.partitions)
                    row["group_id"] = f"{nth}/{row['group_id']}"
                    self.partition_of[row["group_id"]] = partition
                    self.truth[table][tuple(row[name] for name in PLACES[table])] = row

    def told(self, table):
        return [in_ms(row) for row in table_rows(self.out, table, "default")]


@pytest.fixture(scope="module")
def logs(spark, tmp_path_factory):
    logs = Logs(tmp_path_factory.mktemp("compacted"))
    run_audit(spark, AuditOptions(sources=(str(logs.source),), out=str(logs.out)), print)
    return logs


@pytest.fixture(scope="module")
def complete_from(logs):
    return {row["partition"]: row["complete_from"] for row in logs.told("partition_history")}


def moved(rows, nth):
    """The rows, sorted, with partitions and group ids of their own."""
    prefix = f"{nth}/".encode()

    def key(of):
        size = int.from_bytes(of[2:4], "big")
        return of[:2] + (size + len(prefix)).to_bytes(2, "big") + prefix + of[4:]

    columns = {name: rows[name] for name in rows.schema.names}
    columns["key"] = pa.array([key(row) for row in rows["key"].to_pylist()], pa.binary())
    columns["partition"] = pc.add(rows["partition"], pa.scalar(STRIDE * nth, pa.int32()))
    return pa.table(columns, schema=rows.schema).sort_by([("partition", "ascending"), ("offset", "ascending")])


def test_history_is_called_complete_only_where_nothing_is_missing(logs, complete_from):
    assert len(logs.missing_to) >= 9
    for partition, last_missing in logs.missing_to.items():
        assert last_missing < complete_from[partition] <= last_missing + 200


def test_the_present_state_is_that_of_the_whole_log(logs):
    present = {
        row["group_id"]: row["state"] for row in logs.truth["group_state_timeline"].values() if row["to_at"] is None
    }
    assert len(set(present.values())) >= 3
    assert {row["group_id"]: row["state"] for row in logs.told("group_state")} == present


@pytest.mark.parametrize("table", TABLES)
def test_what_is_called_observed_is_true(logs, table):
    truth = logs.truth[table]
    known = [row for row in logs.told(table) if row["history"] in ("observed", "right_censored")]
    assert len(known) > 500
    assert len(known) < len(truth) / 2
    columns = next(iter(truth.values())).keys() & known[0].keys() - {"incarnation", "topic"}
    unknown = Counter()
    for row in known:
        true = comparable(truth[tuple(row[name] for name in PLACES[table])], columns)
        ours = comparable(row, columns)
        if ours.get("partitions_moved", 0) is None:
            unknown["partitions_moved"] += true.pop("partitions_moved") is not ours.pop("partitions_moved")
        assert ours == true
    assert unknown["partitions_moved"] < len(known) / 20


@pytest.mark.parametrize(
    ("table", "offset"), [("epoch_timeline", "bump_offset"), ("group_state_timeline", "from_offset")]
)
def test_nothing_that_the_log_shows_is_left_out(logs, complete_from, table, offset):
    told = {(row["group_id"], row[offset]): row for row in logs.told(table)}
    shown = {
        place: row
        for place, row in logs.truth[table].items()
        if row[offset] >= complete_from[logs.partition_of[row["group_id"]]]
    }
    assert len(shown) > 500
    for place, row in shown.items():
        assert told[place]["history"] == row["history"]


def test_of_what_began_before_only_lower_bounds_are_told(logs):
    truth = logs.truth["rebalance_lag"]
    partial = [row for row in logs.told("rebalance_lag") if row["history"] == "left_censored"]
    assert len(partial) > 20
    for row in partial:
        true = truth[tuple(row[name] for name in PLACES["rebalance_lag"])]
        assert row["revoke_ms"] <= true["revoke_ms"]
        assert row["wait_ms"] <= true["wait_ms"]
