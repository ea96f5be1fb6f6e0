"""The simulator's truth is what the plain replay of its log finds, for any seed, shape and release."""

import pyarrow.parquet as pq
import pytest

from kip848_records.simulate import Simulation, simulate
from tests.simulate.decoded import in_ms, records_of
from tests.simulate.replayed import TIMELINES, replayed

SHAPES = {
    "small": {"groups": 8, "members": 3, "hours": 0.2, "happening_s": 20, "partitions": 3},
    "long": {"groups": 3, "members": 3, "hours": 2, "partitions": 2},
    "large": {"groups": 2, "members": 10, "hours": 0.15, "happening_s": 30, "partitions": 1},
    "skewed": {"groups": 4, "hours": 0.1, "happening_s": 40, "largest": 15},
    "one partition": {"groups": 8, "hours": 0.2, "happening_s": 60, "partitions": 1},
}


@pytest.mark.parametrize("release", ["4.0", "4.3"])
@pytest.mark.parametrize("shape", SHAPES)
def test_truth_is_what_the_log_says(shape, release, tmp_path):
    spec = Simulation(**SHAPES[shape], seed=len(shape), release=release, commit_interval_ms=0)
    simulated = simulate(spec, tmp_path / "out")
    found = replayed(records_of(simulated.log), simulated.captured_at)
    for timeline in TIMELINES:
        truth = [in_ms(row) for row in pq.read_table(simulated.truth / f"{timeline}.parquet").to_pylist()]
        assert truth
        same = [{column: row[column] for column in truth[0]} for row in found[timeline]]
        assert sorted(truth, key=repr) == sorted(same, key=repr)
