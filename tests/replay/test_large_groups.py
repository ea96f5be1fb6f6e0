"""One group of ever so many records takes the memory of a small one, whatever it does."""

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from kip848_records.replay.diagnosis import observed
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.records import Record
from tests.replay.large_groups import SHAPES, never_assigned
from tests.replay.logs import END
from tests.replay.test_random_logs import limit_rows
from tests.seeds import nightly

COVERAGES = {
    "complete": PartitionCoverage(((0, END),), last_offset=END - 1),
    "unknown": PartitionCoverage(),
    "start missing": PartitionCoverage(((0, END),), log_start_missing=True, last_offset=END - 1),
}

ATTEMPTS = 3
"""Other threads of the process allocate memory too; what the replay itself holds shows each time."""


QUICK = [(never_assigned, "complete"), (never_assigned, "unknown")]
EACH = [each for each in product(SHAPES, COVERAGES) if each not in QUICK]


@pytest.mark.parametrize("case", [*QUICK, *nightly(EACH)], ids=lambda case: f"{case[0].__name__}, {case[1]}")
def test_memory_does_not_grow_with_the_records(
    case: tuple[Callable[[int], Iterator[Record]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, coverage = case
    limit_rows(monkeypatch, 200)
    monkeypatch.setattr(observed, "REMEMBERED", 200)
    peak_of(shape(50), COVERAGES[coverage])  # imports what the kind of group needs
    few, rows_of_few = peak_of(shape(250), COVERAGES[coverage])
    # Ids of members that were there take some bytes each, also those that triggered a bump; a row some hundred.
    most = few * 1.5 + 100_000
    for _ in range(ATTEMPTS):
        many, rows_of_many = peak_of(shape(1000), COVERAGES[coverage])
        if many < most:
            break
    assert rows_of_many > 3.5 * rows_of_few
    assert many < most < 60 * rows_of_many + 400_000


def peak_of(records: Iterator[Record], coverage: PartitionCoverage) -> tuple[int, int]:
    """The most memory that a replay held at a time, in bytes, and its rows."""
    numbers = PartitionNumbers()
    numbers.topic("topic")
    group = GroupReplay(ReplayInputs("kafka", 10**13, {0: coverage}), numbers, 0, "group")
    tracemalloc.start()
    for record in records:
        group.replay(record)
    rows = sum(1 for _ in group.finish())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, rows
