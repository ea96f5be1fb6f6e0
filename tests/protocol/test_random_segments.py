"""Random and damaged segments: the rows of the plain reader, as far as the damage leaves them comparable.

`make fuzz` runs the same cases for as long as one likes.
"""

import random

import pytest

from tests.fuzz_cases import CASES
from tests.protocol.plain_segments import plain_rows
from tests.protocol.random_segments import captured_batches, random_batch, with_damaged_records
from tests.protocol.segment_comparisons import compare_segment
from tests.protocol.segment_reference import read_rows

SEED = 848


@pytest.fixture
def rng():
    return random.Random(SEED)  # noqa: S311 - not for secrets


def random_batches(rng):
    offset, batches = 5, []
    for _ in range(8):
        batch, covered = random_batch(rng, offset)
        batches.append(batch)
        offset += covered + rng.choice((0, 3))
    return batches


def test_the_two_plain_readers_agree_on_good_segments(rng):
    for batches in [*captured_batches(), *(random_batches(rng) for _ in range(30))]:
        expected = [row | {"error": False} for row in read_rows(b"".join(batches), 0)]
        assert plain_rows(batches, 0) == expected


def test_damaged_records_are_found_by_the_plain_reader(rng):
    good = [compare_segment([with_damaged_records(rng, batch)], 0) for batch in captured_batches()[0][:300]]
    assert 0 < sum(good) < len(good)


def test_random_cases():
    for number in range(400):
        case = CASES["segments"](random.Random(f"segments/{SEED}/{number}"))  # noqa: S311 - not for secrets
        case.check(case.items)
