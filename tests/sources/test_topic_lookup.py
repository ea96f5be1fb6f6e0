"""What a cluster may say of a topic that no broker of the tests does."""

import socket
import struct
from collections import Counter
from itertools import pairwise
from threading import Thread
from types import SimpleNamespace

import pytest

from kip848_records.errors import InputError
from kip848_records.sources.topic import client
from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.client import READ_COMMITTED, Brokers
from kip848_records.sources.topic.login import Login

TOPIC = Topic("kafka://h:1/t", "h:1", "t")
BATCHES = 5


def led(monkeypatch, leaders):
    """A client of a cluster whose partitions have these leaders."""
    monkeypatch.setattr(Brokers, "_describe", lambda _: client._Described("id", leaders))
    brokers = Brokers.of(TOPIC)
    brokers._places = {leader: client._Place(f"b{leader}", 9092) for leader in leaders.values() if leader is not None}
    return brokers


@pytest.mark.parametrize(
    ("partitions", "says"),
    [
        ({}, "topic t at h:1 has no partitions; check whether it is being deleted"),
        ({0: None, 1: 1, 2: None}, "topic t has no leader for partition 0, 2; try again when all brokers are up"),
    ],
)
def test_a_topic_that_cannot_be_read_as_a_whole(monkeypatch, partitions, says):
    monkeypatch.setattr(client, "_ELECTION_S", 0)
    monkeypatch.setattr(client, "_PAUSE_S", 0)
    with pytest.raises(InputError) as caught:
        led(monkeypatch, partitions).look_up(READ_COMMITTED)
    assert str(caught.value) == says


@pytest.mark.parametrize("is_described", [False, True])
def test_a_leader_that_is_being_elected_is_awaited(monkeypatch, is_described):
    """The broker that is asked may know of none yet, or name one that does not know it yet."""
    monkeypatch.setattr(client, "_PAUSE_S", 0)
    brokers = led(monkeypatch, {0: 1})
    answers = iter([None, 1] if not is_described else [1, 1])
    codes = iter([6, *[0] * 9] if is_described else [0] * 9)
    monkeypatch.setattr(Brokers, "_describe", lambda _: client._Described("id", {0: next(answers)}))
    monkeypatch.setattr(Brokers, "_offsets", lambda *_: {("t", 0): (next(codes), 5)})
    for other in ("_settings", "_topic_names", "_offsets_retention_ms"):
        monkeypatch.setattr(Brokers, other, lambda *_: {})
    assert brokers.look_up(READ_COMMITTED).offsets == {0: (5, 5)}
    assert next(answers, "asked again") == "asked again"


def test_a_leader_that_rejects_the_login_is_an_error_of_one_line_at_once(monkeypatch):
    """The server of the URL may have accepted it."""

    def reject(*_):
        raise client._LoginError("wrong password")

    brokers = led(monkeypatch, {0: 1})
    monkeypatch.setattr(client, "_Connection", reject)
    with pytest.raises(InputError, match=r"the cluster at b1:9092 rejects the login: wrong password"):
        brokers.fetch({0: (0, 1)}, lambda *_: None)


def test_the_server_that_accepts_a_connection_is_asked_first(monkeypatch):
    """To the others a connection may take its whole time limit."""
    asked = []

    def refuse(place, *_):
        asked.append(str(place))
        raise ConnectionRefusedError

    monkeypatch.setattr(client, "check_reachable", lambda *_: "b:2")
    monkeypatch.setattr(client, "_Connection", refuse)
    with pytest.raises(ConnectionRefusedError):
        Brokers.of(Topic("kafka://a:1,b:2,[::1]:3/t", "a:1,b:2,[::1]:3", "t"))._any()
    assert asked == ["b:2", "a:1", "[::1]:3"]


def test_what_is_no_broker_gets_no_memory(monkeypatch):
    """The answer of a TLS port to a plaintext client reads as a size of 352 MB."""
    sizes = []
    take = client._Connection._bytes
    monkeypatch.setattr(client._Connection, "_bytes", lambda self, size: sizes.append(size) or take(self, size))
    with socket.create_server(("127.0.0.1", 0)) as server:
        alert = Thread(target=lambda: server.accept()[0].sendall(bytes.fromhex("15030300020246")))
        alert.start()
        with pytest.raises(ConnectionError, match="it is no broker"):
            client._Connection(client._Place(*server.getsockname()), Login(), 5, 5)
        alert.join(5)
    assert sizes == [4]


def batch(offset, *, length=None, count=1):
    """The header of a batch, without records."""
    size = 61 - 12 if length is None else length
    return struct.pack(">qiibIhiqqqhii", offset, size, 0, 2, 0, 0, count - 1, 0, 0, -1, -1, -1, count)


class Leaders:
    """Connections to leaders that answer a request for a partition with one batch of a record, or with `content`."""

    def __init__(self, content=None):
        self.content = content
        self.events = []

    def __call__(self, place, *_):
        asked = []
        return SimpleNamespace(
            send=lambda request: (self.events.append(("send", place.host)), asked.append(request)),
            answer=lambda: (self.events.append(("answer", place.host)), self.answered(asked.pop()))[1],
            close=lambda: None,
        )

    def answered(self, request):
        (topic,) = request.topics
        parts = [
            SimpleNamespace(
                partition_index=each.partition,
                error_code=0,
                records=batch(each.fetch_offset) if self.content is None else self.content,
            )
            for each in topic.partitions
        ]
        return SimpleNamespace(error_code=0, responses=[SimpleNamespace(partitions=parts)])


def test_all_leaders_are_asked_before_the_first_answer_is_taken(monkeypatch):
    brokers, leaders = led(monkeypatch, {0: 1, 1: 2, 2: 1}), Leaders()
    monkeypatch.setattr(client, "_Connection", leaders)
    offsets = {}

    def write(partition, content, last):
        offsets.setdefault(partition, []).append(struct.unpack_from(">q", content, last)[0])

    brokers.fetch({0: (0, BATCHES), 1: (2, BATCHES), 2: (4, 4)}, write)
    assert offsets == {0: [0, 1, 2, 3, 4], 1: [2, 3, 4]}
    assert {each for each, _ in leaders.events[:2]} == {"send"}
    assert {each for each, _ in leaders.events[2:4]} == {"answer"}
    of_each = {host: [each for each, at in leaders.events if at == host] for host in ("b1", "b2")}
    assert all(one != two for events in of_each.values() for one, two in pairwise(events))
    assert Counter(host for _, host in leaders.events) == {"b1": 2 * BATCHES, "b2": 2 * 3}


@pytest.mark.parametrize("length", [-(1 << 31), -12, -1, 0, 48])
def test_a_length_that_no_batch_has_is_one_error(monkeypatch, length):
    monkeypatch.setattr(client, "_Connection", Leaders(batch(3) + batch(4, length=length)))
    said = f"the leader of partition 0 of topic t sent no record batches: a batch of {length} bytes is too short;"
    with pytest.raises(InputError, match=said):
        led(monkeypatch, {0: 1}).fetch({0: (3, 9)}, lambda *_: None)


@pytest.mark.parametrize("content", [batch(1), batch(5, count=-3)])
def test_a_batch_behind_which_nothing_new_can_be_asked_is_one_error(monkeypatch, content):
    """Reading on would never end, and would fill the disk."""
    monkeypatch.setattr(client, "_Connection", Leaders(content))
    said = "partition 0 of topic t sent no record batches: asked for offset 4, it ends before offset"
    with pytest.raises(InputError, match=said):
        led(monkeypatch, {0: 1}).fetch({0: (4, 9)}, lambda *_: None)


def test_a_disk_that_is_full_is_no_failure_of_a_leader(monkeypatch):
    def write(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(client, "_Connection", Leaders())
    with pytest.raises(OSError, match="No space left on device"):
        led(monkeypatch, {0: 1}).fetch({0: (0, 1)}, write)
