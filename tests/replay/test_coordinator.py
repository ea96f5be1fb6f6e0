"""The log of Kafka's coordinator, replayed, against what the coordinator's objects said after each operation.

`coordinator/` derives rows of the tables from `truth.jsonl.gz` alone: states, epochs, members, their partitions and
targets at the end of each operation. The objects do not say: the offset of a record within its operation; an epoch or
an assignment that the same operation replaced (one operation of `mix-0-by` wrote two); the state of share partitions,
and so for how long they had no member; when the join phase of a classic generation ended; what members of a classic
group owned when they joined, and so mode, moves and bounds. Not compared for these reasons: bump_offset, began_offset,
joined_offset, members and targets at a record (epoch_timeline), share_partition_state, unowned_ms of share groups,
joined_at, join_ms, sync_ms, mode, units, moved and handovers of classic groups, clients and hosts.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest

from tests.replay.captures import FOLDER
from tests.replay.coordinator import epochs, handovers, rebalances, timelines
from tests.replay.coordinator.steps import Step, steps_of
from tests.replay.logs import Rows
from tests.replay.segment_copies import captured_at, replayed_copy

COPY = FOLDER / "kafka-4.4.0-coordinator"
AT = captured_at(COPY)

Lines = Iterable[tuple[Any, ...]]


@cache
def replayed() -> Rows:
    return replayed_copy(COPY)


@cache
def steps() -> dict[tuple[int, str], list[Step]]:
    return steps_of(COPY)


def columns(table: str, *names: str, is_modern: bool = False) -> Lines:
    """The chosen columns of rows; not `is_modern`: of all kinds of groups."""
    for row in replayed()[table]:
        if not (is_modern and row.group_type == "classic"):
            yield tuple(getattr(row, name) for name in names)


def states() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "group_type", "state")
    times = ("from_at", "from_offset", "to_at", "duration_ms", "clock_skew")
    return columns("GroupStateInterval", *names, *times), derived(lambda each: timelines.group_states(each, AT))


def member_states() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "group_type", "member_id", "state", "member_epoch")
    times = ("from_at", "from_offset", "to_at", "duration_ms")
    return columns("MemberStateInterval", *names, *times), derived(lambda each: timelines.member_states(each, AT))


def stays() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "group_type", "member_id", "instance_id", "joined_at")
    ends = ("joined_epoch", "left_at", "left_epoch", "left_how", "returned", "away_ms", "joined_how")
    return columns("Membership", *names, *ends), derived(lambda each: timelines.stays(each, AT))


def owned() -> tuple[Lines, Lines]:
    ours = (
        (
            *(row.offsets_partition, row.group_id, row.incarnation, row.group_type, row.member_id),
            (row.topic_id, row.partition) if row.role is None else (row.subtopology_id, row.partition, row.role),
            *(row.from_at, row.from_offset, row.to_at, row.duration_ms, row.clock_skew),
        )
        for row in replayed()["OwnershipInterval"]
    )
    return ours, derived(lambda each: timelines.ownership(each, AT))


def all_epochs() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "group_epoch", "group_type", "bumped_at", "assigned_at")
    ends = ("converged_at", "status", "superseded_by", "partitions_moved")
    lags = ("assign_lag_ms", "reconcile_lag_ms", "rebalance_lag_ms")
    return columns("Epoch", *names, *ends, *lags), derived(epochs.epochs)


def causes() -> tuple[Lines, Lines]:
    return columns("Epoch", "partition", "group_id", "incarnation", "group_epoch", "cause"), derived(epochs.causes)


def lags() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "group_type", "group_epoch", "member_id", "target_at")
    ends = ("reconciled_at", "status", "superseded", "first_bumped_at", "lag_ms", "revoke_ms", "wait_ms", "blocked_by")
    return columns("RebalanceLag", *names, *ends), derived(lambda each: epochs.lags(each, AT))


def changes_of_owner() -> tuple[Lines, Lines]:
    times = ("from_member", "released_at", "to_member", "acquired_at", "unowned_ms", "wanted", "wanted_ms")
    partitions = columns(
        *("PartitionHandover", "offsets_partition", "group_id", "incarnation", "topic_id", "partition", *times),
        "group_epoch",
        is_modern=True,
    )
    tasks = columns("TaskHandover", "partition", "group_id", "incarnation", "subtopology_id", "task", *times, "epoch")
    ours = (
        *((*row[:3], row[3:5], *row[5:]) for row in partitions),
        *((*row[:3], (*row[3:5], "active"), *row[5:]) for row in tasks),
    )
    return ours, derived(lambda each: handovers.handovers(each, AT))


def all_rebalances() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "group_type", "began_at", "first_epoch", "last_epoch", "epochs")
    ends = ("ended_at", "ended_offset", "outcome", "duration_ms", "started_empty", "members_before", "members")
    facts = ("members_waited", "partitions_moved", "unowned_ms", "longest_unowned_ms")
    spent = ("assigning_ms", "late_ms", "not_ready_ms", "blockers", "leader_changed")
    found = columns("Rebalance", *names, *ends, *facts, *spent, is_modern=True)
    ours = ((*row[:-2], _blockers(row[-2]), row[-1]) for row in found)
    return map(_without_unowned, ours), map(_without_unowned, derived(lambda each: rebalances.rebalances(each, AT)))


def _blockers(found: Iterable[Any]) -> Lines:
    return tuple(
        sorted((each.member_id, each.late_ms, each.blocked_ms, each.held_up, each.last_state) for each in found)
    )


def _without_unowned(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The objects do not say which share partitions are initialized."""
    return (*row[:17], *row[19:]) if row[3] == "share" else row


def generations() -> tuple[Lines, Lines]:
    names = ("partition", "group_id", "incarnation", "offset", "completed_at", "generation", "protocol", "leader")
    return columns("ClassicGeneration", *names, "members"), derived(
        lambda each: [
            (
                *(step.incarnation, step.first, step.at, step.generation, step.protocol),
                *(step.leader if step.members else None, len(step.members)),
            )
            for step in each
            if step.group_type == "classic"
        ]
    )


def classic_members() -> tuple[Lines, Lines]:
    ours = (
        (
            *(row.partition, row.group_id, row.incarnation, row.generation, row.member_id, row.instance_id),
            *(row.is_leader, frozenset((topic, n) for topic, numbers in row.assigned for n in numbers)),
        )
        for row in replayed()["ClassicMember"]
    )
    return ours, derived(
        lambda each: [
            (step.incarnation, step.generation, m, member.instance_id, m == step.leader, member.assigned)
            for step in each
            if step.group_type == "classic"
            for m, member in step.members.items()
        ]
    )


def last_states() -> tuple[Lines, Lines]:
    names = (
        "partition",
        "group_id",
        "incarnation",
        "group_type",
        "state",
        "group_epoch",
        "assignment_epoch",
        "members",
    )
    return columns("GroupState", *names, "members_away", "converged_members"), derived(_last_state)


def _last_state(each: list[Step]) -> Lines:
    last = each[-1]
    if last.group_type is None:
        return []
    key, members = (last.incarnation, last.group_type, last.state), last.members.values()
    if not last.is_modern:
        return [(*key, None, None, len(members), 0, None)]
    away = sum(member.epoch == timelines.AWAY for member in members)
    stable = sum(member.state == "STABLE" and member.epoch == last.assignment_epoch for member in members)
    return [(*key, last.group_epoch, last.assignment_epoch, len(members), away, stable)]


def derived(rows_of: Callable[[list[Step]], Lines]) -> Lines:
    """The rows of each group, with its partition and its id."""
    return [(*place, *row) for place, each in steps().items() for row in rows_of(each)]


TABLES = {
    "group_state_timeline": (states, 285),
    "member_state_timeline": (member_states, 802),
    "membership": (stays, 142),
    "ownership": (owned, 289),
    "epoch_timeline": (all_epochs, 294),
    "causes": (causes, 294),
    "rebalance_lag": (lags, 489),
    "handovers": (changes_of_owner, 1023),
    "rebalance": (all_rebalances, 159),
    "classic_generation": (generations, 26),
    "classic_member": (classic_members, 43),
    "group_state": (last_states, 10),
}
UNSEEN = {"epoch_timeline": 1, "rebalance_lag": 1, "rebalance": 1}
"""Rows that depend on an assignment that its own operation replaced."""


@pytest.mark.parametrize("table", TABLES)
def test_the_replay_finds_what_the_coordinator_had(table: str) -> None:
    both, count = TABLES[table]
    found, expected = map(Counter, both())
    assert found.total() == count
    wrong, missing = found - expected, expected - found
    assert wrong.total() <= UNSEEN.get(table, 0), (list(wrong)[:3], list(missing)[:3])
    assert all("mix-0-by" in row for row in wrong)
    assert missing.total() <= wrong.total()


def test_one_operation_upgraded_a_group_and_replaced_its_static_member() -> None:
    (row,) = replayed()["GroupMigration"]
    assert (row.direction, row.from_type, row.to_type, row.epoch, row.converted) == (
        "upgrade",
        "classic",
        "consumer",
        2,
        1,
    )
    assert row.mixed_until == row.at


def test_share_partitions_without_a_member_are_not_longer_so_than_the_rebalance() -> None:
    rows = [row for row in replayed()["Rebalance"] if row.group_type == "share"]
    assert sum(row.unowned_ms > 0 for row in rows) > 10
    assert all(row.longest_unowned_ms <= row.duration_ms and row.longest_unowned_ms <= row.unowned_ms for row in rows)


def test_the_coordinator_contradicts_no_protocol() -> None:
    rows = replayed()
    assert (rows["Anomaly"], rows["Quarantine"], rows["UnknownRecord"]) == ([], [], [])
    resolved = sum(step.types.count(16) for each in steps().values() for step in each)
    assert len(rows["RegexResolution"]) == resolved == 20
