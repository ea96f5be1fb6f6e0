"""A log of which something is no longer as it was read, or never was of this log."""

import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.errors import InputError
from kip848_records.log.retention import prunable
from kip848_records.log.runs import last_reads
from kip848_records.log.table import LogTable
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import KAFKA
from kip848_records.protocol.schema import NO_UUID
from kip848_records.simulate.partition_log import KAFKA_ROWS
from kip848_records.specs.log_columns import LOG_COLUMNS
from tests.audits import table_rows
from tests.live import two_days
from tests.live.topics import DAY_MS, tables
from tests.progress import Watcher

CLASSIC = KAFKA.by_type[2][0]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_engine")]

EMPTY = {"protocolType": "", "generation": 0, "protocol": None, "leader": None, "members": []}


@pytest.fixture(scope="module")
def audited(log, tmp_path_factory):
    """The tables after the first day."""
    out = tmp_path_factory.mktemp("first-day")
    two_days.topic(log.folder, two_days.FIRST_DAY).audit(out)
    return out


@pytest.fixture
def first_day(log, audited, tmp_path):
    """The topic after the first day, of which the tables are in `tmp_path`."""
    shutil.copytree(audited, tmp_path, dirs_exist_ok=True)
    return two_days.topic(log.folder, two_days.FIRST_DAY)


@pytest.mark.parametrize("is_offset_commit", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_an_end_that_was_lost_and_written_again_is_another_partition(log, tmp_path, is_offset_commit):
    """A broker lost the end of partition 1, and wrote on: it ends no earlier than it was read up to."""
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    last = 1, two_days.FIRST_DAY[1] - 1
    if is_offset_commit:  # which is not kept
        topic.change(*last, key=bytes.fromhex("00010001780001780000"), key_type=1)
    topic.audit(tmp_path)
    topic.change(*last, timestamp=topic.row(*last)["timestamp"] + timedelta(seconds=1))
    topic.until = log.ends
    said = Watcher()
    audit = topic.audit(tmp_path, progress=said)
    assert {read.partition: read.from_offset for read in audit.reads} == {0: two_days.FIRST_DAY[0], 1: 0}
    (told,) = [line for line in said.notes if "is not the one read before" in line]
    assert told.startswith("partition 1 is not the one read before: the record at 33 is not the one")


def test_nothing_is_asked_for_that_lies_before_the_start_of_the_log(first_day, log, tmp_path):
    first_day.starts = two_days.FIRST_DAY
    first_day.until = log.ends
    first_day.asked.clear()
    first_day.audit(tmp_path)
    assert first_day.asked
    for ranges in first_day.asked:
        assert all(first >= first_day.starts[partition] for partition, (first, _) in ranges.items())


@pytest.mark.nightly
def test_a_later_run_may_find_nothing_but_what_no_consumer_gets(first_day, tmp_path):
    """Such as markers of transactions: they take up offsets."""
    first_day.removed = set(two_days.FIRST_DAY.items())
    first_day.until = {partition: end + 1 for partition, end in two_days.FIRST_DAY.items()}
    audit = first_day.audit(tmp_path)
    assert {read.partition: read.until_offset for read in audit.reads} == first_day.until


def test_a_deleted_group_that_is_back_as_a_classic_one_was_deleted_before_that(first_day, tmp_path):
    """All that was in partition 0 is gone: `stuck` was deleted and came back, then `quiet` was deleted, all unseen."""
    keys = {"stuck": 5, "quiet": 5}
    back_at = two_days.FIRST_DAY[0] + keys["stuck"]
    value = encode_message(CLASSIC.value_layouts(0)[0], EMPTY)
    record = {"partition": 0, "offset": back_at, "key": encode_key(CLASSIC, {"group": "stuck"}), "value": value}
    others = [row for row in first_day.rows.to_pylist() if row["partition"] == 1]
    returned = others[0] | record | {"key_type": 2, "group_id": "stuck"}
    first_day.rows = pa.Table.from_pylist([*others, returned], LOG_COLUMNS)
    first_day.until = {**two_days.FIRST_DAY, 0: back_at + 1 + keys["quiet"]}
    first_day.now_ms += 2 * DAY_MS
    audit = first_day.audit(tmp_path)
    notes = {read.partition: read.note for read in audit.reads}
    assert notes[0].endswith(f"{sum(keys.values())} keys are gone")
    states = {row["group_id"]: row for row in table_rows(tmp_path, "group_state", "default")}
    assert "quiet" not in states
    assert (states["stuck"]["group_type"], states["stuck"]["state"]) == ("classic", "Empty")


@pytest.mark.parametrize("is_room", [True, False])
def test_what_was_cut_off_may_be_there_still(first_day, tmp_path, is_room):
    """The log starts further on, and all that is behind that start has been deleted unseen, and compacted.

    In no case is a deletion at an offset that has not been read.
    """
    start, end = 12, two_days.FIRST_DAY[0]
    last = {row["key"]: row for row in sorted(kept_rows(tmp_path), key=lambda row: row["offset"])}
    there = {key: row["offset"] for key, row in last.items() if row["value"] is not None}
    gone = {key for key, offset in there.items() if offset >= start}
    assert 1 < len(gone) < len(there)
    first_day.rows = first_day.rows.filter(pc.field("partition") == 1)
    first_day.starts = {0: start}
    first_day.until = {**two_days.FIRST_DAY, 0: end + (len(gone) if is_room else 1)}
    first_day.now_ms += 2 * DAY_MS
    audit = first_day.audit(tmp_path)
    (note,) = [read.note for read in audit.reads if read.partition == 0]
    inferred = [row for row in kept_rows(tmp_path) if row["is_inferred"]]
    assert note.endswith(f"{len(inferred)} keys are gone")
    assert len(inferred) == (len(gone) if is_room else 1)
    assert {row["key"] for row in inferred} <= gone
    assert all(end <= row["offset"] < first_day.until[0] for row in inferred)


def kept_rows(out):
    """Of partition 0."""
    return [row for row in table_rows(out, "log", "default") if row["partition"] == 0 and row["content"] != "knowledge"]


@pytest.mark.nightly
def test_the_first_id_that_a_topic_has_does_not_make_it_another(log, tmp_path):
    """Brokers before Kafka 2.8 gave topics none."""
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    of_its_own, topic.topic_id = topic.topic_id, NO_UUID
    topic.audit(tmp_path)
    topic.topic_id, topic.until = of_its_own, log.ends
    audit = topic.audit(tmp_path)
    assert {read.partition: read.from_offset for read in audit.reads} == two_days.FIRST_DAY


@pytest.mark.nightly
def test_a_record_of_a_year_that_cannot_be_shown_does_not_say_when_the_log_was_read(log, tmp_path):
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    topic.change(0, 3, timestamp=None, error_code="timestamp_out_of_range", error="timestamp out of range")
    topic.now_ms = 0  # the newest record is later
    assert topic.audit(tmp_path).captured_at.timestamp() * 1000 == max(topic.newest_ms().values())


@pytest.mark.nightly
def test_a_topic_cannot_have_been_read_at_a_time_that_is_yet_to_come(log, tmp_path):
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    later = datetime.fromtimestamp((topic.now_ms + DAY_MS) / 1000, UTC)
    with pytest.raises(InputError, match=r"the log was not read at 2027-\S+: it is 2027-\S+ now; omit"):
        topic.audit(tmp_path, captured_at=later)
    assert not (tmp_path / "log").exists()


@pytest.mark.usefixtures("first_day")
def test_to_remove_what_is_old_is_no_break_in_history(tmp_path):
    log = LogTable(EmbeddedEngine(str(tmp_path)), "default")
    knowledge = log.knowledge()
    after_a_gap = [replace(read, is_tombstone_gap=True) for read in knowledge.reads]
    _, _, reads = prunable(log, replace(knowledge, reads=after_a_gap), since_ms=0)
    assert reads
    assert not any(read.is_tombstone_gap for read in last_reads(reads).values())


def test_another_topic_is_refused_before_any_row_of_it_is_written(log, tmp_path, monkeypatch):
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    topic.rows = pa.Table.from_pylist([row | {"key": b"order"} for row in topic.rows.to_pylist()], LOG_COLUMNS)
    for engine in (SparkEngine, EmbeddedEngine):
        monkeypatch.setattr(engine, "materialize", lambda *_: pytest.fail("rows were written"))
    with pytest.raises(InputError, match=rf"^{topic.name} has no record .*; check that it is `__consumer_off"):
        topic.audit(tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.nightly
def test_rows_that_an_earlier_run_quarantined_do_not_count_again(log, tmp_path):
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    for offset in (3, two_days.FIRST_DAY[0]):
        topic.change(0, offset, value=b"")
    assert topic.audit(tmp_path).quarantined == 1
    assert topic.audit(tmp_path).quarantined == 0
    topic.until = log.ends
    assert topic.audit(tmp_path).quarantined == 1
    assert len(table_rows(tmp_path, "quarantine", "default")) == 2


def test_rows_of_another_topic_say_nothing_of_this_log(tmp_path):
    """A dump of two topics: where both have a partition and an offset, no record of this log is damaged."""
    rows = two_days.two_days().rows()
    others = [{**row, "topic": "orders", "key": None, "value": b"x"} for row in rows[5:8]]
    for name, table in (("one", rows), ("two", rows + others)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(table, KAFKA_ROWS), tmp_path / name / "dump.parquet")
        options = AuditOptions(sources=(str(tmp_path / name),), out=str(tmp_path / f"{name} tables"))
        audit = run_audit(None, options, Watcher())
        assert audit.quarantined == (3 if name == "two" else 0)
    apart = ("audit_runs", "quarantine", "partition_history")
    one, two = (tables(tmp_path / f"{name} tables", without=(*apart, "log")) for name in ("one", "two"))
    assert one.keys() == two.keys()
    for table in one:
        assert one[table] == two[table], table
