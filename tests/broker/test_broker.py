"""The broker of the tests is what its fixture says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from tests.broker import settings
from tests.broker.clients import commit
from tests.broker.identities import certificate
from tests.broker.offsets_topic import partition_of, read
from tests.broker.process import Daemon
from tests.broker.running import OFFSETS
from tests.broker.waiting import wait_until

pytestmark = pytest.mark.slow  # tests of what other tests use

WITH_PASSWORD = ["SASL_PLAINTEXT", "SASL_SSL"]


def seen(broker, user, protocol):
    """What a user is told about the offsets topic."""
    return AdminClient(broker.client(user, protocol)).list_topics(OFFSETS, timeout=10).topics[OFFSETS]


def wait_for_error(broker, expected, user, protocol, **others):
    """Return when a client, which has not even asked for anything, meets an error."""
    errors = []
    client = AdminClient(broker.client(user, protocol) | others | {"error_cb": errors.append})
    wait_until(lambda: client.poll(0.1) or expected in [error.code() for error in errors], f"error {expected}")


@pytest.mark.parametrize("protocol", WITH_PASSWORD)
def test_a_user_with_rights(broker, protocol):
    assert len(seen(broker, settings.READER, protocol).partitions) == settings.PARTITIONS


@pytest.mark.parametrize("protocol", WITH_PASSWORD)
def test_a_user_without(broker, protocol):
    assert seen(broker, settings.STRANGER, protocol).error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize("protocol", WITH_PASSWORD)
def test_a_wrong_password(broker, protocol):
    wait_for_error(broker, KafkaError._AUTHENTICATION, ("reader", "wrong"), protocol)


def test_a_certificate_that_is_not_the_brokers(broker, tmp_path):
    _, other = certificate(tmp_path)
    wait_for_error(broker, KafkaError._SSL, settings.READER, "SASL_SSL", **{"ssl.ca.location": str(other)})


def test_a_tool_that_logs_in(broker):
    file = broker.properties(settings.READER, "SASL_SSL")
    tool = "org.apache.kafka.tools.TopicCommand"
    assert broker.command(tool, "--list", "--command-config", str(file), address=broker.tls).split() == [OFFSETS]


def test_a_tool_that_fails(broker):
    with pytest.raises(subprocess.CalledProcessError) as failed:
        broker.command("org.apache.kafka.tools.TopicCommand", "--describe", "--topic", "nowhere")
    assert "nowhere" in failed.value.stderr + failed.value.stdout


@pytest.mark.parametrize("hard", [False, True])
def test_restart_keeps_what_was_written(broker, topic, hard):
    group = f"restart-{hard}"
    commit(broker, group, {(topic, 0): 7})
    before = read(broker, partition_of(group))
    broker.restart(hard=hard)
    assert before
    assert read(broker, partition_of(group)) == before


ENDLESS = "class Endless { public static void main(String[] a) throws Exception { %s Thread.sleep(60_000); } }"
SAYS_ITS_ID = "System.out.println(ProcessHandle.current().pid());"


def test_java_ends_with_the_tests(tmp_path):
    source = tmp_path / "Endless.java"
    source.write_text(ENDLESS % SAYS_ITS_ID)
    log = tmp_path / "log"
    start = "from pathlib import Path; from tests.broker.process import Daemon; import sys, time;"
    start += 'Daemon("none", [], sys.argv[1:2], Path(sys.argv[2])); time.sleep(60)'
    tests = subprocess.Popen([sys.executable, "-c", start, source, log], cwd=Path(__file__).parents[2])
    java = int(wait_until(lambda: log.exists() and log.read_text().strip(), "Java"))
    tests.kill()
    tests.wait()
    wait_until(lambda: not alive(java), "the end of Java", patience=5)


def test_java_that_does_not_want_to_stop(tmp_path):
    source = tmp_path / "Endless.java"
    refuse = "Runtime.getRuntime().addShutdownHook(new Thread(() -> { while (true); }));"
    source.write_text(ENDLESS % (refuse + SAYS_ITS_ID))
    daemon = Daemon("none", [], [str(source)], tmp_path / "log")
    java = int(wait_until((tmp_path / "log").read_text, "Java"))
    daemon.stop(patience=0.5)
    assert not alive(java)


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
