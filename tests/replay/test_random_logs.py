"""Random logs, of which much is unknown: no record is refused, and what waits in files is what would wait in memory.

The replay is its own oracle: with rows in memory for rows in files. `tests/replay/test_coordinator.py` and
`test_simulated.py` compare those with others.
"""

import random
from typing import Any

import pytest

from kip848_records.replay.group import spill
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from tests.replay.captures import CAPTURED_AT
from tests.replay.logs import Rows, inputs_of, replayed
from tests.replay.owned import overlapping
from tests.replay.random_log import random_records
from tests.seeds import daily_seeds, nightly

HISTORIES = {"observed", "left_censored", "right_censored", "censored"}


@pytest.mark.parametrize("seed", [*range(5), *nightly(daily_seeds(60, "random logs"))])
def test_whatever_is_known(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)  # noqa: S311 - no secret
    limit_rows(monkeypatch, rng.choice([3, 50, 20_000]))
    lost = rng.choice([0, 0.05, 0.3])
    records = [
        _damaged(record, rng) for record in random_records(seed, groups=12, operations=20, partitions=2, lost=lost)
    ]
    last = max(record["offset"] for record in records)
    known = {partition: _known(rng, last) for partition in range(2) if rng.random() < 0.85}
    rows = replayed(records, ReplayInputs("kafka", rng.choice([None, CAPTURED_AT]), known, offset_commits=True))
    for table in rows.values():
        for row in table:
            assert getattr(row, "history", "observed") in HISTORIES
    for row in rows["Rebalance"]:
        times = (row.assigning_ms, row.late_ms, row.unowned_ms, row.longest_unowned_ms)
        assert min(0 if each is None else each for each in times) >= 0
        if (
            row.history in {"observed", "right_censored"}
            and not row.clock_skew
            and row.duration_ms is not None
            and row.late_ms is not None
        ):
            assert row.assigning_ms + row.late_ms <= row.duration_ms
    for row in rows["RebalanceLag"]:
        assert (row.revoke_ms or 0) >= 0
        assert (row.wait_ms or 0) >= 0
    assert overlapping(rows["OwnedPartition"]) == []


@pytest.mark.parametrize("seed", [0, *nightly(daily_seeds(5, "rows in files"))])
def test_rows_that_wait_in_files(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    records = random_records(seed, groups=12, operations=60, partitions=2)
    inputs = inputs_of({0: 0, 1: 700}, CAPTURED_AT)
    in_memory = replayed(records, inputs)
    limit_rows(monkeypatch, 2)
    assert in_order(replayed(records, inputs)) == in_order(in_memory)


def test_records_of_a_draft_come_in_one() -> None:
    """Its type 6 has the targets of all members, which the reader gives the offset of the assignment."""
    records = [
        {"type": 5, "key": {"memberId": "a"}, "value": {"subscribedTopicNames": []}, "offset": 0},
        {"type": 3, "key": {}, "value": {"epoch": 1}, "offset": 1},
        {"type": 7, "key": {"memberId": "a"}, "value": {"topicPartitions": []}, "offset": 2},
        {"type": 6, "key": {}, "value": {"assignmentEpoch": 1}, "offset": 2},
        {"type": 8, "key": {"memberId": "a"}, "value": {"memberEpoch": 1}, "offset": 3},
    ]
    placed = [{**each, "key": {"groupId": "g", **each["key"]}, "partition": 0, "timestamp": 5} for each in records]
    (state,) = replayed(placed, inputs_of({0: 0}, 10, dialect="kip-848-draft"))["GroupState"]
    assert (state.operations, state.state, state.assignment_epoch) == (1, "unknown", 1)


def limit_rows(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """So many rows of each kind stay in memory."""
    monkeypatch.setattr(spill, "LIMIT", limit)


def in_order(rows: Rows) -> dict[str, list[Any]]:
    return {table: sorted(of_table, key=repr) for table, of_table in rows.items()}


def _damaged(record: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.003:
        return {**record, "lost": True, "value": None}
    return {**record, "timestamp": None} if rng.random() < 0.003 else record


def _known(rng: random.Random, last: int) -> PartitionCoverage:
    cuts = sorted(rng.sample(range(last + 2), rng.choice([2, 4, 6])))
    ranges = tuple(zip(cuts[::2], cuts[1::2], strict=True))
    first_loss = rng.randrange(last)
    is_damaged = rng.random() < 0.2
    return PartitionCoverage(
        rng.choice([ranges, ((0, last + 1),)]),
        log_start_missing=rng.random() < 0.2,
        last_offset=last,
        tombstone_gaps=tuple(sorted(rng.sample(range(last), rng.choice([0, 2])))),
        first_loss=first_loss if is_damaged else None,
        last_loss=rng.randrange(first_loss, last + 5) if is_damaged else None,
    )
