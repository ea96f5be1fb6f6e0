"""What the assignor of Kafka Streams tells members of classic groups is read as Kafka's own class reads it."""

import gzip
import json
import struct
import tracemalloc
from pathlib import Path
from random import Random

import pytest

from kip848_records.replay.classic.streams_assignor import (
    AT_ONCE,
    TaskAssignment,
    WarmUps,
    read_task_assignment,
)

VECTORS = Path(__file__).parents[2] / "vectors/streams-assignor/kafka-4.4.0.jsonl.gz"
NO_TIME = 2**63 - 1


@pytest.fixture(scope="module")
def vectors():
    with gzip.open(VECTORS, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_each_version_is_read_as_kafka_reads_it(vectors):
    assert {vector["version"] for vector in vectors} == {*range(1, 12)}
    assert {vector["error"] for vector in vectors} == {*range(5)}
    for vector in vectors:
        found = read_task_assignment(bytes.fromhex(vector["payload"]))
        assert (found.version, found.error) == (vector["version"], vector["error"])
        assert ({*found.active}, {*found.standby}) == ({*vector["active"]}, {*vector["standby"]})
        assert (NO_TIME if found.next_rebalance_ms is None else found.next_rebalance_ms) == vector["next"]


def test_tasks_are_in_the_order_of_their_numbers():
    tasks = struct.pack(">ii", 0, 10), struct.pack(">ii", 0, 9), struct.pack(">ii", 1, 2)
    payload = struct.pack(">ii", 1, 3) + b"".join(tasks) + struct.pack(">i", 0)
    assert read_task_assignment(payload).active == ("0_9", "0_10", "1_2")


def test_bytes_behind_the_last_field_are_ignored_as_kafka_does(vectors):
    for vector in vectors:
        payload = bytes.fromhex(vector["payload"])
        assert read_task_assignment(payload + b"\x01\x02") == read_task_assignment(payload)


def test_each_cut_says_where_the_bytes_end(vectors):
    for vector in vectors[::7]:
        payload = bytes.fromhex(vector["payload"])
        for size in range(len(payload)):
            with pytest.raises(ValueError, match=r"at byte \d+"):
                read_task_assignment(payload[:size])


@pytest.mark.parametrize("version", [-1, 0, 12, 2**31 - 1])
def test_a_version_that_is_not_known_is_named(version):
    with pytest.raises(ValueError, match=f"version {version} is not one of 1 to 11"):
        read_task_assignment(struct.pack(">i", version))


def test_damaged_bytes_take_no_more_memory_than_they_have(vectors):
    """A count of two thousand million elements is refused before anything is made of it."""
    rng, whole = Random(848), [bytes.fromhex(vector["payload"]) for vector in vectors]  # noqa: S311 - no secret
    tracemalloc.start()
    refused = 0
    for _ in range(3_000):
        payload = bytearray(rng.choice(whole))
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(len(payload))
            payload[place : place + 4] = rng.choice([rng.randbytes(4), b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b""])
            payload = payload or bytearray(1)
        try:
            assert isinstance(read_task_assignment(bytes(payload)), TaskAssignment)
        except ValueError:
            refused += 1
    assert 0 < refused < 3_000
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def told(active=(), standby=(), at=None):
    return TaskAssignment(11, 0, tuple(active), tuple(standby), at)


def test_without_standby_replicas_each_copy_is_to_warm_up():
    found = WarmUps().of({"a": told(["0_0", "0_1"], at=600), "b": told([], ["0_0"])})
    assert found == (("b", ("0_0",)),)


def test_copies_are_standby_replicas_while_no_rebalance_is_asked_for():
    warm_ups = WarmUps()
    assert warm_ups.of({"a": told(["0_0"], ["0_1"]), "b": told(["0_1"], ["0_0"])}) == ()
    found = warm_ups.of({"a": told(["0_0"], ["0_1"], 600), "b": told(["0_1"], ["0_0"]), "c": told([], ["0_0", "0_1"])})
    assert found == (("c", ("0_0", "0_1")),)
    warm_ups.forget()
    only_copies = {"a": told(["0_0"], ["0_1"], 600), "b": told(["0_1"], ["0_0"])}
    assert warm_ups.of(only_copies) == (), "two replicas look like them, so it is not said that they warm up"


def test_tasks_of_one_subtopology_have_as_many_standby_replicas():
    """Tasks without stores have none."""
    stateless = ["1_0", "1_1"]
    found = WarmUps().of(
        {"a": told(["0_0", *stateless], ["0_1"], AT_ONCE), "b": told(["0_1"], ["0_0"]), "c": told([], ["0_1"])}
    )
    assert found == (("a", ("0_1",)), ("c", ("0_1",))), "which of both is the replica is not known"
