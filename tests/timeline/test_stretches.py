"""A log that is read night by night while the cleaner is at it: what is called observed is told as of the whole log."""

import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from kip848_records.timeline import PartitionHistory, group_events
from tests.timeline.logs import CAPTURED_AT
from tests.timeline.random_log import random_records
from tests.timeline.spark_rows import in_order, rows_of
from tests.timeline.tables import record_table

NIGHTS = 4
SEEN = ("observed", "right_censored")
PLACES = {
    "epoch_timeline": ("group_id", "bump_offset"),
    "rebalance_lag": ("group_id", "group_epoch", "member_id", "target_at"),
    "partition_handover": ("group_id", "topic_id", "partition", "acquired_offset"),
    "group_state_timeline": ("group_id", "from_offset"),
}
"""What tells a row without its incarnation: the log may have lost the deletions that are counted."""


def read_by_night(records, rng):
    """What the nights find of each partition's records, and the stretches of which nothing is missing."""
    of_partitions = defaultdict(list)
    for record in records:
        of_partitions[record["partition"]].append(record)
    found, known = [], {}
    for partition, of_it in of_partitions.items():
        of_it.sort(key=lambda record: record["offset"])
        # What an operation writes is one batch, and neither the end of a log nor the cleaner cuts one.
        begins = [now["offset"] for before, now in pairwise(of_it) if now["timestamp"] != before["timestamp"]]
        ends = [*(begins[len(begins) * nth // NIGHTS] for nth in range(1, NIGHTS)), of_it[-1]["offset"] + 1]
        stretches = [(0, ends[0])]
        for begin, end in zip([0, *ends], ends, strict=False):
            between = [each for each in begins if begin < each < end]
            cleaned = rng.choice(between) if begin in ends[::2] else begin  # every other night
            there = [record for record in of_it if record["offset"] < end]
            last = {(r["type"], *sorted(r["key"].items())): r["offset"] for r in there if r["offset"] < cleaned}
            left = {*last.values()}
            found += [r for r in there if r["offset"] >= begin and (r["offset"] >= cleaned or r["offset"] in left)]
            if cleaned > begin:
                stretches.append((cleaned, end))
            else:
                stretches[-1] = stretches[-1][0], end
        known[partition] = PartitionHistory(tuple(stretches), head_missing=False, last_offset=ends[-1] - 1)
    return found, known


@pytest.fixture(scope="module")
def nights(spark):
    """`whole`, `cleaned`: the rows told of the whole log, and of what the nights found; `known`: its stretches."""
    records = random_records(5, groups=80, operations=40, partitions=4)
    cleaned, known = read_by_night(records, random.Random(4))  # noqa: S311 - no secret
    complete = {
        partition: PartitionHistory(((0, of_it.last_offset + 1),), head_missing=False, last_offset=of_it.last_offset)
        for partition, of_it in known.items()
    }
    assert len(cleaned) < len(records) * 0.95
    whole, seen = (
        rows_of(spark, group_events(record_table(spark, rows), history), CAPTURED_AT)
        for rows, history in ((records, complete), (cleaned, known))
    )
    return whole, seen, known


@pytest.mark.parametrize("table", PLACES)
def test_what_is_called_observed_is_true(nights, table):
    whole, seen, _ = nights
    true = {tuple(row[name] for name in PLACES[table]): row for row in whole[table]}
    # Groups whose epochs jump, or with a partition that two members own, no coordinator writes.
    odd = {row["group_id"] for rows in whole.values() for row in rows if row.get("history", SEEN[0]) not in SEEN}
    known = [row for row in seen[table] if row["history"] in SEEN and row["group_id"] not in odd]
    assert len(known) > 100
    for row in known:
        ours, theirs = (dict(each) for each in (row, true[tuple(row[name] for name in PLACES[table])]))
        for each in (ours, theirs):
            del each["incarnation"]
        if table == "epoch_timeline" and ours["partitions_moved"] is None:
            del ours["partitions_moved"], theirs["partitions_moved"]
        assert in_order([ours]) == in_order([theirs])


@pytest.mark.parametrize(
    ("table", "offset"), [("epoch_timeline", "bump_offset"), ("group_state_timeline", "from_offset")]
)
def test_every_stretch_has_what_was_observed(nights, table, offset):
    _, seen, known = nights
    observed = Counter()
    for row in seen[table]:
        stretch = next((s for s in known[row["partition"]].stretches if s[0] <= row[offset] < s[1]), None)
        observed[row["partition"], stretch, row["history"]] += 1
    for partition, of_it in known.items():
        assert len(of_it.stretches) > 2
        for stretch in of_it.stretches:
            assert observed[partition, stretch, "observed"] > 2 or stretch[1] - stretch[0] < 400


@pytest.mark.parametrize(
    ("key_type", "values", "breaks", "history"),
    [
        (2, (5, 6), (), "right_censored"),
        (2, (5, 6), (120,), "censored"),
        (3, (5, 6), (), "right_censored"),
        (3, (5, 6), (120,), "censored"),
        (3, (5, 1), (), "censored"),  # deleted and made again: the tombstone is gone
        (3, (5, 8), (), "censored"),
    ],
)
def test_what_may_have_come_between_two_stretches(spark, key_type, values, breaks, history):
    known = {0: PartitionHistory(((0, 100), (150, 300)), head_missing=False, last_offset=299, breaks=breaks)}
    written = [
        {"generation": each, "members": [{"memberId": "m"}]} if key_type == 2 else {"epoch": each, "metadataHash": 0}
        for each in values
    ]
    key = {"group": "g"} if key_type == 2 else {"groupId": "g"}
    records = [
        {"partition": 0, "offset": offset, "timestamp": offset, "type": key_type, "key": key, "value": value}
        for offset, value in zip((50, 200), written, strict=True)
    ]
    told = rows_of(spark, group_events(record_table(spark, records), known), CAPTURED_AT)
    (state,) = told["group_state_timeline"]
    assert (state["from_offset"], state["history"]) == (50, history)
