"""Groups come to a worker in batches that Spark cuts anywhere: what is told of them does not depend on it."""

import gc
import tracemalloc
import weakref

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kip848_records.timeline import events, group_events
from kip848_records.timeline import told as timeline_told
from kip848_records.timeline.columns import Events
from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    GROUP_METADATA,
    LOSSES,
    LOST,
    LOST_CLASSIC,
    LOST_TO_ANY,
    MEMBER,
    MEMBER_TARGET,
    TARGET_ASSIGNMENT,
    UNRELEASED_PARTITIONS,
)
from kip848_records.timeline.whole_groups import LargeGroup, whole_groups
from tests.timeline.logs import random_log
from tests.timeline.tables import complete_from, record_table

_ORDER = [(name, "ascending") for name in ("partition", "group_id", "offset")]


@pytest.fixture(scope="module")
def in_order(spark):
    """The events of a random log as workers get them, in one table."""
    log = random_log()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "map_in_arrow", lambda rows, *_: rows)
        rows = group_events(record_table(spark, log.records), complete_from(log.complete_from))
    return rows.toArrow().sort_by(_ORDER)


def told(rows):
    return timeline_told.told(rows, complete_from(random_log().complete_from))


def rows_of(table):
    """The rows; what several of an operation tell is in no order."""
    lists = ("handovers", "settlements", "awaited_at_end")
    return [{**row, **{name: sorted(row[name], key=repr) for name in lists}} for row in table.to_pylist()]


def shifted(column, by):
    """The same partitions with other numbers."""
    lists = [
        topics and [{**topic, "partitions": [number + by for number in topic["partitions"]]} for topic in topics]
        for topics in column.to_pylist()
    ]
    return pa.chunked_array([pa.array(lists, column.type)])


@pytest.mark.parametrize("rows_of_batch", [1, 7, 500])
@pytest.mark.parametrize("size", [1, 50_000, 10**9])
def test_groups_come_whole_however_they_are_cut(in_order, rows_of_batch, size):
    found = [*tables_of(in_order.to_batches(max_chunksize=rows_of_batch), size)]
    assert pa.concat_tables(found) == in_order
    groups = [{*zip(*map(table.__getitem__, ("partition", "group_id")), strict=True)} for table in found]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert (len(found) == 1) == (size > in_order.nbytes)


def test_a_group_is_told_by_itself_as_among_others(in_order):
    one_by_one = [told(table) for table in tables_of(in_order.to_batches(max_chunksize=100), 1)]
    assert len(one_by_one) > 100
    assert rows_of(pa.concat_tables(one_by_one)) == rows_of(told(in_order))


def test_no_events_and_empty_batches(in_order):
    empty = in_order.slice(0, 0).combine_chunks().to_batches()
    assert [*whole_groups([], 1)] == [*whole_groups(empty, 1)] == []
    (table,) = whole_groups([*empty, *in_order.to_batches(), *empty], in_order.nbytes)
    assert table == in_order


def tables_of(batches, size):
    """Whole groups as tables, those in files too."""
    for groups in whole_groups(batches, size):
        yield groups if isinstance(groups, pa.Table) else groups.slice(0, groups.num_rows)


def test_a_large_group_gives_any_of_its_rows(in_order):
    large = LargeGroup(in_order.slice(0, 100))
    for batch in in_order.slice(100).to_batches(max_chunksize=70):
        large.append(batch)
    assert (large.num_rows, large.slice(0, large.num_rows)) == (in_order.num_rows, in_order)
    for begin, count in [(0, 0), (0, 1), (99, 1), (99, 2), (100, 70), (101, 300), (large.num_rows - 1, 50)]:
        assert large.slice(begin, count) == in_order.slice(begin, count)


def test_groups_come_by_themselves_once_they_are_large(in_order):
    """In one file each: a table with more than twice the size, and what comes at once, has several groups."""
    size = 5_000
    batches = in_order.to_batches(max_chunksize=30)
    found = [*whole_groups(batches, size)]
    large = [groups for groups in found if isinstance(groups, LargeGroup)]
    assert len(large) > 10
    limit = 2 * size + max(batch.nbytes for batch in batches)
    for groups in found:
        rows = groups.slice(0, groups.num_rows)
        names = {*zip(*map(rows.__getitem__, ("partition", "group_id")), strict=True)}
        assert not isinstance(groups, LargeGroup) or (groups.nbytes > 2 * size and len(names) == 1)
        assert isinstance(groups, LargeGroup) or len(names) > 1 or groups.nbytes <= limit


def test_numbers_of_partitions_may_be_any(in_order):
    """A damaged record may have one below zero."""
    other = in_order
    for name in ("assigned", "pending", "target"):
        other = other.set_column(other.schema.get_field_index(name), name, shifted(other[name], -3))
    expected = told(in_order).to_pylist()
    for row in expected:
        for each in [*row["handovers"], *row["awaited_at_end"]]:
            each["number"] -= 3
    assert sum(each["number"] < 0 for row in expected for each in row["handovers"]) > 100
    assert rows_of(told(other)) == rows_of(pa.Table.from_pylist(expected, told(in_order).schema))


@pytest.mark.parametrize(
    "key_types",
    [
        [LOST],
        [LOST_CLASSIC],
        [LOST_TO_ANY],
        [GROUP_METADATA],
        [GROUP_EPOCH, TARGET_ASSIGNMENT],
        [MEMBER],
        [CURRENT_ASSIGNMENT],
        [],
    ],
)
def test_records_of_some_types_alone(in_order, key_types):
    rows = in_order
    if {*LOSSES} & {*key_types}:
        lost = pa.array([key_types[0]] * rows.num_rows, pa.int32())
        rows = rows.set_column(rows.schema.get_field_index("key_type"), "key_type", lost)
    rows = rows.filter(pc.is_in(rows["key_type"], pa.array(key_types, pa.int32())))
    found = told(rows)
    assert found["offset"] == rows["offset"]
    assert (True in found["ends_operation"].to_pylist()) == bool(key_types)


def test_events_without_times(in_order):
    times = pa.nulls(in_order.num_rows, in_order["timestamp"].type)
    found = told(in_order.set_column(in_order.schema.get_field_index("timestamp"), "timestamp", times))
    assert found["operation"] == found["offset"]  # nobody can tell which belong together


def test_a_stretch_is_gone_when_it_has_been_told(in_order):
    events = Events(in_order)
    events.codes("group_id"), events.ints("offset"), events.taken("member_id", events.ints("key_type"))
    gone = weakref.ref(events)
    gc.disable()
    try:
        del events
        assert gone() is None
    finally:
        gc.enable()


def test_who_waits_long_is_no_work_for_what_it_has(in_order):
    """A member of many partitions waits for one of them, while assignment after assignment is written."""
    members, partitions, assignments = 20, 200, 200
    rows = waiting_members(in_order.schema, members, partitions, assignments)
    tracemalloc.start()
    found = told(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    awaited = [each for row in found["awaited_at_end"].to_pylist() for each in row]
    assert {(each["number"], each["owner"]) for each in awaited} == {(partitions * (members + 1), "holder")}
    assert len(awaited) == members
    # Once for each assignment, the lists of all members would take 8 bytes an item.
    assert peak < members * partitions * assignments * 8 * 2


def waiting_members(schema, members, partitions, assignments):
    """One member holds a partition that all others wait for; each has many of its own."""
    held = partitions * (members + 1)
    of_topic = [{"topic_id": "T", "partitions": []}]
    rows = []

    def write(key_type, **fields):
        rows.append({"key_type": key_type, "is_tombstone": False, "timestamp": len(rows) * 1000} | fields)

    def has(*numbers):
        return [{**of_topic[0], "partitions": [*numbers]}]

    names = ["holder", *(f"member {nth}" for nth in range(members))]
    for name in names:
        write(MEMBER, member_id=name)
    write(GROUP_EPOCH, group_epoch=1)
    for nth, name in enumerate(names):
        own = range(nth * partitions, (nth + 1) * partitions)
        write(MEMBER_TARGET, member_id=name, target=has(*own, *([held] if nth else [])))
    write(TARGET_ASSIGNMENT, assignment_epoch=1)
    for nth, name in enumerate(names):
        own = range(nth * partitions, (nth + 1) * partitions)
        state = {"member_state": UNRELEASED_PARTITIONS if nth else 1, "member_epoch": 1 if nth else 0}
        pending = {} if nth else {"pending": has(held)}
        write(CURRENT_ASSIGNMENT, member_id=name, assigned=has(*own), **state, **pending)
    for epoch in range(2, assignments):
        write(GROUP_EPOCH, group_epoch=epoch)
        write(TARGET_ASSIGNMENT, assignment_epoch=epoch)
    known = {"partition": 0, "group_id": "g", "complete_from": 0, "head_missing": False}
    # Each record is an operation of its own.
    return pa.Table.from_pylist([{**known, "offset": 2 * nth, **row} for nth, row in enumerate(rows)], schema)
