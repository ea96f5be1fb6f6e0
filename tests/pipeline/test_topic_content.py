"""What is in the topic by key: counted in columns during the scan, and here one record after another."""

import shutil

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.segments.reader import BATCH_ROWS
from kip848_records.queries.questions import questions
from kip848_records.sources import dump_by_key, key_contents, key_hashes
from tests import reported
from tests.pipeline.made_topic import (
    START,
    Partition,
    commit,
    counted,
    epoch,
    random_partition,
    write_dump,
    write_segments,
)
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch, write_marker

COMMITTED = (3, 1, 0, "")


def audited(source, out, spark=None, **options):
    given = {"cluster": "c", "topic_content": True} | options
    run_audit(spark, AuditOptions((str(source),), str(out), **given), Watcher())
    return reported.tables_of(out)


def content(tables):
    rows = tables.rows("SELECT * FROM topic_content", "c")
    return {
        (row.partition, row.key_type, row.group_id, row.topic): (
            row.records,
            row.tombstones,
            row.live_keys,
            row.kept_tombstones,
            row.superseded,
            row.unchanged,
            None if row.superseded_since is None else round(row.superseded_since.timestamp() * 1000),
        )
        for row in rows
    }


@pytest.fixture
def partitions():
    return {number: random_partition(f"topic/{number}") for number in range(2)}


def check_parts(tables):
    """The parts of each partition add up to the whole."""
    for row in tables.rows(
        "SELECT c.partition, count(*) AS parts, sum(c.records) AS records, sum(c.bytes) AS bytes, "
        "sum(c.dirty_records) AS dirty, max(p.records) AS all_records, max(p.bytes) AS all_bytes, "
        "max(p.dirty_records) AS all_dirty "
        "FROM topic_content AS c JOIN partition_content AS p ON p.partition = c.partition GROUP BY c.partition",
        "c",
    ):
        assert (row.records, row.dirty) == (row.all_records, row.all_dirty)
        assert abs(row.bytes - row.all_bytes) <= row.parts  # each part is rounded


def test_segments_are_counted_as_one_record_after_another(partitions, tmp_path):
    write_segments(tmp_path / "log", partitions)
    tables = audited(tmp_path / "log", tmp_path / "out")
    expected = counted(partitions)
    assert any(each[5] for each in expected.values())
    assert content(tables) == expected
    check_parts(tables)


def test_a_batch_that_is_read_in_parts_counts_once(tmp_path):
    written = commit(0, START, "g", "t", 0, COMMITTED)
    records = [Record(offset, START, written.key, written.value) for offset in range(BATCH_ROWS + 1)]
    made = write_batch(records, codec="zstd")
    write_segments(tmp_path / "log", {0: Partition(files={0: [made]})})
    tables = audited(tmp_path / "log", tmp_path / "out")
    (row,) = tables.rows("SELECT records, bytes FROM topic_content", "c")
    assert (row.records, row.bytes) == (len(records), len(made))
    (row,) = tables.rows("SELECT records, bytes FROM partition_content", "c")
    assert (row.records, row.bytes) == (len(records), len(made))


def test_with_the_commits_as_rows_of_the_log_the_count_is_the_same(partitions, tmp_path):
    one = {0: partitions[0]}
    write_segments(tmp_path / "log", one)
    assert content(audited(tmp_path / "log", tmp_path / "out", offset_commits=True)) == counted(one)


@pytest.mark.parametrize("most", [1, 7])
def test_where_chunks_are_cut_does_not_show(partitions, tmp_path, monkeypatch, most):
    monkeypatch.setattr(key_hashes, "_AT_ONCE", most)
    monkeypatch.setattr(key_contents, "_FEWEST", 1)
    one = {0: partitions[0]}
    write_segments(tmp_path / "log", one)
    assert content(audited(tmp_path / "log", tmp_path / "out")) == counted(one)


@pytest.mark.parametrize("row_group_size", [None, 10])
def test_a_dump_is_counted_too_and_shows_no_bytes(partitions, tmp_path, monkeypatch, row_group_size):
    monkeypatch.setattr(dump_by_key, "_AT_ONCE", row_group_size or 8192)
    write_dump(tmp_path / "log.parquet", partitions, row_group_size)
    tables = audited(tmp_path / "log.parquet", tmp_path / "out")
    assert content(tables) == counted(partitions, shows_aborted=False)
    (row,) = tables.rows("SELECT count(bytes) AS bytes, count(dirty_records) AS dirty FROM topic_content", "c")
    assert (row.bytes, row.dirty) == (0, 0)


def test_parts_of_a_dump_that_are_out_of_order_do_not_show_what_changed(partitions, tmp_path):
    """Two files of one partition, whose offsets take turns: keys are counted, but not which commits changed nothing."""
    one = {0: partitions[0]}
    (tmp_path / "log").mkdir()
    for nth in range(2):
        half = Partition(records=partitions[0].records[nth::2])
        write_dump(tmp_path / "log" / f"{nth}.parquet", {0: half})
    found = content(audited(tmp_path / "log", tmp_path / "out"))
    expected = counted(one, shows_aborted=False)
    assert {place: each[:5] for place, each in found.items()} == {place: each[:5] for place, each in expected.items()}
    assert None in {each[5] for place, each in found.items() if place[1] == 1}


def test_a_dump_with_rows_twice_is_not_counted(partitions, tmp_path):
    (tmp_path / "log").mkdir()
    for nth in range(2):
        write_dump(tmp_path / "log" / f"{nth}.parquet", {0: partitions[0]})
    assert content(audited(tmp_path / "log", tmp_path / "out")) == {}


def test_without_the_option_nothing_is_counted_by_key(partitions, tmp_path):
    write_segments(tmp_path / "log", partitions)
    tables = audited(tmp_path / "log", tmp_path / "out", topic_content=False)
    assert content(tables) == {}
    assert tables.runs()[0].topic_content is False
    assert tables.rows("SELECT max(open_transactions) AS opened FROM partition_content", "c")[0].opened is None


def test_of_replicas_the_base_copy_counts(partitions, tmp_path):
    for name in ("one", "two"):
        write_segments(tmp_path / "log" / name, partitions)
    tables = audited(tmp_path / "log", tmp_path / "out")
    rows = tables.rows(questions()["who_commits"].sql, "c")
    commits = sum(each[0] for place, each in counted(partitions).items() if place[1] == 1)
    assert sum(row.records for row in rows) == commits


@pytest.mark.parametrize("ended_in", [None, 1, 2])
def test_transactions_without_a_marker(tmp_path, ended_in):
    """The marker may be in a later file; one before the transaction ends another one."""
    first = commit(1, START + 1000, "g", "t", 0, COMMITTED)
    opened = write_batch([Record(1, first.millis, first.key, first.value)], producer_id=9, transactional=True)
    plain = epoch(2, START + 61_000, "g", 1)
    made = Partition(
        files={
            0: [write_marker(0, 9, "commit"), opened],
            2: [write_batch([Record(2, plain.millis, plain.key, plain.value)])],
            3: [write_marker(3, 8, "abort", START)],
        }
    )
    if ended_in is not None:
        made.files[ended_in + 1] = [write_marker(ended_in + 1, 9, "commit", START)]
    write_segments(tmp_path / "log", {5: made})
    tables = audited(tmp_path / "log", tmp_path / "out")
    (row,) = tables.rows("SELECT * FROM partition_content", "c")
    if ended_in is not None:
        assert (row.open_transactions, row.open_from) == (0, None)
        return
    assert (row.open_transactions, row.open_producers, row.open_groups) == (1, [9], ["g"])
    assert (row.open_from, row.open_ms) == (1, 60_000)


def test_open_transactions_of_several_producers_whose_batches_alternate(tmp_path):
    batches, written = [], [commit(n, START + n, "gh"[n % 2], "t", 0, COMMITTED) for n in range(6)]
    for n, w in enumerate(written):
        record = Record(n, w.millis, w.key, w.value)
        batches.append(write_batch([record], producer_id=20 - n % 2, transactional=True))
    write_segments(tmp_path / "log", {0: Partition(files={0: batches})})
    (row,) = audited(tmp_path / "log", tmp_path / "out").rows("SELECT * FROM partition_content", "c")
    found = row.open_transactions, row.open_producers, row.open_groups, row.open_from
    assert found == (2, [19, 20], ["g", "h"], 0)


def test_only_what_the_cleaner_has_not_been_to_shows_rates(tmp_path):
    """A file that was cleaned, and one behind it: the commit that it begins with repeats the last one of the other."""
    cleaned = [commit(90, START, "g", "t", 0, COMMITTED), commit(99, START + 1000, "g", "u", 0, COMMITTED)]
    dirty = [commit(100 + n, START + 100_000 + 1000 * n, "g", "t", 0, COMMITTED) for n in range(121)]
    files = {base: [write_batch([Record(w.offset, w.millis, w.key, w.value)]) for w in records]
             for base, records in ((0, cleaned), (100, dirty))}  # fmt: skip
    write_segments(tmp_path / "log", {0: Partition(files=files)})
    tables = audited(tmp_path / "log", tmp_path / "out")
    rows = {row.topic: row for row in tables.rows("SELECT * FROM topic_content", "c")}
    assert (rows["t"].records, rows["t"].dirty_records, rows["t"].unchanged, rows["t"].dirty_unchanged) == (
        *(122, 121),
        *(121, 121),
    )
    assert (rows["t"].last_offset, rows["u"].last_offset) == (220, 99)
    assert (rows["u"].records, rows["u"].dirty_records, rows["u"].dirty_ms) == (1, 0, 120_000)
    (group,) = tables.rows(questions()["who_commits"].sql, "c")
    assert group.per_second == pytest.approx(121 / 120)


def test_the_largest_batch(tmp_path):
    batches = [
        write_batch([Record(n, START, commit(n, START, "g", "t", 0, (3, 1, 0, "m" * size)).key, b"v" * size)])
        for n, size in enumerate((10, 500, 20))
    ]
    write_segments(tmp_path / "log", {0: Partition(files={0: batches[:2], 2: batches[2:]})})
    (row,) = audited(tmp_path / "log", tmp_path / "out").rows("SELECT * FROM partition_content", "c")
    assert (row.largest_batch_bytes, row.largest_batch_offset) == (len(batches[1]), 1)


@pytest.mark.nightly
@pytest.mark.parametrize("form", ["log", "log.parquet"])
def test_spark_counts_the_same(spark, partitions, tmp_path, form):
    write_segments(tmp_path / "log", partitions)
    write_dump(tmp_path / "log.parquet", partitions, 10)
    tables = audited(tmp_path / form, tmp_path / "out", spark)
    assert content(tables) == counted(partitions, shows_aborted=form == "log")
    embedded = audited(tmp_path / form, tmp_path / "embedded")
    text = "SELECT * FROM partition_content ORDER BY partition"
    assert tables.rows(text, "c") == embedded.rows(text, "c")
    shutil.rmtree(tmp_path / "out")
