"""Rows of every class become Arrow batches and come back as they were."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from kip848_records.replay.arrow_rows import timestamps, to_batch
from kip848_records.replay.group import spill
from kip848_records.replay.group.context import Context
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from kip848_records.replay.rows import (
    ROW_CLASSES,
    AwaitedPartition,
    Blocker,
    Rebalance,
    RebalanceLag,
    row_class,
    row_type,
    row_writer,
)
from kip848_records.specs.columns import BIGINT, BOOLEAN, PRIMITIVES, STRINGS, TIMESTAMP, Column, TableSpec, list_of
from kip848_records.specs.loading import shared_columns
from kip848_records.specs.tables import AWAITED_PARTITION, CLUSTER, GROUP_ID, HISTORY

_SAMPLES = {
    pa.int32(): 7,
    pa.int64(): 7,
    pa.string(): "é",
    pa.binary(): b"\xff",
    pa.bool_(): True,
    pa.float64(): 0.5,
    TIMESTAMP: 1_700_000_000_123,
}


KINDS = TableSpec(
    "kinds",
    "A column of each type",
    ("cluster",),
    (
        CLUSTER,
        Column("number", BIGINT, ""),
        Column("at", TIMESTAMP, "", required=True),
        Column("names", STRINGS, ""),
        Column("awaited", list_of(AWAITED_PARTITION), ""),
        Column("key", PRIMITIVES["binary"], ""),
        Column("is_proven", BOOLEAN, "", required=True),
    ),
)
Kinds = row_class("Kinds", KINDS)


def test_a_class_has_the_columns_of_its_table_but_for_the_cluster():
    assert Kinds._fields == ("number", "at", "names", "awaited", "key", "is_proven")
    assert row_type(Kinds) == pa.struct([(each.name, each.type) for each in KINDS.columns[1:]])


def test_values():
    partition = AwaitedPartition(None, "topic", 3, None, 1_500, None, None)
    rows = [
        Kinds(2**62, 0, ("a", "b"), (partition, partition), b"k", is_proven=True),
        Kinds(None, None, (), None, None, is_proven=None),
        Kinds(-1, 1, ("c",), (), b"", is_proven=False),
    ]
    batch = to_batch(Kinds, rows)
    assert batch.schema == pa.schema(list(row_type(Kinds)))
    first, second, third = batch.to_pylist()
    awaited = {"topic_id": None, "topic": "topic", "partition": 3, "owner": None, "released_at": utc(1_500)}
    awaited |= {"subtopology_id": None, "role": None}
    at = {"number": 2**62, "at": utc(0)}
    assert first == at | {"names": ["a", "b"], "awaited": [awaited, awaited], "key": b"k", "is_proven": True}
    assert second == dict.fromkeys(Kinds._fields) | {"names": []}
    assert third == {
        "number": -1,
        "at": utc(1),
        "names": ["c"],
        "awaited": [],
        "key": b"",
        "is_proven": False,
    }


GIVEN = {"number": 1, "at": 2, "names": ("a",), "awaited": None, "key": b"k"}


def test_a_row_takes_its_columns_by_name_in_any_order():
    write = row_writer(replace(KINDS, columns=(*KINDS.columns, GROUP_ID, *shared_columns("partition"), HISTORY)))
    context = Context(ReplayInputs("kafka", None, {}), PartitionNumbers(), 7, "g")
    context.operation.begin(5, 0, None)
    write(context, 3, **GIVEN)
    write(context, 3, **dict(reversed(GIVEN.items())), end=4, has_end=False, extra=(1,))
    # Whether an anomaly is proven, and the history, are known at the group's end.
    expected = ("kinds", (1, 2, ("a",), None, b"k", None, "g", 7), 3)
    assert context.rows.rows == [(*expected, 5, True, ()), (*expected, 4, False, (1,))]


def test_columns_that_come_together_are_one_argument():
    context = Context(ReplayInputs("kafka", None, {}), PartitionNumbers(), 7, "g")
    write = row_writer(KINDS, part=("names", "number"))
    write(context, 3, part=(("a",), 1), at=2, awaited=None, key=b"k")
    assert [row[1] for row in context.rows.rows] == [(1, 2, ("a",), None, b"k", None)]
    with pytest.raises(TypeError, match="number"):
        write(context, 3, part=(("a",), 1), **GIVEN)
    with pytest.raises(ValueError, match="unpack"):
        write(context, 3, part=(1,), at=2, awaited=None, key=b"k")


def test_many_rows_wait_in_a_file(monkeypatch):
    monkeypatch.setattr(spill, "LIMIT", 3)
    context = Context(ReplayInputs("kafka", None, {}), PartitionNumbers(), 7, "g")
    write = row_writer(KINDS)
    for begin in range(5):
        write(context, begin, **GIVEN)
    assert len(context.rows.rows) == 2
    assert [row[2] for row in context.rows.take()] == [0, 1, 2, 3, 4]
    context.close()


@pytest.mark.parametrize("wrong", [{"numbr": 1}, {"is_proven": True}, {"cluster": "c"}])
def test_a_row_takes_no_other_columns(wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        row_writer(KINDS)(None, 0, **GIVEN | wrong)


@pytest.mark.parametrize("name", GIVEN)
def test_a_row_takes_all_columns(name):
    with pytest.raises(TypeError, match=name):
        row_writer(KINDS)(None, 0, **{each: value for each, value in GIVEN.items() if each != name})


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


def test_structs_are_the_elements_of_their_lists():
    assert row_type(Rebalance).field("blockers").type.value_type == row_type(Blocker)
    assert row_type(RebalanceLag).field("awaited").type.value_type == row_type(AwaitedPartition)


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
        return (sample(kind.value_type),) * 2
    if pa.types.is_struct(kind):
        return tuple(sample(field.type) for field in kind)
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


def test_numbers_that_do_not_fit_are_null():
    others = (0, (), (), None, False)
    batch = to_batch(Kinds, [(1 << 63, *others), (-(1 << 63), *others)])
    assert batch["number"].to_pylist() == [None, -(1 << 63)]
