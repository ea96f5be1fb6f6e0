"""What the broker of the tests is told: listeners, users, and settings that make it quick."""

from pathlib import Path

from tests.broker.process import keytool

ADMIN = ("admin", "admin-secret")
"""May do everything, as may whoever comes without a password, to the plain listener."""

READER = ("reader", "reader-secret")
"""May describe and read `__consumer_offsets`, and nothing else."""

STRANGER = ("stranger", "stranger-secret")
"""Has a password, and may do nothing."""

STORE_PASSWORD = "store-secret"  # noqa: S105

PARTITIONS = 4
"""Of `__consumer_offsets`."""

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SCRAM:SASL_PLAINTEXT,TLS:SASL_SSL",
    # Who may do what.
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:ANONYMOUS;User:{ADMIN[0]}",
    # One broker has no replicas.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # Few partitions: each is a folder and two open files.
    "offsets.topic.num.partitions": str(PARTITIONS),
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "auto.create.topics.enable": "false",
    # Groups that settle at once and see at once that a member is gone.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.session.timeout.ms": "5000",
    "group.consumer.min.session.timeout.ms": "500",
    "group.coordinator.append.linger.ms": "0",
    # The broker deletes groups without members and commits when it looks for old commits, by default every ten minutes.
    "offsets.retention.check.interval.ms": "86400000",
    # A cleaner that begins as soon as there is something to clean; its buffer is 128 MB otherwise.
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4000000",
    "log.initial.task.delay.ms": "100",
    # Two quiet threads are enough where eight would be ready.
    "num.io.threads": "2",
    "num.network.threads": "1",
    "background.threads": "2",
    "log.retention.check.interval.ms": "1000",
    "file.delete.delay.ms": "100",
    # The sooner the controller forgets a broker that was killed, the sooner the next one may register.
    "broker.heartbeat.interval.ms": "100",
    "broker.session.timeout.ms": "3000",
    "controller.quorum.election.timeout.ms": "200",
    "controller.quorum.election.backoff.max.ms": "100",
}


def write(folder: Path, ports: dict[str, int]) -> Path:
    """Write the broker's settings and the keys of its TLS listener into `folder`, and return the settings' file.

    `ports` are of the listeners PLAINTEXT, SCRAM, TLS and CONTROLLER.
    """
    keys, _ = certificate(folder)
    addresses = {name: f"{name}://127.0.0.1:{port}" for name, port in ports.items()}
    settings = _SETTINGS | {
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(address for name, address in addresses.items() if name != "CONTROLLER"),
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{ports['CONTROLLER']}",
        "log.dirs": str(folder / "data"),
        "ssl.keystore.location": str(keys),
        "ssl.keystore.password": STORE_PASSWORD,
        "listener.name.scram.scram-sha-512.sasl.jaas.config": _LOGIN,
        "listener.name.tls.scram-sha-512.sasl.jaas.config": _LOGIN,
    }
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file


_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"


def certificate(folder: Path, name: str = "broker") -> tuple[Path, Path]:
    """Make a key for 127.0.0.1 and sign it with itself: return the key store, and the certificate as PEM."""
    store, pem = folder / f"{name}.p12", folder / f"{name}.pem"
    opening = ["-keystore", str(store), "-storepass", STORE_PASSWORD, "-alias", name]
    names = ["-dname", "CN=localhost", "-ext", "SAN=IP:127.0.0.1,DNS:localhost"]
    keytool("-genkeypair", *opening, "-keyalg", "EC", "-groupname", "secp256r1", "-validity", "2", *names)
    keytool("-exportcert", *opening, "-rfc", "-file", str(pem))
    return store, pem


def client(address: str, user: tuple[str, str] | None, protocol: str, truststore: Path) -> dict[str, str]:
    """Return the settings of a client on librdkafka."""
    settings = {
        "bootstrap.servers": address,
        "security.protocol": protocol,
        "log_level": "0",
        # A broker that restarts is back in two seconds.
        "reconnect.backoff.ms": "20",
        "reconnect.backoff.max.ms": "100",
    }
    if user:
        settings |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": user[0], "sasl.password": user[1]}
    if protocol == "SASL_SSL":
        settings["ssl.ca.location"] = str(truststore)
    return settings


def java_client(user: tuple[str, str] | None, protocol: str, truststore: Path) -> dict[str, str]:
    """Return the settings of one of Kafka's own, but for the address."""
    settings = {"security.protocol": protocol}
    if user:
        login = f'{_LOGIN.removesuffix(";")} username="{user[0]}" password="{user[1]}";'
        settings |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": login}
    if protocol == "SASL_SSL":
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(truststore)}
    return settings
