"""What happens to a run while it fetches from a real broker: it is killed, stopped, cut off, kept waiting, outrun."""

import signal
import time
from contextlib import contextmanager
from threading import Thread

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from kip848_records.cli import main
from kip848_records.sources.topic.client import Brokers
from kip848_records.tables.registry import TABLES
from tests.audits import table_rows
from tests.broker.clients import commit, consumer, make_topic
from tests.broker.offsets_topic import read
from tests.broker.running import done
from tests.broker.settings import PARTITIONS
from tests.broker.waiting import wait_until
from tests.commands import started
from tests.live.proxies import proxy

SUBJECT, GROUP = "subject-of-faults", "group-of-faults"
WIDE = 60
"""Partitions of the subject: a commit of all is as many records."""

IN_THE_MIDDLE = 60_000
"""Bytes of answers behind which a run has asked all its questions, and fetches."""

QUICK = {"request.timeout.ms": "1500", "socket.connection.setup.timeout.ms": "1500"}
CLUSTER = "prod"


@pytest.fixture(scope="module", autouse=True)
def log(broker):
    """A log of some hundred kilobytes."""
    make_topic(broker, SUBJECT, WIDE)
    grow(broker)
    with consumer(broker, GROUP, [SUBJECT]) as member:
        member.wait_for(WIDE)


def grow(broker):
    for number in range(2 * PARTITIONS):
        commit(broker, f"commits-of-faults-{number}", {(SUBJECT, each): number for each in range(WIDE)}, times=5)


@pytest.fixture
def between(broker):
    """A proxy between a client and the broker."""
    with proxy(broker.ports["PROXY"], broker.ports["PROXIED"]) as running:
        yield running


@pytest.fixture
def arguments(broker, tmp_path):
    """Of an audit through the proxy."""
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in QUICK.items()))
    url = f"kafka://{broker.address('PROXIED')}"
    return ["audit", url, "--kafka-config", str(file), "--offset-commits", "--cluster", CLUSTER, "--quiet", "--out"]


def tables(out):
    """The rows of all tables, without when and in which run they were read.

    `partition_content` is known only of files that one run has read whole.
    """
    kept = sorted({*TABLES} - {"audit_runs", "topic_name", "partition_history", "partition_content"})
    return {
        table: sorted(lasting(row) for row in table_rows(out, table, CLUSTER) if row.get("content") != "knowledge")
        for table in kept
    }


def lasting(row):
    left_out = {"run", "run_info", "read", "file", "copies"}
    kept = {name: value for name, value in row.items() if name not in left_out and not name.endswith("_ms")}
    return tuple((name, repr(value)) for name, value in sorted(kept.items()) if "captured" not in name)


def assert_one_line(capfd, *parts):
    said = capfd.readouterr()
    lines = said.err.splitlines()
    assert [line.partition(":")[0] for line in lines if line] == ["error", "hint"], said.err
    for part in parts:
        assert part in said.err


def test_a_run_that_is_killed_or_interrupted_is_made_good_by_the_next(broker, between, arguments, tmp_path, capfd):
    nights = tmp_path / "nights"
    assert main([*arguments, str(nights)]) == 0
    before = tables(nights)
    grow(broker)
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        between.stall(IN_THE_MIDDLE)
        with started(*arguments, nights) as command:
            wait_until(lambda: between.passed == IN_THE_MIDDLE, "the middle of a fetch")
            command.send_signal(number)
            _, said = command.communicate(timeout=20)
        assert command.returncode == code
        assert said == ("interrupted\n" if number == signal.SIGINT else "")
        assert tables(nights) == before
    between.flow()
    assert main([*arguments, str(nights)]) == 0
    assert main([*arguments, str(tmp_path / "once")]) == 0
    found, expected = tables(nights), tables(tmp_path / "once")
    assert found["log"]
    for table in expected:
        assert found[table] == expected[table], table
    left = [path.name for path in nights.iterdir() if not (path / "_delta_log").exists()]
    assert left == []
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_that_is_cut_once_is_made_anew(between, arguments, tmp_path):
    between.cut(IN_THE_MIDDLE, times=1)
    assert main([*arguments, str(tmp_path / "cut")]) == 0
    assert between.cuts_left == 0
    assert main([*arguments, str(tmp_path / "once")]) == 0
    assert tables(tmp_path / "cut") == tables(tmp_path / "once")


def test_a_connection_that_is_cut_while_it_is_made_is_made_anew(between, arguments):
    between.cut(400, times=1)
    assert main(["inspect", *arguments[1:4], "--limit", "1"]) == 0
    assert between.cuts_left == 0


@pytest.mark.parametrize(
    "fault", [(kind, after) for kind in ("stall", "cut") for after in (0, 400, IN_THE_MIDDLE)], ids=str
)
def test_a_connection_that_stalls_or_is_cut_again_and_again(between, arguments, tmp_path, capfd, fault):
    kind, after = fault
    between.stall(after) if kind == "stall" else between.cut(after, times=1000)
    began = time.monotonic()
    assert main([*arguments, str(tmp_path / "out")]) == 2
    assert time.monotonic() - began < 60
    reasons = {"stall": "no answer for 1.5 s", "cut": "the connection was closed"}
    assert_one_line(capfd, f"stopped answering: {reasons[kind]}" if after > 400 else "gets no answer")
    assert not list(tmp_path.glob("out/*"))


@contextmanager
def in_the_middle(between, arguments, out):
    """Audit in a thread, which is in the middle of a fetch; then wait for its end, and return its exit code."""
    codes = []
    between.stall(IN_THE_MIDDLE)
    running = Thread(target=lambda: codes.append(main([*arguments, str(out)])))
    running.start()
    try:
        wait_until(lambda: between.passed == IN_THE_MIDDLE, "the middle of a fetch")
        yield codes
    finally:
        between.flow()
        running.join(60)


def test_a_broker_that_restarts_in_the_middle(broker, between, arguments, tmp_path):
    arguments = [each for each in arguments if each != "--quiet"]
    file = tmp_path / "client.properties"
    file.write_text("request.timeout.ms=60000\n")
    with in_the_middle(between, arguments, tmp_path / "out") as codes:
        broker.restart(hard=True)
        between.flow()
    assert codes == [0]
    assert main([*arguments, str(tmp_path / "once")]) == 0
    assert tables(tmp_path / "out") == tables(tmp_path / "once")


def test_a_broker_that_stops_in_the_middle(broker, between, arguments, tmp_path, capfd):
    try:
        with in_the_middle(between, arguments, tmp_path / "out") as codes:
            broker.stop(hard=True)
            between.flow()
            began = time.monotonic()
        assert time.monotonic() - began < 60
    finally:
        broker.start()
    assert codes == [2]
    assert_one_line(capfd, "error: no broker answers at ", "connection refused")
    assert not list(tmp_path.glob("out/*"))


def test_records_that_are_deleted_before_they_are_fetched(broker, tmp_path, capfd, monkeypatch):
    name = "deleted.__consumer_offsets"
    done(broker.admin.create_topics([NewTopic(name, 1)]))
    wait_until(lambda: name in broker.admin.list_topics(timeout=5).topics, name)
    writer = Producer(broker.client())
    for _, key, value in read(broker, 0)[:50]:
        writer.produce(name, value, key, partition=0)
    writer.flush(10)
    fetch = Brokers.fetch

    def after_others_deleted(*given):
        done(broker.admin.delete_records([TopicPartition(name, 0, 20)]))
        return fetch(*given)

    monkeypatch.setattr(Brokers, "fetch", after_others_deleted)
    command = [
        "audit",
        f"kafka://{broker.bootstrap}/{name}",
        "--quiet",
        "--cluster",
        CLUSTER,
        "--out",
        str(tmp_path / "out"),
    ]
    assert main(command) == 2
    assert_one_line(capfd, f"records of topic {name} were deleted while it was read", "run the command again")
    monkeypatch.undo()
    assert main(command) == 0
