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

SEED = 848
INPUTS = 50_000
BATCH = 500


@pytest.fixture
def rng():
    return random.Random(SEED)  # noqa: S311 - not for secrets


def test_damaged_messages(rng):
    samples = {layout: messages for layout, messages in short_messages().items() if messages}
    good = 0
    for _ in range(INPUTS // BATCH // len(samples) + 1):
        for layout, messages in samples.items():
            damaged = [mutate(rng, rng.choice(messages), rng.choice(messages)) for _ in range(BATCH)]
            good += compare_messages(layout, damaged)
    assert INPUTS * 0.1 < good < INPUTS * 0.9


def test_random_bytes(rng):
    for layout in LAYOUTS:
        compare_messages(layout, [noise(rng) for _ in range(200)])


def test_random_messages_decode(rng):
    """What is written by the rules is good, but for a string that may be too long."""
    for layout, name in LAYOUTS.items():
        messages = [random_message(rng, layout) for _ in range(100)]
        assert compare_messages(layout, messages) >= sum(len(message) < 30_000 for message in messages), name


def test_random_messages_are_odd(rng):
    for layout, name in LAYOUTS.items():
        messages = [random_message(rng, layout, oddity=0.2) for _ in range(300)]
        assert sum(attempt(layout, message) is None for message in messages) > 30, name


@pytest.mark.parametrize(("kind", "cases"), [("messages", 120), ("records", 40), ("json", 10)])
def test_random_cases(kind, cases):
    for number in range(cases):
        case = CASES[kind](random.Random(f"{kind}/{SEED}/{number}"))  # noqa: S311 - not for secrets
        assert 0 <= case.check(case.items) <= len(case.items)
