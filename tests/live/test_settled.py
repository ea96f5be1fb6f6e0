"""Nights that tell groups on from where they had settled, in a topic that is compacted: as all told anew at the end."""

import shutil
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from kip848_records.live import update
from kip848_records.simulate import Simulation, simulate
from kip848_records.sources import read_log
from tests.audits import table_rows
from tests.live.topics import Topic, as_consumed, ends_of, tables

NIGHTS = 3
SHAPE = Simulation(groups=60, members=3, hours=0.5, happening_s=20, partitions=3, commit_interval_ms=0, seed=31)


def cleaned(rows, until):
    """What the cleaner removes of the records before these offsets: all that have a later one of the same key."""
    seen, removed = set(), set()
    for row in sorted(rows, key=lambda row: -row["offset"]):
        if row["offset"] < until[row["partition"]]:
            key = row["partition"], row["key"]
            if key in seen:
                removed.add((row["partition"], row["offset"]))
            seen.add(key)
    return removed


@pytest.fixture(scope="module")
def nights(spark, tmp_path_factory):
    """`out`: the tables after all nights; `anew`: the same, made anew of all that was read; `told_on`: groups."""
    folder = tmp_path_factory.mktemp("nights")
    log = simulate(SHAPE, folder / "simulated").log
    rows = pq.read_table(log, columns=["partition", "offset", "key", "timestamp"]).to_pylist()
    rows.sort(key=lambda row: (row["partition"], row["offset"]))
    topic = Topic(spark, as_consumed(read_log(spark, str(log))), {})
    ends = ends_of(topic.rows)
    told_on = []

    def snapshots(kept, settled, of=update.snapshots):
        told_on.append({row.group_id for row in settled.collect()})
        return of(kept, settled)

    out = folder / "nights"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "snapshots", snapshots)
        for night in range(1, NIGHTS + 1):
            # Between two operations, where alone a log can end.
            until = topic.until
            topic.until = {p: boundary(rows, p, end * night // NIGHTS) for p, end in ends.items()}
            if night == 3:
                topic.removed = cleaned(rows, {p: (topic.until[p] + before) // 2 for p, before in until.items()})
            topic.audit(out)
    anew = folder / "anew"
    shutil.copytree(out, anew)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "_finished", lambda _: None)
        topic.audit(anew)
    return SimpleNamespace(out=out, anew=anew, told_on=told_on)


def boundary(rows, partition, near):
    of_it = [row for row in rows if row["partition"] == partition]
    times = {row["offset"]: row["timestamp"] for row in of_it}
    return next((o for o in range(near, max(times) + 1) if o in times and times[o] != times.get(o - 1)), max(times) + 1)


def test_groups_are_told_on(nights):
    assert len(nights.told_on) == NIGHTS - 1
    assert all(len(groups) > 15 for groups in nights.told_on)
    compacted = [row for row in table_rows(nights.out, "audit_runs", "default") if row["run"] == 3]
    assert all("compacted since" in read["note"] for read in compacted[0]["partitions"])


def test_the_tables_are_those_of_all_told_anew(nights):
    ours, anew = tables(nights.out), tables(nights.anew)
    assert ours.keys() == anew.keys()
    for name in anew:
        assert ours[name] == anew[name], name


def test_what_was_observed_before_the_compaction_is(nights):
    observed = [row for row in table_rows(nights.out, "epoch_timeline", "default") if row["history"] == "observed"]
    (first,) = [row for row in table_rows(nights.out, "audit_runs", "default") if row["run"] == 1]
    ends = {read["partition"]: read["until_offset"] for read in first["partitions"]}
    assert len([row for row in observed if row["bump_offset"] < ends[row["partition"]]]) > 50
    assert len([row for row in observed if row["bump_offset"] >= ends[row["partition"]]]) > 50
