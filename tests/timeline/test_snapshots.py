"""Groups told on from where they had settled: together with what was told by then, what the whole log tells."""

import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise

import pytest

from kip848_records.simulate import Simulation, simulate
from kip848_records.timeline import PartitionHistory, group_events
from tests.simulate.decoded import OFFSET_COMMIT, records_of
from tests.timeline.logs import CAPTURED_AT, captured_logs
from tests.timeline.random_log import random_records
from tests.timeline.spark_rows import Rows, rows_of
from tests.timeline.tables import END, record_table

TABLES = ("epoch_timeline", "rebalance_lag", "partition_handover", "group_state_timeline", "group_state")
SETTLED = (
    "partition int, group_id string, until bigint, incarnation int, assignment_epoch int, seen_from bigint, "
    "is_whole boolean, from_offset bigint, from_at timestamp"
)


@dataclass(frozen=True)
class Twice:
    """A log cut in two. `whole`: what is told of it; `before`: of its first part; `after`: since its groups settled."""

    whole: Rows
    before: Rows
    after: Rows
    settled: dict[tuple[int, str], dict]


def group_of(record):
    return record["partition"], record["key"].get("group") or record["key"]["groupId"]


def cuts(records):
    """Where each partition is cut: in the middle, between two operations."""
    of_partitions = defaultdict(list)
    for record in sorted(records, key=lambda record: record["offset"]):
        of_partitions[record["partition"]].append(record)
    return {
        partition: next(
            now["offset"]
            for before, now in pairwise(rows[len(rows) // 2 :])
            if before["timestamp"] != now["timestamp"] or group_of(before) != group_of(now)
        )
        for partition, rows in of_partitions.items()
        if len(rows) > 50
    }


def jumping(records):
    """The groups whose epochs jump, as no coordinator writes them."""
    found, last = set(), {}
    for record in records:
        if record["type"] == 3:
            group, epoch = group_of(record), (record["value"] or {}).get("epoch")
            if None not in (epoch, last.get(group)) and epoch - last[group] not in (0, 1):
                found.add(group)
            last[group] = epoch
    return found


def twice(spark, records):
    until = cuts(records)
    records = sorted((r for r in records if r["partition"] in until), key=lambda r: (r["partition"], r["offset"]))
    known = {p: PartitionHistory(((0, END),), head_missing=False, last_offset=None) for p in until}

    def tell(records, settled=None):
        return rows_of(spark, group_events(record_table(spark, records), known, settled=settled), CAPTURED_AT)

    first = [r for r in records if r["offset"] < until[r["partition"]]]
    second = [r for r in records if r["offset"] >= until[r["partition"]]]
    before = tell(first)
    goes_on = {group_of(record) for record in second if record["type"] > OFFSET_COMMIT}
    settled = {
        (row["partition"], row["group_id"]): row["settled"]
        for row in before["group_state"]
        if row["settled"] is not None and (row["partition"], row["group_id"]) in goes_on
    }
    for place in jumping(records):
        settled.pop(place, None)
    theirs = [record for record in records if group_of(record) in settled and record["type"] > OFFSET_COMMIT]
    since = {place: known["until"] for place, known in settled.items()}
    live = {
        (group_of(r), r["type"], str(sorted(r["key"].items()))): r for r in theirs if r["offset"] < since[group_of(r)]
    }
    snapshot = [record for record in live.values() if record["value"] is not None]
    told_on = snapshot + [record for record in theirs if record["offset"] >= since[group_of(record)]]
    random.Random(1).shuffle(told_on)  # noqa: S311 - an order
    names = [column.split()[0] for column in SETTLED.split(", ")[2:]]
    rows = [
        (*place, *(at(known[name]) if name == "from_at" else known[name] for name in names))
        for place, known in settled.items()
    ]
    after = tell(told_on, spark.createDataFrame(rows, SETTLED))
    return Twice(tell(records), before, after, settled)


def at(ms):
    return datetime.fromtimestamp(ms / 1000, timezone.utc)


def place_of(row):
    return row.get("offsets_partition", row["partition"]), row["group_id"]


def of_settled(told, rows):
    return [row for row in rows if place_of(row) in told.settled]


@pytest.fixture(scope="module", params=["random", "captures", "simulated"])
def told(request, spark, tmp_path_factory):
    if request.param == "random":
        return twice(spark, random_records(6, groups=400, operations=14, partitions=3))
    if request.param == "captures":
        return twice(spark, captured_logs().records)
    spec = Simulation(groups=40, members=4, hours=0.2, happening_s=4, partitions=3, commit_interval_ms=0, seed=21)
    return twice(spark, records_of(simulate(spec, tmp_path_factory.mktemp("simulated") / "log").log))


def by_then(told, table):
    """What is told of the first part, and ended by the time at which its group had settled."""
    for row in of_settled(told, told.before[table]):
        since = told.settled[place_of(row)]
        if table in {"epoch_timeline", "rebalance_lag"}:
            epoch = -1 if since["assignment_epoch"] is None else since["assignment_epoch"]
            is_later = (row["incarnation"], row["group_epoch"]) > (since["incarnation"], epoch)
        elif table == "partition_handover":
            is_later = row["acquired_offset"] >= since["until"]
        else:
            is_later = table == "group_state" or row["from_offset"] >= since["from_offset"]
        if not is_later:
            yield row


def test_there_is_enough_to_tell(told, request):
    assert len(told.settled) > (15 if "random" in request.node.name else 5)
    assert len(of_settled(told, told.after["rebalance_lag"])) > 5
    last = {place_of(row): row["offset"] for row in told.before["group_state"]}
    earlier = [place for place, since in told.settled.items() if since["until"] <= last[place]]
    assert len(earlier) > (5 if "captures" not in request.node.name else 0)


@pytest.mark.parametrize("table", TABLES)
def test_both_parts_tell_what_the_whole_does(told, table):
    ended, after, whole = (
        (*by_then(told, table),),
        of_settled(told, told.after[table]),
        of_settled(told, told.whole[table]),
    )
    assert with_times([*ended, *after]) == with_times(whole)


def with_times(rows):
    return sorted(repr(sorted(row.items())) for row in rows)


PARTITIONS = [{"topicId": "t0", "partitions": [0]}]
CURRENT = {"memberEpoch": 1, "previousMemberEpoch": 0, "state": 0, "assignedPartitions": PARTITIONS}
CURRENT |= {"partitionsPendingRevocation": []}
TARGET = {"topicPartitions": PARTITIONS}
ASSIGNMENT = {"assignmentEpoch": 1}
MEMBER = {"instanceId": None, "clientId": "c", "clientHost": "h", "rebalanceTimeoutMs": 1}
EPOCH = {"epoch": 1, "metadataHash": 0}


def records_of_group(*written):
    """One group's records, each written by itself: type, member id, value."""
    for offset, (kind, member_id, value) in enumerate(written):
        key = {"groupId": "g"} | ({} if member_id is None else {"memberId": member_id})
        yield {"partition": 0, "offset": offset, "timestamp": offset, "type": kind, "key": key, "value": value}


def life(*, deletes_all):
    """A group that was deleted, perhaps but for a type 8, and lives again: Stable, with one member."""
    return records_of_group(
        *[(8, "before", CURRENT), (3, None, EPOCH)],
        *([(8, "before", None)] if deletes_all else []),
        *[(3, None, None), (5, "m", MEMBER), (3, None, EPOCH)],
        *[(7, "m", TARGET), (6, None, ASSIGNMENT), (8, "m", CURRENT)],
    )


@pytest.mark.parametrize("deletes_all", [True, False])
def test_a_key_that_outlives_its_group_is_not_of_the_next(spark, deletes_all):
    known = {0: PartitionHistory(((0, END),), head_missing=False, last_offset=None)}
    rows = rows_of(spark, group_events(record_table(spark, life(deletes_all=deletes_all)), known), CAPTURED_AT)
    (state,) = rows["group_state"]
    assert (state["state"], state["settled"] is not None) == ("Stable", deletes_all)


def test_a_state_that_may_have_begun_unseen_is_no_place_to_tell_on_from(spark):
    """Until the type 3 nobody knows the group's state; all is seen since, but not that it had been Stable before."""
    written = [
        (7, "m", TARGET),
        (6, None, ASSIGNMENT),
        (5, "m", MEMBER),
        (8, "m", CURRENT),
        (3, None, EPOCH),
    ]
    records = [*records_of_group(*written)]
    for stretch_from, is_settled in [(0, True), (4, False)]:
        known = {0: PartitionHistory(((stretch_from, END),), head_missing=False, last_offset=None)}
        rows = rows_of(spark, group_events(record_table(spark, records), known), CAPTURED_AT)
        (state,) = rows["group_state"]
        assert (state["state"], state["settled"] is not None) == ("Stable", is_settled)
