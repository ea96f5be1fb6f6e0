"""What Kafka's clients say when they fail, made errors of one line: on the driver, and in Spark's tasks."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import contextmanager
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
        # Masked before anything is made of it, and the error itself is not shown: Java's text may quote a setting.
        if (failure := _failure(topic, operation, topic.settings.masked(str(error)))) is None:
            raise
        raise failure from None


def _failure(topic: Topic, operation: str, text: str) -> TopicError | None:
    causes = [(name.rpartition(".")[2], _CLASSES.sub("", said)) for name, said in _CAUSE.findall(text)]
    said = dict(reversed(causes))
    servers = topic.bootstrap_servers
    if denied := _denied(topic, operation, said):
        return denied
    if said.keys() & {"UnknownTopicOrPartitionException", "UnknownTopicIdException", "InvalidTopicException"}:
        return TopicError.no_topic(topic.name, servers)
    if "SslAuthenticationException" in said:
        return TopicError.tls_failed(servers, causes[-1][1])
    if refused := next((said[name] for name in said if _is_log_in(name)), None):
        return TopicError.not_logged_in(servers, refused)
    if "No resolvable bootstrap urls" in said.get("ConfigException", ""):
        return TopicError.unknown_host(servers)
    if "ConfigException" in said or "Failed to c" in said.get("KafkaException", ""):
        return TopicError.refused_settings(_reason([message for _, message in causes]))
    if _DATA_LOSS.search(text):
        return TopicError.records_gone(topic.name)
    if "org.apache.kafka.common.errors." in text or _NO_RECORD.search(text):
        is_silent = said.keys() & {"TimeoutException", "DisconnectException", "NetworkException"}
        return _why_silent(topic) if is_silent else TopicError.failed(servers, causes[-1][1])
    return None


def _denied(topic: Topic, operation: str, said: dict[str, str]) -> TopicError | None:
    if "TopicAuthorizationException" in said:
        what = f"{operation} topic {topic.name}"
        return TopicError.not_permitted(what, "Describe and Read", f"topic {topic.name}")
    if "GroupAuthorizationException" in said:
        what = "read through Spark, which asks about a group of its own"
        return TopicError.not_permitted(what, "Describe", f"groups with the prefix {GROUP_PREFIX}")
    if "ClusterAuthorizationException" in said:
        return TopicError.not_permitted(f"{operation} topic {topic.name}", "Describe", "the cluster")
    return None


def _is_log_in(name: str) -> bool:
    return name in {"UnsupportedSaslMechanismException", "IllegalSaslStateException"} or name.endswith(
        "AuthenticationException"
    )


def _reason(messages: Sequence[str]) -> str:
    """Return what two causes say, from the first that names something: the first ones only say what was being made."""
    telling = [said for said in messages if not said.startswith(("Failed to create new", "Failed to construct"))]
    return ": ".join(list(dict.fromkeys(telling))[:2]) or "no reason given"


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
