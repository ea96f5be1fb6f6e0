"""What the cleaner leaves of a simulated log."""

from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kip848_records.simulate.cleaner import clean
from kip848_records.simulate.partition_log import KAFKA_ROWS
from tests.simulator.decoded import rows_of
from tests.simulator.run import Simulation, simulate

SPEC = {"groups": 8, "hours": 0.5, "happening_s": 40, "seed": 2, "partitions": 2, "commit_interval_ms": 30_000}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return simulate(Simulation(**SPEC), tmp_path_factory.mktemp("full") / "out")


@pytest.mark.slow
@pytest.mark.parametrize("retention", [0, 600_000, 86_400_000])
def test_the_last_record_of_each_key_stays(full, retention, tmp_path):
    spec = Simulation(**SPEC, compacted=True, delete_retention_ms=retention)
    compacted = simulate(spec, tmp_path / "out")
    expected = []
    for partition, end in compacted.cleaned_to.items():
        rows = [row for row in rows_of(full.log) if row["partition"] == partition]
        dirty = [row for row in rows if row["offset"] < end]
        active = [row for row in rows if row["offset"] >= end]
        assert dirty
        assert active
        last = {row["key"]: row for row in dirty}
        now = max(row["timestamp"] for row in dirty)
        for row in sorted(last.values(), key=lambda r: r["offset"]):
            age = (now - row["timestamp"]).total_seconds() * 1000
            if row["value"] is not None or age <= retention:
                expected.append(row)
        expected += active
    assert rows_of(compacted.log) == sorted(expected, key=lambda r: (r["partition"], r["offset"]))
    assert compacted.rows == len(expected) < full.rows
    tombstones = sum(row["value"] is None for row in expected)
    assert tombstones  # the active segment's, at least


def test_the_truth_knows_of_no_compaction(full, tmp_path):
    compacted = simulate(Simulation(**SPEC, compacted=True), tmp_path / "out")
    assert compacted.truth == full.truth


def row(key, value, offset):
    place = {"topic": "__consumer_offsets", "partition": 0, "offset": offset, "timestamp": offset * 1_000_000}
    return {"key": key, "value": value, **place, "timestampType": 0}


def cleaned(path, segments, retention):
    with pq.ParquetWriter(path, KAFKA_ROWS) as writer:
        for segment in segments:
            writer.write_table(pa.Table.from_pylist(segment, KAFKA_ROWS))
    end = clean(path, Random(0), retention)  # noqa: S311
    return end, [(row["key"], row["value"]) for row in pq.read_table(path).to_pylist()]


def test_a_log_of_one_segment_is_left_alone(tmp_path):
    rows = [row(b"a", b"1", 0), row(b"a", b"2", 1)]
    assert cleaned(tmp_path / "log.parquet", [rows], 0) == (0, [(b"a", b"1"), (b"a", b"2")])


def test_tombstones_stay_for_a_while(tmp_path):
    old = [row(b"a", b"1", 0), row(b"b", None, 1), row(b"a", None, 7), row(b"c", b"3", 8)]
    active = [row(b"c", None, 9)]
    path = tmp_path / "log.parquet"
    assert cleaned(path, [old, active], 2_000) == (9, [(b"a", None), (b"c", b"3"), (b"c", None)])
    assert cleaned(path, [old, active], 500) == (9, [(b"c", b"3"), (b"c", None)])
