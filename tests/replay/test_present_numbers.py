"""Numbers about the present are bounded by what is present: members that wait now are not those that ever waited."""

from collections import Counter, defaultdict
from itertools import pairwise
from types import SimpleNamespace

import pyarrow as pa
import pytest

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import ROW_CLASSES, AwaitedPartition
from kip848_records.simulate import Simulation
from kip848_records.simulate.behaviour import GroupScenario
from kip848_records.simulate.profiles import group_id
from kip848_records.simulate.spec import BrokerClock
from kip848_records.simulate.walks import streams
from tests.replay.classic_logs import END, batch_of, tables_of
from tests.replay.log_batches import log_batch
from tests.replay.lost_parts import replayed_batches
from tests.replay.test_simulated import complete, replayed
from tests.seeds import daily_seeds, nightly
from tests.simulator.scenario import logged
from tests.simulator.walked import written
from tests.simulator.walks.observed_walks import OBSERVED_WALKS

COMPLETE = PartitionCoverage(((0, END),), last_offset=END - 1)

CHURN = Simulation(groups=1500, members=8, hours=4.5, partitions=1, commit_interval_ms=0)
"""Groups that are stuck for hours, while members come and go."""
EXISTING = {
    "classic": lambda walk, _: walk._partitions,
    "connect": lambda _, rows: len({unit for row in rows["ConnectAssignment"] for unit in _units(row.assigned)}),
    "share": lambda _, rows: len(
        {(row.topic_id, number) for row in rows["SharePartitionState"] for number in row.partitions or ()}
    ),
    "streams": lambda *_: streams._TASKS,
}
"""By kind: how many partitions or tasks a group can have, at most."""
STUCK = {61: 39, 226: 25, 670: 49, 1079: 9}
"""By group: how many members ever waited in its last rebalance."""


@pytest.fixture(scope="module", params=[1079, *nightly([61, 226, 670])])
def stuck(request):
    """The rows of one of these groups, by class."""
    scenario = GroupScenario(CHURN, request.param, BrokerClock(CHURN, 0))
    scenario.watch([], tuple)
    scenario.run_until(CHURN.end_ms - 1_000)
    records = list(logged(0, scenario.clients.coordinator.take()))
    found = replayed(records, CHURN.end_ms, complete(records))
    (last,) = (row for rows in found.values() for row in rows if type(row).__name__ == "GroupState")
    assert last.group_id == group_id(CHURN, request.param)
    return {type(rows[0]).__name__: rows for rows in found.values()}, STUCK[request.param]


def bounded(rows):
    """Check the numbers of all groups at the end of the log: rows by class name, as tuples with names."""
    present = defaultdict(dict)
    for row in rows["MemberStateInterval"]:
        if row.to_at is None:
            present[row.group_id][row.member_id] = row
    lags = [row for row in rows.get("RebalanceLag", ()) if row.status == "open" and not row.superseded]
    for state in rows["GroupState"]:
        members, own = present[state.group_id], [row for row in lags if row.group_id == state.group_id]
        waiting = {name for name, row in members.items() if row.state == "waiting"}
        behind = {name for name, row in members.items() if row.state != "reconciled"}
        if state.converged_members is not None:
            assert len(members) == state.members
            assert state.converged_members + len(behind) == state.members
        assert {row.member_id for row in own} <= behind
        owned = {}
        for row in own:
            assert set(row.blocked_by) <= members.keys()
            assert not row.awaited or row.member_id in waiting
            for awaited in row.awaited or ():
                each = AwaitedPartition(*awaited) if isinstance(awaited, tuple) else awaited
                assert each.owner is None or each.owner in members
                # One owner of each partition: what it holds is counted once.
                unit = each.topic_id, each.subtopology_id, each.partition
                assert owned.setdefault(unit, each.owner) == each.owner
        for rebalance in rows["Rebalance"]:
            if rebalance.group_id == state.group_id and rebalance.outcome == "open" and rebalance.blockers is not None:
                assert rebalance.members == state.members
                yield from _blockers(rebalance, members, waiting, own)


def _blockers(rebalance, members, waiting, lags):
    for each in rebalance.blockers:
        waits = {row.member_id for row in lags if each.member_id in row.blocked_by}
        assert each.waiting_now == len(waits) <= len(waiting) <= rebalance.members
        assert each.member_id in members or (each.late_now, each.waiting_now) == (False, 0)
        yield each, rebalance


def test_who_waits_now_in_a_group_that_is_stuck_for_hours(stuck):
    rows, ever = stuck
    found = list(bounded(rows))
    _, rebalance = found[0]
    assert rebalance.members_waited == ever > rebalance.members
    blocking = [each.late_now or each.waiting_now > 0 for each, _ in found]
    assert blocking[0]
    assert blocking == sorted(blocking, reverse=True)
    assert any(each.held_up > each.waiting_now for each, _ in found)


@pytest.mark.parametrize("name", ["kafka-4.3.1", "kafka-4.3.1-all-types", "group-kinds"])
@pytest.mark.parametrize("cuts", [(5, 9), *nightly([range(1, 12)])], ids=str)
def test_captures_that_end_earlier(name, cuts):
    """Each cut leaves other groups of all kinds in the middle of a rebalance."""
    batch, is_open = batch_of(name), 0
    for parts in cuts:
        ends = {p.as_py(): 0 for p in batch["partition"].unique()}
        for row in batch.select(["partition", "offset"]).to_pylist():
            ends[row["partition"]] = max(ends[row["partition"]], row["offset"])
        kept = [each["offset"] <= ends[each["partition"]] * parts // 12 for each in batch.to_pylist()]
        found = tables_of(batch.filter(pa.array(kept)))
        rows = {ROW_CLASSES[table].__name__: list(map(_row, each)) for table, each in found.items()}
        is_open += len(list(bounded(rows)))
    assert is_open


@pytest.mark.parametrize("kind", OBSERVED_WALKS)
@pytest.mark.parametrize("seeds", [(1,), *nightly([daily_seeds(6, "present numbers")])], ids=str)
def test_random_walks_that_end_earlier(kind, seeds):
    """Groups of every other kind, at ends of operations: members that are there hold no more than exists."""
    seen = Counter()
    for seed in seeds:
        walk = OBSERVED_WALKS[kind](seed)
        log, _, _ = written(walk, 60)
        ends = [n for n, (row, later) in enumerate(pairwise(log), 1) if row["timestamp"] != later["timestamp"]]
        for end in ends[:: 1 + len(ends) // 15]:
            inputs = ReplayInputs("kafka", log[end - 1]["timestamp"] + 1000, {0: COMPLETE})
            rows = replayed_batches(inputs, [log_batch(log[:end], pa.schema(LOG_SCHEMA))])
            seen["blockers"] += len(list(bounded(rows))) if kind in {"share", "streams"} else 0
            for state in rows["GroupState"]:
                seen += held(rows, state, EXISTING[kind](walk, rows))
    expected = {"classic": ["held"], "connect": ["held", "free"], "share": ["held", "blockers"]}
    assert [name for name in expected.get(kind, ["held", "free", "blockers"]) if not seen[name]] == []


def held(rows, state, existing):
    """Check who holds what at the end of a log of one group, and what nobody holds; return how much that is."""
    stays = {
        row.member_id for row in rows["Membership"] if row.left_offset is None and row.incarnation == state.incarnation
    }
    assert len(stays) == state.members
    owners = defaultdict(list)
    for member_id, unit in _held(rows, state, stays):
        owners[unit].append(member_id)
    for unit, ids in owners.items():
        assert set(ids) <= stays
        assert len(ids) == (len(set(ids)) if state.group_type == "share" else 1), unit
    free = [_unit(row) for row in rows["TaskHandover"] if row.status == "open"]
    assert len(free) == len(set(free))
    assert not owners.keys() & set(free)
    assert len(owners) + len(free) <= existing
    return Counter(held=len(owners), free=len(free))


def _held(rows, state, stays):
    """Each unit that a member has at the end, with the member. A generation names those that it replaced, too."""
    for row in rows["OwnershipInterval"]:
        if row.to_at is None and row.role in {None, "active"}:
            yield row.member_id, (row.topic_id or row.subtopology_id, row.partition)
    for table, column in (("ClassicMember", "assigned"), ("ConnectAssignment", "running")):
        for row in rows[table]:
            if (row.incarnation, row.generation) == (state.incarnation, state.generation) and row.member_id in stays:
                yield from ((row.member_id, unit) for unit in _units(getattr(row, column)))


def _units(named):
    return ((name, number) for name, numbers in named or () for number in numbers)


def _unit(row):
    return row.connector or row.subtopology_id, row.task


def _row(value):
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _row(each) for name, each in value.items()})
    return list(map(_row, value)) if isinstance(value, list) else value
