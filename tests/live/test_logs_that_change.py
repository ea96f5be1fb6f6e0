"""A log of which something is no longer as it was read, or never was of this log."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.errors import InputError
from kip848_records.log.retention import prunable
from kip848_records.log.runs import last_reads
from kip848_records.log.table import LogTable
from kip848_records.pipeline.audit import audit_copies
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import KAFKA
from kip848_records.protocol.schema import NO_UUID
from tests.audits import table_rows
from tests.live import two_days
from tests.live.topics import DAY_MS, tables
from tests.progress import Watcher

pytestmark = pytest.mark.slow

CLASSIC = KAFKA.by_type[2][0]
EMPTY = {"protocolType": "", "generation": 0, "protocol": None, "leader": None, "members": []}


@pytest.fixture
def first_day(spark, log, tmp_path):
    """The topic after the first day, of which the tables are in `tmp_path`."""
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    topic.audit(tmp_path)
    return topic


@pytest.mark.parametrize("is_offset_commit", [False, True])
def test_an_end_that_was_lost_and_written_again_is_another_partition(spark, log, tmp_path, is_offset_commit):
    """A broker lost the end of partition 1, and wrote on: it ends no earlier than it was read up to."""
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    is_last = (F.col("partition") == 1) & (F.col("offset") == two_days.FIRST_DAY[1] - 1)
    if is_offset_commit:  # which is not kept
        commit = F.unhex(F.lit("00010001780001780000"))
        topic.rows = topic.rows.withColumn("key", F.when(is_last, commit).otherwise(F.col("key")))
    topic.audit(tmp_path)
    later = F.when(is_last, F.expr("timestamp + INTERVAL 1 SECOND")).otherwise(F.col("timestamp"))
    topic.rows = topic.rows.withColumn("timestamp", later)
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


def test_a_later_run_may_find_nothing_but_what_no_consumer_gets(first_day, tmp_path):
    """Such as markers of transactions: they take up offsets."""
    first_day.removed = set(two_days.FIRST_DAY.items())
    first_day.until = {partition: end + 1 for partition, end in two_days.FIRST_DAY.items()}
    audit = first_day.audit(tmp_path)
    assert {read.partition: read.until_offset for read in audit.reads} == first_day.until


def test_a_deleted_group_that_is_back_as_a_classic_one_was_deleted_before_that(first_day, spark, tmp_path):
    """All that was in partition 0 is gone: `stuck` was deleted and came back, then `quiet` was deleted, all unseen."""
    keys = {"stuck": 5, "quiet": 5}
    back_at = two_days.FIRST_DAY[0] + keys["stuck"]
    value = encode_message(CLASSIC.value_layouts(0)[0], EMPTY)
    record = (0, back_at, encode_key(CLASSIC, {"group": "stuck"}), value, 2, "stuck")
    columns = "partition int, offset bigint, key binary, value binary, key_type int, group_id string"
    returned = spark.createDataFrame([record], columns)
    others = first_day.rows.where("partition = 1")
    like = others.limit(1).drop(*returned.columns)
    first_day.rows = others.unionByName(like.crossJoin(returned)).localCheckpoint()
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
    first_day.rows = first_day.rows.where("partition = 1")
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


def test_the_first_id_that_a_topic_has_does_not_make_it_another(spark, log, tmp_path):
    """Brokers before Kafka 2.8 gave topics none."""
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    of_its_own, topic.topic_id = topic.topic_id, NO_UUID
    topic.audit(tmp_path)
    topic.topic_id, topic.until = of_its_own, log.ends
    audit = topic.audit(tmp_path)
    assert {read.partition: read.from_offset for read in audit.reads} == two_days.FIRST_DAY


def test_a_record_of_a_year_that_cannot_be_shown_does_not_say_when_the_log_was_read(spark, log, tmp_path):
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    is_damaged = (F.col("partition") == 0) & (F.col("offset") == 3)
    error = F.lit("timestamp out of range")
    topic.rows = topic.rows.withColumns(
        {
            "timestamp": F.when(~is_damaged, F.col("timestamp")),
            "error_code": F.when(is_damaged, F.lit("timestamp_out_of_range")),
            "error": F.when(is_damaged, error),
        }
    )
    there = topic.read({partition: (0, end) for partition, end in topic.until.items()})
    newest = there.where(~is_damaged).agg(F.max(F.unix_millis("timestamp"))).first()[0]
    topic.now_ms = 0  # the newest record is later
    assert topic.audit(tmp_path).captured_at.timestamp() * 1000 == newest


def test_a_topic_cannot_have_been_read_at_a_time_that_is_yet_to_come(spark, log, tmp_path):
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    later = datetime.fromtimestamp((topic.now_ms + DAY_MS) / 1000, UTC)
    with pytest.raises(InputError, match=r"the log was not read at 2027-\S+: it is 2027-\S+ now; omit"):
        topic.audit(tmp_path, captured_at=later)
    assert not (tmp_path / "log").exists()


@pytest.mark.usefixtures("first_day")
def test_to_remove_what_is_old_is_no_break_in_history(spark, tmp_path):
    log = LogTable(SparkEngine(spark, str(tmp_path)), "default")
    knowledge = log.knowledge()
    after_a_gap = [replace(read, is_tombstone_gap=True) for read in knowledge.reads]
    _, _, reads = prunable(log, replace(knowledge, reads=after_a_gap), since_ms=0)
    assert reads
    assert not any(read.is_tombstone_gap for read in last_reads(reads).values())


def test_another_topic_is_refused_before_any_row_of_it_is_written(spark, log, tmp_path, monkeypatch):
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    topic.rows = topic.rows.withColumn("key", F.lit(b"order"))
    monkeypatch.setattr(SparkEngine, "materialize", lambda *_: pytest.fail("rows were written"))
    with pytest.raises(InputError, match=rf"^{topic.name} has no record .*; check that it is `__consumer_off"):
        topic.audit(tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_rows_that_an_earlier_run_quarantined_do_not_count_again(spark, log, tmp_path):
    topic = two_days.topic(spark, log.folder, two_days.FIRST_DAY)
    is_damaged = (F.col("partition") == 0) & F.col("offset").isin(3, two_days.FIRST_DAY[0])
    topic.rows = topic.rows.withColumn("value", F.when(is_damaged, b"").otherwise(F.col("value")))
    assert topic.audit(tmp_path).quarantined == 1
    assert topic.audit(tmp_path).quarantined == 0
    topic.until = log.ends
    assert topic.audit(tmp_path).quarantined == 1
    assert len(table_rows(tmp_path, "quarantine", "default")) == 2


def test_rows_of_another_topic_say_nothing_of_this_log(spark, log, tmp_path):
    """A dump of two topics: where both have a partition and an offset, no record of this log is damaged."""
    rows = pq.read_table(log.folder / "dump.parquet").to_pylist()
    others = [{**row, "topic": "orders", "key": None, "value": b"x"} for row in rows[5:8]]
    for name, table in (("one", rows), ("two", rows + others)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.Table.from_pylist(table), tmp_path / name / "dump.parquet")
        options = AuditOptions(sources=(str(tmp_path / name),), out=str(tmp_path / f"{name} tables"))
        audit = audit_copies(SparkEngine(spark, options.out), options, Watcher())
        assert audit.quarantined == (3 if name == "two" else 0)
    apart = ("audit_runs", "quarantine", "partition_history")
    one, two = (tables(tmp_path / f"{name} tables", without=(*apart, "log")) for name in ("one", "two"))
    assert one.keys() == two.keys()
    for table in one:
        assert one[table] == two[table], table
