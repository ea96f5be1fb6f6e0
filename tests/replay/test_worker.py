"""What a worker returns for groups: rows of all tables, group by group, in bounded batches."""

import gc

import pyarrow as pa
import pytest

from kip848_records.protocol.messages import RECORDS
from kip848_records.replay import arrow_rows, worker
from kip848_records.replay.arrow_rows import to_batch, union_batches, union_type
from kip848_records.replay.decode import grouped_rows as log_rows
from kip848_records.replay.inputs import ReplayInputs
from kip848_records.replay.rows import (
    ROW_CLASSES,
    Anomaly,
    LatestState,
    Quarantine,
    RegexResolution,
    TopicName,
    UnknownRecord,
    row_class,
    row_type,
)
from kip848_records.replay.worker import replay_batches
from kip848_records.specs.columns import STRINGS, Column, TableSpec
from kip848_records.specs.loading import shared_columns
from kip848_records.specs.tables import CLUSTER, GROUP_ID
from tests.dump_log import read_dump_logs
from tests.protocol.samples import read_capture
from tests.replay.log_batches import CAPTURES, Ignored, group_rows, log_batch
from tests.replay.logs import inputs_of, replayed
from tests.replay.test_reading import epoch, record_of

INPUTS = ReplayInputs("kafka", None, {})
TOPIC, OTHER_TOPIC = "AAECAwQFBgcICQoLDA0ODw", "AQECAwQFBgcICQoLDA0ODw"


Listed = row_class(
    "Listed",
    TableSpec("listed", "", (), (CLUSTER, *shared_columns("partition"), GROUP_ID, Column("offsets", STRINGS, ""))),
)
"""The offsets of a group's records, as a replay saw them."""


class Lister:
    """A replay whose rows are what it was given: one of the group, and one for each record."""

    def __init__(self, inputs, numbers, partition, group_id):
        assert inputs is INPUTS
        assert not numbers.topic_ids
        self.key = (partition, group_id)
        self.records = []

    def replay(self, record):
        self.records.append(record)

    def finish(self):
        yield Listed(*self.key, tuple(str(record.offset) for record in self.records))
        for record in self.records:
            yield RegexResolution(
                partition=self.key[0],
                group_id=self.key[1],
                incarnation=0,
                regex="",
                topics=(),
                version=record.value.epoch,
                resolved_at=record.timestamp,
                offset=record.offset,
            )


NOT_IN_DUMP = {"subscription_version", "user_data_bytes"}
"""Of a classic member: the records of a dump are read without them."""


@pytest.mark.parametrize("largest_bytes", [20_000, 1 << 20])
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: path.name)
def test_captures(monkeypatch, capture, largest_bytes):
    """The bytes of a log give the rows that Kafka's own dump of it gives."""
    monkeypatch.setattr(log_rows, "LARGEST_BYTES", largest_bytes)
    monkeypatch.setattr(worker, "BATCH_SIZE", 100)
    rows = group_rows(read_capture(capture))
    dumped = read_dump_logs(capture / "oracle" / "dump-log")
    known = not_dumped(rows)
    records = [record | known.get((record["partition"], record["offset"]), {}) for record in dumped]
    inputs = inputs_of(dict.fromkeys({row["partition"] for row in rows}, 0), 1_800_000_000_000)
    expected = replayed(records, inputs)
    batches = list(replay_batches(inputs, [log_batch(rows)]))
    assert {row_class.__name__ for row_class, _ in batches} - expected.keys() <= {"LatestState", "TopicName"}
    for name in expected.keys() - {"RefusedRecord"}:  # what a release refuses shows in bytes
        row_class = next(found for found in ROW_CLASSES.values() if found.__name__ == name)
        found = [row for row_class, batch in batches if row_class.__name__ == name for row in batch.to_pylist()]
        plain = to_batch(row_class, expected[name]).to_pylist()
        for row in (*found, *plain):
            for column in NOT_IN_DUMP & row.keys():
                del row[column]
        assert sorted(map(str, found)) == sorted(map(str, plain))


def not_dumped(rows):
    """By partition and offset, what the dump does not say of a record."""
    return {
        (row["partition"], row["offset"]): {
            "size": len(row["key"]) + len(row["value"] or b""),
            "leaderEpoch": row["leader_epoch"],
        }
        for row in rows
    }


def rows_of(results, row_class):
    return [row_class(**row) for found, batch in results if found is row_class for row in batch.to_pylist()]


@pytest.mark.parametrize("largest_bytes", [1, 30, 1000])
def test_groups_are_replayed_one_after_the_other(monkeypatch, largest_bytes):
    monkeypatch.setattr(log_rows, "LARGEST_BYTES", largest_bytes)
    rows = [
        *(epoch(number, group="a", offset=number) for number in range(3)),
        *(epoch(number, group="b", offset=number) for number in range(3, 5)),
        epoch(9, group="b", offset=0, partition=1),
    ]
    results = list(replay_batches(INPUTS, [log_batch(rows)], Lister))
    assert rows_of(results, Listed) == [(0, "a", ["0", "1", "2"]), (0, "b", ["3", "4"]), (1, "b", ["0"])]
    assert [row.version for row in rows_of(results, RegexResolution)] == [0, 1, 2, 3, 4, 9]
    assert len(rows_of(results, LatestState)) == 3


def test_a_replay_sees_no_group_without_records():
    rows = [{"group_id": "g", "key": b"\0\x63\0\1g", "value": None}, {"key": None, "value": None}]
    results = list(replay_batches(INPUTS, [log_batch(rows)], None))
    assert [(row_class, batch.num_rows) for row_class, batch in results] == [(Quarantine, 1), (UnknownRecord, 1)]


def test_batches_of_rows_are_bounded_by_rows_and_items(monkeypatch):
    monkeypatch.setattr(worker, "BATCH_SIZE", 4)
    rows = [epoch(number, group=group) for group in "abcdefghi" for number in range(2 if group < "d" else 1)]
    results = list(replay_batches(INPUTS, [log_batch(rows)], Lister))
    assert [batch.num_rows for row_class, batch in results if row_class is RegexResolution] == [4, 4, 4]
    # A row of the first groups counts as three, for it lists two offsets; those of the others as two.
    assert [batch.num_rows for row_class, batch in results if row_class is Listed] == [2, 2, 2, 2, 1]


def test_what_decodes_late_does_not_wait_for_the_end_of_a_group():
    """Quarantine of one batch comes before the next batch is read: a group may have millions."""
    asked = []

    def batches():
        for number in range(60):
            asked.append(number)
            yield log_batch([{**epoch(1), "value": bytes(1 << 19)}])

    results = replay_batches(INPUTS, batches(), Ignored)
    row_class, batch = next(results)
    assert row_class is Quarantine
    assert batch.num_rows < 10
    assert len(asked) < 40
    results.close()


def test_topic_names(monkeypatch):
    topics = [
        {"topicId": topic_id, "topicName": name, "numPartitions": 1, "partitionMetadata": []}
        for topic_id, name in ((TOPIC, "one"), (OTHER_TOPIC, "two"))
    ]
    share = {
        "initializingTopics": [],
        "initializedTopics": [],
        "deletingTopics": [{"topicId": TOPIC, "topicName": "x"}],
    }
    key = {"groupId": "g"}
    rows = [
        record_of(4, key, {"topics": topics}),
        record_of(15, key, share),
        record_of(4, key, {"topics": [topics[0] | {"topicName": "new"}]}),
        record_of(4, key, None),
        record_of(9, key, {"topics": [topics[0] | {"topicName": "not taken"}]}),
        record_of(4, {"groupId": "h"}, {"topics": topics[:1]}),
    ]
    for largest_bytes in (1, 1000):
        monkeypatch.setattr(log_rows, "LARGEST_BYTES", largest_bytes)
        results = list(replay_batches(INPUTS, [log_batch(rows)], Ignored))
        assert sorted(rows_of(results, TopicName)) == sorted(
            [
                TopicName(TOPIC, "new", RECORDS[4].table, 0, 2),
                TopicName(OTHER_TOPIC, "two", RECORDS[4].table, 0, 0),
                TopicName(TOPIC, "x", RECORDS[15].table, 0, 1),
                TopicName(TOPIC, "one", RECORDS[4].table, 0, 5),
            ]
        )


def test_garbage_collection_is_as_before():
    gc.set_threshold(*(before := (700, 10, 10)))
    results = replay_batches(INPUTS, [log_batch([epoch(1)])], Ignored)
    next(results)
    assert gc.get_threshold() == (worker.COLLECTED_OBJECTS, *before[1:])
    results.close()
    assert gc.get_threshold() == before


def test_one_schema_for_all_tables(monkeypatch):
    monkeypatch.setattr(arrow_rows, "LISTED_ROWS", 3)
    names = [TopicName(TOPIC, f"topic-{number}", "source", 0, number) for number in range(7)]
    anomaly = Anomaly(**dict.fromkeys(Anomaly._fields) | {"kind": "two_owners", "at": 1_000})
    tables = {"topic_name": TopicName, "anomaly": Anomaly}
    results = [
        (TopicName, to_batch(TopicName, names)),
        (Anomaly, to_batch(Anomaly, [anomaly])),
        (Anomaly, to_batch(Anomaly, [])),
        (UnknownRecord, to_batch(UnknownRecord, [UnknownRecord(0, 1, None, 99, b"", None)])),
    ]
    first, second = union_batches(tables, results)
    assert first.schema == second.schema == union_type(tables)
    first.validate(full=True)
    second.validate(full=True)
    assert first["table"].to_pylist() == ["topic_name"] * 3
    assert [len(rows) for rows in first["topic_name"].to_pylist()] == [3, 3, 1]
    assert first["topic_name"].flatten().to_pylist() == [name._asdict() for name in names]
    assert first["anomaly"].to_pylist() == [None] * 3
    assert (second["topic_name"].to_pylist(), second["table"].to_pylist()) == ([None], ["anomaly"])
    ((row,),) = second["anomaly"].to_pylist()
    assert row["kind"] == "two_owners"


def test_large_rows_stand_alone():
    rows = [UnknownRecord(0, offset, None, 99, b"", bytes(700_000)) for offset in range(4)]
    (batch,) = union_batches({"unknown_record": UnknownRecord}, [(UnknownRecord, to_batch(UnknownRecord, rows))])
    assert [len(listed) for listed in batch["unknown_record"].to_pylist()] == [1] * 4


def test_the_union_of_all_tables_is_little_more_than_the_rows():
    """Other tables' columns are null, and must not take the bytes of their fields on the way to Spark."""
    rows = [TopicName(TOPIC, "topic", "source", 0, number) for number in range(20_000)]
    alone = to_batch(TopicName, rows)
    (together,) = union_batches(ROW_CLASSES, [(TopicName, alone)])
    assert together.schema == union_type(ROW_CLASSES)
    assert sent(together) < 1.1 * sent(alone)
    assert row_type(TopicName) == union_type(ROW_CLASSES).field("topic_name").type.value_type


def sent(batch):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().size
