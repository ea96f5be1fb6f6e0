"""A live topic of a real broker, read as others read it, and left as it was."""

import time

import pytest
from chispa.schema_comparer import assert_schema_equality
from confluent_kafka import Consumer, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import NewTopic

from kip848_records.errors import InputError
from kip848_records.pipeline.end_offsets import read_end_offsets
from kip848_records.sources.topic.address import open_topic
from kip848_records.sources.topic.client import READ_COMMITTED, READ_UNCOMMITTED, Brokers
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.spark_rows import LOG_SCHEMA, read_range
from tests.broker.clients import commit, commit_in_transaction, make_topic, wait_until
from tests.broker.lookup import end_offsets, look_up
from tests.broker.running import OFFSETS, done

SUBJECT = "topic-subject"
GROUPS = [f"topic-group-{number}" for number in range(12)]


@pytest.fixture(scope="module")
def topic(broker):
    """The broker's own topic: commits of groups in all partitions, some in transactions that were aborted."""
    make_topic(broker, SUBJECT)
    for group in GROUPS:
        commit(broker, group, {(SUBJECT, 0): 1}, times=2)
    for group in GROUPS[::3]:
        commit_in_transaction(broker, group, {(SUBJECT, 0): 2})
        commit_in_transaction(broker, group, {(SUBJECT, 0): 3}, abort=True)
    return open_topic(f"kafka://{broker.bootstrap}/{OFFSETS}", None)


def own_topic(broker, name, **config):
    """Make a topic that is no coordinator's, whose name ends as that of a copy does."""
    settings = {key.replace("_", "."): value for key, value in config.items()}
    done(broker.admin.create_topics([NewTopic(name, 2, config=settings)]))
    wait_until(lambda: name in broker.admin.list_topics(timeout=5).topics, name)
    return open_topic(f"kafka://{broker.bootstrap}/{name}", None)


def producer(broker, **settings):
    return Producer(broker.client() | {name.replace("_", "."): value for name, value in settings.items()})


def read_by_another(broker, name, ranges, isolation):
    """What librdkafka reads from there: partition, offset, timestamp, key and value of each record."""
    reader = Consumer(
        broker.client()
        | {"group.id": "another", "enable.auto.commit": "false", "isolation.level": isolation}
        | {"enable.partition.eof": "true", "fetch.wait.max.ms": "10"}
    )
    records = []
    try:
        for partition, (first, end) in ranges.items():
            reader.assign([TopicPartition(name, partition, first)])
            while not (message := reader.poll(10)).error():
                if message.offset() < end:
                    records.append(
                        (partition, message.offset(), message.timestamp()[1], message.key(), message.value())
                    )
    finally:
        reader.close()
    return sorted(records)


def records(rows):
    columns = ("partition", "offset", "unix_millis(timestamp)", "key", "value")
    found = rows.selectExpr(*columns).collect()
    return sorted(
        (p, o, t, None if k is None else bytes(k), None if v is None else bytes(v)) for p, o, t, k, v in found
    )


def test_what_the_cluster_says(broker, topic):
    before = time.time_ns() // 1_000_000
    ends = look_up(topic, isolation=READ_UNCOMMITTED)
    assert before <= ends.at_ms <= time.time_ns() // 1_000_000
    reader = Consumer(broker.client() | {"group.id": "another"})
    there = {number: reader.get_watermark_offsets(TopicPartition(OFFSETS, number), timeout=10) for number in range(4)}
    reader.close()
    assert ends.offsets == there
    assert ends.high_watermarks == {partition: end for partition, (_, end) in there.items()}
    assert ends.delete_retention_ms == 86_400_000
    assert ends.offsets_retention_ms == 7 * 86_400_000
    described = broker.admin.describe_topics(TopicCollection([OFFSETS, SUBJECT]))
    # librdkafka prints them as plain base64, Kafka as base64url.
    to_url = str.maketrans("+/", "-_")
    ids = {name: str(future.result(10).topic_id).translate(to_url) for name, future in described.items()}
    assert ends.topic_id == ids[OFFSETS]
    assert {ends.topic_names[topic_id]: topic_id for topic_id in ids.values()} == ids


def test_where_other_topics_end_is_what_kafka_says(broker, topic, tmp_path):
    """A topic that is gone, and a partition that is not there, are left out."""
    name = own_topic(broker, "ends.orders").name
    writer = producer(broker)
    for number in range(3):
        writer.produce(name, str(number), partition=1)
    writer.flush(10)
    before = time.time_ns() // 1_000_000
    found = end_offsets(topic, [(name, 0), (name, 1), ("ends.gone", 0)])
    assert [each[:4] for each in found] == [(name, 0, 0, 0), (name, 1, 0, 3)]
    assert before <= found[0][4] <= time.time_ns() // 1_000_000
    printed = broker.command("org.apache.kafka.tools.GetOffsetShell", "--topic", name)
    (tmp_path / "ends.txt").write_text(printed)
    ends = read_end_offsets(str(tmp_path / "ends.txt"))
    assert [(each.topic, each.partition, each.end_offset) for each in ends] == [(name, 0, 0), (name, 1, 3)]


def test_the_last_stable_offset_is_where_an_open_transaction_begins(broker):
    topic = own_topic(broker, "open.__consumer_offsets")
    writer = producer(broker, transactional_id="open")
    writer.init_transactions(20)
    writer.begin_transaction()
    for number in range(3):
        writer.produce(topic.name, str(number), partition=0)
    writer.flush(10)
    other = producer(broker)
    other.produce(topic.name, "behind", partition=0)
    other.flush(10)
    committed = look_up(topic, isolation=READ_COMMITTED)
    assert (committed.offsets, committed.high_watermarks) == ({0: (0, 0), 1: (0, 0)}, {0: 4, 1: 0})
    assert look_up(topic, isolation=READ_UNCOMMITTED).offsets == {0: (0, 4), 1: (0, 0)}
    writer.commit_transaction(10)  # it returns once the coordinator has decided; the markers are written after that
    wait_until(lambda: look_up(topic, isolation=READ_COMMITTED).offsets == {0: (0, 5), 1: (0, 0)}, "the marker")


@pytest.mark.parametrize("isolation", [READ_COMMITTED, READ_UNCOMMITTED])
def test_all_records_as_another_client_reads_them(spark, broker, topic, isolation):
    ends = look_up(topic, isolation=isolation)
    rows = read_range(spark, topic, ends.offsets, isolation=isolation)
    assert records(rows) == read_by_another(broker, OFFSETS, ends.offsets, isolation)
    assert {row.partition for row in rows.select("partition").collect()} == {0, 1, 2, 3}


def test_aborted_commits_are_read_only_where_they_are_asked_for(spark, topic):
    ends = look_up(topic, isolation=READ_UNCOMMITTED)
    committed, all_of_them = (
        set(records(read_range(spark, topic, ends.offsets, isolation=isolation)))
        for isolation in (READ_COMMITTED, READ_UNCOMMITTED)
    )
    assert committed < all_of_them
    aborted = [key for *_, key, _ in all_of_them - committed if b"topic-group-" in key]
    assert len(aborted) == len(set(aborted)) == len(GROUPS[::3])


def test_rows_are_log_rows(spark, topic):
    ends = look_up(topic, isolation=READ_COMMITTED)
    rows = read_range(spark, topic, ends.offsets, isolation=READ_COMMITTED)
    assert_schema_equality(rows.schema, LOG_SCHEMA, ignore_nullable=True)
    kinds = {(row.key_type, row.transaction, row.error_code, *row.copies) for row in rows.collect()}
    assert (1, "unknown", None, topic.url) in kinds
    assert {kind[1:] for kind in kinds if kind[0] > 1} <= {("none", None, topic.url)}


def test_a_range_is_what_is_asked_for_however_often(spark, broker):
    topic = own_topic(broker, "range.__consumer_offsets")
    writer = producer(broker)
    for number in range(20):
        writer.produce(topic.name, str(number), partition=number % 2)
    writer.flush(10)
    rows = read_range(spark, topic, {0: (3, 7), 1: (5, 5)}, isolation=READ_COMMITTED)
    assert [(p, o, v) for p, o, *_, v in records(rows)] == [(0, n, str(2 * n).encode()) for n in range(3, 7)]
    # The range's end is not the log's.
    writer.produce(topic.name, "new", partition=0)
    writer.flush(10)
    assert rows.count() == 4


def test_an_empty_range(spark, topic):
    rows = read_range(spark, topic, {0: (3, 3), 1: (0, 0)}, isolation=READ_COMMITTED)
    assert_schema_equality(rows.schema, LOG_SCHEMA)
    assert rows.isEmpty()


def test_gaps_of_compaction_are_no_loss_of_data(spark, broker):
    topic = own_topic(
        broker,
        "gaps.__consumer_offsets",
        cleanup_policy="compact",
        segment_ms="1",
        min_cleanable_dirty_ratio="0.0",
    )
    writer = producer(broker)

    def write():
        for number in range(10):
            writer.produce(topic.name, str(number), key="same", partition=0)
            writer.flush(10)
        return len(records(read_range(spark, topic, {0: (0, 10)}, isolation=READ_COMMITTED))) < 10

    wait_until(write, "compaction")
    ends = look_up(topic, isolation=READ_COMMITTED)
    found = records(read_range(spark, topic, ends.offsets, isolation=READ_COMMITTED))
    assert ends.offsets[0][0] == 0
    assert found == read_by_another(broker, topic.name, ends.offsets, READ_COMMITTED)
    assert found[0][1] > 0


@pytest.mark.parametrize("isolation", [READ_COMMITTED, READ_UNCOMMITTED])
@pytest.mark.parametrize("abort", [True, False])
def test_a_range_may_end_in_markers(spark, broker, isolation, abort):
    topic = own_topic(broker, f"markers-{isolation}-{abort}.__consumer_offsets")
    writer = producer(broker, transactional_id=topic.name)
    writer.init_transactions(20)
    for number in range(3):
        writer.begin_transaction()
        writer.produce(topic.name, str(number), partition=0)
        writer.flush(10)
        (writer.abort_transaction if abort else writer.commit_transaction)(10)
    wait_until(lambda: look_up(topic, isolation=isolation).offsets[0] == (0, 6), "the last marker")
    ends = look_up(topic, isolation=isolation)
    found = records(read_range(spark, topic, ends.offsets, isolation=isolation))
    dropped = abort and isolation == READ_COMMITTED
    assert [offset for _, offset, *_ in found] == ([] if dropped else [0, 2, 4])
    # Nothing but a marker.
    assert records(read_range(spark, topic, {0: (5, 6)}, isolation=isolation)) == []


def test_no_group_is_left_and_nothing_is_written(spark, broker, topic):
    ends = look_up(topic, isolation=READ_UNCOMMITTED)
    groups = group_ids(broker)
    assert not read_range(spark, topic, ends.offsets, isolation=READ_UNCOMMITTED).isEmpty()
    assert group_ids(broker) == groups
    assert not [group for group in groups if group.startswith(("spark-kafka", "kip848-records"))]
    after = look_up(topic, isolation=READ_UNCOMMITTED)
    written = {partition: (ends.offsets[partition][1], end) for partition, (_, end) in after.offsets.items()}
    keys = b"".join(key for *_, key, _ in records(read_range(spark, topic, written, isolation=READ_UNCOMMITTED)))
    assert b"kip848-records" not in keys
    assert b"spark-kafka" not in keys


def group_ids(broker):
    return {group.group_id for group in broker.admin.list_consumer_groups(request_timeout=10).result(20).valid}


def test_records_that_are_gone_are_a_loss(spark, broker):
    topic = own_topic(broker, "gone.__consumer_offsets")
    writer = producer(broker)
    for number in range(10):
        writer.produce(topic.name, str(number), partition=0)
    writer.flush(10)
    done(broker.admin.delete_records([TopicPartition(topic.name, 0, 5)]))
    assert look_up(topic, isolation=READ_COMMITTED).offsets[0] == (5, 10)
    told = r"records of topic gone\.__consumer_offsets were deleted while it was read; run the command again"
    with pytest.raises(InputError, match=told), failures_of(Brokers.of(topic)):
        read_range(spark, topic, {0: (0, 10)}, isolation=READ_COMMITTED).collect()


def test_a_session_of_other_settings_is_switched(spark, topic):
    name = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    spark.conf.set(name, "false")
    ends = look_up(topic, isolation=READ_COMMITTED)
    assert not read_range(spark, topic, ends.offsets, isolation=READ_COMMITTED).isEmpty()
    assert spark.conf.get(name) == "true"
