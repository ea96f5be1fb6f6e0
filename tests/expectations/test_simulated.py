"""Logs of the simulator, whole and compacted: of a log that is right no invariant is said to be violated."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow.parquet as pq
import pytest

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.queries.duck import DuckTables
from kip848_records.simulate import Simulation, simulate
from tests.audits import audit_rows

STRIDE = 100
SHAPE = Simulation(groups=6, members=4, hours=0.3, happening_s=20, partitions=1, commit_interval_ms=60_000)
KINDS = replace(SHAPE, groups=1, classic_groups=3, connect_groups=3, share_groups=3, streams_groups=3)
SHAPES = [
    replace(SHAPE, seed=21),
    replace(SHAPE, seed=22, release="4.0"),
    replace(SHAPE, seed=23, compacted=True),
    replace(SHAPE, seed=24, release="4.0", compacted=True, delete_retention_ms=60_000),
    replace(SHAPE, seed=25, compacted=True, delete_retention_ms=0),
    replace(SHAPE, seed=26, largest=16),
    replace(SHAPE, seed=27, largest=16, release="4.0", compacted=True, delete_retention_ms=0),
    replace(KINDS, seed=28),
    replace(KINDS, seed=29, compacted=True),
    replace(KINDS, seed=30, compacted=True, delete_retention_ms=0),
]
INVARIANTS = {
    *("one_owner", "epoch_order", "epochs_grow", "target_covers_topics", "names_or_regex", "assignor_versions"),
    *("operation_size", "loadable_records", "revocation_time", "connect_balance", "streams_topology_epoch"),
}
"""The fencing of members that are too slow is one too, of the simulator's coordinator; so is the leader's balance."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    rows = []
    for nth, shape in enumerate(SHAPES):
        log = simulate(shape, folder / str(nth)).log
        rows += moved(pq.read_table(log), nth)
    captured_at = datetime.fromtimestamp(max(row["timestamp"] for row in rows) / 1_000_000, UTC)
    audit_rows(folder / "out", "c", rows, captured_at=captured_at)
    wanted = [each for each in EXPECTATIONS if each.name in INVARIANTS]
    found = check(DuckTables(str(folder / "out")), load_settings(), expectations=wanted)
    return {result.name: result for result in found.results}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(INVARIANTS))
@pytest.mark.process
def test_no_invariant_is_violated(results, name):
    result = results[name]
    assert not result.violations
    # Of whole logs every group passes. Those two have nothing to look at since Kafka 3.8.
    assert result.passed > 10 or name in ("names_or_regex", "assignor_versions")


def moved(rows, nth):
    """The rows, with partitions and group ids of their own."""
    prefix = f"{nth}/".encode()

    def key(of):
        size = int.from_bytes(of[2:4], "big")
        return of[:2] + (size + len(prefix)).to_bytes(2, "big") + prefix + of[4:]

    plain = rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", rows["timestamp"].cast("int64"))
    return [{**row, "key": key(row["key"]), "partition": row["partition"] + STRIDE * nth} for row in plain.to_pylist()]
