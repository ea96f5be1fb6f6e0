"""What one generation of a classic group shows by itself: owners, numbers, and times that are no rebalance's."""

from collections import defaultdict
from typing import Any

import pyarrow as pa

from kip848_records.kinds import CLASSIC, Role
from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.replay.connect import generation as connect
from kip848_records.replay.generations.generation import Generation
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.records import Assignment, ClassicGroupValue, ClassicMemberValue, Record, Subscription
from tests.replay.classic_logs import batch_of, chosen, tables_of
from tests.replay.logs import Rows

NONE: frozenset[int] = frozenset()


def anomalies(*generations: tuple[int, dict[str, frozenset[int]]]) -> list[tuple[Any, ...]]:
    """The anomalies of a group, from the number of each generation and its members' partitions of the topic `t`."""
    numbers = PartitionNumbers()
    first = numbers.of_names.topic("t")
    coverage = PartitionCoverage(((0, 100),), last_offset=99)
    group = GroupReplay(ReplayInputs("kafka", None, {0: coverage}), numbers, 0, "group")
    for offset, (generation, owned) in enumerate(generations):
        members = tuple(
            ClassicMemberValue(
                *(member_id, None, "app", "/h", 1),
                assignment=Assignment(frozenset(first + n for n in units)),
            )
            for member_id, units in owned.items()
        )
        value = ClassicGroupValue(generation, tuple(owned), members, "consumer", "range", min(owned), offset)
        group.replay(Record(offset, offset, CLASSIC, Role.CLASSIC_GROUP, 2, None, value, 100))
    found = [row for row in group.finish() if type(row).__name__ == "Anomaly"]
    return [(row.kind, row.offset, row.member_id, row.epoch, row.seen, row.is_proven) for row in found]


def test_a_partition_of_two_members_is_an_anomaly() -> None:
    one, two = frozenset({0}), frozenset({0, 1})
    assert anomalies((1, {"a": one, "b": frozenset({1})}), (2, {"a": two, "b": one})) == [
        ("two_owners", 1, "a", 2, "t-0 also of b", True)
    ]


def test_a_static_member_that_expired_and_is_back_in_the_round_is_the_cause() -> None:
    """Its partitions stopped, although they go back to it: for a while no process had them."""
    found = generations((1, {"a": "x", "b": None}), (2, {"c": "x", "b": None}), (4, {"d": "x"}))
    assert [(row.cause, row.static_replaced, row.left) for row in found["ClassicGeneration"]] == [
        ("member_joined", (), ()),
        ("static_member_replaced", (("x", "a", "c", 1),), ()),
        ("member_left", (("x", "c", "d", 2),), ("b",)),
    ]
    assert [(row.trigger_member_ids, row.partitions_stopped) for row in found["Rebalance"]][1] == (("c",), 2)
    left = {row.member_id: row.left_how for row in found["Membership"]}
    assert left == {"a": "replaced", "b": "left", "c": "replaced", "d": None}
    alone = generations((1, {"a": "x"}), (2, {"c": "x"}))
    assert [(row.mode, row.moved) for row in alone["ClassicGeneration"]][1] == ("unknown", 0)
    assert [row.partitions_stopped for row in alone["Rebalance"]] == [0, 1]
    unseen = generations((2, {"c": "x"}), (3, {"d": "x"}), first=1)["ClassicGeneration"][1]
    assert (unseen.cause, unseen.static_replaced) == ("unknown", ())


def generations(*values: tuple[int, dict[str, str | None]], first: int = 0) -> Rows:
    """The rows of a group, from the number of each generation and the instance id of each member.

    Each member has one partition of its own. The history is complete from offset `first` on.
    """
    numbers = PartitionNumbers()
    unit = numbers.of_names.topic("t")
    group = GroupReplay(
        ReplayInputs("kafka", None, {0: PartitionCoverage(((first, 9),), last_offset=8)}), numbers, 0, "g"
    )
    for offset, (generation, instances) in enumerate(values):
        members = tuple(
            ClassicMemberValue(
                *(member_id, instance_id, "app", "/h", 1),
                assignment=Assignment(frozenset({unit + number})),
                subscription=Subscription(("t",), NONE),
            )
            for number, (member_id, instance_id) in enumerate(instances.items())
        )
        value = ClassicGroupValue(generation, tuple(instances), members, "consumer", "range", min(instances), offset)
        group.replay(Record(offset, offset, CLASSIC, Role.CLASSIC_GROUP, 2, None, value, 100))
    rows: Rows = defaultdict(list)
    for row in group.finish():
        rows[type(row).__name__].append(row)
    return rows


def test_a_task_of_two_workers_is_an_anomaly() -> None:
    numbers = PartitionNumbers()
    task = numbers.of_names.topic("sink")
    connector = task + (1 << 32) - 1

    def worker(member_id: str, *units: int) -> ClassicMemberValue:
        assignment = Assignment(frozenset(units), version=2, config_offset=7)
        subscription = Subscription(None, NONE, f"http://{member_id}", 7)
        return ClassicMemberValue(member_id, None, "connect", "/h", 1, subscription=subscription, assignment=assignment)

    def seen(*members: ClassicMemberValue) -> list[tuple[Any, ...]]:
        group = GroupReplay(
            ReplayInputs("kafka", None, {0: PartitionCoverage(((0, 9),), last_offset=8)}), numbers, 0, "g"
        )
        ids = tuple(member.member_id for member in members)
        value = ClassicGroupValue(1, ids, members, CONNECT_PROTOCOL_TYPE, "sessioned", ids[0], 1)
        group.replay(Record(0, 1, CLASSIC, Role.CLASSIC_GROUP, 2, None, value, 100))
        return [(row.kind, row.member_id, row.seen) for row in group.finish() if type(row).__name__ == "Anomaly"]

    assert seen(worker("a", connector, task), worker("b", task + 1)) == []
    assert seen(worker("a", task), worker("b", task)) == [("two_owners", "a", "sink-0 also of b")]
    assert seen(worker("a", connector), worker("b", connector)) == [("two_owners", "a", "sink also of b")]


def test_a_generation_that_went_back_is_an_anomaly() -> None:
    assert anomalies((5, {"a": NONE}), (5, {"a": NONE}), (3, {"a": NONE})) == [
        ("epoch_went_back", 2, None, 3, "3", True)
    ]


def test_a_generation_of_static_members_that_compaction_left_has_no_duration() -> None:
    """Its record may have replaced a member: its time is that at which the group became Stable, perhaps days before."""
    batch = batch_of("group-kinds")
    last = max((row for row in batch.to_pylist() if row["group_id"] == "static"), key=lambda row: row["offset"])
    found = tables_of(pa.RecordBatch.from_pylist([last], batch.schema), complete_from=last["offset"])
    columns = ("began_at", "duration_ms", "rounds", "unowned_ms", "longest_unowned_ms", "history")
    assert chosen(found["rebalance"], "static", *columns) == [(None,) * 5 + ("left_censored",)]


def test_another_generation_follows_an_error_of_the_leader() -> None:
    def generation(error: int) -> Generation:
        assignment = Assignment(NONE, error=error, config_offset=7)
        member = ClassicMemberValue("w", None, "connect", "/h", 1, assignment=assignment)
        return Generation(ClassicGroupValue(1, ("w",), (member,), CONNECT_PROTOCOL_TYPE), 0, 0, None)

    assert connect.needs_follow_up(generation(1))
    assert not connect.needs_follow_up(generation(0))


def test_the_handovers_of_static_members_have_no_time_if_a_record_before_is_missing() -> None:
    """The last record may have replaced a member of a generation whose first record compaction removed."""
    numbers = PartitionNumbers()
    assignment = Assignment(frozenset({numbers.of_names.topic("t")}))
    member = ClassicMemberValue("a", "one", "app", "/h", 1, assignment=assignment)
    first = ClassicGroupValue(1, ("a",), (member,), "consumer", "range", "a", 10)
    other = member._replace(member_id="b", instance_id="two")
    second = ClassicGroupValue(2, ("b",), (other,), "consumer", "range", "b", 40)
    columns = ("from_member", "to_member", "released_at", "unowned_ms", "wanted_ms", "history")

    def handovers(complete_from: int) -> list[tuple[object, ...]]:
        coverage = PartitionCoverage(((complete_from, 10),), last_offset=9)
        group = GroupReplay(ReplayInputs("kafka", 100, {0: coverage}), numbers, 0, "g")
        for offset, at, value in ((2, 20, first), (6, 50, second)):
            group.replay(Record(offset, at, CLASSIC, Role.CLASSIC_GROUP, 2, None, value, 100))
        rows = [row for row in group.finish() if type(row).__name__ == "PartitionHandover"]
        return [tuple(getattr(row, name) for name in columns) for row in rows]

    assert handovers(0) == [("a", "b", 40, 10, 10, "observed")]
    assert handovers(5) == [("a", "b", None, None, None, "left_censored")]
