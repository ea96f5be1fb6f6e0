"""What Kafka's clients say when they fail, made errors of one line: on the driver, and in Spark's tasks."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.errors import Kip848Error
from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.sources.topic.address import Topic

GROUP_PREFIX = "kip848-records"
"""How the groups are called in whose name Spark reads; none of them is ever joined or written."""

# A cause in a Java stack trace. Of what failed in a task of another machine, the text is all that Spark has.
_CAUSE = re.compile(r"(?:^|: |Caused by: )((?:[a-z]\w*\.)+\w*(?:Exception|Error)): ([^\n]*)", re.MULTILINE)
_CLASSES = re.compile(r"^(?:(?:[a-z]\w*\.)+\w+: )+")
_DATA_LOSS = re.compile(r"KAFKA_DATA_LOSS|Some data may (?:have been|be) lost|Cannot fetch offset \d+")
_NO_RECORD = re.compile(r"Cannot fetch record for offset \d+ in \d+ milliseconds")
_SASL = {"UnsupportedSaslMechanismException", "IllegalSaslStateException"}
_MAKING = ("Failed to create new", "Failed to construct")
_PROBED = 3
_PROBE_WAIT_S = 2.0


@contextmanager
def failures_of(topic: Topic, operation: str) -> Iterator[None]:
    """Turn what Kafka's client says, within the block, into a TopicError.

    `operation` is what the ACLs call what is done: `describe` or `read`. Other errors stay what they are.
    """
    try:
        yield
    except Kip848Error:
        raise
    except Exception as error:
        told = _Told.of(topic, operation, str(error))
        failure = told.failure()
        if failure is None and not told.has_secrets():
            raise
        # Not from the error: with a stack trace, all of Java's text would be shown.
        raise failure or TopicError.failed(topic.bootstrap_servers, told.reason()) from None


@dataclass(frozen=True)
class _Told:
    """What is known of a failure: its text, and in that each cause's class and what it says, the outermost first."""

    topic: Topic
    operation: str
    text: str
    causes: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, topic: Topic, operation: str, text: str) -> _Told:
        causes = [(name.rpartition(".")[2], _CLASSES.sub("", said)) for name, said in _CAUSE.findall(text)]
        return cls(topic, operation, text, causes)

    def failure(self) -> TopicError | None:
        ways = (_denied, _missing, _no_tls, _no_log_in, _bad_settings, _lost, _unanswered)
        return next((failure for way in ways if (failure := way(self))), None)

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.causes)

    def says(self, *beginnings: str) -> bool:
        return any(said.startswith(beginnings) for _, said in self.causes)

    def has_secrets(self) -> bool:
        return self.masked(self.text) != self.text

    def reason(self) -> str:
        """Return what two causes say, from the first on that says more than what was being made."""
        telling = [said for _, said in self.causes if not said.startswith(_MAKING)]
        return self.masked(": ".join(list(dict.fromkeys(telling))[:2]) or "no reason given")

    def masked(self, text: str) -> str:
        return self.topic.settings.masked(text)


def _denied(told: _Told) -> TopicError | None:
    name = told.topic.name
    if told.has("TopicAuthorizationException", "ClusterAuthorizationException"):
        return TopicError.not_permitted(f"{told.operation} topic {name}", "Describe and Read", f"topic {name}")
    if told.has("GroupAuthorizationException"):
        what = "ask about the group in whose name Spark reads"
        return TopicError.not_permitted(what, "Describe", f"groups with the prefix {GROUP_PREFIX}")
    return None


def _missing(told: _Told) -> TopicError | None:
    if told.has("UnknownTopicOrPartitionException", "UnknownTopicIdException"):
        return TopicError.no_topic(told.topic.name, told.topic.bootstrap_servers)
    return None


def _no_tls(told: _Told) -> TopicError | None:
    if told.has("SslAuthenticationException"):
        return TopicError.tls_failed(told.topic.bootstrap_servers, told.masked(told.causes[-1][1]))
    return None


def _no_log_in(told: _Told) -> TopicError | None:
    for name, said in told.causes:
        if name in _SASL or name.endswith("AuthenticationException"):
            return TopicError.not_logged_in(told.topic.bootstrap_servers, told.masked(said))
    return None


def _bad_settings(told: _Told) -> TopicError | None:
    if told.says("No resolvable bootstrap urls"):
        return TopicError.unknown_host(told.topic.bootstrap_servers)
    if told.has("ConfigException") or told.says(*_MAKING):
        return TopicError.refused_settings(told.reason())
    return None


def _lost(told: _Told) -> TopicError | None:
    return TopicError.records_gone(told.topic.name) if _DATA_LOSS.search(told.text) else None


def _unanswered(told: _Told) -> TopicError | None:
    if _NO_RECORD.search(told.text):
        return _why_silent(told.topic)
    if "org.apache.kafka.common.errors." not in told.text:
        return None
    if told.has("TimeoutException", "DisconnectException", "NetworkException"):
        return _why_silent(told.topic)
    return TopicError.failed(told.topic.bootstrap_servers, told.reason())


def _why_silent(topic: Topic) -> TopicError:
    """Look at the servers' ports: Kafka's client says no more than that it got no answer."""
    wants_tls = "SSL" in topic.settings.values.get("security.protocol", "").upper()
    for server in topic.bootstrap_servers.split(",")[:_PROBED]:
        host, _, port = server.rpartition(":")
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_WAIT_S)
        except OSError:
            continue
        with connection:
            speaks_tls = _speaks_tls(connection)
        if speaks_tls != wants_tls:
            return TopicError.speaks_tls(server) if speaks_tls else TopicError.speaks_no_tls(server)
        return TopicError.no_answer(server)
    return TopicError.unreachable(topic.bootstrap_servers)


def _speaks_tls(connection: socket.socket) -> bool:
    context = ssl.create_default_context()
    # Whoever it is: nothing is sent but a greeting.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with context.wrap_socket(connection):
            return True
    except OSError:
        return False
