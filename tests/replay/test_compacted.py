"""Logs that the cleaner has been through: the present is that of the whole log, and no claim about the past false.

The replay is its own oracle: the rows of a log's rest are compared with its rows of the whole log.
`tests/replay/test_coordinator.py` and `test_simulated.py` compare those with others.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from kip848_records.replay.inputs import ReplayInputs
from tests.replay.captures import CAPTURED_AT, NAMES, capture_records, capture_rows
from tests.replay.compaction import compacted, odd_groups, read_by_night, wrong_values
from tests.replay.logs import inputs_of, replayed
from tests.replay.random_log import random_records
from tests.seeds import daily_seeds, nightly

Read = Callable[[Any, random.Random], tuple[Any, Any]]


@pytest.mark.parametrize("seed", [0, *nightly(daily_seeds(8, "compacted captures"))])
@pytest.mark.parametrize("read", [compacted, read_by_night])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_called_observed_is_true(name: str, read: Read, seed: int) -> None:
    records, known = read(capture_records(name), random.Random(seed))  # noqa: S311 - no secret
    assert len(records) < len(capture_records(name))
    rows = replayed(records, ReplayInputs("kafka", CAPTURED_AT, known, offset_commits=True))
    seen, wrong = wrong_values(capture_rows(name), rows)
    assert wrong == Counter()
    assert sum(seen.values()) > 20
    assert rows["Anomaly"] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_present_state_is_that_of_the_whole_log(name: str) -> None:
    whole = {row.group_id: row for row in capture_rows(name)["GroupState"]}
    for seed in range(2):
        records, known = compacted(capture_records(name), random.Random(seed))  # noqa: S311 - no secret
        rows = replayed(records, ReplayInputs("kafka", CAPTURED_AT, known))
        present = {row.group_id: row for row in rows["GroupState"]}
        assert present.keys() == whole.keys()
        for group_id, row in whole.items():
            ours = present[group_id]
            assert (ours.state, ours.group_epoch, ours.assignment_epoch, ours.members) == (
                *(row.state, row.group_epoch, row.assignment_epoch),
                row.members,
            )


def test_nothing_that_the_log_shows_is_left_out() -> None:
    """What begins and ends where the history is complete is observed."""
    missed: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for name in NAMES:
        records, known = compacted(capture_records(name), random.Random(3))  # noqa: S311 - no secret
        rows = replayed(records, ReplayInputs("kafka", CAPTURED_AT, known, offset_commits=True))
        for table, begin in (("Epoch", "bump_offset"), ("GroupStateInterval", "from_offset")):
            ours = {(row.partition, getattr(row, begin)): row.history for row in rows[table]}
            for row in capture_rows(name)[table]:
                first = known[row.partition].complete_ranges[0][0]
                # A longest operation: one that begins before lies before as a whole.
                if getattr(row, begin) >= first + 20:
                    shown[table] += 1
                    missed[table] += ours.get((row.partition, getattr(row, begin))) != row.history
    assert min(shown.values()) > 20
    assert +missed == Counter()


@pytest.mark.parametrize("seed", [1, *nightly(daily_seeds(8, "compacted logs"))])
@pytest.mark.parametrize("read", [compacted, read_by_night])
def test_random_logs(read: Read, seed: int) -> None:
    whole = random_records(seed, groups=40, operations=30, partitions=3)
    true = replayed(whole, inputs_of(dict.fromkeys(range(3), 0), CAPTURED_AT))
    records, known = read(whole, random.Random(seed))  # noqa: S311 - no secret
    rows = replayed(records, ReplayInputs("kafka", CAPTURED_AT, known, offset_commits=True))
    seen, wrong = wrong_values(true, rows, odd_groups(true))
    assert wrong == Counter()
    assert sum(seen.values()) > 100
