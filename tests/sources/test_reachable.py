"""A broker that cannot be reached is named in seconds, and one that can be is left to Kafka's client."""

import socket
import threading
import time
from contextlib import contextmanager
from threading import Event

import pytest

from kip848_records.cli import main
from kip848_records.sources.topic import reachable
from kip848_records.sources.topic.errors import TopicError
from kip848_records.sources.topic.reachable import check_reachable


@contextmanager
def listening(host="127.0.0.1"):
    """A server that accepts connections and never says a word: what it speaks is not asked here."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as server:
        yield server.getsockname()[1]


@pytest.fixture
def nobody():
    """The address of a port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def silent():
    """A port that does not even accept: its queue is full, as behind a firewall that drops packets."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        waiting = []
        for _ in range(4):
            client = socket.socket()
            client.settimeout(0)
            client.connect_ex(server.getsockname())
            waiting.append(client)
        yield f"127.0.0.1:{server.getsockname()[1]}"
        for client in waiting:
            client.close()


@pytest.fixture
def names(monkeypatch):
    """Names and their addresses; another name is unknown at once, whichever name servers this machine has."""
    there = {}
    ask = socket.getaddrinfo

    def resolve(host, *arguments, **options):
        if host.endswith(".invalid"):
            host.encode("idna")  # as Python does
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host not in there:
            return ask(host, *arguments, **options)
        return [each for address in there[host] for each in ask(address, *arguments, **options)]

    monkeypatch.setattr(reachable.socket, "getaddrinfo", resolve)
    return there


def reason(servers, wait_s=5):
    with pytest.raises(TopicError) as caught:
        check_reachable(servers, wait_s)
    return str(caught.value)


def test_a_listener_that_says_nothing_is_one():
    with listening() as port:
        check_reachable(f"127.0.0.1:{port}", 5)


@pytest.mark.not_everywhere  # a container may have no IPv6
def test_an_ipv6_address():
    try:
        with listening("::1") as port:
            check_reachable(f"[::1]:{port}", 5)
    except OSError as error:
        pytest.skip(f"no IPv6 here: {error}")


def test_nobody_listens(nobody):
    said = reason(nobody)
    assert said.startswith(f"no broker answers at {nobody} (connection refused); check host, port and firewall")


@pytest.mark.usefixtures("names")
def test_an_unknown_name():
    assert reason("no-such-host.invalid:9092").startswith("unknown host: no-such-host.invalid:9092; ")
    assert reason(f"{'x' * 70}.invalid:9092").startswith("unknown host: ")


@pytest.mark.usefixtures("names")
def test_each_server_has_its_reason(nobody, silent):
    servers = f"no-such-host.invalid:9092,{nobody},{silent}"
    said = reason(servers, 0.3)
    assert (
        f"no-such-host.invalid:9092 (unknown host), {nobody} (connection refused), {silent} (no answer in 0.3 s)"
        in said
    )


@pytest.mark.usefixtures("names")
def test_all_are_asked_at_once_and_one_is_enough(nobody, silent):
    before = {*threading.enumerate()}
    with listening() as port:
        servers = f"{silent},{nobody},no-such-host.invalid:1,127.0.0.1:{port}"
        assert check_reachable(servers, 60) == f"127.0.0.1:{port}"
    assert {*threading.enumerate()} - before, "the silent one has not answered yet"


def test_one_address_of_a_server_is_enough(names):
    names["broker"] = ["127.0.0.2", "127.0.0.1"]  # nobody listens at the first one
    with listening() as port:
        check_reachable(f"broker:{port}", 5)


def test_a_name_that_is_looked_up_for_long(monkeypatch):
    ended, gave_up = Event(), Event()

    def hang(*_, **__):
        if not ended.wait(60):
            gave_up.set()
        raise socket.gaierror

    monkeypatch.setattr(reachable.socket, "getaddrinfo", hang)
    monkeypatch.setattr(reachable, "_LOOK_UP_S", 0.2)
    said = reason("broker:9092", 0.1)
    assert not gave_up.is_set()
    ended.set()
    assert "no broker answers at broker:9092 (its name was not found in 0.3 s)" in said


def test_the_time_of_a_look_up_is_not_that_of_the_connection(monkeypatch):
    """The system waits 5 s for a name server that is down, and then asks the next one."""
    ask = socket.getaddrinfo

    def second_server_knows(*arguments, **options):
        time.sleep(1)
        return ask(*arguments, **options)

    monkeypatch.setattr(reachable.socket, "getaddrinfo", second_server_knows)
    with listening() as port:
        check_reachable(f"127.0.0.1:{port}", 0.5)


@pytest.mark.parametrize("command", [["inspect"], ["audit", "--out", "{}"], ["check"]])
def test_commands_say_so_before_spark_starts(nobody, command, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("kip848_records.spark.session.get_session", lambda **_: pytest.fail("Spark was started"))
    given = [each.format(tmp_path / "out") for each in command]
    assert main([*given, f"kafka://{nobody}/__consumer_offsets"]) == 2
    assert f"error: no broker answers at {nobody} (connection refused)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
