"""Nights that tell groups on from where they had settled, in a topic that is compacted: as all told anew at the end."""

import shutil
from types import SimpleNamespace

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.live import update
from kip848_records.simulate import Simulation, simulate
from kip848_records.simulate.spec import START_MS
from kip848_records.sources import read_log
from kip848_records.sources.log import group_id, is_offset_commit, key_of_types
from kip848_records.timeline.operations import GROUP_EPOCH
from tests.audits import table_rows
from tests.live.topics import Topic, as_consumed, ends_of, tables
from tests.timeline.tables import END

NIGHTS = 4
COMPACTED = (2, 4)
SHAPE = Simulation(groups=60, members=3, hours=0.5, happening_s=20, partitions=3, commit_interval_ms=60_000, seed=31)
ADDED = SHAPE.partitions
FIRST_OF_ADDED = 3
"""The night in which there is one more partition, with some groups a second time."""


def with_quiet_groups(log):
    """The records without those that some groups wrote in the second half, but for their offset commits."""
    half = F.timestamp_millis(F.lit(START_MS + round(SHAPE.hours * 1_800_000)))
    is_quiet = group_id().rlike("[38]$") & (F.col("timestamp") > half)
    kept = log.where(is_offset_commit() | ~is_quiet)
    in_order = Window.partitionBy("partition").orderBy("offset")
    return kept.withColumn("offset", F.row_number().over(in_order).cast("bigint") - 1)


def a_second_time(log):
    """The records of some groups, in the partition that is added: there they are by mistake, or as Kafka grew it.

    Some of them were deleted there. All offsets are below those of the same group's records of later nights.
    """
    theirs = log.where(group_id().rlike("[05]$"))
    deleted = theirs.where(key_of_types([GROUP_EPOCH]) & group_id().rlike("5$"))
    deletions = deleted.dropDuplicates(["key"]).withColumns({"offset": F.lit(END), "value": F.lit(None).cast("binary")})
    place = F.row_number().over(Window.orderBy("offset", "partition", "key")).cast("bigint")
    return theirs.unionByName(deletions).withColumns({"offset": place - 1, "partition": F.lit(ADDED)})


def cleaned(rows, until):
    """What the cleaner removes of the records before these offsets: all that have a later one of the same key."""
    seen, removed = set(), set()
    for row in sorted(rows, key=lambda row: -row["offset"]):
        if row["offset"] < until.get(row["partition"], 0):
            key = row["partition"], bytes(row["key"])
            if key in seen:
                removed.add((row["partition"], row["offset"]))
            seen.add(key)
    return removed


@pytest.fixture(scope="module")
def nights(spark, tmp_path_factory):
    """`out`: the tables after all nights; `anew`: the same, made anew of all that was read.

    Groups of each night but the first: `told_on`, `wrote` (more than offset commits), and `only_committed`.
    """
    folder = tmp_path_factory.mktemp("nights")
    log = simulate(SHAPE, folder / "simulated").log
    log = with_quiet_groups(as_consumed(read_log(spark, str(log))))
    topic = Topic(spark, log.unionByName(a_second_time(log)).localCheckpoint(), {}, {ADDED: 0})
    wanted = topic.rows.select("partition", "offset", "key", "timestamp", group_id(), is_offset_commit())
    rows = [row.asDict() for row in wanted.toDF(*wanted.columns[:4], "group_id", "is_commit").collect()]
    rows.sort(key=lambda row: (row["partition"], row["offset"]))
    ends = ends_of(topic.rows)
    told_on, wrote, only_committed = [], [], []

    def snapshots(kept, settled, of=update.snapshots):
        told_on.append({row.group_id for row in settled.collect()})
        return of(kept, settled)

    out = folder / "nights"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "snapshots", snapshots)
        for night in range(1, NIGHTS + 1):
            # Between two operations, where alone a log can end.
            until = topic.until
            topic.until = {p: boundary(rows, p, ends[p] * night // NIGHTS) for p in range(ADDED)}
            if night in COMPACTED:
                dirty = {p: (topic.until[p] + until[p]) // 2 for p in range(ADDED)}
                topic.removed |= cleaned(rows, dirty)
            if night >= FIRST_OF_ADDED:
                topic.until[ADDED] = ends[ADDED]
            spans = {p: range(until.get(p, 0), end) for p, end in topic.until.items()}
            new = [row for row in rows if row["offset"] in spans.get(row["partition"], ())]
            wrote.append({row["group_id"] for row in new if not row["is_commit"]})
            only_committed.append({row["group_id"] for row in new} - wrote[-1])
            topic.audit(out, offset_commits=True)
    anew = folder / "anew"
    shutil.copytree(out, anew)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "_finished", lambda _: None)
        topic.audit(anew, offset_commits=True)
    return SimpleNamespace(out=out, anew=anew, told_on=told_on, wrote=wrote[1:], only_committed=only_committed[1:])


def boundary(rows, partition, near):
    of_it = [row for row in rows if row["partition"] == partition]
    times = {row["offset"]: row["timestamp"] for row in of_it}
    return next((o for o in range(near, max(times) + 1) if o in times and times[o] != times.get(o - 1)), max(times) + 1)


def test_groups_are_told_on(nights):
    assert len(nights.told_on) == NIGHTS - 1
    assert all(len(groups) > 15 for groups in nights.told_on)
    # Those in which something is open are older now, though they wrote nothing.
    assert any(told - wrote for told, wrote in zip(nights.told_on, nights.wrote, strict=True))
    assert nights.only_committed[-1]
    of_runs = {row["run"]: row["partitions"] for row in table_rows(nights.out, "audit_runs", "default")}
    for night in COMPACTED:
        notes = {read["partition"]: read["note"] for read in of_runs[night]}
        assert all("compacted since" in notes[partition] for partition in range(SHAPE.partitions))


def test_the_tables_are_those_of_all_told_anew(nights):
    ours, anew = tables(nights.out), tables(nights.anew)
    assert ours.keys() == anew.keys()
    for name in anew:
        assert ours[name] == anew[name], name


def test_what_was_observed_before_the_compaction_is(nights):
    observed = [row for row in table_rows(nights.out, "epoch_timeline", "default") if row["history"] == "observed"]
    (first,) = [row for row in table_rows(nights.out, "audit_runs", "default") if row["run"] == 1]
    ends = {read["partition"]: read["until_offset"] for read in first["partitions"]}
    observed = [row for row in observed if row["partition"] != ADDED]
    assert len([row for row in observed if row["bump_offset"] < ends[row["partition"]]]) > 50
    assert len([row for row in observed if row["bump_offset"] >= ends[row["partition"]]]) > 50
