"""Copies of Kafka's coordinator's log that lost parts say nothing that the whole log contradicts.

The replay is its own oracle: the rows of a part are compared with its rows of the whole log.
`tests/replay/test_coordinator.py` and `test_simulated.py` compare those with others.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest

from kip848_records.replay.group.known_history import OBSERVED
from kip848_records.replay.group.vocabulary import UNKNOWN
from tests.replay.lost_parts import WholeLog, coverage_of, log_rows, parts_of, replayed_log
from tests.replay.segment_copies import captured_at
from tests.seeds import daily_seeds

CAPTURES = Path(__file__).parents[1] / "captures"
PARTITIONS = range(4)


@cache
def log(partition: int) -> WholeLog:
    return WholeLog(CAPTURES / "kafka-4.4.0-coordinator", partition)


def assert_true(losses: Sequence[tuple[int, int]], seeds: Iterable[int]) -> None:
    """`losses`: batches by partition and number, each of which one copy lacks, and another has damaged."""
    wrong: Counter[object] = Counter()
    observed = known = 0
    for partition, number in losses:
        of_it = log(partition)
        for files in (of_it.without(number), of_it.damaged(number)):
            found, rows = of_it.compared(files)
            wrong += found
            observed += sum(row.history == OBSERVED for table in ("Rebalance", "Epoch") for row in rows[table])
            known += sum(row.state != UNKNOWN for row in rows["GroupState"])
    for seed in seeds:
        rng = random.Random(seed)  # noqa: S311 - no secret
        of_it = log(rng.choice(PARTITIONS))
        wrong += of_it.compared(of_it.without_several(rng))[0]
    assert wrong == Counter()
    # Something is known: groups that were deleted behind the loss, and those of other partitions.
    assert observed > len(losses)
    assert known > len(losses) / 4


def test_what_is_lost() -> None:
    assert_true([(0, number) for number in range(20, 180, 40)], seeds=[])


@pytest.mark.nightly
def test_every_way_to_lose_a_part() -> None:
    losses = [(partition, number) for partition in PARTITIONS for number in range(len(log(partition).parts))]
    assert_true(losses, daily_seeds(500, "lost parts"))


def test_the_tombstone_of_a_classic_group() -> None:
    """The generations of the next group begin at 0 again: that contradicts none before the loss."""
    for files in (log(0).without(123), log(0).damaged(123)):
        found, rows = log(0).compared(files)
        assert found == Counter()
        assert [(row.kind, row.is_proven) for row in rows["Anomaly"]] == [("epoch_went_back", False)]


def test_the_last_generation_of_a_classic_group() -> None:
    """The generation before it, its members and whether it can be upgraded are no longer the present."""
    for files in (log(3).without(267), log(3).damaged(267)):
        found, rows = log(3).compared(files)
        assert found == Counter()
        (now,) = [row for row in rows["GroupState"] if row.group_id == "classic-0-kp"]
        assert (now.state, now.generation, now.members, now.members_away) == (UNKNOWN, None, None, None)
        assert (now.protocol_type, now.protocol, now.leader, now.upgradable) == (None, None, None, None)


def test_the_whole_log_is_complete() -> None:
    for partition in PARTITIONS:
        found, rows = log(partition).compared([log(partition).parts])
        assert found == Counter()
        assert {row.history for row in rows["GroupStateInterval"]} == {"observed", "right_censored"}


def test_a_lost_segment() -> None:
    """The file with the offsets 14 to 20 is missing: a member left in it."""
    copy = CAPTURES / "lost-segment"
    files = [parts_of(file.read_bytes()) for file in sorted(copy.glob("segments/*/*.log"))]
    rows = log_rows(2, files)
    coverage = coverage_of(rows)
    (base,) = coverage.copies
    assert (base.complete_from, base.log_start_missing) == (21, False)
    assert (base.first_lost_offset, base.last_lost_offset) == (14, 20)
    found = replayed_log(rows, coverage.partitions, captured_at(copy))
    (state,) = found["GroupState"]
    assert (state.state, state.members, state.has_lost_prefix, state.has_full_history) == (UNKNOWN, None, True, False)
    assert not any(row.is_proven for row in found["Anomaly"])
    assert not [row for table in found.values() for row in table if getattr(row, "history", None) == OBSERVED]
