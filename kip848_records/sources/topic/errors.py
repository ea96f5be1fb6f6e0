"""Errors about a live topic that the user can fix: its address, the client's settings, the cluster, its ACLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kip848_records.errors import InputError
from kip848_records.settings.references import HINT as REFERENCE_HINT

if TYPE_CHECKING:
    from collections.abc import Iterable


_URL = "expected kafka://host:port[,host:port...]/topic, as in kafka://broker-1:9092/__consumer_offsets"
_SETTINGS = "expected a client.properties as Kafka's own tools take with --command-config"
NO_PKCS12 = "pip install 'kip848-records[pkcs12]', or convert the store to PEM"
_LOG_IN = "check security.protocol, sasl.mechanism and sasl.jaas.config in the file of --kafka-config"


class TopicError(InputError):
    """A topic that cannot be read. No message contains a secret."""

    @classmethod
    def bad_url(cls, url: str, reason: str) -> Self:
        """A URL begins with kafka://, but does not name servers and a topic."""
        return cls(f"{url} is not a topic: {reason}", _URL)

    @classmethod
    def credentials_in_url(cls) -> Self:
        """A URL contains a user name and a password; the message does not show the URL."""
        return cls(
            "a kafka:// URL takes no user and no password: other users can see the command line",
            "remove the text before the @, and set sasl.jaas.config in the file of --kafka-config",
        )

    @classmethod
    def not_alone(cls, url: str) -> Self:
        """A live topic is the log itself, so it is not one of several copies."""
        return cls(f"{url} is a live topic, which must be the only source", "omit the other sources")

    @classmethod
    def not_for_topics(cls, option: str, url: str) -> Self:
        """An option describes how to read files, but a live topic was named."""
        return cls(f"{option} is for files, but {url} is a live topic", f"omit {option}")

    @classmethod
    def no_scheme(cls, address: str) -> Self:
        """The address of a broker was named as a path is."""
        broker, _, topic = address.partition("/")
        url = f"kafka://{broker}/{topic or '__consumer_offsets'}"
        return cls(f"there is no file {address}, and a live topic is named by a URL", f"did you mean {url}?")

    @classmethod
    def not_for_files(cls, option: str, sources: str) -> Self:
        """An option is for a live topic, but files were named."""
        return cls(f"{option} is for a live topic, but {sources} is not one", f"omit {option}, or pass a kafka:// URL")

    @classmethod
    def bad_settings(cls, path: str, reason: str) -> Self:
        """The file with the client's settings cannot be read."""
        return cls(f"{path} holds no client settings: {reason}", _SETTINGS)

    @classmethod
    def settings_not_ours(cls, path: str, names: Iterable[str]) -> Self:
        """Settings that the user may not set: Spark forbids them, rows would be lost, or a group joined."""
        return cls(
            f"{path} sets {', '.join(names)}, which the reader of the topic must set itself",
            "remove them: only security.*, ssl.*, sasl.*, timeouts and fetch sizes may be set",
        )

    @classmethod
    def settings_of_spark(cls, path: str, names: Iterable[str]) -> Self:
        """Settings are written as options of Spark's Kafka source, which Kafka's clients silently ignore."""
        return cls(f"{path} sets {', '.join(names)}, as for Spark", f"remove the prefix 'kafka.' of each; {_SETTINGS}")

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
    def no_jaas(cls, protocol: str) -> Self:
        """The settings turn SASL on without a login: Kafka's own message points to the JVM's file instead."""
        return cls(
            f"the client's settings have security.protocol={protocol}, but no sasl.jaas.config",
            "set sasl.jaas.config in the file of --kafka-config, such as sasl.jaas.config="
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="..." password="...";',
        )

    @classmethod
    def no_python_form(cls, what: str) -> Self:
        """A setting of Java's client that Python's client does not have."""
        return cls(
            f"the client's settings name {what}, which this package cannot use",
            "see what is possible in docs/live.md, section Login and rights",
        )

    @classmethod
    def java_key_store(cls, path: str) -> Self:
        """A key store is in Java's own format."""
        return cls(
            f"{path} is a JKS key store, which only Java reads",
            f"convert it: keytool -importkeystore -srckeystore {path} -destkeystore store.p12 -deststoretype PKCS12",
        )

    @classmethod
    def no_pkcs12(cls, path: str) -> Self:
        """The package that reads PKCS#12 is missing."""
        return cls(f"{path} is a PKCS#12 store, and the package cryptography is not installed", NO_PKCS12)

    @classmethod
    def no_package(cls, mechanism: str, package: str) -> Self:
        """The package of a login is missing."""
        return cls(f"the login {mechanism} needs the package {package}", f"pip install {package}")

    @classmethod
    def no_token(cls, address: str, reason: str) -> Self:
        """A token of OAUTHBEARER cannot be had."""
        return cls(
            f"no token from {address}: {reason}",
            "check sasl.oauthbearer.token.endpoint.url, clientId and clientSecret in the file of --kafka-config",
        )

    @classmethod
    def untrusted_endpoint(cls, address: str, reason: str) -> Self:
        """The certificate of a token endpoint is not trusted."""
        return cls(
            f"no token from {address}: {reason}",
            "add ssl.truststore.location, a PEM file with its CA, to the options in sasl.jaas.config",
        )

    @classmethod
    def not_advertised(cls, server: str) -> Self:
        """A broker that the cluster names does not answer from here."""
        return cls(
            f"the cluster names its broker {server}, which does not answer from this machine",
            "check the brokers' advertised.listeners, and the firewall",
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
        """No server name can be resolved."""
        return cls(f"unknown host: {servers}", "check the servers in the URL, and this machine's DNS")

    @classmethod
    def unreachable(cls, servers: str) -> Self:
        """No server accepts a connection; `servers` may have the reason of each."""
        return cls(
            f"no broker answers at {servers}",
            "check host, port and firewall of the servers in the URL; for a slow network, set "
            "socket.connection.setup.timeout.ms in the file of --kafka-config",
        )

    @classmethod
    def other_protocol(cls, server: str, expected: str, mechanisms: Iterable[str], given: str) -> Self:
        """A port does not speak the protocol that the settings name. `mechanisms`: those of SASL, if it has a login."""
        login = ", ".join(mechanisms)
        named = f"security.protocol to {expected}" + (", sasl.mechanism and sasl.jaas.config" if login else "")
        return cls(
            f"{server} expects security.protocol={expected}{login and f' ({login})'}, but the client has {given}",
            f"set {named} in the file of --kafka-config, or check the port in the URL",
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
    def answers_no_more(cls, server: str, reason: str) -> Self:
        """A broker that had answered this client's requests is lost."""
        return cls(
            f"{server} stopped answering: {reason}",
            "check this broker and the network, then run the command again; to wait longer, set request.timeout.ms in "
            "the file of --kafka-config",
        )

    @classmethod
    def not_logged_in(cls, servers: str, reason: str) -> Self:
        """The cluster rejects the user, the password or the mechanism."""
        return cls(f"the cluster at {servers} rejects the login: {reason}", _LOG_IN)

    @classmethod
    def tls_failed(cls, servers: str, reason: str) -> Self:
        """The TLS handshake fails."""
        return cls(
            f"the TLS connection to {servers} failed: {reason}",
            "check security.protocol, ssl.truststore.location (the cluster's CA) and the host names in the URL",
        )

    @classmethod
    def certificate_rejected(cls, servers: str, reason: str) -> Self:
        """A broker does not accept the certificate that the client shows."""
        return cls(
            f"{servers} rejects the client's certificate: {reason}",
            "check ssl.keystore.location in the file of --kafka-config: the brokers must trust its CA",
        )

    @classmethod
    def no_certificate(cls, servers: str) -> Self:
        """A broker asks for a certificate, and the client has none."""
        return cls(
            f"{servers} asks for a certificate of the client, and the settings have none",
            "set ssl.keystore.location in the file of --kafka-config, or check the port in the URL",
        )

    @classmethod
    def no_topic(cls, name: str, servers: str, similar: Iterable[str] = ()) -> Self:
        """The cluster has no such topic; `similar`: those that the user may have meant."""
        meant = ", ".join(similar)
        hint = "check the topic's name; Kafka creates __consumer_offsets when the first group commits"
        hint = f"similar: {meant}" if meant else hint
        return cls(f"there is no topic {name} at {servers}", hint)

    @classmethod
    def no_partitions(cls, name: str, servers: str) -> Self:
        """The cluster reports a topic without partitions."""
        return cls(f"topic {name} at {servers} has no partitions", "check whether it is being deleted")

    @classmethod
    def not_permitted(cls, what: str, operations: str, resource: str) -> Self:
        """The user lacks an ACL."""
        return cls(f"the user may not {what}", f"let an administrator allow {operations} on {resource}")

    @classmethod
    def records_gone(cls, name: str) -> Self:
        """Records were deleted between the lookup of the offsets and the read."""
        return cls(f"records of topic {name} were deleted while it was read", "run the command again")

    @classmethod
    def not_batches(cls, name: str, partition: int, reason: str) -> Self:
        """A broker sends bytes that cannot be those of a topic."""
        return cls(
            f"the leader of partition {partition} of topic {name} sent no record batches: {reason}",
            "check that the servers in the URL are brokers of Kafka, and their logs for damaged files",
        )

    @classmethod
    def failed(cls, servers: str, reason: str) -> Self:
        """Kafka's client failed for an unknown reason."""
        return cls(f"the cluster at {servers} does not answer as expected: {reason}", "see the brokers' logs")


class LeaderlessError(TopicError):
    """Some partitions cannot be read now: the others alone would give a log with gaps."""

    def __init__(self, name: str, partitions: Iterable[int]) -> None:
        """Name the topic and its partitions."""
        found = ", ".join(map(str, partitions))
        super().__init__(f"topic {name} has no leader for partition {found}", "try again when all brokers are up")
