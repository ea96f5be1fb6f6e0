"""The medians of steps, for keys and steps of any size."""

import numpy as np
import pytest

from kip848_records.replay.commits.medians import Steps
from kip848_records.times import FIRST_MS, LAST_MS


def medians(steps_of_keys):
    steps = Steps()
    for key, numbers in steps_of_keys.items():
        steps.add(np.full(len(numbers), key), np.array(numbers))
    found = steps.medians(max(steps_of_keys) + 1, 1)
    return {key: int(found[key]) for key in steps_of_keys}


@pytest.mark.parametrize("key", [0, 1, 2**19 - 1, 2**19, 2**20])
def test_a_key(key):
    assert medians({key: [3, 16_383, 5], key + 1: [7]}) == {key: 5, key + 1: 7}


@pytest.mark.parametrize("step", [2**14, 10**9, 2**44, 2**44 + 1, LAST_MS - FIRST_MS])
def test_a_long_step_is_almost_exact(step):
    found = medians({3: [step], 4: [1]})
    assert found == {3: pytest.approx(step, rel=0.001), 4: 1}


def test_two_commits_in_a_millisecond_are_a_step_and_a_clock_that_went_back_is_none():
    assert medians({3: [0, 0, 0, 9, -5, -7], 4: [0, -1]}) == {3: 0, 4: 0}
