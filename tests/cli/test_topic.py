"""A live topic on the command line: how it is named, read, and refused."""

import json
from argparse import Namespace

import pytest

from kip848_records.cli import main
from kip848_records.cli.arguments import audit_options
from kip848_records.sources.topic.admin import READ_UNCOMMITTED
from kip848_records.sources.topic.ends import look_up
from kip848_records.sources.topic.jvm import open_topic
from kip848_records.sources.topic.rows import read_range
from tests.broker import settings
from tests.broker.clients import commit, commit_in_transaction, make_topic
from tests.broker.running import OFFSETS

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
    topic = open_topic(spark, url, None)
    ends = look_up(spark, topic, isolation=READ_UNCOMMITTED)
    expected = (
        read_range(spark, topic, ends.offsets, isolation=READ_UNCOMMITTED).orderBy("partition", "offset").collect()
    )
    code, out, err = run(capsys, "inspect", url, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(line["partition"], line["offset"]) for line in lines] == [(row.partition, row.offset) for row in expected]
    assert {line["key"].get("group") for line in lines if line["key"]} >= set(GROUPS)
    assert f"note: {url} does not show transaction outcomes: " in err


def test_inspect_looks_for_one_group(url, capsys):
    code, out, _ = run(capsys, "inspect", url, "--group", GROUPS[1], "--limit", "5", "--dialect", "auto")
    assert code == 0
    assert f'"{GROUPS[1]}"' in out


@pytest.mark.usefixtures("url")
def test_settings_come_from_a_file(broker, capsys):
    config = broker.properties(settings.ADMIN, "SASL_SSL")
    code, out, _ = run(
        capsys, "inspect", f"kafka://{broker.tls}/{OFFSETS}", "--kafka-config", str(config), "--limit", "1"
    )
    assert code == 0
    assert len(out.splitlines()) == 1


@pytest.mark.usefixtures("spark")
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
    code, _, err = run(capsys, "inspect", f"kafka://{broker.scram}/{OFFSETS}", "--kafka-config", str(config))
    assert code == 2
    assert err.startswith("note: reading with Spark: it reads live topics\n")
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
    )
    assert audit_options(arguments, "o", "c").kafka_config == "f"
