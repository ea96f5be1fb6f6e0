"""What a cluster may say of a topic that no broker of the tests does; and how long it is waited for."""

from contextlib import contextmanager

import pytest

from kip848_records.errors import InputError
from kip848_records.sources.topic import ends
from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.admin import READ_COMMITTED
from kip848_records.sources.topic.ends import look_up
from kip848_records.sources.topic.timeouts import patience_ms, with_timeouts


class Cluster:
    def __init__(self, partitions):
        self.partitions = partitions

    def describe(self, _name):
        return "id", self.partitions


@pytest.mark.parametrize(
    ("partitions", "says"),
    [
        ({}, "topic t at h:1 has no partitions; check whether it is being deleted"),
        ({2: False, 0: False, 1: True}, "topic t has no leader for partition 0, 2; try again when all brokers are up"),
    ],
)
def test_a_topic_that_cannot_be_read_as_a_whole(monkeypatch, partitions, says):
    @contextmanager
    def client(_spark, _settings):
        yield Cluster(partitions)

    monkeypatch.setattr(ends, "admin_client", client)
    with pytest.raises(InputError) as caught:
        look_up(None, Topic("kafka://h:1/t", "h:1", "t"), isolation=READ_COMMITTED)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("given", "api", "request_"),
    [
        ({}, "20000", "20000"),
        ({"default.api.timeout.ms": "5000"}, "5000", "5000"),
        ({"default.api.timeout.ms": "90000"}, "90000", "20000"),
        ({"request.timeout.ms": "30000"}, "30000", "30000"),
        ({"request.timeout.ms": "1000"}, "20000", "1000"),
        ({"request.timeout.ms": "1000", "default.api.timeout.ms": "2000"}, "2000", "1000"),
        ({"request.timeout.ms": "soon"}, "20000", "soon"),
        ({"default.api.timeout.ms": "soon"}, "soon", "20000"),
    ],
)
def test_kafka_wants_one_timeout_within_the_other(given, api, request_):
    assert with_timeouts(given) == {"default.api.timeout.ms": api, "request.timeout.ms": request_}
    assert patience_ms(given) == (20_000 if api == "soon" else int(api))
