"""Jobs and crash loops whose processes have new names each time: a job is no loop, and each loop is told."""

from collections import Counter
from random import Random
from typing import Any

import pytest

from tests.replay.diagnosis.plans import Names, Stay, crashes, job, others, rows_of
from tests.seeds import daily_seeds, nightly

HOUR = 3600
SEEDS = [*range(4), *nightly([*range(4, 200), *daily_seeds(100, "jobs and loops")])]
FEWER = [*range(2), *nightly([*range(2, 50), *daily_seeds(25, "crashes beside jobs")])]


def told(stays: list[Stay], until: float) -> list[Any]:
    return rows_of(stays, until)["Diagnosis"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_is_no_loop(seed: int) -> None:
    stays = job(Random(seed))  # noqa: S311
    rows = told(stays, max(stay.left or 0 for stay in stays) + 60)
    assert [(row.pattern, row.severity) for row in rows] == [("job", "info")]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crash_loop_is_told(seed: int) -> None:
    rng = Random(seed)  # noqa: S311
    rows = told([*others(rng), *crashes(rng, 0, 2 * HOUR)], 2 * HOUR)
    assert {(row.pattern, row.explained_by) for row in rows} == {("restart_loop", None)}


@pytest.mark.parametrize("seed", FEWER)
def test_a_crash_loop_beside_a_job_is_told_and_the_job_s_runs_are_no_part_of_it(seed: int) -> None:
    rng = Random(f"beside {seed}")  # noqa: S311
    names, processes, length = Names(rng, "job"), rng.choice([1, 2]), 60 * rng.uniform(25, 50)
    runs: list[Stay] = []
    crashing: list[Stay] = []
    for begin in (number * HOUR + rng.uniform(0, 20) for number in range(6)):
        runs += [
            Stay(*names.new(), begin + rng.uniform(0, 3), begin + length - rng.uniform(0, 8)) for _ in range(processes)
        ]
        found = crashes(rng, begin + 40, begin + length - 90, rng.choice(["job", "crash"]), most=120)
        crashing += [stay for stay in found if (stay.left or 0) < begin + length]
    rows = told([*runs, *crashing], 6 * HOUR)
    counts = Counter[str]()
    for row in rows:
        counts[row.pattern] += row.count
        assert row.explained_by is None
    assert counts["job"] == 6
    assert 0.7 * len(crashing) <= counts["restart_loop"] <= len(crashing)
    assert "storm" not in counts


def test_a_member_that_starts_each_five_minutes_to_the_second_is_a_job() -> None:
    """As a withheld log had it: a new name and address each time, for 2 min 47 s."""
    names = Names(Random(1), "sync")  # noqa: S311
    stays = [Stay(*names.new(), 300 * number, 300 * number + 167) for number in range(40)]
    (row,) = told(stays, 300 * 40)
    assert (row.pattern, row.severity, row.count) == ("job", "info", 40)
