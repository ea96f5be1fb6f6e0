"""Share and streams groups of real brokers: worked examples, and rules that hold for every kind of group."""

import random
from collections import Counter

import pytest

from kip848_records.replay.inputs import ReplayInputs
from tests.replay.admin import KINDS, kinds_records, kinds_rows
from tests.replay.captures import capture_rows
from tests.replay.compaction import compacted, read_by_night, wrong_values
from tests.replay.logs import Rows, replayed

CAPTURES = tuple(sorted(path.name.removesuffix(".records.jsonl.gz") for path in KINDS.glob("*.records.jsonl.gz")))
STREAMS_BEGAN = 1_795_247_793_533


@pytest.fixture(scope="module")
def streams() -> Rows:
    """The group g-streams, which a second member joins and leaves."""
    rows = capture_rows("kafka-4.3.1-all-types")
    return {table: [row for row in of_it if row.group_id == "g-streams"] for table, of_it in rows.items()}


def test_epochs_of_a_streams_group(streams: Rows) -> None:
    epochs = sorted(streams["Epoch"], key=lambda row: row.group_epoch)
    assert [(row.bump_offset, row.cause, row.assign_lag_ms, row.partitions_moved, row.status) for row in epochs] == [
        (143, "topology_initialized", 2976, None, "superseded"),
        (177, "topology_validated", 0, 0, "converged"),
        (224, "member_joined", 0, 3, "converged"),
        (388, "member_left", 1969, 3, "converged"),
        (467, "member_left", None, None, "emptied"),
    ]
    assert (epochs[0].superseded_by, epochs[2].rebalance_lag_ms) == (3, 5050)
    assert {row.history for row in epochs} == {"observed"}


def test_states_of_a_streams_group(streams: Rows) -> None:
    states = sorted(streams["GroupStateInterval"], key=lambda row: row.from_offset)
    assert [(row.state, row.from_offset) for row in states] == [
        ("NotReady", 144),
        ("Stable", 180),
        ("Reconciling", 228),
        ("Stable", 258),
        ("Assigning", 388),
        ("Stable", 403),
        ("Empty", 467),
    ]
    (group,) = streams["GroupState"]
    assert (group.topology_epoch, group.validated_topology_epoch, group.standby_replicas) == (0, 0, 0)


def test_members_of_a_streams_group(streams: Rows) -> None:
    revoking, waiting = sorted((row for row in streams["RebalanceLag"] if row.group_epoch == 4), key=lambda r: r.lag_ms)
    assert (revoking.lag_ms, revoking.revoke_ms, revoking.blocked_by) == (1846, 510, ())
    assert (waiting.lag_ms, waiting.wait_ms, waiting.blocked_by) == (5050, 5050, (revoking.member_id,))
    processes = {row.member_id: row.process_id for row in streams["Membership"]}
    assert processes[revoking.member_id] == "7e46eba8-0123-4035-b79b-6f370f0ab626"
    assert processes[waiting.member_id] == "b99138f0-5f21-4300-b22f-baaabee6b640"


def test_handovers_of_a_streams_group(streams: Rows) -> None:
    moved = [row for row in streams["TaskHandover"] if row.from_member and row.to_member]
    assert Counter((row.task, row.unowned_ms, row.acquired_offset, row.epoch, row.was_warm) for row in moved) == {
        (task, *how, False): 1 for task in (3, 4, 5) for how in ((3204, 258, 4), (1969, 403, 5))
    }
    assert {row.subtopology_id for row in moved} == {"0"}
    owned = [row for row in streams["OwnershipInterval"] if row.partition == 3]
    assert [row.from_offset for row in sorted(owned, key=lambda row: row.from_offset)] == [180, 258, 403]
    assert min(row.from_at for row in owned) == STREAMS_BEGAN + 5084


@pytest.fixture(scope="module")
def share() -> Rows:
    """The group g-share, with one member."""
    rows = capture_rows("kafka-4.3.1-all-types")
    return {table: [row for row in of_it if row.group_id == "g-share"] for table, of_it in rows.items()}


def test_epochs_and_states_of_a_share_group(share: Rows) -> None:
    epochs = sorted(share["Epoch"], key=lambda row: row.group_epoch)
    assert [(row.group_epoch, row.bump_offset, row.cause, row.status, row.assign_lag_ms) for row in epochs] == [
        (2, 431, "member_joined", "converged", 0),
        (3, 452, "partitions_initialized", "converged", 0),
        (4, 574, "member_left", "emptied", None),
    ]
    assert all(row.converged_at == row.bumped_at for row in epochs[:2])
    assert {row.partitions_moved for row in epochs} == {None}
    states = sorted(share["GroupStateInterval"], key=lambda row: row.from_offset)
    assert [(row.state, row.from_offset, row.hides_rebalance) for row in states] == [
        ("Stable", 435, True),
        ("Empty", 574, True),
    ]


def test_partitions_of_a_share_group(share: Rows) -> None:
    states = sorted(share["SharePartitionState"], key=lambda row: row.from_offset)
    assert [(row.topic, row.state, row.from_offset, row.partitions) for row in states] == [
        ("payments", "initializing", 435, (0, 1, 2, 3, 4, 5)),
        ("payments", "initialized", 445, (0, 1, 2, 3, 4, 5)),
    ]
    owned = share["OwnershipInterval"]
    assert sorted(row.partition for row in owned) == [0, 1, 2, 3, 4, 5]
    assert {(row.from_at, row.to_at) for row in owned} == {(1_795_247_810_534, 1_795_247_842_806)}
    assert share["PartitionHandover"] == []


def test_several_members_of_a_share_group_have_one_partition_at_a_time() -> None:
    owned = [row for row in kinds_rows("kafka-4.3.1-group-kinds")["OwnershipInterval"] if row.group_type == "share"]
    shared = sum(
        a.from_offset < b.from_offset and (a.to_at is None or a.to_at > b.from_at)
        for a in owned
        for b in owned
        if (a.group_id, a.topic_id, a.partition) == (b.group_id, b.topic_id, b.partition) and a is not b
    )
    assert shared > 0


@pytest.mark.parametrize("capture", CAPTURES)
def test_at_every_moment_of_a_rebalance_one_time_runs(capture: str) -> None:
    rebalances = kinds_rows(capture)["Rebalance"]
    assert len(rebalances) >= 6
    for row in rebalances:
        assert row.assigning_ms + row.late_ms + row.not_ready_ms == row.duration_ms


def test_some_groups_waited_for_a_topic() -> None:
    waited = [row.not_ready_ms for capture in CAPTURES for row in kinds_rows(capture)["Rebalance"] if row.not_ready_ms]
    # The source topic of ns-late is missing until its member gives up; the others wait for an assignment or a member.
    assert waited == [945]


@pytest.mark.parametrize("capture", CAPTURES)
def test_nothing_contradicts_the_protocol(capture: str) -> None:
    assert kinds_rows(capture)["Anomaly"] == []


@pytest.mark.parametrize("read", [compacted, read_by_night])
@pytest.mark.parametrize("capture", CAPTURES)
def test_what_is_called_observed_is_true(capture: str, read) -> None:
    whole, seen = kinds_rows(capture), Counter[str]()
    for seed in range(40):
        records, known = read(kinds_records(capture), random.Random(seed))  # noqa: S311 - no secret
        rows = replayed(records, ReplayInputs("kafka", _captured_at(capture), known))
        found, wrong = wrong_values(whole, rows)
        assert wrong == Counter(), seed
        assert rows["Anomaly"] == []
        seen += found
    tables = ["Epoch", "RebalanceLag", "TaskHandover", "OwnershipInterval", "Rebalance"]
    tables += ["SharePartitionState"] if whole["SharePartitionState"] else []
    assert min(seen[table] for table in tables) > 9


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_present_state_is_that_of_the_whole_log(capture: str) -> None:
    whole = {row.group_id: row for row in kinds_rows(capture)["GroupState"]}
    for seed in range(20):
        records, known = compacted(kinds_records(capture), random.Random(seed))  # noqa: S311 - no secret
        rows = replayed(records, ReplayInputs("kafka", _captured_at(capture), known))
        present = {row.group_id: row for row in rows["GroupState"]}
        assert present.keys() == whole.keys()
        for group_id, row in whole.items():
            names = ("state", "group_type", "group_epoch", "assignment_epoch", "members", "topology_epoch")
            assert [getattr(present[group_id], name) for name in names] == [getattr(row, name) for name in names]


def _captured_at(capture: str) -> int:
    return max(record["timestamp"] for record in kinds_records(capture)) + 1000
