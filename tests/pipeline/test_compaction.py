"""Where the cleaner has been, of segment files: one partition that it left, and copies in which it left no trace."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.queries.questions import questions
from kip848_records.report.cleaning import group_not_cleaned, not_cleaned
from kip848_records.report.group_history import GroupHistory
from kip848_records.specs.log_columns import KEYS_KEPT, TOPIC
from tests import reported
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch, write_marker

START = 1_795_780_000_000
MINUTE = 60_000
EPOCH = encode_message(RECORDS[3].value_layouts(0)[0], {"epoch": 1})


def commit(offset, number, minutes):
    """A commit of one of the partitions of a topic."""
    key = encode_key(RECORDS[1], {"group": "g", "topic": "t", "partition": number})
    value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0}
    return Record(offset, START + minutes * MINUTE, key, encode_message(RECORDS[1].value_layouts(3)[0], value))


def group(offset, name, minutes):
    return Record(offset, START + minutes * MINUTE, encode_key(RECORDS[3], {"groupId": name}), EPOCH)


def cleaned(until, name="g"):
    """A file in which the cleaner left a group and the last commits of three partitions."""
    return [group(5, name, 0), *(commit(until - 4 + number, number, 1) for number in range(3))]


def dirty(first, count, minutes, every=1, keys=3):
    """A file of commits, one each so many minutes."""
    return [commit(first + nth, nth % keys, minutes + every * nth) for nth in range(count)]


def write(folder, partition, *files):
    """Write the files of a partition, each a list of records; the base offset is that of the first record, or 0."""
    place = folder / f"{TOPIC}-{partition}"
    place.mkdir(parents=True)
    for nth, records in enumerate(files):
        base = records[0].offset if nth else 0
        (place / f"{base:020}.log").write_bytes(b"".join(write_batch([record]) for record in records))


def audited(folder, **options):
    given = {"cluster": "c"} | options
    run_audit(None, AuditOptions((str(folder / "log"),), str(folder / "out"), **given), Watcher())
    return reported.tables_of(folder / "out")


LEFT, ALIKE, OLD, BUSY = 0, 1, 2, 3


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The cleaner left one partition; another one is quiet, so old, and one has many records, so that it is young."""
    folder = tmp_path_factory.mktemp("cleaner")
    write(folder / "log", LEFT, cleaned(100, "left"), *(dirty(100 + 50 * nth, 50, 100 + 50 * nth) for nth in range(16)))
    write(folder / "log", ALIKE, cleaned(100), dirty(100, 20, 860), dirty(120, 20, 880))
    write(folder / "log", OLD, cleaned(100), dirty(100, 4, 100, 100), dirty(104, 2, 600, 100))
    write(folder / "log", BUSY, cleaned(100), dirty(100, 300, 890, 0), dirty(400, 300, 895, 0))
    return audited(folder)


def asked(tables):
    return {row.partition: row for row in tables.rows(questions()["compaction"].sql, "c")}


def test_the_part_behind_the_last_cleaned_offset_is_counted_without_a_commit_in_the_log(tables):
    row = asked(tables)[LEFT]
    assert (row.cleaned_until, row.dirty_records, row.dirty_keys, row.dirty_files) == (100, 800, 3, 16)
    assert (row.files, row.records) == (17, 804)
    assert row.dirty_since.timestamp() * 1000 == START + 100 * MINUTE
    assert row.dirty_ms == 799 * MINUTE
    assert row.dirty_bytes == sum(len(write_batch([each])) for each in dirty(100, 800, 100))
    assert tables.rows("SELECT * FROM log WHERE content = 'offset_commit'", "c") == []


def test_one_partition_far_beyond_the_others_is_told(tables):
    """A quiet partition is old, and a busy one large: only one of both is no trouble."""
    assert {number: row.state for number, row in asked(tables).items()} == {
        LEFT: "not_cleaned",
        ALIKE: "cleaned",
        OLD: "cleaned",
        BUSY: "cleaned",
    }


def test_the_summary_and_explain_name_it(tables):
    told = (
        "Partition 0 of __consumer_offsets has not been cleaned since 2026-11-27 13:26:40 UTC, for 13 h 19 min: its "
        "coordinator reads 800 records of 3 keys (84 kB) before it serves the groups there"
    )
    (said,) = not_cleaned(tables, "c")
    assert " ".join(said.plain.split()) == told
    (first, _) = group_not_cleaned(GroupHistory(tables, "left", "c"))
    assert " ".join(first.plain.split()) == told
    assert list(group_not_cleaned(GroupHistory(tables, "g", "c"))) == []


def test_offset_commits_that_are_decoded_count_once(tmp_path):
    write(tmp_path / "log", 0, cleaned(100), dirty(100, 20, 10))
    (row,) = asked(audited(tmp_path, offset_commits=True)).values()
    assert (row.records, row.dirty_records, row.state) == (24, 20, "cleaned")


def test_a_copy_without_a_trace_of_the_cleaner_says_so(tmp_path):
    for number in range(2):
        write(tmp_path / "log", number, *(dirty(50 * nth, 50, 50 * nth) for nth in range(4)))
    assert {row.state for row in asked(audited(tmp_path)).values()} == {"no_cleaning_shown"}


def test_what_is_missing_behind_a_repeated_key_was_lost_not_cleaned(tmp_path):
    """A file is missing."""
    write(tmp_path / "log", 0, dirty(0, 50, 0), dirty(90, 50, 90), dirty(140, 50, 140))
    (row,) = asked(audited(tmp_path)).values()
    assert (row.cleaned_until, row.dirty_records) == (None, 150)


def test_a_marker_is_no_record_and_many_keys_are_estimated(tmp_path):
    count = 4 * KEYS_KEPT
    place = tmp_path / "log" / f"{TOPIC}-0"
    place.mkdir(parents=True)
    batches = write_batch(dirty(0, count, 0, 0, keys=count)) + write_marker(count, 7, "commit", START)
    (place / f"{0:020}.log").write_bytes(batches + write_batch([group(count + 1, "g", 1)]))
    (row,) = asked(audited(tmp_path)).values()
    assert row.records == count + 1
    assert row.dirty_keys == pytest.approx(count + 1, rel=0.1)
