"""Logs of the simulator, whole and compacted: of a log that is right no invariant is said to be violated."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from kip848_records.audit import AuditOptions, run_audit
from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.quality import EXPECTATIONS
from kip848_records.simulate import Simulation, simulate
from tests.timeline.test_compacted import moved

SHAPE = Simulation(groups=6, members=4, hours=0.3, happening_s=20, partitions=1, commit_interval_ms=60_000)
SHAPES = [
    replace(SHAPE, seed=21),
    replace(SHAPE, seed=22, release="4.0"),
    replace(SHAPE, seed=23, compacted=True),
    replace(SHAPE, seed=24, release="4.0", compacted=True, delete_retention_ms=60_000),
    replace(SHAPE, seed=25, compacted=True, delete_retention_ms=0),
    replace(SHAPE, seed=26, largest=16),
    replace(SHAPE, seed=27, largest=16, release="4.0", compacted=True, delete_retention_ms=0),
]
INVARIANTS = {
    *("one_owner", "epoch_order", "epochs_grow", "target_covers_topics", "names_or_regex", "assignor_versions"),
    *("operation_size", "loadable_records", "revocation_time"),
}
"""The fencing of members that are too slow is one too, of the simulator's coordinator."""


@pytest.fixture(scope="module")
def results(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "log").mkdir()
    for nth, shape in enumerate(SHAPES):
        log = simulate(shape, folder / str(nth)).log
        pq.write_table(moved(pq.read_table(log), nth), folder / "log" / f"{nth}.parquet")
    out = str(folder / "out")
    run_audit(spark, AuditOptions((str(folder / "log"),), out), print)
    wanted = [each for each in EXPECTATIONS if each.name in INVARIANTS]
    return {result.name: result for result in check(spark, out, load_settings(), expectations=wanted).results}


@pytest.mark.parametrize("name", sorted(INVARIANTS))
def test_no_invariant_is_violated(results, name):
    result = results[name]
    assert not result.violations
    # Those two have nothing to look at since Kafka 3.8.
    assert result.passed > 100 or name in ("names_or_regex", "assignor_versions")
