"""Random and damaged messages and rows: the verdict and the values of the plain decoder, for each.

`make fuzz` runs the same cases for as long as one likes.
"""

import random

import pytest

from tests.fuzz_cases import CASES, noise, short_messages
from tests.protocol.comparisons import compare_messages
from tests.protocol.damage import mutate
from tests.protocol.layouts import LAYOUTS
from tests.protocol.plain_records import attempt
from tests.protocol.random_messages import random_message
from tests.seeds import daily_seeds, nightly_rows

SEED = 848
BATCH = 500


@pytest.fixture(scope="module")
def samples():
    return {layout: messages for layout, messages in short_messages().items() if messages}


@pytest.fixture
def rng():
    return random.Random(SEED)  # noqa: S311 - not for secrets


@pytest.mark.parametrize(("size", "seed"), [(10, SEED), *nightly_rows([(10 * BATCH, *daily_seeds(1, "damaged"))])])
def test_damaged_messages(samples, size, seed):
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    good = 0
    for layout, messages in samples.items():
        damaged = [mutate(rng, rng.choice(messages), rng.choice(messages)) for _ in range(size)]
        good += compare_messages(layout, damaged)
    assert size * len(samples) * 0.1 < good < size * len(samples) * 0.9


def test_random_bytes(rng):
    for layout in LAYOUTS:
        compare_messages(layout, [noise(rng) for _ in range(200)])


def test_random_messages_decode(rng):
    """What is written by the rules is good, but for a string that may be too long."""
    for layout, name in LAYOUTS.items():
        messages = [random_message(rng, layout) for _ in range(40)]
        assert compare_messages(layout, messages) >= sum(len(message) < 30_000 for message in messages), name


@pytest.mark.slow
def test_random_messages_are_odd(rng):
    """What the tests themselves write is odd enough to be worth decoding."""
    for layout, name in LAYOUTS.items():
        messages = [random_message(rng, layout, oddity=0.2) for _ in range(300)]
        assert sum(attempt(layout, message) is None for message in messages) > 30, name


@pytest.mark.parametrize(
    ("seed", "share"), [(SEED, 8), *nightly_rows((seed, 1) for seed in daily_seeds(2, "messages"))]
)
@pytest.mark.parametrize(("kind", "cases"), [("messages", 120), ("records", 40), ("json", 10)])
def test_random_cases(kind, cases, seed, share):
    for number in range(cases // share):
        case = CASES[kind](random.Random(f"{kind}/{seed}/{number}"))  # noqa: S311 - not for secrets
        assert 0 <= case.check(case.items) <= len(case.items)
