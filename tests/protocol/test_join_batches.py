"""Arrow batches joined before they are decoded: all rows, in order, in batches that are neither tiny nor huge."""

import pyarrow as pa
import pytest

from kip848_records.protocol import decoder as records
from kip848_records.protocol.decoder import join_batches


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(records, "_JOINED_ROWS", 10)
    monkeypatch.setattr(records, "_JOINED_BYTES", 1000)


def batches(*columns):
    return [pa.RecordBatch.from_pydict({"key": pa.array(column, pa.binary())}) for column in columns]


def joined(*columns):
    return [batch["key"].to_pylist() for batch in join_batches(batches(*columns))]


def test_neighbours_are_joined_up_to_a_number_of_rows():
    assert joined([b"a"] * 4, [b"b"] * 6, [b"c"], [], [b"d"]) == [[b"a"] * 4 + [b"b"] * 6, [b"c", b"d"]]


def test_long_values_are_not_joined():
    long = [b"x" * 2000]
    assert joined([b"a"], long, [b"b"], [b"c"]) == [[b"a"], long, [b"b", b"c"]]


def test_slices_count_their_own_bytes():
    (whole,) = batches([b"x" * 100] * 100)
    assert [batch.num_rows for batch in join_batches([whole.slice(start, 2) for start in (0, 50, 98)])] == [6]


def test_nothing():
    assert joined() == []
    assert joined([]) == [[]]
