"""Random walks of groups of every kind, each without one record: what may have ended in it is not called open.

The replay is its own oracle: the rows of a part are compared with its rows of the whole log.
`tests/replay/test_coordinator.py` and `test_simulated.py` compare those with others.
"""

from collections import Counter

import pyarrow as pa
import pytest

from kip848_records.replay.decode.grouped_rows import LOG_SCHEMA
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from tests.replay.log_batches import log_batch
from tests.replay.lost_parts import called_open, contradictions, replayed_batches
from tests.seeds import daily_seeds, nightly
from tests.simulator.walked import written
from tests.simulator.walks.observed_walks import OBSERVED_WALKS

END = 1 << 40
STEPS = 40


def replayed_without(rows, captured_at, lost=None):
    """The rows of a log of one group, by class; without the record at an offset, which was lost."""
    ranges = ((0, END),) if lost is None else ((0, lost), (lost + 1, END))
    partition = PartitionCoverage(ranges, last_offset=END - 1, first_loss=lost, last_loss=lost)
    batch = log_batch([row for row in rows if row["offset"] != lost], pa.schema(LOG_SCHEMA))
    return replayed_batches(ReplayInputs("kafka", captured_at, dict.fromkeys(range(50), partition)), [batch])


@pytest.mark.parametrize("kind", OBSERVED_WALKS)
@pytest.mark.parametrize("seeds", [(3,), *nightly([daily_seeds(5, "lost records")])], ids=str)
def test_a_lost_record_ends_what_is_open(kind, seeds):
    seen = Counter()
    for seed in seeds:
        rows, captured_at, _ = written(OBSERVED_WALKS[kind](seed), STEPS)
        whole = replayed_without(rows, captured_at)
        for lost in range(0, len(rows), 1 + len(rows) // 25):
            found = replayed_without(rows, captured_at, lost)
            assert contradictions(whole, whole, found) == Counter()
            assert [row for began, row in called_open(found) if began < lost] == []
            seen.update(f"rebalance {row.outcome}" for row in found["Rebalance"])
            seen.update(f"task {row.status}" for row in found["TaskHandover"])
    expected = {"rebalance unknown"} | ({"task unknown"} if kind in {"connect", "streams"} else set())
    assert expected <= seen.keys()
