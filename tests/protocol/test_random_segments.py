"""Random and damaged segments: the rows of the plain reader, as far as the damage leaves them comparable.

`make fuzz` runs the same cases for as long as one likes.
"""

import random

import pytest

from tests.fuzz_cases import CASES
from tests.protocol.random_segments import captured_batches, random_record, with_damaged_records
from tests.protocol.segment_comparisons import compare_segment, read
from tests.protocol.segment_writer import CODECS, write_batch
from tests.seeds import daily_seeds, nightly_rows

SEED = 848


@pytest.fixture
def rng():
    return random.Random(SEED)  # noqa: S311 - not for secrets


def test_what_was_written_is_read(rng):
    written = [random_record(rng, offset) for offset in range(600)]
    batches = [write_batch(written[at : at + 5], codec=rng.choice(CODECS)) for at in range(0, 600, 5)]
    assert [(row["offset"], row["timestamp"], row["key"], row["value"]) for row in read(b"".join(batches))] == [
        (record.offset, record.timestamp, record.key, record.value) for record in written
    ]


def test_damaged_records_are_found_by_the_plain_reader(rng):
    good = [compare_segment([with_damaged_records(rng, batch)], 0) for batch in captured_batches()[0][:300]]
    assert 0 < sum(good) < len(good)


@pytest.mark.parametrize(
    ("seed", "cases"), [(SEED, 40), *nightly_rows((seed, 400) for seed in daily_seeds(2, "segments"))]
)
def test_random_cases(seed, cases):
    for number in range(cases):
        case = CASES["segments"](random.Random(f"segments/{seed}/{number}"))  # noqa: S311 - not for secrets
        case.check(case.items)
