"""Failures of Kafka's clients as errors of one line: on the driver, and in Spark's tasks."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kip848_records.errors import Kip848Error
from kip848_records.sources.topic.errors import TopicError
from kip848_records.sources.topic.probe import probe

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.sources.topic.address import Topic

GROUP_PREFIX = "kip848-records"
"""The prefix of the group ids with which Spark reads; no such group is ever joined or written."""

# A cause in a Java stack trace. Spark has only the text of a task that failed on another machine.
_CAUSE = re.compile(r"(?:^|: |Caused by: )((?:[a-z]\w*\.)+\w*(?:Exception|Error)): ([^\n]*)", re.MULTILINE)
_CLASSES = re.compile(r"^(?:(?:[a-z]\w*\.)+\w+: )+")
_DATA_LOSS = re.compile(r"KAFKA_DATA_LOSS|Some data may (?:have been|be) lost|Cannot fetch offset \d+")
_NO_RECORD = re.compile(r"Cannot fetch record for offset \d+ in \d+ milliseconds")
_SASL = {"UnsupportedSaslMechanismException", "IllegalSaslStateException"}
_NO_JAAS = "Could not find a 'KafkaClient' entry"
_MAKING = ("Failed to create new", "Failed to construct")
_PROBED = 3


@contextmanager
def failures_of(topic: Topic, operation: str) -> Iterator[None]:
    """Convert failures of Kafka's client within the block to a TopicError.

    `operation` is the ACL operation: `describe` or `read`. Other errors are not changed.
    """
    try:
        yield
    except Kip848Error:
        raise
    except Exception as error:
        failure = _Failure.of(topic, operation, str(error))
        converted = failure.error()
        if converted is None and not failure.has_secrets():
            raise
        # Without the original error, because its stack trace would show all of Java's text.
        raise converted or TopicError.failed(topic.bootstrap_servers, failure.reason()) from None


@dataclass(frozen=True)
class _Failure:
    """The facts about a failure: its text, and the class and message of each cause in it, the outermost first."""

    topic: Topic
    operation: str
    text: str
    causes: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, topic: Topic, operation: str, text: str) -> _Failure:
        causes = [(name.rpartition(".")[2], _CLASSES.sub("", message)) for name, message in _CAUSE.findall(text)]
        return cls(topic, operation, text, causes)

    def error(self) -> TopicError | None:
        converters = (_denied, _missing, _no_tls, _no_log_in, _bad_settings, _lost, _unanswered)
        return next((error for convert in converters if (error := convert(self))), None)

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.causes)

    def says(self, *prefixes: str) -> bool:
        return any(message.startswith(prefixes) for _, message in self.causes)

    def has_secrets(self) -> bool:
        return self.masked(self.text) != self.text

    def reason(self) -> str:
        """Return the messages of two causes, from the first that says more than the object under construction."""
        messages = [message for _, message in self.causes if not message.startswith(_MAKING)]
        return self.masked(": ".join(list(dict.fromkeys(messages))[:2]) or "no reason given")

    def masked(self, text: str) -> str:
        return self.topic.settings.masked(text)


def _denied(failure: _Failure) -> TopicError | None:
    name = failure.topic.name
    if failure.has("TopicAuthorizationException", "ClusterAuthorizationException"):
        return TopicError.not_permitted(f"{failure.operation} topic {name}", "Describe and Read", f"topic {name}")
    if failure.has("GroupAuthorizationException"):
        what = "describe the group id with which Spark reads"
        return TopicError.not_permitted(what, "Describe", f"groups with the prefix {GROUP_PREFIX}")
    return None


def _missing(failure: _Failure) -> TopicError | None:
    if failure.has("UnknownTopicOrPartitionException", "UnknownTopicIdException"):
        return TopicError.no_topic(failure.topic.name, failure.topic.bootstrap_servers)
    return None


def _no_tls(failure: _Failure) -> TopicError | None:
    if failure.has("SslAuthenticationException"):
        return TopicError.tls_failed(failure.topic.bootstrap_servers, failure.masked(failure.causes[-1][1]))
    return None


def _no_log_in(failure: _Failure) -> TopicError | None:
    for name, message in failure.causes:
        if name in _SASL or name.endswith("AuthenticationException"):
            return TopicError.not_logged_in(failure.topic.bootstrap_servers, failure.masked(message))
    return None


def _bad_settings(failure: _Failure) -> TopicError | None:
    if failure.says("No resolvable bootstrap urls"):
        return TopicError.unknown_host(failure.topic.bootstrap_servers)
    if failure.says(_NO_JAAS):
        return TopicError.no_jaas(failure.topic.settings.values.get("security.protocol", ""))
    if failure.has("ConfigException") or failure.says(*_MAKING):
        return TopicError.refused_settings(failure.reason())
    return None


def _lost(failure: _Failure) -> TopicError | None:
    return TopicError.records_gone(failure.topic.name) if _DATA_LOSS.search(failure.text) else None


def _unanswered(failure: _Failure) -> TopicError | None:
    if _NO_RECORD.search(failure.text):
        return _why_silent(failure.topic)
    if "org.apache.kafka.common.errors." not in failure.text:
        return None
    if failure.has("TimeoutException", "DisconnectException", "NetworkException"):
        return _why_silent(failure.topic)
    return TopicError.failed(failure.topic.bootstrap_servers, failure.reason())


def _why_silent(topic: Topic) -> TopicError:
    """Probe the servers' ports, because Kafka's client reports only that it got no answer."""
    protocol = topic.settings.values.get("security.protocol", "").upper()
    for server in topic.bootstrap_servers.split(",")[:_PROBED]:
        port = probe(server)
        if port is None:
            continue
        if port.speaks_tls != ("SSL" in protocol):
            return TopicError.speaks_tls(server) if port.speaks_tls else TopicError.speaks_no_tls(server)
        if port.sasl_mechanisms and "SASL" not in protocol:
            return TopicError.speaks_sasl(server, port.sasl_mechanisms, is_tls=port.speaks_tls)
        return TopicError.no_answer(server)
    return TopicError.unreachable(topic.bootstrap_servers)
