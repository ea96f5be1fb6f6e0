"""What a user can put right about a live topic: its address, the client's settings, the cluster, its ACLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

_URL = "expected kafka://host:port[,host:port...]/topic, as in kafka://broker-1:9092/__consumer_offsets"
_SETTINGS = "expected a client.properties as Kafka's own tools take it with --command-config"
_LOG_IN = "check security.protocol, sasl.mechanism and sasl.jaas.config in the file of --kafka-config"


class TopicError(InputError):
    """A topic that cannot be read: no text of it holds a secret."""

    @classmethod
    def bad_url(cls, url: str, reason: str) -> Self:
        """A URL begins with kafka://, but does not name servers and a topic."""
        return cls(f"{url} is no topic: {reason}", _URL)

    @classmethod
    def credentials_in_url(cls) -> Self:
        """A URL holds a user's name and password, as others may; it is not shown."""
        return cls(
            "a kafka:// URL takes no user and no password: command lines are seen by others",
            "leave out what stands before the @, and log in by sasl.jaas.config in the file of --kafka-config",
        )

    @classmethod
    def not_alone(cls, url: str) -> Self:
        """A live topic is the log itself, no copy among others."""
        return cls(f"{url} is a live topic, which is read alone", "leave out the other sources")

    @classmethod
    def not_for_topics(cls, option: str, url: str) -> Self:
        """An option says how to read files, but a live topic was named."""
        return cls(f"{option} is for files, and {url} is a live topic", f"leave out {option}")

    @classmethod
    def not_for_files(cls, option: str, sources: str) -> Self:
        """An option is for a live topic, but files were named."""
        return cls(
            f"{option} is for a live topic, and {sources} is none", f"leave out {option}, or name a kafka:// URL"
        )

    @classmethod
    def bad_settings(cls, path: str, reason: str) -> Self:
        """The file of a client's settings cannot be read."""
        return cls(f"{path} holds no client settings: {reason}", _SETTINGS)

    @classmethod
    def settings_not_ours(cls, path: str, names: Iterable[str]) -> Self:
        """Settings are not the user's to choose: Spark forbids them, or rows would be lost or a group joined."""
        return cls(
            f"{path} sets {', '.join(names)}, which reading the topic decides by itself",
            "leave them out: security.*, ssl.*, sasl.*, timeouts and fetch sizes are all that it takes",
        )

    @classmethod
    def settings_of_spark(cls, path: str, names: Iterable[str]) -> Self:
        """Settings are written as options of Spark's Kafka source, which Kafka's clients ignore in silence."""
        return cls(f"{path} sets {', '.join(names)}, as for Spark", f"leave out the 'kafka.' before each; {_SETTINGS}")

    @classmethod
    def no_value(cls, path: str, name: str, reference: str, reason: str) -> Self:
        """A setting refers to a variable or a file's key that is not there."""
        return cls(
            f"{path} sets {name} to {reference}: {reason}",
            "there are ${env:NAME}, a variable of this process, and ${file:/path:key}, a key of a properties file",
        )

    @classmethod
    def refused_settings(cls, reason: str) -> Self:
        """Kafka's client does not take the settings."""
        return cls(f"Kafka's client does not take these settings: {reason}", "mend the file of --kafka-config")

    @classmethod
    def no_jvm(cls) -> Self:
        """A Spark Connect session has no JVM to run Kafka's client in."""
        return cls(
            "a live topic cannot be read through Spark Connect or serverless compute",
            "read it on classic compute, where the driver runs Kafka's own client",
        )

    @classmethod
    def no_connector(cls, jar: str) -> Self:
        """The session was started without Spark's Kafka connector, which cannot be added later."""
        return cls(
            "this Spark session was started without Spark's Kafka connector",
            f"add {jar} to spark.jars.packages, as conf/spark-defaults.conf does",
        )

    @classmethod
    def unknown_host(cls, servers: str) -> Self:
        """No server's name can be resolved."""
        return cls(f"there is no host of that name: {servers}", "check the URL's servers, and this machine's DNS")

    @classmethod
    def unreachable(cls, servers: str) -> Self:
        """No server takes a connection."""
        return cls(f"no broker answers at {servers}", "check host, port and firewall of the URL's servers")

    @classmethod
    def speaks_tls(cls, server: str) -> Self:
        """A server's port expects TLS, and the settings do not say so."""
        return cls(
            f"{server} expects TLS, which the client's settings do not turn on",
            "set security.protocol to SSL or SASL_SSL in the file of --kafka-config",
        )

    @classmethod
    def speaks_no_tls(cls, server: str) -> Self:
        """The settings turn TLS on, and a server's port does not speak it."""
        return cls(
            f"{server} takes connections, but does not speak TLS as the client's settings want",
            "check the URL's port, and security.protocol in the file of --kafka-config",
        )

    @classmethod
    def no_answer(cls, server: str) -> Self:
        """A port is open, but what a client asks is not answered in time."""
        return cls(
            f"{server} takes connections, but a Kafka client gets no answer",
            "check security.protocol, and that the brokers' advertised.listeners can be reached from here; "
            "default.api.timeout.ms in the file of --kafka-config is how long to wait",
        )

    @classmethod
    def not_logged_in(cls, servers: str, reason: str) -> Self:
        """The cluster refuses the user, the password or the mechanism."""
        return cls(f"the cluster at {servers} refuses the log-in: {reason}", _LOG_IN)

    @classmethod
    def tls_failed(cls, servers: str, reason: str) -> Self:
        """The TLS handshake fails."""
        return cls(
            f"there is no TLS connection to {servers}: {reason}",
            "check security.protocol, ssl.truststore.location (the cluster's CA) and the host names in the URL",
        )

    @classmethod
    def no_topic(cls, name: str, servers: str) -> Self:
        """The cluster has no such topic."""
        hint = "check the topic's name; __consumer_offsets is made when the first group commits"
        return cls(f"there is no topic {name} at {servers}", hint)

    @classmethod
    def no_partitions(cls, name: str, servers: str) -> Self:
        """The cluster shows a topic without partitions."""
        return cls(f"topic {name} at {servers} has no partitions", "check whether it is just being deleted")

    @classmethod
    def no_leader(cls, name: str, partitions: Iterable[int]) -> Self:
        """Partitions cannot be read now: reading the others would give a log with holes."""
        found = ", ".join(map(str, partitions))
        return cls(f"topic {name} has no leader for partition {found}", "try again when all brokers are up")

    @classmethod
    def not_permitted(cls, what: str, operations: str, resource: str) -> Self:
        """An ACL is missing."""
        return cls(f"the user may not {what}", f"let an administrator allow {operations} on {resource}")

    @classmethod
    def records_gone(cls, name: str) -> Self:
        """Records were deleted between looking up the offsets and reading."""
        return cls(f"records of topic {name} were deleted while it was read", "run again")

    @classmethod
    def failed(cls, servers: str, reason: str) -> Self:
        """Kafka's client fails in a way of which no more is known."""
        return cls(f"the cluster at {servers} does not answer as expected: {reason}", "see the brokers' logs")
