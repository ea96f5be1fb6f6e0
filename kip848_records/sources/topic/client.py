"""A client of Kafka's brokers: the facts that a cluster has about a topic, and its record batches, as on disk.

It joins no group and commits nothing. The formats of requests and the SASL mechanisms are those of kafka-python, which
only this module imports, and which takes half a second to import: import this module late. A connection here is a plain
socket, so that each failure is the one that happened.
"""

from __future__ import annotations

import io
import socket
import ssl
import struct
import time
from base64 import urlsafe_b64encode
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from kafka.errors import for_code
from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.admin import DescribeConfigsRequest, DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kip848_records.protocol.group_partition import offsets_partition
from kip848_records.protocol.segments.faults import UnreadableBatchError
from kip848_records.protocol.segments.whole_batches import whole_batches
from kip848_records.sources.topic.ends import Ends
from kip848_records.sources.topic.errors import LeaderlessError, TopicError
from kip848_records.sources.topic.login import PACKAGES, Login, login_of
from kip848_records.sources.topic.reachable import check_reachable
from kip848_records.text import similar_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kip848_records.sources.topic.address import Topic

    Write = Callable[[int, memoryview, int], object]
    _Asked = Mapping[int, Mapping[int, tuple[int, int]]]
    _Led = Mapping[int, Mapping[str, Sequence[int]]]

READ_COMMITTED, READ_UNCOMMITTED = "read_committed", "read_uncommitted"
"""Isolation levels: they determine the end of a partition, and whether records of aborted transactions are read."""

_LEVELS: Final = {READ_UNCOMMITTED: 0, READ_COMMITTED: 1}
_EARLIEST, _LATEST = -2, -1
_CLIENT: Final = "kip848-records"
_CONNECT_S, _ANSWER_S = 5.0, 10.0
_MOST_BYTES: Final = 1 << 30
_FIRST_BYTES: Final = 1 << 20
_FETCH_BYTES, _PARTITION_BYTES = 32 << 20, 4 << 20
_FETCH_WAIT_MS: Final = 500
_MOST_VERSIONS: Final = {FetchRequest.API_KEY: 12}
"""Later versions of Fetch take the ids of topics, not their names."""
_TOPIC, _BROKER = 2, 4
"""Kafka's codes of kinds of resources."""
_RETENTION, _OFFSETS_RETENTION = "delete.retention.ms", "offsets.retention.minutes"
_LARGEST_BATCH: Final = "max.message.bytes"
_MINUTE_MS: Final = 60_000
_LOST: Final = (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, ssl.SSLEOFError)
"""How a connection ends that a broker closed, as it does with one that was idle for long."""
_PAUSE_S: Final = 0.2
_ELECTION_S: Final = 3.0
_PROBED, _PROBE_S = 3, 2.0

# Kafka's error codes (`org.apache.kafka.common.protocol.Errors`).
_OUT_OF_RANGE, _UNKNOWN_TOPIC, _NO_VERSION = 1, 3, 35
_TOPIC_DENIED, _CLUSTER_DENIED = 29, 31
_NO_MECHANISM, _LOGIN_STATE, _LOGIN_FAILED = 33, 34, 58
_UNKNOWN_TOPIC_ID: Final = 100
_MOVED: Final = {5, 6, 8, 9, 56, 74, 75, 76, 78, 108}
"""A leader that is being elected, has moved, or has not caught up: the next answer may be another."""


class _RefusedError(Exception):
    """A broker answered with an error code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class _Place(NamedTuple):
    """Where a broker listens."""

    host: str
    port: int

    @classmethod
    def of(cls, server: str) -> Self:
        """Return the place of `host:port`."""
        host, _, port = server.strip().rpartition(":")
        return cls(host.strip("[]"), int(port))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class GroupNow(NamedTuple):
    """What the coordinator of a group says of it at a time (ms). `members`: None where it does not describe them so."""

    state: str
    members: int | None
    at_ms: int


class _Described(NamedTuple):
    """A topic: its id, base64url, and by partition the id of its leader, None without one."""

    topic_id: str
    leaders: Mapping[int, int | None]


class _Connection:
    """A connection to one broker: a request, then its answer. One request at a time is without an answer."""

    def __init__(self, place: _Place, login: Login, connect_s: float, answer_s: float) -> None:
        """Connect, and log in. Raises OSError, _RefusedError, ValueError."""
        self.place = place
        self._number = 0
        self._request: Any = None
        self._versions: dict[int, int] = {}
        self._socket: socket.socket = socket.create_connection(place, timeout=connect_s)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if login.tls is not None:
                self._socket = login.tls.wrap_socket(self._socket, server_hostname=place.host.rstrip("."))
            # A port that is no broker's is known as soon as one that cannot be reached.
            self._socket.settimeout(min(connect_s, answer_s))
            self._ask_versions()
            if login.mechanism is not None:
                self._log_in(login)
            self._socket.settimeout(answer_s)
        except BaseException:
            self.close()
            raise

    def ask(self, request: Any) -> Any:  # noqa: ANN401 - messages have no types
        """Return the answer to a request."""
        self.send(request)
        return self.answer()

    def send(self, request: Any) -> None:  # noqa: ANN401
        """Send a request in the newest version that both sides know; `answer` returns its answer."""
        if request.API_VERSION is None:
            known = self._versions.get(request.API_KEY)
            if known is None:
                raise _RefusedError(_NO_VERSION)
            request.API_VERSION = min(known, _MOST_VERSIONS.get(request.API_KEY, request.max_version))
        self._number += 1
        request.with_header(self._number, _CLIENT)
        self._socket.sendall(request.encode(framed=True, header=True))
        self._request = request

    def answer(self) -> Any:  # noqa: ANN401
        """Return the answer to the request that was sent."""
        request, answer = self._request, self._received()
        kind = request.header.get_response_class()
        start = io.BytesIO(answer[: 1 << 12])
        header = kind.parse_header(start, request.API_VERSION)
        if header.correlation_id != self._number:
            raise ConnectionError("it is no broker")
        return kind.decode(answer[start.tell() :], request.API_VERSION)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()

    def _received(self) -> memoryview:
        (size,) = struct.unpack(">i", self._bytes(4))
        # Until it has said its versions it may be no broker: a TLS alert reads as a size of 352 MB.
        if not 0 < size <= (_MOST_BYTES if self._versions else _FIRST_BYTES):
            raise ConnectionError("it is no broker")
        return self._bytes(size)

    def _bytes(self, size: int) -> memoryview:
        found = memoryview(bytearray(size))
        done = 0
        while done < size:
            count = self._socket.recv_into(found[done:])
            if not count:
                raise ConnectionResetError("the broker closed the connection")
            done += count
        return found

    def _ask_versions(self) -> None:
        answer = self.ask(ApiVersionsRequest(version=0))  # each broker knows the first version
        _check(answer.error_code)
        self._versions = {each.api_key: each.max_version for each in answer.api_keys}

    def _log_in(self, login: Login) -> None:
        answer = self.ask(SaslHandshakeRequest(login.mechanism, version=1))
        if answer.error_code == _NO_MECHANISM:
            raise _LoginError(f"it takes {', '.join(answer.mechanisms)}, not {login.mechanism}")
        _check(answer.error_code)
        try:
            mechanism = get_sasl_mechanism(login.mechanism)(host=self.place.host, **_sasl_options(login))
            while not mechanism.is_done():
                answer = self.ask(SaslAuthenticateRequest(mechanism.auth_bytes()))
                if answer.error_code:
                    raise _LoginError(answer.error_message or f"error {answer.error_code}")  # noqa: TRY301 - passed on
                mechanism.receive(answer.auth_bytes)
        except (OSError, struct.error, TopicError, _RefusedError, _LoginError):
            raise
        except Exception as error:
            # The packages of Kerberos and MSK IAM have classes of their own for a missing ticket or region.
            if not isinstance(error, ValueError) and login.mechanism not in PACKAGES:
                raise
            raise _LoginError(str(error) or type(error).__name__) from None
        if not mechanism.is_authenticated():
            raise _LoginError("no reason given")


class _LoginError(Exception):
    """A broker rejects a login."""


class _Token(AbstractTokenProvider):  # type: ignore[misc]  # the package has no types
    """The token of a login, as kafka-python asks for it."""

    def __init__(self, login: Login) -> None:
        super().__init__()
        self._login = login

    def token(self) -> str:
        return self._login.token()


def _sasl_options(login: Login) -> dict[str, Any]:
    """Return what the mechanisms of kafka-python ask for: each takes its own."""
    service = login.settings.get("sasl.kerberos.service.name") or login.options.get("serviceName", "kafka")
    options: dict[str, Any] = {
        "sasl_mechanism": login.mechanism,
        "security_protocol": _protocol(has_login=True, is_tls=login.tls is not None),
        "sasl_oauth_token_provider": _Token(login),
        "sasl_kerberos_service_name": service,
    }
    if not str(login.mechanism).startswith(("PLAIN", "SCRAM")):
        return options
    name, password = login.user()
    if login.mechanism != "PLAIN":
        name = name.replace("=", "=3D").replace(",", "=2C")  # RFC 5802
    return options | {"sasl_plain_username": name, "sasl_plain_password": password}


@dataclass
class Brokers:
    """The brokers of a topic's cluster: one client for a whole run. Close it.

    Each broker that is asked has one connection, which is made when it is needed. Each method raises TopicError if the
    cluster cannot be reached, rejects the user, or has no such topic. An answer is awaited for 10 seconds, or for
    `request.timeout.ms` of the topic's settings.
    """

    topic: Topic
    login: Login
    _open: dict[_Place, _Connection] = field(default_factory=dict, repr=False)
    _places: dict[int, _Place] = field(default_factory=dict, repr=False)
    _leaders: Mapping[int, int | None] = field(default_factory=dict, repr=False)
    _answered: set[_Place] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, topic: Topic) -> Self:
        """Return a client. It contacts no broker yet, but raises TopicError for settings that it cannot translate."""
        return cls(topic, login_of(topic.settings.values))

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def look_up(self, isolation: str) -> Ends:
        """Return the facts about the topic; `isolation` is `READ_COMMITTED` or `READ_UNCOMMITTED`.

        A leader that is being elected, or does not know it yet, is awaited for a few seconds.
        """
        gives_up_at = time.monotonic() + _ELECTION_S
        while True:
            try:
                return self._look_up(isolation)
            except LeaderlessError:
                if time.monotonic() > gives_up_at:
                    raise
                time.sleep(_PAUSE_S)

    def _look_up(self, isolation: str) -> Ends:
        name = self.topic.name
        described = self._describe()
        if not described.leaders:
            raise TopicError(
                f"topic {name} at {self.topic.bootstrap_servers} has no partitions", "check whether it is being deleted"
            )
        led: dict[int, dict[str, list[int]]] = {}
        for partition, leader in described.leaders.items():
            if leader is not None:
                led.setdefault(leader, {name: []})[name].append(partition)
        if leaderless := [partition for partition, leader in described.leaders.items() if leader is None]:
            raise LeaderlessError.of(name, leaderless)
        at_ms = _now_ms()
        # With this order of requests no end precedes its start. A last stable offset is below an earlier high watermark
        # only if a transaction is open; a later high watermark may exceed it because of records written in between.
        starts = self._checked(self._offsets(led, _EARLIEST, READ_UNCOMMITTED))
        marks = self._checked(self._offsets(led, _LATEST, READ_UNCOMMITTED))
        ends = self._checked(self._offsets(led, _LATEST, isolation)) if isolation == READ_COMMITTED else marks
        settings = self._settings(_TOPIC, name, (_RETENTION, _LARGEST_BATCH))
        return Ends(
            topic_id=described.topic_id,
            offsets={partition: (starts[partition], ends[partition]) for partition in described.leaders},
            high_watermarks=marks,
            delete_retention_ms=settings.get(_RETENTION),
            topic_names=self._topic_names(),
            at_ms=at_ms,
            offsets_retention_ms=self._offsets_retention_ms(),
            max_message_bytes=settings.get(_LARGEST_BATCH),
        )

    def check_readable(self) -> None:
        """Raise TopicError if the topic cannot be read: it is asked for a byte at an offset that may not be there."""
        found = sorted((p, leader) for p, leader in self._describe().leaders.items() if leader is not None)
        for partition, leader in found[:1]:
            answer = self._ask(self._fetch_request({partition: (0, 1)}, 1, wait_ms=0), self._places[leader])
            for each in (part for topic in answer.responses for part in topic.partitions):
                if each.error_code == _TOPIC_DENIED:
                    raise self._denied("read")

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int, int, int, int]]:
        """Return topic, partition, log start and high watermark of partitions, of other topics too.

        The last field is the driver's clock just before the request, ms since 1970. Partitions that are gone, have no
        leader, or that the user may not see are missing.
        """
        asked, at_ms = list(partitions), _now_ms()
        led = self._led(asked)
        starts = self._offsets(led, _EARLIEST, READ_UNCOMMITTED)
        ends = self._offsets(led, _LATEST, READ_UNCOMMITTED)
        return [
            (*each, starts[each][1], ends[each][1], at_ms)
            for each in asked
            if each in starts and each in ends and not starts[each][0] and not ends[each][0]
        ]

    def group_now(self, group: str) -> GroupNow | None:
        """Return the state that the group's coordinator, the leader of its partition, has for it now.

        None: it shows the user no such group. It has states that are not in the log, such as PreparingRebalance.
        Members are those of a classic group: another request describes those of other groups.
        """
        leaders, at_ms = self._describe().leaders, _now_ms()
        partition = offsets_partition(group, len(leaders))
        leader = leaders[partition]
        if leader is None:
            raise LeaderlessError.of(self.topic.name, [partition])
        listed = self._ask(ListGroupsRequest(states_filter=[], types_filter=[]), self._places[leader])
        if listed.error_code:
            raise self._failed(listed.error_code)
        states = [each.group_state for each in listed.groups if each.group_id == group]
        if not states:
            return None
        (described,) = self._ask(DescribeGroupsRequest(groups=[group]), self._places[leader]).groups
        state = states[0] or described.group_state  # Kafka before 2.6 lists no states
        is_described = not described.error_code and described.group_state == state
        return GroupNow(state, len(described.members) if is_described else None, at_ms)

    def fetch(self, ranges: Mapping[int, tuple[int, int]], write: Write) -> None:
        """Hand over the batches of each partition from an offset to before another, in order, whole, as on disk.

        `write` gets a partition, some bytes, and where the last batch begins in them. The first batch may begin before
        the first offset. All leaders prepare their answers at the same time; one answer is in memory. A partition whose
        leader moves is read on from the next one; a failure may last for as long as an answer is awaited.
        """
        wanted = {partition: places for partition, places in ranges.items() if places[0] < places[1]}
        gives_up_at = time.monotonic() + self._answer_s
        leaders = self._leaders  # as the brokers said last: one that leads no more says so
        has_moved = not leaders
        while wanted:
            if has_moved:
                leaders = self._describe().leaders
            led: dict[int, dict[int, tuple[int, int]]] = {}
            for partition, places in wanted.items():
                if (leader := leaders.get(partition)) is not None:
                    led.setdefault(leader, {})[partition] = places
            reached, moved, failures = self._fetch_once(led, write)
            has_moved = bool(moved or failures)
            wanted |= {partition: (at, wanted[partition][1]) for partition, at in reached.items()}
            wanted = {partition: places for partition, places in wanted.items() if places[0] < places[1]}
            if reached:
                gives_up_at = time.monotonic() + self._answer_s
            elif time.monotonic() > gives_up_at:
                leaderless = [partition for partition in wanted if leaders.get(partition) is None]
                if leaderless:
                    raise LeaderlessError.of(self.topic.name, leaderless)
                for leader, error in failures.items():
                    raise self._why(error, self._places[leader]) from None
                raise TopicError.no_answer(self.topic.bootstrap_servers)
            else:
                has_moved = True
                time.sleep(_PAUSE_S)

    def _fetch_once(self, led: _Asked, write: Write) -> tuple[dict[int, int], bool, dict[int, Exception]]:
        """Ask each leader once, and then take their answers.

        Return from where to read on, by partition, whether a partition has another leader, and the leaders that did not
        answer: they may be starting again.
        """
        reached: dict[int, int] = {}
        failures: dict[int, Exception] = {}
        has_moved = False
        for leader, asked in led.items():
            with self._noted(leader, failures):
                request = self._fetch_request(asked, _PARTITION_BYTES, wait_ms=_FETCH_WAIT_MS)
                self._connection(self._places[leader]).send(request)
        for leader in led.keys() - failures.keys():
            found = []
            with self._noted(leader, failures):
                answer = self._connection(self._places[leader]).answer()
                if answer.error_code:
                    raise self._failed(answer.error_code)
                found = [part for topic in answer.responses for part in topic.partitions]
            for part in found:
                has_moved |= self._is_moved(part.error_code, "read")
                if part.records and (following := self._hand_over(part, led[leader], write)) is not None:
                    reached[part.partition_index] = following
        return reached, has_moved, failures

    @contextmanager
    def _noted(self, leader: int, failures: dict[int, Exception]) -> Iterator[None]:
        """Note a connection that fails within the block. Raises TopicError for what does not pass."""
        try:
            yield
        except (OSError, struct.error) as error:
            failures[leader] = error
            self._forget(self._places[leader])
        except (ValueError, _RefusedError, _LoginError) as error:
            raise self._why(error, self._places[leader]) from None

    def _hand_over(self, part: Any, asked: Mapping[int, tuple[int, int]], write: Write) -> int | None:  # noqa: ANN401
        """Hand over the whole batches of a partition; return from where to read on, None without a whole batch."""
        content = memoryview(part.records)
        try:
            cut = whole_batches(content, *asked[part.partition_index])
        except (KeyError, UnreadableBatchError) as error:
            raise TopicError(
                f"the leader of partition {part.partition_index} of topic {self.topic.name} sent no record batches: "
                f"{error!s}",
                "check that the servers in the URL are brokers of Kafka, and their logs for damaged files",
            ) from None
        if cut.end:
            write(part.partition_index, content[: cut.end], cut.last)
        return cut.following

    def _fetch_request(self, wanted: Mapping[int, tuple[int, int]], most: int, *, wait_ms: int) -> Any:  # noqa: ANN401
        """Return a request for batches of partitions, from the first offset of each on, of open transactions too."""
        kind = FetchRequest.FetchTopic
        parts = [
            kind.FetchPartition(partition=partition, fetch_offset=first, partition_max_bytes=most)
            for partition, (first, _) in wanted.items()
        ]
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=_FETCH_BYTES,
            isolation_level=_LEVELS[READ_UNCOMMITTED],
            topics=[kind(topic=self.topic.name, partitions=parts)],
        )

    def _is_moved(self, code: int, operation: str) -> bool:
        """Return whether a partition has another leader now. Raises TopicError for any other error."""
        if code == _OUT_OF_RANGE:
            raise TopicError.records_gone(self.topic.name)
        if code == _TOPIC_DENIED:
            raise self._denied(operation)
        if code and code not in {*_MOVED, _UNKNOWN_TOPIC}:
            raise self._failed(code)
        return bool(code)

    def _describe(self) -> _Described:
        """Return the topic's id and the leaders of its partitions."""
        name = self.topic.name
        (found,) = self._metadata([name]).topics
        if found.error_code in {_UNKNOWN_TOPIC, _UNKNOWN_TOPIC_ID}:
            hint = "check the topic's name; Kafka creates __consumer_offsets when the first group commits"
            raise TopicError(
                f"there is no topic {name} at {self.topic.bootstrap_servers}",
                similar_hint(name, self._topic_names().values()) or hint,
            )
        self._is_moved(found.error_code, "describe")
        leaders = {each.partition_index: each.leader_id if each.leader_id >= 0 else None for each in found.partitions}
        self._leaders = dict(sorted(leaders.items()))
        return _Described(_id_text(found.topic_id), self._leaders)

    def _topic_names(self) -> dict[str, str]:
        """Return the names of all topics that the user may see, by their ids."""
        return {_id_text(each.topic_id): each.name for each in self._metadata(None).topics if not each.error_code}

    def _offsets_retention_ms(self) -> int | None:
        """Return how long a broker keeps an offset after its last commit; None if the user may not see that.

        All brokers should have one setting. One is asked that answers already: others may not be reachable from here.
        """
        first = min((node for node, place in self._places.items() if place in self._open), default=min(self._places))
        minutes = self._settings(_BROKER, str(first), (_OFFSETS_RETENTION,), first).get(_OFFSETS_RETENTION)
        return None if minutes is None else minutes * _MINUTE_MS

    def _led(self, partitions: Iterable[tuple[str, int]]) -> _Led:
        """Return partitions by their leader, and by topic; those without a leader are missing."""
        names: dict[str, list[int]] = {}
        for name, partition in partitions:
            names.setdefault(name, []).append(partition)
        found: dict[int, dict[str, list[int]]] = {}
        for each in self._metadata(list(names)).topics if names else ():
            for part in each.partitions:
                if part.leader_id >= 0 and part.partition_index in names[each.name]:
                    found.setdefault(part.leader_id, {}).setdefault(each.name, []).append(part.partition_index)
        return found

    def _offsets(self, led: _Led, at: int, isolation: str) -> dict[tuple[str, int], tuple[int, int]]:
        """Return error code and offset of partitions, by topic and partition."""
        found: dict[tuple[str, int], tuple[int, int]] = {}
        kind = ListOffsetsRequest.ListOffsetsTopic
        for leader, asked in led.items():
            topics = [
                kind(
                    name=name,
                    partitions=[kind.ListOffsetsPartition(partition_index=each, timestamp=at) for each in each_of],
                )
                for name, each_of in asked.items()
            ]
            request = ListOffsetsRequest(isolation_level=_LEVELS[isolation], topics=topics)
            for topic in self._ask(request, self._places[leader]).topics:
                found |= {
                    (topic.name, each.partition_index): (each.error_code, each.offset) for each in topic.partitions
                }
        return found

    def _checked(self, found: Mapping[tuple[str, int], tuple[int, int]]) -> dict[int, int]:
        for (_, partition), (code, _) in found.items():
            if self._is_moved(code, "describe"):
                raise LeaderlessError.of(self.topic.name, [partition])
        return {partition: offset for (_, partition), (_, offset) in sorted(found.items())}

    def _settings(self, kind: int, name: str, settings: Sequence[str], node: int | None = None) -> dict[str, int]:
        """Return settings of a topic or broker, none that the user may not see."""
        resource = DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=kind, resource_name=name, configuration_keys=[*settings]
        )
        place = None if node is None else self._places[node]
        (found,) = self._ask(DescribeConfigsRequest(resources=[resource]), place).results
        if found.error_code in {_TOPIC_DENIED, _CLUSTER_DENIED}:
            return {}
        if found.error_code:
            raise self._failed(found.error_code)
        return {each.name: int(each.value) for each in found.configs if each.value is not None}

    def _metadata(self, names: list[str] | None) -> Any:  # noqa: ANN401
        """Return what a broker says of topics, None for all; the places of the brokers are known then."""
        kind = MetadataRequest.MetadataRequestTopic
        asked = None if names is None else [kind(name=name) for name in names]
        answer = self._ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        self._places = {each.node_id: _Place(each.host, each.port) for each in answer.brokers}
        return answer

    def _ask(self, request: Any, place: _Place | None = None) -> Any:  # noqa: ANN401
        """Ask the broker at a place, or any one; a connection that was lost is made anew once."""
        for attempt in range(2):
            asked = place
            try:
                connection = self._any() if place is None else self._connection(place)
                asked = connection.place
                answer = connection.ask(request)
            except (OSError, ValueError, struct.error, _RefusedError, _LoginError) as error:
                self.close()  # others may be as old as this one
                if attempt or not isinstance(error, _LOST):
                    raise self._why(error, asked) from None
            else:
                self._answered.add(asked)
                return answer
        raise AssertionError

    def _any(self) -> _Connection:
        """Return a connection to any broker: one that is open, else to the first server of the URL that answers."""
        if self._open:
            return next(iter(self._open.values()))
        servers = self.topic.bootstrap_servers
        places = [_Place.of(check_reachable(servers, self._connect_s)), *map(_Place.of, servers.split(","))]
        failure: Exception | None = None
        for place in dict.fromkeys(places):
            try:
                return self._connection(place)
            except ConnectionRefusedError as error:  # another server was reachable
                failure = failure or error
            except OSError as error:
                failure = error
        raise failure or AssertionError

    def _connection(self, place: _Place) -> _Connection:
        if place not in self._open:
            self._open[place] = _Connection(place, self.login, self._connect_s, self._answer_s)
        return self._open[place]

    def _forget(self, place: _Place) -> None:
        if (connection := self._open.pop(place, None)) is not None:
            connection.close()

    @property
    def _connect_s(self) -> float:
        return self._seconds("socket.connection.setup.timeout.ms", _CONNECT_S)

    @property
    def _answer_s(self) -> float:
        return self._seconds("request.timeout.ms", self._seconds("default.api.timeout.ms", _ANSWER_S))

    def _seconds(self, setting: str, default: float) -> float:
        text = self.topic.settings.values.get(setting)
        if text is None:
            return default
        if not text.isdecimal() or not int(text):
            raise TopicError.refused_settings(self.topic.settings.masked(f"{setting} is {text}, not a number of ms"))
        return int(text) / 1000

    def _denied(self, operation: str) -> TopicError:
        name = self.topic.name
        return TopicError.not_permitted(f"{operation} topic {name}", "Describe and Read", f"topic {name}")

    def _failed(self, code: int) -> TopicError:
        if code == _CLUSTER_DENIED:
            return TopicError.not_permitted("describe the cluster", "Describe", "the cluster")
        kind = for_code(code)
        return TopicError.failed(self.topic.bootstrap_servers, f"{kind.message}, error {code}")

    def _why(self, error: Exception, place: _Place | None) -> TopicError:
        """Return the error of one line for a connection that failed; `place`: a broker that the cluster named."""
        servers = self.topic.bootstrap_servers if place is None else str(place)
        if isinstance(error, _RefusedError) and error.code not in {_LOGIN_STATE, _LOGIN_FAILED}:
            return self._failed(error.code)
        if isinstance(error, ssl.SSLError) and (reason := _tls_reason(error)):
            return self._tls_failed(servers, reason, is_of_client=_is_of_client(error))
        if isinstance(error, _LoginError):
            return TopicError.not_logged_in(servers, self.topic.settings.masked(str(error)))
        if place in self._answered:
            return TopicError(
                f"{servers} stopped answering: {self._loss(error)}",
                "check this broker and the network, then run the command again; to wait longer, set "
                "request.timeout.ms in the file of --kafka-config",
            )
        is_gone = isinstance(error, ConnectionRefusedError | socket.gaierror) and place is not None
        return TopicError.not_advertised(servers) if is_gone else self._why_silent(servers, is_named=place is not None)

    def _tls_failed(self, servers: str, reason: str, *, is_of_client: bool) -> TopicError:
        if not is_of_client:
            return TopicError(
                f"the TLS connection to {servers} failed: {reason}",
                "check security.protocol, ssl.truststore.location (the cluster's CA) and the host names in the URL",
            )
        if self.login.has_certificate():
            return TopicError(
                f"{servers} rejects the client's certificate: {reason}",
                "check ssl.keystore.location in the file of --kafka-config: the brokers must trust its CA",
            )
        return TopicError(
            f"{servers} asks for a certificate of the client, and the settings have none",
            "set ssl.keystore.location in the file of --kafka-config, or check the port in the URL",
        )

    def _loss(self, error: Exception) -> str:
        """Return how a connection ended, which had answered requests."""
        if isinstance(error, TimeoutError):
            return f"no answer for {self._answer_s:g} s"
        return "connection refused" if isinstance(error, ConnectionRefusedError) else "the connection was closed"

    def _why_silent(self, servers: str, *, is_named: bool) -> TopicError:
        """Return why brokers close the connection, or say nothing: most expect another protocol.

        `is_named`: the cluster named the server, not the user.
        """
        given = _protocol(has_login=self.login.mechanism is not None, is_tls=self.login.tls is not None)
        for server in map(str.strip, servers.split(",")[:_PROBED]):
            found = _probed(_Place.of(server))
            if found is None:
                continue
            # What is no broker, or hangs, expects nothing that is known, but for TLS.
            has_login = bool(found.mechanisms) if found.is_broker else self.login.mechanism is not None
            expected = _protocol(has_login=has_login, is_tls=found.is_tls)
            if expected != given and (found.is_broker or found.is_tls):
                login = ", ".join(found.mechanisms)
                named = f"security.protocol to {expected}" + (", sasl.mechanism and sasl.jaas.config" if login else "")
                return TopicError(
                    f"{server} expects security.protocol={expected}{login and f' ({login})'}, "
                    f"but the client has {given}",
                    f"set {named} in the file of --kafka-config, or check the port in the URL",
                )
            return TopicError.no_answer(server)
        return TopicError.not_advertised(servers) if is_named else TopicError.unreachable(servers)


def _protocol(*, has_login: bool, is_tls: bool) -> str:
    """Return Kafka's name of a protocol."""
    return f"{'SASL_' if has_login else ''}{'SSL' if is_tls else 'PLAINTEXT'}"


class _Probed(NamedTuple):
    """What a port speaks. `is_broker`: it answered a request of Kafka's; only then are its mechanisms known."""

    is_tls: bool
    is_broker: bool
    mechanisms: Sequence[str] = ()


def _probed(place: _Place) -> _Probed | None:
    """Return what a port speaks; None if nothing accepts a connection.

    A broker lists its mechanisms to a client that asks for an unknown one; a port without SASL has none (KIP-43).
    """
    tls = ssl.create_default_context()
    # Any certificate is accepted: the client sends a greeting, and no secret.
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(place, timeout=_PROBE_S) as connection:
            try:
                tls.wrap_socket(connection, server_hostname=place.host.rstrip(".")).close()
                speaks_tls = True
            except OSError:
                speaks_tls = False
    except OSError:
        return None
    try:
        asked = _Connection(place, Login(tls if speaks_tls else None), _PROBE_S, _PROBE_S)
    except (OSError, ValueError, struct.error, _RefusedError):  # not a broker, or it requires a client certificate
        return _Probed(speaks_tls, is_broker=False)
    with closing(asked):
        try:
            mechanisms = asked.ask(SaslHandshakeRequest("", version=1)).mechanisms
        except (OSError, ValueError, struct.error):  # a port without a login may close the connection
            mechanisms = ()
    return _Probed(speaks_tls, is_broker=True, mechanisms=mechanisms)


def _tls_reason(error: ssl.SSLError) -> str | None:
    """Return why a handshake failed, if TLS says so; None: the other side may not speak TLS at all."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    reason = error.reason or ""
    return reason.lower().replace("_", " ") if "ALERT" in reason else None


def _is_of_client(error: ssl.SSLError) -> bool:
    """Return whether the broker ended a handshake because of the client's certificate, or because it has none."""
    reason = error.reason or ""
    return "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason)


def _check(code: int) -> None:
    if code:
        raise _RefusedError(code)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _id_text(topic_id: Any) -> str:  # noqa: ANN401 - a UUID, None before 2.8
    """Return an id as Kafka prints it: base64url without padding."""
    content = bytes(16) if topic_id is None else topic_id.bytes
    return urlsafe_b64encode(content).decode().rstrip("=")
