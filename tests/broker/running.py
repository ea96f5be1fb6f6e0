"""A Kafka broker of one process on loopback, for tests that need a real one."""

import random
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from tests.broker import settings
from tests.broker.process import Daemon, run
from tests.broker.requests import has_coordinator
from tests.broker.waiting import wait_until
from tests.maven_jars import fetch

KAFKA = "4.3.1"
OFFSETS = "__consumer_offsets"

Rule = tuple[ResourceType, str, ResourcePatternType, AclOperation]
_OF_A_BINDING = ("restype", "name", "resource_pattern_type", "principal", "host", "operation", "permission_type")


@contextmanager
def running_broker(folder: Path, release: str = KAFKA, *, metadata_of: str | None = None) -> Iterator["Broker"]:
    """Start a broker that keeps everything in the empty `folder`, and stop it at the end.

    `metadata_of`: a release to which the broker can go back (`Broker.become`), by default its own. Tools are there for
    the release `KAFKA` only. Raises UnavailableError if Kafka cannot be had.
    """
    kafka = _jars(release)
    tools = fetch("kafka-tools", KAFKA, dependencies=True) if release == KAFKA else []
    broker = Broker(folder, _class_path(kafka), _class_path(kafka + tools), release)
    broker.format(metadata_of)
    try:
        broker.start()
        broker.make_offsets_topic()
        broker.allow(settings.READER[0], OFFSETS)
        yield broker
    finally:
        broker.stop(hard=True)


@dataclass
class Broker:
    """A running broker.

    `bootstrap` needs no password and may do everything; `scram` and `tls` want a user of `tests.broker.settings`.
    """

    home: Path
    class_path: str
    tools: str
    release: str
    ports: dict[str, int] = field(
        default_factory=lambda: dict(zip(settings.PORTS, _free_ports(len(settings.PORTS)), strict=True))
    )
    more: dict[str, str] = field(default_factory=dict)
    _daemon: Daemon | None = None
    _log_size: int = 0

    @property
    def bootstrap(self) -> str:
        """The address of the plain listener."""
        return self.address("PLAINTEXT")

    def address(self, listener: str) -> str:
        """Return where a listener of `settings.PROTOCOLS` is."""
        return f"127.0.0.1:{self.ports[listener]}"

    @property
    def scram(self) -> str:
        """The address of the listener that asks for a password."""
        return self.address("SCRAM")

    @property
    def tls(self) -> str:
        """The address of the listener that asks for a password and encrypts."""
        return self.address("TLS")

    @property
    def truststore(self) -> Path:
        """The PEM file by which a client knows that the broker of `tls` is the one."""
        return self.home / "broker.pem"

    @property
    def log(self) -> Path:
        """The file with what the broker prints."""
        return self.home / "broker.log"

    @property
    def folder(self) -> Path:
        """Where the partitions' folders lie."""
        return self.home / "data"

    def properties(self, user: tuple[str, str] | None = None, protocol: str = "PLAINTEXT") -> Path:
        """Write what a Java client needs to come as `user` (name, password) by `protocol`; return the file."""
        name = "-".join([*(user or ["anonymous"])[:1], protocol])
        file = self.home / f"{name}.properties"
        lines = settings.java_client(user, protocol, self.truststore)
        file.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return file

    @contextmanager
    def joined(self, folder: Path) -> Iterator["Broker"]:
        """Start a second broker of the same cluster, which keeps everything in `folder`; it is killed at the end."""
        other = Broker(folder, self.class_path, self.tools, self.release)
        names = [name for name in settings.PROTOCOLS if name != "CONTROLLER"]
        other.more = self.more | {
            "node.id": "2",
            "process.roles": "broker",
            "listeners": ",".join(f"{name}://{other.address(name)}" for name in names),
            "controller.quorum.voters": f"1@{self.address('CONTROLLER')}",
        }
        other.format()
        try:
            other.start()
            yield other
        finally:
            other.stop(hard=True)

    def format(self, metadata_of: str | None = None) -> None:
        """Write the settings, and into the data folder what a new cluster needs: its id and the users.

        `metadata_of`: the release whose metadata version and features the cluster has; by default the broker's own.
        """
        file = settings.write(self.home, self.ports, self.release, self.more)
        program = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(file)]
        for name, password in (settings.ADMIN, settings.READER, settings.STRANGER):
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                program += ["--add-scram", f"{mechanism}=[name={name},password={password},iterations=4096]"]
        if metadata_of is not None:
            program += ["--release-version", metadata_of]
        run(self.class_path, program)

    def start(self, patience: float = 60) -> None:
        """Return when the broker answers. Raises RuntimeError, with what it printed, if it does not."""
        program = ["kafka.Kafka", str(self.home / "server.properties")]
        self._log_size = self.log.stat().st_size if self.log.exists() else 0
        tokens = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={(self.home / 'issuer.json').as_uri()}"
        self._daemon = Daemon(self.class_path, ["-Xms128m", "-Xmx512m", tokens], program, self.log)
        end = time.monotonic() + patience
        while not (self._answers() and self._leads_all()):
            if self._daemon.ended() or time.monotonic() > end:
                self.stop(hard=True)
                raise RuntimeError("the broker does not start:\n" + self.log.read_text()[-4000:])

    def stop(self, *, hard: bool = False) -> None:
        """Return when the broker is gone. With `hard` it is killed and has no time to put anything in order."""
        if self._daemon:
            self._daemon.stop(hard=hard)
            self._daemon = None

    def restart(self, *, hard: bool = False) -> None:
        """Stop the broker and start it again, at the same addresses and with the same data."""
        self.stop(hard=hard)
        self.start()

    def become(self, release: str) -> None:
        """Write the settings of another release, which the next start runs, on the data that is there.

        Raises UnavailableError if it cannot be had.
        """
        self.class_path, self.release = _class_path(_jars(release)), release
        settings.write(self.home, self.ports, release, self.more)

    def printed(self) -> str:
        """Return what the broker has printed since its last start: warnings and errors."""
        return self.log.read_bytes()[self._log_size :].decode()

    def command(self, tool: str, *arguments: str, address: str | None = None, timeout: float = 60) -> str:
        """Return what a tool of Kafka, given as its Java class, prints about this broker.

        It comes to `bootstrap`, or to another `address`: then it needs `--command-config` with `properties`.

        Raises CalledProcessError if it fails.
        """
        program = [tool, "--bootstrap-server", address or self.bootstrap, *arguments]
        return run(self.tools, program, timeout)

    @cached_property
    def admin(self) -> AdminClient:
        """A client that may do everything; it lasts as long as the broker, restarts included."""
        return AdminClient(self.client())

    def client(self, user: tuple[str, str] | None = None, protocol: str = "PLAINTEXT") -> dict[str, str]:
        """Return what a client of `confluent_kafka` needs to come as `user` (name, password) by `protocol`."""
        return settings.client(self._addresses[protocol], user, protocol, self.truststore)

    def allow(self, user: str, topic: str) -> None:
        """Let `user` describe and read `topic`."""
        may = (AclOperation.DESCRIBE, AclOperation.READ)
        done(self.admin.create_acls([_rule(user, topic, operation) for operation in may]))

    @contextmanager
    def allowed(self, user: tuple[str, str], *rules: Rule) -> Iterator[None]:
        """Let a user do more for the time of the block."""
        bindings = [
            AclBinding(kind, name, pattern, f"User:{user[0]}", "*", operation, AclPermissionType.ALLOW)
            for kind, name, pattern, operation in rules
        ]
        done(self.admin.create_acls(bindings))
        try:
            yield
        finally:
            filters = [AclBindingFilter(*[getattr(each, name) for name in _OF_A_BINDING]) for each in bindings]
            done(self.admin.delete_acls(filters))

    def topic_id(self, topic: str) -> str | None:
        """Return a topic's id as Kafka prints it; None if there is no such topic."""
        try:
            (described,) = done(self.admin.describe_topics(TopicCollection([topic])))
        except KafkaException:
            return None
        return str(described.topic_id)

    def make_offsets_topic(self) -> None:
        """Return when `__consumer_offsets` is there, which the broker makes when somebody asks about a group."""
        wait_until(lambda: has_coordinator(self, "any") or self.topic_id(OFFSETS), OFFSETS)
        wait_until(self._leads_all, "leaders of all partitions")

    def _answers(self) -> bool:
        try:
            return bool(self.admin.list_topics(timeout=1).brokers)
        except KafkaException:
            return False

    def _leads_all(self) -> bool:
        """Whether all partitions can be read: after a start, that takes some time more."""
        topics = self.admin.list_topics(timeout=10).topics.values()
        parts = [TopicPartition(topic.topic, number) for topic in topics for number in topic.partitions]
        try:
            done(self.admin.list_offsets(dict.fromkeys(parts, OffsetSpec.latest()))) if parts else None
        except KafkaException:
            return False
        return True

    @property
    def _addresses(self) -> dict[str, str]:
        return {"PLAINTEXT": self.bootstrap, "SASL_PLAINTEXT": self.scram, "SASL_SSL": self.tls}


def done(futures: dict[object, Future], patience: float = 20) -> list[object]:
    """Wait for what an admin client was asked for, and return its results. Raises KafkaException, TimeoutError."""
    return [future.result(patience) for future in futures.values()]


def _rule(user: str, topic: str, operation: AclOperation) -> AclBinding:
    kind, literal, allow = ResourceType.TOPIC, ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return AclBinding(kind, topic, literal, f"User:{user}", "*", operation, allow)


_CLUSTER = "a2lwODQ4LXRlc3RzLWtpcA"


def _jars(release: str) -> list[Path]:
    return fetch("kafka_2.13", release, dependencies=True) + fetch("slf4j-simple", "1.7.36", organisation="org.slf4j")


def _class_path(jars: list[Path]) -> str:
    return ":".join(map(str, jars))


def _free_ports(count: int) -> list[int]:
    """Find ports below those that systems hand out to clients: nobody takes them while the broker restarts."""
    found: list[int] = []
    while len(found) < count:
        port = random.randint(15_000, 30_000)  # noqa: S311
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found += [port] * (port not in found)
    return found
