"""The timelines of simulated logs, against what the simulator knows to have happened."""

from datetime import datetime, timezone

import pyarrow.parquet as pq
import pytest

from kip848_records.simulate import Simulation, simulate
from tests.simulate.decoded import in_ms, records_of
from tests.timeline.spark_rows import spark_rows
from tests.timeline.truth import comparable

SHAPES = [
    Simulation(groups=10, members=3, hours=0.3, happening_s=20, partitions=3, seed=1, release="4.0"),
    Simulation(groups=10, members=3, hours=0.3, happening_s=20, partitions=3, seed=2),
    Simulation(groups=4, members=12, hours=0.2, happening_s=20, partitions=2, seed=3),
    Simulation(groups=12, members=4, hours=1, partitions=2, seed=4),
    Simulation(groups=51, hours=0.1, happening_s=30, partitions=5, seed=5, largest=16),
    Simulation(groups=6, members=6, hours=0.3, happening_s=10, partitions=1, seed=6, release="4.0"),
]
TABLES = {
    "epoch_timeline": ("group_id", "incarnation", "group_epoch"),
    "rebalance_lag": ("group_id", "incarnation", "group_epoch", "member_id"),
    "partition_handover": ("group_id", "incarnation", "topic_id", "partition", "acquired_at"),
    "group_state_timeline": ("group_id", "incarnation", "from_offset"),
}
STRIDE = 100
CAPTURED_AT = round(datetime(2030, 1, 1, tzinfo=timezone.utc).timestamp() * 1000)
"""After all of them: one job tells all logs. How long what is open has lasted is the captures' to show."""


@pytest.fixture(scope="module")
def told_and_true(spark, tmp_path_factory):
    """By table: the rows that the package tells, and the true ones, by key. Each log has groups of its own."""
    records, complete = [], {}
    truth = {table: [] for table in TABLES}
    for nth, shape in enumerate(SHAPES):
        simulated = simulate(shape, tmp_path_factory.mktemp("simulated") / "out")
        records += [moved(record, nth) for record in records_of(simulated.log)]
        complete |= dict.fromkeys(range(STRIDE * nth, STRIDE * nth + shape.partitions), 0)
        for table in TABLES:
            rows = pq.read_table(simulated.truth / f"{table}.parquet").to_pylist()
            truth[table] += [in_ms(row) | {"group_id": f"{nth}/{row['group_id']}"} for row in rows]
    told = spark_rows(spark, records, complete, CAPTURED_AT, cut=4)
    return {table: (by_key(told[table], keys), by_key(truth[table], keys)) for table, keys in TABLES.items()}


def moved(record, nth):
    key = {name: f"{nth}/{v}" if name in ("groupId", "group") else v for name, v in record["key"].items()}
    return record | {"partition": record["partition"] + STRIDE * nth, "key": key}


def by_key(rows, names):
    keyed = {tuple(row[name] for name in names): row for row in rows}
    assert len(keyed) == len(rows)
    return keyed


@pytest.mark.parametrize("table", TABLES)
def test_what_is_told_is_true(told_and_true, table):
    told, truth = told_and_true[table]
    assert len(truth) > 100
    assert told.keys() == truth.keys()
    columns = next(iter(truth.values())).keys() & next(iter(told.values())).keys() - {"partition", "topic"}
    assert len(columns) >= 8
    for key, row in truth.items():
        assert comparable(told[key], columns) == comparable(row, columns), key


def test_the_logs_have_what_there_is_to_tell(told_and_true):
    _, epochs = told_and_true["epoch_timeline"]
    assert {row["status"] for row in epochs.values()} >= {"converged", "superseded", "emptied", "deleted", "open"}
    assert len({row["cause"] for row in epochs.values()}) >= 5
    _, lags = told_and_true["rebalance_lag"]
    assert {row["status"] for row in lags.values()} == {"reconciled", "left", "open"}
    assert any(row["blocked_by"] for row in lags.values())
    assert any(row["awaited"] for row in lags.values())
