"""Rows of every class become Arrow batches and come back as they were."""

from datetime import UTC, datetime
from typing import NamedTuple

import pyarrow as pa
import pytest

from kip848_records.replay.arrow_rows import TIMESTAMP, row_type, timestamps, to_batch
from kip848_records.replay.rows import ROW_CLASSES, AwaitedPartition, Blocker, PartitionHandover, Quarantine, Rebalance

_SAMPLES = {
    pa.int64(): 7,
    pa.string(): "é",
    pa.binary(): b"\xff",
    pa.bool_(): True,
    TIMESTAMP: 1_700_000_000_123,
}


class Kinds(NamedTuple):
    number: int | None
    at: int | None
    since: int | None
    timestamp: int
    left_at: int | None
    behind_since: int
    status: str
    names: tuple[str, ...]
    awaited: tuple[AwaitedPartition, ...] | None
    key: bytes | None
    is_proven: bool | None


def test_types():
    awaited = pa.struct(
        [
            ("topic_id", pa.string()),
            ("partition", pa.int64()),
            ("owner", pa.string()),
            ("released_at", pa.timestamp("us", "UTC")),
            ("subtopology_id", pa.string()),
            ("role", pa.string()),
        ]
    )
    times = ("at", "since", "timestamp", "left_at", "behind_since")
    assert row_type(Kinds) == pa.struct(
        [
            ("number", pa.int64()),
            *((name, pa.timestamp("us", "UTC")) for name in times),
            ("status", pa.string()),
            ("names", pa.list_(pa.string())),
            ("awaited", pa.list_(awaited)),
            ("key", pa.binary()),
            ("is_proven", pa.bool_()),
        ]
    )


def test_values():
    partition = AwaitedPartition("topic", 3, None, 1_500)
    both = (partition, partition)
    rows = [
        Kinds(2**62, 0, -1, 1_700_000_000_123, None, 1, "open", ("a", "b"), both, b"k", is_proven=True),
        Kinds(None, None, None, 4, 5, 6, "", (), None, None, is_proven=None),
        Kinds(-1, 1, 2, 3, 4, 5, "é", ("c",), (), b"", is_proven=False),
    ]
    batch = to_batch(Kinds, rows)
    assert batch.schema == pa.schema(list(row_type(Kinds)))
    first, second, third = batch.to_pylist()
    assert (first["number"], first["at"], first["since"]) == (2**62, utc(0), utc(-1))
    assert (first["timestamp"], first["left_at"]) == (utc(1_700_000_000_123), None)
    awaited = {"topic_id": "topic", "partition": 3, "owner": None, "released_at": utc(1_500)}
    awaited |= {"subtopology_id": None, "role": None}
    assert (first["names"], first["awaited"]) == (["a", "b"], [awaited, awaited])
    assert (second["number"], second["at"], second["names"], second["awaited"]) == (None, None, [], None)
    assert (second["is_proven"], second["key"]) == (None, None)
    assert (third["names"], third["awaited"], third["is_proven"], third["key"]) == (["c"], [], False, b"")


@pytest.mark.parametrize("rows", [[], [None, None]])
@pytest.mark.parametrize("table", ROW_CLASSES)
def test_every_class(table, rows):
    """Once without rows, once with a row of nulls between two full ones."""
    row_class = ROW_CLASSES[table]
    kind = row_type(row_class)
    full = row_class(*(sample(field.type) for field in kind))
    given = [full, row_class(*[None] * len(kind)), full] if rows else []
    batch = to_batch(row_class, given)
    assert batch.schema == pa.schema(list(kind))
    assert batch.num_rows == len(given)
    batch.validate(full=True)
    if given:
        assert batch.slice(1, 1).to_pylist() == [dict.fromkeys(row_class._fields)]
        ends = batch.take(pa.array([0, 2])).to_pylist()
        assert ends[0] == ends[1] == {field.name: shown(field.type, sample(field.type)) for field in kind}


def test_names_of_partitions_are_those_of_topics_where_the_row_says_so():
    assert row_type(PartitionHandover).field("offsets_partition").type == pa.int64()
    assert row_type(Rebalance).field("blockers").type == pa.list_(row_type(Blocker))
    assert row_type(Quarantine).names == list(Quarantine._fields)


def test_times_that_cannot_be_shown_are_null():
    first, last = -62_135_596_800_000, 253_402_300_799_999
    shown_times = timestamps([first - 1, first, None, last, last + 1, 2**63 - 1, -(2**63)])
    assert shown_times.type == TIMESTAMP
    assert shown_times.cast(pa.int64()).to_pylist() == [None, first * 1000, None, last * 1000, None, None, None]
    assert timestamps([0, last + 1]).cast(pa.int64()).to_pylist() == [0, None]
    assert timestamps([first - 1, 0]).cast(pa.int64()).to_pylist() == [None, 0]
    assert timestamps([None]).to_pylist() == [None]
    assert timestamps([]).to_pylist() == []


def utc(millis):
    return datetime.fromtimestamp(millis / 1000, UTC)


def sample(kind):
    if pa.types.is_list(kind):
        if pa.types.is_struct(kind.value_type):
            return (tuple(sample(field.type) for field in kind.value_type),) * 2
        return (sample(kind.value_type),) * 2
    return _SAMPLES[kind]


def shown(kind, value):
    """What `to_pylist` returns for a value of a row."""
    if kind == TIMESTAMP:
        return utc(value)
    if pa.types.is_list(kind):
        return [shown(kind.value_type, item) for item in value]
    if pa.types.is_struct(kind):
        return {field.name: shown(field.type, item) for field, item in zip(kind, value, strict=True)}
    return value
