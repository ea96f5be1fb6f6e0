"""Logs of a simulated coordinator: what must be true of any that nothing is missing from."""

from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.simulate import Simulation, simulate
from tests.replay.compaction import wrong_values
from tests.replay.logs import Rows, inputs_of, replayed
from tests.simulate.decoded import records_of

SHAPES = {
    "4.0": Simulation(groups=6, members=3, hours=0.15, happening_s=20, partitions=2, seed=1, release="4.0"),
    "4.3": Simulation(groups=6, members=3, hours=0.15, happening_s=20, partitions=2, seed=2),
    "many members": Simulation(groups=2, members=12, hours=0.15, happening_s=20, partitions=1, seed=3),
    "busy": Simulation(groups=3, members=6, hours=0.2, happening_s=10, partitions=1, seed=6, release="4.0"),
}


@cache
def simulated(shape: str, *, compacted: bool = False) -> tuple[list[Any], int]:
    """The records, and when they were captured."""
    spec = SHAPES[shape]
    with TemporaryDirectory() as folder:
        made = simulate(
            Simulation(**{**vars(spec), "compacted": compacted, "commit_interval_ms": 0}), Path(folder) / "out"
        )
        return records_of(made.log), made.captured_at


@cache
def rows_of(shape: str) -> Rows:
    records, captured_at = simulated(shape)
    return replayed(records, inputs_of(dict.fromkeys(range(SHAPES[shape].partitions), 0), captured_at))


@pytest.mark.parametrize("shape", SHAPES)
def test_at_every_moment_of_a_rebalance_the_group_is_assigning_or_some_member_is_late(shape: str) -> None:
    rebalances = [row for row in rows_of(shape)["Rebalance"] if row.group_type != "classic"]
    assert len(rebalances) > 10
    assert any(row.late_ms and row.assigning_ms for row in rebalances)
    for row in rebalances:
        assert row.clock_skew or row.assigning_ms + row.late_ms == row.duration_ms


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_contradicts_the_protocol(shape: str) -> None:
    assert rows_of(shape)["Anomaly"] == []


@pytest.mark.parametrize("shape", SHAPES)
def test_every_row_is_seen_and_of_a_key_of_its_own(shape: str) -> None:
    rows = rows_of(shape)
    keys = {
        "Epoch": ("group_id", "incarnation", "group_epoch"),
        "RebalanceLag": ("group_id", "incarnation", "group_epoch", "member_id"),
        "PartitionHandover": ("group_id", "topic_id", "topic", "partition", "released_offset", "acquired_offset"),
        "GroupStateInterval": ("group_id", "from_offset"),
        "Rebalance": ("group_id", "incarnation", "group_type", "began_offset"),
        "MemberStateInterval": ("group_id", "member_id", "from_offset"),
        "Membership": ("group_id", "incarnation", "group_type", "member_id", "joined_offset"),
    }
    for table, names in keys.items():
        found = Counter(tuple(getattr(row, name) for name in names) for row in rows[table])
        assert max(found.values()) == 1, table
        assert {row.history for row in rows[table]} <= {"observed", "right_censored"}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_rows_say_of_one_another(shape: str) -> None:
    rows = rows_of(shape)
    epochs = {(row.group_id, row.incarnation, row.group_epoch): row for row in rows["Epoch"]}
    covered = Counter[Any]()
    for row in (row for row in rows["Rebalance"] if row.group_type != "classic"):
        covered.update(
            key
            for key in epochs
            if key[:2] == (row.group_id, row.incarnation) and row.first_epoch <= key[2] <= row.last_epoch
        )
        assert row.blockers_count >= len(row.blockers)
        assert all(each.late_ms <= row.late_ms for each in row.blockers)
        assert row.longest_unowned_ms <= row.unowned_ms
    # A group that leaves Empty without a bump has its last epoch twice.
    assert epochs.keys() == covered.keys()
    for row in rows["RebalanceLag"]:
        if row.status == "reconciled":
            assert row.behind_since <= row.first_bumped_at <= row.reconciled_at
            assert row.clock_skew or row.revoke_ms + row.wait_ms <= row.reconciled_at - row.target_at
    for row in rows["PartitionHandover"]:
        if row.unowned_ms is not None and not row.clock_skew:
            assert 0 <= row.wanted_ms <= row.unowned_ms
            assert row.wanted or row.wanted_ms == 0 or row.acquired_offset is None


@pytest.mark.parametrize("shape", ["4.0", "4.3", "many members"])
def test_what_a_compacted_log_calls_observed_is_true(shape: str) -> None:
    records, captured_at = simulated(shape, compacted=True)
    assert len(records) < len(simulated(shape)[0]) / 2
    known = {}
    for partition in range(SHAPES[shape].partitions):
        of_it = [record for record in records if record["partition"] == partition]
        seen: set[Any] = set()
        repeated = next(record["offset"] for record in of_it if _key(record) in seen or seen.add(_key(record)))
        last = of_it[-1]["offset"]
        known[partition] = PartitionCoverage(((repeated, last + 1),), last_offset=last)
    rows = replayed(records, ReplayInputs("kafka", captured_at, known))
    seen_rows, wrong = wrong_values(rows_of(shape), rows)
    assert wrong == Counter()
    assert sum(seen_rows.values()) > 100
    assert {row.group_id: row.state for row in rows["GroupState"]} == {
        row.group_id: row.state for row in rows_of(shape)["GroupState"]
    }


def _key(record: dict[str, Any]) -> Any:
    return record["type"], tuple(sorted(record["key"].items()))
