"""Brokers that load partitions of `__consumer_offsets`, or refuse to: `kip848 check --release` says which."""

import json
import shutil

import pytest

from kip848_records.cli import main
from tests.broker.clients import commit, consumer, make_topic
from tests.broker.loading import is_loaded, write_records
from tests.broker.offsets_topic import group_in, make_anew, partition_of
from tests.broker.requests import wait_for_state
from tests.broker.running import KAFKA, running_broker
from tests.broker.settings import PARTITIONS
from tests.downloads import UnavailableError
from tests.replay.loadable_logs import loadable_log


@pytest.fixture
def check(tmp_path):
    """What `kip848 check --release` says of the files of a broker: its findings, and the number that loads."""

    def check(folder, release):
        file = tmp_path / "check.json"
        code = main(["check", str(folder), "--release", release, "--quiet", "--json", str(file)])
        (result,) = json.loads(file.read_text())["expectations"]
        assert code == (1 if result["errors"] else 0)
        assert not result["unknown"]
        return [each for each in result["violations"] if each["severity"] == "error"], result["passed"]

    return check


def append(broker, partition, name):
    """Write the records of a log of `replay/loadable` behind what is in a partition; return the offset of its first."""
    log = loadable_log(name)
    return write_records(broker, partition, [(row["key"], row["value"]) for row in log.rows])


def refused_by(broker):
    """The partitions that the coordinator has not loaded, of all."""
    return {partition for partition in range(PARTITIONS) if not is_loaded(broker, partition)}


def test_a_record_that_its_own_release_refuses(broker, check):
    """A consumer group's record behind those of a classic group that had members, as races in coordinators write it."""
    make_topic(broker, "of-loads")
    commit(broker, "loaded", {("of-loads", 0): 3})
    group, name = "g", "kafka-21117-consumer-record-behind-classic"
    partition = partition_of(group)
    first = append(broker, partition, name)
    try:
        broker.restart()
        assert refused_by(broker) == {partition}
        ((refused,), passed) = check(broker.folder, KAFKA)
        assert passed == PARTITIONS - 1
        place = [refused[name] for name in ("partition", "offset", "group_id")]
        assert place == [partition, first + loadable_log(name).refused[KAFKA], group]
        assert "KAFKA-21117" in refused["message"]
    finally:
        make_anew(broker)
    commit(broker, group, {("of-loads", 0): 3})


@pytest.mark.nightly
@pytest.mark.broker
def test_a_rollback_and_the_way_back(check, tmp_path):
    """Each release starts on the data of the one before, and loads what `--release` said of that data."""
    taken_early, share, alive = 0, 1, 2
    logs = {taken_early: "kafka-19862-partition-taken-early", share: "share"}
    (tmp_path / "broker").mkdir()
    try:
        with running_broker(tmp_path / "broker", metadata_of="4.0") as broker:
            make_topic(broker, "of-loads", 4)
            firsts = {partition: append(broker, partition, name) for partition, name in logs.items()}
            group = group_in(alive, "alive")
            with consumer(broker, group, ["of-loads"]) as member:
                member.wait_for(4)
            wait_for_state(broker, group, "Empty")
            for release, refuses in {"4.1.1": {taken_early}, "4.0.0": {taken_early, share}, KAFKA: set()}.items():
                broker.stop()
                copy = tmp_path / release
                shutil.copytree(broker.folder, copy)
                broker.become(release)
                broker.start()
                assert refused_by(broker) == refuses, release
                said, passed = check(copy, release)
                assert passed == PARTITIONS - len(refuses)
                places = {each["partition"]: (each["offset"], each["group_id"]) for each in said}
                expected = {each: firsts[each] + loadable_log(logs[each]).refused[release] for each in refuses}
                assert places == {partition: (offset, "g") for partition, offset in expected.items()}
                wait_for_state(broker, group, "Empty")
    except UnavailableError as unavailable:
        pytest.skip(str(unavailable))
