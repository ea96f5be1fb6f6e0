"""The search for the first value that is large enough, against one that looks at every value."""

import random

import numpy as np

from kip848_records.replay.commits.arrays import first_at_least


def test_the_first_value_that_is_large_enough():
    rng = random.Random(848)  # noqa: S311 - numbers, not secrets
    for size in [*range(20), 1000]:
        values = [rng.randrange(-1, size + 1) for _ in range(size)]
        begins = [rng.randrange(size + 1) for _ in range(50)]
        bounds = [rng.randrange(size + 3) for _ in range(50)]
        expected = [
            next((at for at in range(begin, size) if values[at] >= bound), size)
            for begin, bound in zip(begins, bounds, strict=True)
        ]
        arrays = (np.array(each, np.int64) for each in (values, begins, bounds))
        assert first_at_least(*arrays).tolist() == expected
