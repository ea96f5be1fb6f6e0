"""What names a live topic, and what does not."""

import pytest

from kip848_records.errors import InputError
from kip848_records.sources.topic.address import Topic, is_topic, open_topic, parse_url
from kip848_records.sources.topic.client_properties import ClientSettings

_EXPECTED = "expected kafka://host:port[,host:port...]/topic, as in kafka://broker-1:9092/__consumer_offsets"


@pytest.mark.parametrize(
    ("source", "expected"),
    [("kafka://a:1/b", True), ("kafka://", True), ("/data/kafka", False), ("s3a://kafka://a", False), ("kafka", False)],
)
def test_a_topic_is_told_by_its_scheme(source, expected):
    assert is_topic(source) is expected


@pytest.mark.parametrize(
    ("url", "servers", "name"),
    [
        ("kafka://localhost:9092/__consumer_offsets", "localhost:9092", "__consumer_offsets"),
        ("kafka://h:1", "h:1", "__consumer_offsets"),
        ("kafka://h:1/", "h:1", "__consumer_offsets"),
        ("kafka://a.b-c_d:1,10.0.0.1:65535/x.y-z_0", "a.b-c_d:1,10.0.0.1:65535", "x.y-z_0"),
        ("kafka://[::1]:9092,[fe80::1%eth0]:9093/t", "[::1]:9092,[fe80::1%eth0]:9093", "t"),
    ],
)
def test_servers_and_topic(url, servers, name):
    assert parse_url(url) == (servers, name)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("kafka:///t", "it names no server"),
        ("kafka://", "it names no server"),
        ("kafka://h/t", "h has no port"),
        ("kafka://h:/t", "h: is not host:port"),
        ("kafka://:9092/t", ":9092 is not host:port"),
        ("kafka://h:0/t", "0 is not a port"),
        ("kafka://h:65536/t", "65536 is not a port"),
        ("kafka://h:http/t", "h:http is not host:port"),
        ("kafka://h:1,,g:1/t", "a server's name is empty"),
        ("kafka://h:1,/t", "a server's name is empty"),
        ("kafka://h:1, g:1/t", " g:1 is not host:port"),
        ("kafka://::1:9092/t", "the IPv6 address in ::1:9092 is not in brackets, as in [::1]:9092"),
        ("kafka://[::1]/t", "[::1] has no port"),
        ("kafka://h:1/a/b", "'a/b' is not a valid topic name"),
        ("kafka://h:1/t?group=x", "'t?group=x' is not a valid topic name"),
        ("kafka://h:1/..", "'..' is not a valid topic name"),
        ("kafka://h:1/" + "t" * 250, f"'{'t' * 250}' is not a valid topic name"),
        ("file:/t", "it does not begin with kafka://"),
    ],
)
def test_each_way_to_be_wrong_is_said(url, reason):
    with pytest.raises(InputError) as caught:
        parse_url(url)
    assert str(caught.value) == " ".join(f"{url} is not a topic: {reason}; {_EXPECTED}".split())


@pytest.mark.parametrize("url", ["kafka://me:hush@h:1/t", "kafka://me:hu/sh@h:1/t", "kafka://me:hush%40h:1/t"])
def test_a_password_in_the_url_is_refused_and_not_shown(url):
    with pytest.raises(InputError, match=r"takes no user and no password: .*--kafka-config") as caught:
        parse_url(url)
    assert "hu" not in str(caught.value)


def test_a_topic_does_not_show_its_settings():
    topic = Topic("kafka://h:1/t", "h:1", "t", ClientSettings({"sasl.jaas.config": "hush"}))
    assert repr(topic) == "Topic(url='kafka://h:1/t', bootstrap_servers='h:1', name='t')"


def test_a_file_of_settings_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="none holds no client settings: No such file or directory"):
        open_topic("kafka://h:1/t", f"{tmp_path}/none")
