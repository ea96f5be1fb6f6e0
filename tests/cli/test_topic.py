"""A live topic on the command line: how it is named, read, and refused."""

import json
from argparse import Namespace

import pytest
from confluent_kafka import Producer

from kip848_records.cli import main
from kip848_records.cli.arguments import audit_options
from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.sources.topic.address import open_topic
from kip848_records.sources.topic.client import READ_UNCOMMITTED
from kip848_records.sources.topic.spark_rows import read_range
from tests.broker import settings
from tests.broker.clients import commit, commit_in_transaction, make_topic
from tests.broker.lookup import look_up
from tests.broker.running import OFFSETS
from tests.broker.settings import PARTITIONS

SUBJECT = "command-subject"
GROUPS = [f"command-group-{number}" for number in range(4)]


def run(capsys, *arguments):
    code = main(list(arguments))
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(scope="module")
def url(broker):
    """The topic's URL; commits are in it, one of them aborted."""
    make_topic(broker, SUBJECT)
    for group in GROUPS:
        commit(broker, group, {(SUBJECT, 0): 7})
    commit_in_transaction(broker, GROUPS[0], {(SUBJECT, 0): 8}, abort=True)
    return f"kafka://{broker.bootstrap}/{OFFSETS}"


def test_inspect_prints_all_that_is_there(spark, url, capsys):
    topic = open_topic(url, None)
    ends = look_up(topic, isolation=READ_UNCOMMITTED)
    expected = (
        read_range(spark, topic, ends.offsets, isolation=READ_UNCOMMITTED).orderBy("partition", "offset").collect()
    )
    code, out, err = run(capsys, "inspect", url, "--json", "--engine", "spark")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(line["partition"], line["offset"]) for line in lines] == [(row.partition, row.offset) for row in expected]
    assert {line["key"].get("group") for line in lines if line["key"]} >= set(GROUPS)
    assert f"note: {url} does not show transaction outcomes: " in err


@pytest.mark.parametrize("engine", ["embedded", pytest.param("spark", marks=pytest.mark.nightly)])
def test_inspect_reads_only_the_partition_of_one_group(url, capsys, engine):
    named = ["--group", GROUPS[1], "--limit", "5", "--dialect", "auto", "--engine", engine]
    code, out, err = run(capsys, "inspect", url, *named)
    assert code == 0
    assert f'"{GROUPS[1]}"' in out
    assert f"note: not looked at: this read one partition of {PARTITIONS}; without --group all are read\n" in err


def test_inspect_looks_for_a_group_that_is_not_in_its_partition_in_all(broker, url, capsys):
    """The topic was given more partitions since."""
    name = "moved.__consumer_offsets"
    make_topic(broker, name, 2)
    group = next(each for each in map(str, range(9)) if offsets_partition(each, 2) != 0)
    key = b"\x00\x03" + len(group).to_bytes(2, "big") + group.encode()
    producer = Producer(broker.client())
    producer.produce(name, None, key=key, partition=0)
    assert not producer.flush(20)
    code, out, err = run(capsys, "inspect", url.replace(OFFSETS, name), "--group", group)
    assert code == 0
    assert f'"{group}"' in out
    assert "not looked at" not in err
    code, _, err = run(capsys, "inspect", url, "--group", GROUPS[1] + "x")
    assert code == 2
    assert "hint: similar: " in err


@pytest.mark.usefixtures("url")
def test_settings_come_from_a_file(broker, capsys):
    config = broker.properties(settings.ADMIN, "SASL_SSL")
    code, out, _ = run(
        capsys, "inspect", f"kafka://{broker.tls}/{OFFSETS}", "--kafka-config", str(config), "--limit", "1"
    )
    assert code == 0
    assert len(out.splitlines()) == 1


@pytest.mark.usefixtures("url")
def test_what_spark_needs_and_the_other_engine_does_not(broker, capsys):
    """The right to describe groups is for Spark's reader alone."""
    config = broker.properties(settings.READER, "SASL_PLAINTEXT")
    at = f"kafka://{broker.scram}"
    code, out, _ = run(capsys, "inspect", at, "--command-config", str(config), "--limit", "1")
    assert (code, len(out.splitlines())) == (0, 1)


@pytest.mark.parametrize("command", [["explain", "--group", "g"], ["audit", "--out", "o"], ["check"]])
def test_who_may_not_read_is_told_before_an_engine_starts(broker, capsys, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = broker.properties(settings.STRANGER, "SASL_PLAINTEXT")
    for engine in ("spark", "embedded"):
        named = [f"kafka://{broker.scram}", "--kafka-config", str(config), "--engine", engine]
        code, out, err = run(capsys, *command, *named)
        assert (code, out) == (2, "")
        assert err == (
            f"error: the user may not describe topic {OFFSETS}\n"
            f"hint: let an administrator allow Describe and Read on topic {OFFSETS}\n"
        )


def test_a_failure_is_two_lines_even_with_a_stack_trace(broker, capsys):
    config = broker.properties((settings.READER[0], "wrong-secret"), "SASL_PLAINTEXT")
    at = f"kafka://{broker.scram}/{OFFSETS}"
    code, out, err = run(capsys, "inspect", at, "--kafka-config", str(config), "--debug")
    assert (code, out) == (2, "")
    assert f"error: the cluster at {broker.scram} rejects the login: " in err
    assert "secret" not in err


@pytest.mark.usefixtures("url")
def test_a_failure_while_spark_reads_is_two_lines(broker, capsys):
    config = broker.properties(settings.READER, "SASL_PLAINTEXT")
    named = ["--kafka-config", str(config), "--engine", "spark"]
    code, _, err = run(capsys, "inspect", f"kafka://{broker.scram}/{OFFSETS}", *named)
    assert code == 2
    assert err.startswith("note: reading with Spark: as --engine says\n")
    assert "\nerror: the user may not describe the group id with which Spark reads\nhint: let an admin" in err


@pytest.mark.parametrize("command", [["inspect"], ["audit", "--out", "o"], ["check"]])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["kafka://h:1/t", "--format", "json"], "--format is for files, but kafka://h:1/t is a live topic"),
        (["kafka://h:1/t", "dump.parquet"], "kafka://h:1/t is a live topic, which must be the only source"),
        (["kafka://h/t"], "kafka://h/t is not a topic: h has no port"),
        (["kafka://me:hush@h:1/t"], "a kafka:// URL takes no user and no password"),
        (["dump.json", "--kafka-config", "f"], "--kafka-config is for a live topic, but dump.json is not one"),
    ],
)
def test_arguments_that_do_not_fit(capsys, command, arguments, says):
    code, out, err = run(capsys, *command, *arguments)
    assert (code, out) == (2, "")
    assert f"error: {says}" in err
    assert "hush" not in err


def test_the_file_of_settings_is_an_option_of_the_audit():
    arguments = Namespace(
        sources=["kafka://h:1/t"],
        format=None,
        dialect="kafka",
        topics=None,
        captured_at=None,
        kafka_config="f",
        config=None,
        offsets_retention=None,
        end_offsets=None,
        cluster=None,
    )
    assert audit_options(arguments).kafka_config == "f"
