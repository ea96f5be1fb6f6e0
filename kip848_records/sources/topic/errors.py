"""Errors about a live topic that the user can fix: its address, the client's settings, the cluster, its ACLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kip848_records.errors import InputError
from kip848_records.settings.references import HINT as REFERENCE_HINT

if TYPE_CHECKING:
    from collections.abc import Iterable


_URL = "expected kafka://host:port[,host:port...]/topic, as in kafka://broker-1:9092/__consumer_offsets"
EXPECTED_SETTINGS = "expected a client.properties as Kafka's own tools take with --command-config"
_LOG_IN = "check security.protocol, sasl.mechanism and sasl.jaas.config in the file of --kafka-config"


class TopicError(InputError):
    """A topic that cannot be read. No message contains a secret."""

    @classmethod
    def bad_url(cls, url: str, reason: str) -> Self:
        """A URL begins with kafka://, but does not name servers and a topic."""
        return cls(f"{url} is not a topic: {reason}", _URL)

    @classmethod
    def not_alone(cls, url: str) -> Self:
        """A live topic is the log itself, so it is not one of several copies."""
        return cls(f"{url} is a live topic, which must be the only source", "omit the other sources")

    @classmethod
    def bad_settings(cls, path: str, reason: str) -> Self:
        """The file with the client's settings cannot be read."""
        return cls(f"{path} holds no client settings: {reason}", EXPECTED_SETTINGS)

    @classmethod
    def no_value(cls, path: str, name: str, reference: str, reason: str) -> Self:
        """A setting refers to a variable or a key of a file that does not exist."""
        return cls(
            f"{path} sets {name} to {reference}: {reason}",
            REFERENCE_HINT,
        )

    @classmethod
    def refused_settings(cls, reason: str) -> Self:
        """Kafka's client rejects the settings."""
        return cls(f"Kafka's client rejects these settings: {reason}", "correct the file of --kafka-config")

    @classmethod
    def no_python_form(cls, what: str) -> Self:
        """A setting of Java's client that Python's client does not have."""
        return cls(
            f"the client's settings name {what}, which this package cannot use",
            "see what is possible in docs/live.md, section Login and rights",
        )

    @classmethod
    def no_token(cls, address: str, reason: str) -> Self:
        """A token of OAUTHBEARER cannot be had."""
        return cls(
            f"no token from {address}: {reason}",
            "check sasl.oauthbearer.token.endpoint.url, clientId and clientSecret in the file of --kafka-config",
        )

    @classmethod
    def not_advertised(cls, server: str) -> Self:
        """A broker that the cluster names does not answer from here."""
        return cls(
            f"the cluster names its broker {server}, which does not answer from this machine",
            "check the brokers' advertised.listeners, and the firewall",
        )

    @classmethod
    def unreachable(cls, servers: str) -> Self:
        """No server accepts a connection; `servers` may have the reason of each."""
        return cls(
            f"no broker answers at {servers}",
            "check host, port and firewall of the servers in the URL; for a slow network, set "
            "socket.connection.setup.timeout.ms in the file of --kafka-config",
        )

    @classmethod
    def no_answer(cls, server: str) -> Self:
        """A port is open, but the requests of a client are not answered in time."""
        return cls(
            f"{server} accepts connections, but a Kafka client gets no answer",
            "check security.protocol, and that this machine can reach the brokers' advertised.listeners; to wait "
            "longer, set socket.connection.setup.timeout.ms and request.timeout.ms in the file of --kafka-config",
        )

    @classmethod
    def not_logged_in(cls, servers: str, reason: str) -> Self:
        """The cluster rejects the user, the password or the mechanism."""
        return cls(f"the cluster at {servers} rejects the login: {reason}", _LOG_IN)

    @classmethod
    def not_permitted(cls, what: str, operations: str, resource: str) -> Self:
        """The user lacks an ACL."""
        return cls(f"the user may not {what}", f"let an administrator allow {operations} on {resource}")

    @classmethod
    def records_gone(cls, name: str) -> Self:
        """Records were deleted between the lookup of the offsets and the read."""
        return cls(f"records of topic {name} were deleted while it was read", "run the command again")

    @classmethod
    def failed(cls, servers: str, reason: str) -> Self:
        """Kafka's client failed for an unknown reason."""
        return cls(f"the cluster at {servers} does not answer as expected: {reason}", "see the brokers' logs")


class LeaderlessError(TopicError):
    """Some partitions cannot be read now: the others alone would give a log with gaps."""

    @classmethod
    def of(cls, name: str, partitions: Iterable[int]) -> Self:
        """Name the topic and its partitions."""
        found = ", ".join(map(str, partitions))
        return cls(f"topic {name} has no leader for partition {found}", "try again when all brokers are up")
