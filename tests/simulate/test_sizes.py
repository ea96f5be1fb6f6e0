"""Sizes of groups by a power law: few large ones, many small ones, and a hot one that is never at rest."""

from random import Random

import pytest

from kip848_records.simulate import Simulation
from kip848_records.simulate.behaviour import GroupScenario

SPEC = Simulation(groups=4_000, largest=5_000)
CHANCE = Random(1)  # noqa: S311 - a log, not a secret
SIZES = [SPEC.size(number, CHANCE) for number in range(SPEC.groups)]


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32])
def test_half_as_many_groups_are_twice_as_large(size):
    larger, twice = (sum(found >= least for found in SIZES) for least in (size, 2 * size))
    assert twice / larger == pytest.approx(1 / 2, abs=0.1)


def test_no_group_is_larger_than_the_first():
    assert SIZES[0] == SPEC.largest
    assert 100 < max(SIZES[1:]) <= SPEC.largest
    assert min(SIZES) == 1


def test_a_large_group_has_a_topic_with_a_partition_for_each_member():
    topics = dict(SPEC.topics())
    for number, size in enumerate(SIZES[:500]):
        wanted = SPEC.subscribed(number, CHANCE)
        assert size <= 8 or any(topics[name] >= size for name in wanted)


def test_the_hot_group_is_never_at_rest():
    assert GroupScenario(SPEC, 0, lambda time: time).kind == "churn"
