"""Seeds of random tests. Tests with the marks `nightly` and `daily` have others each day, which a failure shows."""

import os
from collections import defaultdict
from datetime import UTC, datetime
from random import Random

import pytest

VARIABLE = "KIP848_TESTS_SEED"
"""The environment variable that holds the seed of the day. Set it to repeat the tests of another day."""

_LARGEST = 1_000_000


def seed_of_the_day():
    """Return one number for all tests of a run: today's date, or the value of the variable."""
    return int(os.environ.get(VARIABLE) or f"{datetime.now(UTC):%Y%m%d}")


def share_with_workers():
    """Give all workers of a run the same seed, even if midnight passes before they start."""
    os.environ[VARIABLE] = str(seed_of_the_day())


def how_to_repeat():
    """Return a line for the header of a run, and for each test that fails with a seed of the day."""
    return f"seed of the day: {seed_of_the_day()}; to repeat its random tests, set {VARIABLE}={seed_of_the_day()}"


def daily_seeds(count, name):
    """Return `count` seeds. They differ each day; tests with different names get different seeds."""
    return daily_sample(range(_LARGEST), count, name)


def daily_sample(cases, count, name):
    """Return `count` of the cases, in their order. The choice differs each day, and from name to name."""
    chosen = Random(f"{seed_of_the_day()}/{name}").sample(range(len(cases)), min(count, len(cases)))  # noqa: S311
    return [cases[place] for place in sorted(chosen)]


def few(cases, count, name):
    """Return cases as parameters: the day's choice of `count` has the mark `daily`, the others `nightly`.

    A row of several parameters is a tuple.
    """
    return _marked(cases, daily_sample(range(len(cases)), count, name))


def one_of_each(cases, key, name):
    """Return cases as parameters as `few` does. It chooses one of those that have the same key."""
    alike = defaultdict(list)
    for place, case in enumerate(cases):
        alike[key(case)].append(place)
    chosen = [place for each, places in alike.items() for place in daily_sample(places, 1, f"{name} {each}")]
    return _marked(cases, chosen)


def _marked(cases, chosen):
    marks = dict.fromkeys(chosen, pytest.mark.daily)
    return [
        pytest.param(*(case if type(case) is tuple else (case,)), marks=marks.get(place, pytest.mark.nightly))
        for place, case in enumerate(cases)
    ]


def nightly(cases):
    """Return cases as parameters with the mark `nightly`."""
    return nightly_rows((case,) for case in cases)


def nightly_rows(rows):
    """Return cases of several parameters each with the mark `nightly`."""
    return [pytest.param(*row, marks=pytest.mark.nightly) for row in rows]
