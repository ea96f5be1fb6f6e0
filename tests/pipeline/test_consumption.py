"""A committed transaction counts from its marker on; one that is aborted or pending never counts."""

from typing import Any

import pyarrow as pa
import pytest

from kip848_records.decode.records import undecoded
from kip848_records.pipeline.consumption import stops_of_consumption
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.rows import StoppedPartition, row_type
from kip848_records.simulate.broker.operation import Record
from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.encoding import encode
from kip848_records.sources.transactions import with_outcomes
from kip848_records.specs.log_columns import LOG_COLUMNS
from kip848_records.times import utc
from tests.log_rows import table_of

INPUTS = ReplayInputs("kafka", None, {0: PartitionCoverage(((0, 100),), last_offset=99)}, offset_commits=True)
PRODUCER = 7


def row(offset: int, seconds: int, **columns: Any) -> dict[str, Any]:
    return {"partition": 0, "offset": offset, "timestamp": utc(seconds * 1000), "copies": [], **columns}


def commit(offset: int, seconds: int, committed: int, transaction: str = "none") -> dict[str, Any]:
    value = {"offset": committed, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0}
    key, encoded = encode(Record(1, {"group": "g", "topic": "t", "partition": 3}, value), KAFKA_4_3)
    producer = -1 if transaction == "none" else PRODUCER
    return row(offset, seconds, key=key, value=encoded, key_type=1, transaction=transaction, producer_id=producer)


def marker(offset: int, seconds: int, control: str) -> dict[str, Any]:
    return row(offset, seconds, control=control, producer_id=PRODUCER)


@pytest.fixture
def stops(engine):
    """The stop of one partition by these commits: the rebalance is at offset 40, the generation before from 10 on."""
    columns = {"offsets_partition": 0, "group_id": "g", "incarnation": 0, "group_type": "classic", "epoch": 2}
    columns |= {"topic": "t", "partition": 3, "kind": "moved", "offset": 40, "rebalance_offset": 40}
    columns |= {"round_before": 10, "is_one_round": True, "history": "observed"}
    stopped = engine.relation(pa.Table.from_pylist([columns], pa.schema(list(row_type(StoppedPartition)))))

    def run(*rows):
        log = with_outcomes(engine, engine.relation(pa.Table.from_pylist(rows, LOG_COLUMNS)))
        return table_of(stops_of_consumption(engine, log, undecoded(engine, log, "kafka"), stopped, INPUTS)).to_pylist()

    return run


def test_a_transaction_counts_from_its_marker_on(stops):
    rows = [commit(20 + nth, nth * 5, nth) for nth in range(5)]
    rows += [commit(41, 25, 9, "aborted"), marker(42, 26, "abort")]
    rows += [commit(43, 30, 5, "committed"), commit(44, 31, 6, "committed"), marker(45, 35, "commit")]
    (found,) = stops(*rows, commit(46, 90, 7, "pending"))
    assert (found["first_progress_at"], found["stop_max_ms"]) == (utc(35_000), 15_000)
    assert (found["usual_ms"], found["history"]) == (5_000, "observed")


def test_a_transaction_whose_marker_is_behind_the_rebalance_is_no_progress_before_it(stops):
    rows = [commit(20 + nth, nth * 5, nth) for nth in range(5)]
    (found,) = stops(*rows, commit(39, 21, 5, "committed"), marker(41, 30, "commit"))
    assert (found["last_progress_at"], found["first_progress_at"]) == (utc(20_000), utc(30_000))


def test_progress_behind_a_tombstone_begins_anew(stops):
    rows = [commit(20 + nth, nth * 5, nth) for nth in range(5)]
    deleted = commit(41, 25, 9) | {"value": None}
    (found,) = stops(*rows, deleted, commit(43, 30, 5))
    assert (found["first_progress_at"], found["history"]) == (None, "right_censored")
    (found,) = stops(*rows, commit(43, 30, 5))
    assert (found["first_progress_at"], found["history"]) == (utc(30_000), "observed")
