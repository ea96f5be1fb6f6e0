"""Groups come to a worker in batches that Spark cuts anywhere: what is told of them does not depend on it."""

import pyarrow as pa
import pytest

from kip848_records.timeline import events, group_events
from kip848_records.timeline.told import told, whole_groups
from tests.timeline.logs import random_log
from tests.timeline.tables import complete_from, record_table

_ORDER = [(name, "ascending") for name in ("partition", "group_id", "offset")]


@pytest.fixture(scope="module")
def in_order(spark):
    """The events of a random log as workers get them, in one table."""
    log = random_log()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "map_in_arrow", lambda rows, *_: rows)
        rows = group_events(record_table(spark, log.records), complete_from(spark, log.complete_from))
    return rows.toArrow().sort_by(_ORDER)


def rows_of(table):
    """The rows; what several of an operation tell is in no order."""
    lists = ("handovers", "settlements", "awaited_at_end")
    return [{**row, **{name: sorted(row[name], key=repr) for name in lists}} for row in table.to_pylist()]


@pytest.mark.parametrize("rows_of_batch", [1, 7, 500])
@pytest.mark.parametrize("rows", [1, 300, 10**6])
def test_groups_come_whole_however_they_are_cut(in_order, rows_of_batch, rows):
    found = [*whole_groups(in_order.to_batches(max_chunksize=rows_of_batch), rows)]
    assert pa.concat_tables(found) == in_order
    groups = [{*zip(*map(table.__getitem__, ("partition", "group_id")), strict=True)} for table in found]
    assert sum(map(len, groups)) == len(set.union(*groups))
    assert all(table.num_rows >= rows for table in found[:-1])
    assert len(found) == 1 or rows < in_order.num_rows


def test_a_group_is_told_by_itself_as_among_others(in_order):
    one_by_one = [told(table) for table in whole_groups(in_order.to_batches(max_chunksize=100), 1)]
    assert len(one_by_one) > 100
    assert rows_of(pa.concat_tables(one_by_one)) == rows_of(told(in_order))


def test_no_events_and_empty_batches(in_order):
    empty = in_order.slice(0, 0).combine_chunks().to_batches()
    assert [*whole_groups([])] == [*whole_groups(empty)] == []
    (table,) = whole_groups([*empty, *in_order.to_batches(), *empty])
    assert table == in_order
