"""Hundreds of random logs, compacted and copied at random: what is said of the copies, against the whole logs.

Every log is a partition of its own, so that all of them go through Spark in one job.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace

import pytest
from pyspark.sql import functions as F

from kip848_records.history import copy_history, known_history, stale_places
from kip848_records.replay import replay
from kip848_records.sources import settle_transactions
from kip848_records.sources.copies import merge_copies
from tests.history.cleaner import Log
from tests.history.copies import LogCopy, is_commit, log_rows
from tests.history.random_walk import Walk, data_records

SCENARIOS = 400


@dataclass
class Scenario:
    """A partition, its whole log, and copies of it."""

    partition: int
    with_commits: bool
    log: Log = field(default_factory=Log)
    copies: list[LogCopy] = field(default_factory=list)

    def rows(self):
        rows = [row for copy in self.copies for row in copy.rows()]
        return [row for row in rows if self.with_commits or not (is_commit(row["key"]) or is_marker(row))]

    def last_values(self, *, commits: bool):
        outcomes = self.log.outcomes()
        last = {}
        for batch in self.log.batches():
            if batch.marker is None and outcomes.get(batch.base_offset) in (None, "commit"):
                last |= {r.key: r for r in batch.records if commits or not is_commit(r.key)}
        return {key: record.offset for key, record in last.items() if record.value is not None}


def is_marker(row):
    return row["control"] in ("commit", "abort")


def scenario(seed):
    rng = random.Random(seed)  # noqa: S311 - logs, not secrets
    walk = Walk(rng, [Log() for _ in range(rng.choice([1, 1, 2]))], with_transactions=rng.random() < 0.7)
    made = Scenario(seed, with_commits=rng.random() < 0.5, log=walk.log)
    for number in range(rng.choice([1, 1, 2, 3])):
        walk.steps(rng.choice([3, 15, 40]))
        copied = rng.choice(walk.brokers).copy()
        kind = rng.choice(["segments", "segments", "cut", "behind", "rows", "rows"])
        if kind == "cut":
            del copied.segments[: rng.randrange(len(copied.segments))]
        if kind == "behind":
            last = copied.segments[-1]
            last.batches = last.batches[: rng.randrange(len(last.batches) + 1)]
        made.copies.append(LogCopy(seed, f"copy {number}", copied, shows_gaps=kind != "rows"))
    return made


@pytest.fixture(scope="module")
def scenarios():
    return [scenario(seed) for seed in range(SCENARIOS)]


@pytest.fixture(scope="module")
def merged(spark, scenarios, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("merged") / "log")
    each = log_rows(spark, (row for made in scenarios for row in made.rows()))
    # As it is landed.
    log = each.transform(settle_transactions).transform(merge_copies)
    log.filter((F.col("transaction") != "aborted") | F.col("control").isNotNull()).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def history(spark, merged, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("history") / "history")
    copy_history(merged).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture(scope="module")
def told(history):
    return {(row.partition, row.copy): row for row in history.collect()}


def plain_copy(made, copy):
    """first_offset, last_offset, complete_from and head_missing of a copy; None if nothing of it was landed."""
    held = copy.offsets()
    if copy.shows_gaps:
        batches = list(copy.log.batches())
        if not batches:
            return None
        first, last = copy.log.segments[0].base_offset, max(batch.last_offset for batch in batches)
        return first, last, max({*range(-1, last + 1)} - held) + 1, first > 0
    records = [r for r in data_records(copy.log) if made.with_commits or not is_commit(r.key)]
    if not records:
        return None
    offsets = [record.offset for record in records]
    last_run = max(offset for offset in offsets if offset - 1 not in offsets)
    seen, seconds = set(), []
    for record in records:
        if not is_commit(record.key):
            seconds += [record.offset] if record.key in seen else []
            seen.add(record.key)
    return offsets[0], offsets[-1], min([last_run, *seconds]), None if offsets[0] else False


def test_what_each_copy_holds(scenarios, told):
    expected = {
        (made.partition, copy.name): plain
        for made in scenarios
        for copy in made.copies
        if (plain := plain_copy(made, copy)) is not None
    }
    # What other copies tell of transactions may tell more of rows of the Kafka source.
    alone = {
        (made.partition, copy.name)
        for made in scenarios
        for copy in made.copies
        if len(made.copies) == 1 or copy.shows_gaps or not made.with_commits
    }
    ours = {key: (row.first_offset, row.last_offset, row.complete_from, row.head_missing) for key, row in told.items()}
    assert ours.keys() == expected.keys()
    assert len(alone) > len(ours) / 2
    assert {key: ours[key] for key in ours if key in alone} == {key: expected[key] for key in ours if key in alone}


def test_no_record_is_missing_where_a_copy_is_complete(scenarios, told):
    exact = 0
    for made in scenarios:
        for copy in made.copies:
            if (row := told.get((made.partition, copy.name))) is None:
                continue
            all_records = data_records(made.log, aborted=copy.shows_gaps)
            missing = {r.offset for r in all_records if r.offset <= row.last_offset} - copy.offsets()
            truth = max(missing, default=-1) + 1
            assert row.complete_from >= truth, (made.partition, copy.name)
            exact += row.complete_from == truth
    assert exact > len(told) / 2


def test_no_record_is_missing_where_all_copies_are_complete(scenarios, history, merged):
    known = {row.partition: row for row in known_history(history).collect()}
    held = defaultdict(set)
    for row in merged.filter("control is null").select("partition", "offset").collect():
        held[row.partition].add(row.offset)
    for made in scenarios:
        if made.partition in known:
            start, end = known[made.partition].complete_from, max(held[made.partition], default=-1)
            records = [r.offset for r in data_records(made.log, aborted=False) if start <= r.offset <= end]
            records = [offset for offset in records if made.with_commits or offset in held[made.partition]]
            assert set(records) <= held[made.partition], made.partition


def test_history_starts_with_the_first_copy_that_leads_up_to_the_end(scenarios, told):
    for made in scenarios:
        rows = [told[made.partition, copy.name] for copy in made.copies if (made.partition, copy.name) in told]
        if not rows:
            continue
        (base,) = [row for row in rows if row.is_base]
        end = max(row.last_offset for row in rows)
        covered = set().union(*(range(row.complete_from, row.last_offset + 1) for row in rows))
        leading = [row for row in rows if covered >= set(range(row.complete_from, end + 1))]
        whole = [row for row in leading if not row.head_missing]
        assert base.complete_from == min(row.complete_from for row in whole or leading), made.partition


def test_the_present_state_is_that_of_the_whole_log(scenarios, told, history, merged):
    stale = stale_places(merged, history)
    live = defaultdict(dict)
    for row in replay(merged.join(stale, ["partition", "offset"], "left_anti")).collect():
        live[row.partition][bytes(row.key)] = row.offset
    compared = 0
    for made in scenarios:
        rows = [told[made.partition, copy.name] for copy in made.copies if (made.partition, copy.name) in told]
        if not rows or any(row.is_base and row.head_missing for row in rows):
            continue
        commits = made.with_commits and all(copy.shows_gaps for copy in made.copies)
        whole = replace(made, log=prefix(made.log, max(row.last_offset for row in rows)))
        ours = {key: offset for key, offset in live[made.partition].items() if commits or not is_commit(key)}
        assert ours == whole.last_values(commits=commits), made.partition
        compared += 1
    assert compared > SCENARIOS / 2


def prefix(log, end):
    cut = Log()
    for batch in log.batches():
        if batch.base_offset <= end:
            cut.append(batch)
    return cut
