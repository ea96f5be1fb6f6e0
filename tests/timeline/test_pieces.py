"""Large groups told piece by piece: what the tables say is what they say of whole groups."""

import pyarrow as pa
import pytest

from kip848_records.simulate import Simulation, simulate
from kip848_records.timeline import events as timeline_events
from kip848_records.timeline import group_events, pieces
from kip848_records.timeline.pieces import tell
from kip848_records.timeline.whole_groups import LargeGroup
from tests.simulate.decoded import records_of
from tests.timeline.logs import CAPTURED_AT, captured_logs, random_log
from tests.timeline.spark_rows import rows_of
from tests.timeline.stories import Story
from tests.timeline.stories import records_of as story_records
from tests.timeline.tables import complete_from, record_table

WHOLE = 1 << 30
_ORDER = [(name, "ascending") for name in ("partition", "group_id", "offset")]


@pytest.fixture(scope="module", params=["random", "captures", "simulated"])
def log(request, tmp_path_factory):
    """Records, from where on each partition is complete, and the size of pieces: many of each group."""
    if request.param == "random":
        return random_log().records, random_log().complete_from, 1
    if request.param == "captures":
        return captured_logs().records, captured_logs().complete_from, 4 << 10
    spec = Simulation(groups=12, members=4, hours=0.2, happening_s=4, partitions=3, commit_interval_ms=0, seed=22)
    records = records_of(simulate(spec, tmp_path_factory.mktemp("simulated") / "log").log)
    # Of one partition the first records are not there.
    return records, {0: 0, 1: 0, 2: max(r["offset"] for r in records if r["partition"] == 2) // 3}, 32 << 10


def test_pieces_tell_what_whole_groups_do(spark, log, monkeypatch):
    records, complete, small = log
    known = complete_from(complete)
    in_order = events_in_order(spark, records, known)
    lengths = []

    def told(rows, known, of=pieces.told):
        lengths.append(rows.num_rows)
        return of(rows, known)

    monkeypatch.setattr(pieces, "told", told)

    def tables(size):
        lengths.clear()
        batches = [*tell(known, in_order.to_batches(max_chunksize=20), size)]
        found = pa.Table.from_batches(batches).combine_chunks()  # else Spark may leave some of many out
        return rows_of(spark, spark.createDataFrame(found), CAPTURED_AT)

    whole = tables(WHOLE)
    assert lengths == [in_order.num_rows]
    in_pieces = tables(small)
    assert sum(lengths) > in_order.num_rows + 50  # of snapshots
    assert in_pieces.keys() == whole.keys()
    for name in whole:
        assert plain(in_pieces[name]) == plain(whole[name]), name


@pytest.mark.parametrize("rows_of_part", [1, 2, 3, 6])
def test_an_assignment_that_goes_back_is_seen_however_the_group_is_parted(spark, rows_of_part):
    """Though the one before was deleted, and the group was not."""
    log = random_log()
    rows = events_in_order(spark, log.records, complete_from(log.complete_from)).slice(0, 6)
    columns = {
        "partition": [0] * 6,
        "offset": [*range(6)],
        "key_type": [3, 6, 6, 3, 6, 3],
        "is_tombstone": [False, False, True, False, False, False],
        "group_id": ["g"] * 6,
        "group_epoch": [7, None, None, 8, None, 9],
        "assignment_epoch": [None, 7, None, None, 7, None],
    }
    for name in rows.schema.names:
        values = pa.array(columns.get(name, [None] * 6), rows.schema.field(name).type)
        rows = rows.set_column(rows.schema.get_field_index(name), name, values)
    group = LargeGroup(rows)
    assert pieces._is_one_piece(group, group.nbytes * rows_of_part // 6)
    on = LargeGroup(rows.slice(3))
    assert not pieces._is_one_piece(on, on.nbytes * rows_of_part // 3)


def test_a_type_4_of_an_earlier_piece_tells_that_the_first_hash_is_an_upgrade(spark):
    upgraded = "10: 5 a, 4, 3 1, 7 a, 6 1, 8 a 1\n20: 3 2 #5, 4 x, 7 a, 6 2, 8 a 2"
    known = complete_from({0: 0})
    in_order = events_in_order(spark, story_records([Story("g", upgraded)]), known)
    found = pa.Table.from_batches(tell(known, in_order.to_batches(max_chunksize=1), 1)).to_pylist()
    assert any(row["of_snapshot"] for row in found)
    causes = {row["group_epoch"]: row["cause"] for row in found if row["cause"] and not row["of_snapshot"]}
    assert causes == {1: "topic_metadata_changed", 2: "unknown"}


def events_in_order(spark, records, known):
    """The events as workers get them, in one table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline_events, "map_in_arrow", lambda rows, *_: rows)
        rows = group_events(record_table(spark, records), known)
    return rows.toArrow().sort_by(_ORDER)


def plain(rows):
    """Rows, without what is known as of a piece's end: only of the last one does anybody ask."""
    return sorted(repr(sorted((name, row[name]) for name in row.keys() - {"seen_at_end"})) for row in rows)
