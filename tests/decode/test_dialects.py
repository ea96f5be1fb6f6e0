"""Logs of early writers: which dialect they are taken for, and what an audit makes of them."""

import json
from collections import Counter
from functools import reduce

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kip848_records.decode import decode
from kip848_records.decode.dialects import choose_dialect
from kip848_records.decode.inspect import inspect_log
from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import DIALECTS
from kip848_records.report.inspection import json_line
from tests.audits import table_rows
from tests.log_rows import log_of
from tests.progress import Watcher
from tests.protocol.samples import VECTOR_RELEASES, usual_record, vector_records

TOPIC = {"topicId": "AAECAwQFBgcICQoLDA0ODw", "partitions": [0, 1]}
GROUP, MEMBER = {"groupId": "g"}, {"groupId": "g", "memberId": "m"}
METADATA = {"metadataVersion": 0, "metadataBytes": b"\x01"}
ASSIGNOR = {"name": "a", "minimumVersion": -1, "maximumVersion": 2, "reason": 0, "version": 1, "metadata": b"\x02"}
IDENTITY = {"instanceId": None, "rackId": None, "clientId": "c", "clientHost": "/h", "subscribedTopicRegex": None}
DRAFT = [
    (8, "GroupConfiguration", GROUP, {"configurations": [{"name": "n", "value": "v"}]}),
    (
        5,
        "ConsumerGroupMemberMetadata",
        MEMBER,
        {"groupEpoch": 1, **IDENTITY, "subscribedTopicNames": ["t"], "assignors": [ASSIGNOR]},
    ),
    (4, "ConsumerGroupPartitionMetadata", GROUP, {"epoch": 1, "topics": [{**TOPIC, "numPartitions": 2}]}),
    (3, "ConsumerGroupMetadata", GROUP, {"epoch": 1}),
    (
        6,
        "ConsumerGroupTargetAssignment",
        GROUP,
        {
            "assignmentEpoch": 1,
            "members": [{"memberId": "m", "error": 0, "topicPartitions": [TOPIC], "version": 3, "metadata": b""}],
        },
    ),
    (
        7,
        "ConsumerGroupCurrentMemberAssignment",
        MEMBER,
        {"memberEpoch": 1, "error": 0, "topicPartitions": [TOPIC], **METADATA},
    ),
]


def draft_rows():
    for key_type, name, key, value in DRAFT:
        record = next(r for r in DIALECTS["kip-848-draft"].by_type[key_type] if r.name == name)
        yield {
            "key": encode_key(record, key),
            "value": encode_message(record.value_layouts(0)[0], value),
            "timestamp": 5_000,
        }


def as_rows(records):
    return [{"key": key, "value": value} for key, value in records]


@pytest.mark.parametrize(("release", "dialect"), VECTOR_RELEASES.items())
def test_the_dialect_of_a_release_is_told_from_its_records(engine, release, dialect):
    records = vector_records(release)
    choice = chosen(engine, as_rows(records))
    disputed = sum(4 <= int.from_bytes(key[:2], "big") <= 8 for key, _ in records)
    assert (choice.name, choice.records, choice.undecoded) == (dialect, disputed, 0)


# The last release of each dialect: another one of the same dialect asks the same of Spark.
OF_DIALECTS = {dialect: release for release, dialect in VECTOR_RELEASES.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("dialect", "release"), OF_DIALECTS.items())
def test_spark_decodes_all_records_of_a_dialect(spark, dialect, release):
    records = vector_records(release)
    log = SparkEngine(spark).relation(log_of(as_rows(records))).repartition(2)
    decoded = decode(log, dialect=dialect, offset_commits=True)
    assert decoded.quarantine.isEmpty()
    # One job for all tables: each of their own takes longer to start than to run.
    tables = [rows.select(F.lit(table).alias("table")) for table, rows in decoded.records.items()]
    counts = reduce(DataFrame.union, tables).groupBy("table").count().collect()
    assert dict(map(tuple, counts)) == Counter(usual_record(key, dialect).table for key, _ in records)


def chosen(engine, rows):
    return choose_dialect(engine, engine.relation(log_of(rows)))


def test_the_draft_is_told_from_its_records(engine):
    said = "dialect kip-848-draft: leaves 0 of 5 records of types 4 to 8 undecoded"
    assert str(chosen(engine, draft_rows())) == said


def test_what_the_best_dialect_leaves_is_counted(engine):
    broken = {"key": b"\x00\x05\x00\x01g\x00\x01m", "value": b"\x00\x00\xff"}
    choice = chosen(engine, [*as_rows(vector_records("3.7.2")), broken, broken])
    assert (choice.name, choice.undecoded) == ("kafka-3.7", 2)


def test_a_log_that_does_not_tell_is_kafka_s(engine):
    assert chosen(engine, [{"key": b"\x00\x03\x00\x01g", "value": None}]).name == "kafka"


def test_records_of_another_dialect_are_quarantined_with_the_reason(spark):
    decoded = decode(SparkEngine(spark).relation(log_of(draft_rows())))
    assert {row.reason.partition(":")[0] for row in decoded.quarantine.collect()} == {"value"}
    assert decoded.quarantine.count() == 4
    assert decoded.records["group_configuration"].count() == 1


def test_an_audit_of_a_draft_log(tmp_path):
    rows = [
        {"partition": 0, "offset": offset, "timestamp": 1_000_000 + offset, **row}
        for offset, row in enumerate(draft_rows())
    ]
    (tmp_path / "dump").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "dump" / "log.parquet")
    said = Watcher()
    options = AuditOptions(
        sources=(str(tmp_path / "dump"),), out=str(tmp_path / "out"), dialect="auto", cluster="c", record_tables=True
    )
    audit = run_audit(None, options, said)
    assert audit.dialect == "kip-848-draft"
    assert any(line.startswith("dialect kip-848-draft: leaves 0 of 5") for line in said.notes)

    def rows(table):
        return table_rows(tmp_path / "out", table, "c")

    assert rows("quarantine") == []
    (configuration,) = rows("group_configuration")
    assert configuration["configurations"] == [{"name": "n", "value": "v"}]
    (target,) = rows("consumer_group_target_assignment")
    assert target["members"][0]["member_id"] == "m"
    (member,) = rows("consumer_group_member_metadata")
    assert (member["group_epoch"], member["assignors"][0]["minimum_version"]) == (1, -1)
    (sizes,) = rows("consumer_group_partition_metadata")
    assert (sizes["epoch"], sizes["topics"][0]["num_partitions"], sizes["topics"][0]["topic_name"]) == (1, 2, None)
    (epoch,) = rows("epoch_timeline")
    assert (epoch["assign_lag_ms"], epoch["converged_at"], epoch["status"]) == (0, None, "open")
    (state,) = rows("group_state")
    assert (state["state"], state["members"], state["converged_members"]) == ("unknown", 1, None)
    assert {row["record"] for row in rows("latest_state")} == {name for _, name, _, _ in DRAFT}


def test_inspect_reads_a_dialect(engine):
    rows = inspect_log(engine, engine.relation(log_of(draft_rows())), dialect="kip-848-draft")
    lines = [json.loads(json_line(row)) for row in engine.collect(rows)]
    assert [(line["type"], line["record"]) for line in lines] == [(key_type, name) for key_type, name, _, _ in DRAFT]
    assert lines[0]["value"] == {"configurations": [{"name": "n", "value": "v"}]}
    assert lines[-1]["value"]["metadataBytes"] == "AQ=="
