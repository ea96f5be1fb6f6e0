"""What the broker of the tests is told: listeners, users, and settings that make it quick."""

from pathlib import Path

from tests.broker.identities import AUDIENCE, ISSUER, STORE_PASSWORD, certificate, issuer

ADMIN = ("admin", "admin-secret")
"""May do everything, as may whoever comes without a password, to the plain listener."""

READER = ("reader", "reader-secret")
"""May describe and read `__consumer_offsets`, and nothing else."""

STRANGER = ("stranger", "stranger-secret")
"""Has a password, and may do nothing."""

PARTITIONS = 4
"""Of `__consumer_offsets`."""

PROTOCOLS = {
    "PLAINTEXT": "PLAINTEXT",
    "SCRAM": "SASL_PLAINTEXT",
    "TLS": "SASL_SSL",
    "PASSWORD": "SASL_PLAINTEXT",  # as SCRAM, with the other mechanisms
    "MUTUAL": "SSL",  # clients show a certificate
    "TOKEN": "SASL_SSL",
    "PROXIED": "PLAINTEXT",  # its clients are sent to the port PROXY, where a test may listen
    "CONTROLLER": "PLAINTEXT",
}
"""The listeners, and what they speak."""

PORTS = (*PROTOCOLS, "PROXY")

_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
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


_OF_KAFKA_3 = {"group.coordinator.new.enable": "true", "group.coordinator.rebalance.protocols": "classic,consumer"}
"""There the consumer protocol is a preview."""


def write(folder: Path, ports: dict[str, int], release: str, more: dict[str, str]) -> Path:
    """Write the settings of a broker of a release, and the keys of its TLS listeners; return the settings' file.

    `ports` are those of `PORTS`; `more` are other settings, or other values.
    """
    keys, _ = certificate(folder)
    _, known = certificate(folder, READER[0])
    addresses = {name: f"{name}://127.0.0.1:{ports[name]}" for name in PROTOCOLS}
    advertised = addresses | {"PROXIED": f"PROXIED://127.0.0.1:{ports['PROXY']}"}
    settings = (
        _SETTINGS
        | (_OF_KAFKA_3 if release.startswith("3.") else {})
        | {
            "listeners": ",".join(addresses.values()),
            "advertised.listeners": ",".join(address for name, address in advertised.items() if name != "CONTROLLER"),
            "controller.quorum.voters": f"1@127.0.0.1:{ports['CONTROLLER']}",
            "log.dirs": str(folder / "data"),
            "ssl.keystore.location": str(keys),
            "ssl.keystore.password": STORE_PASSWORD,
            "listener.name.scram.scram-sha-512.sasl.jaas.config": _LOGIN,
            "listener.name.tls.scram-sha-512.sasl.jaas.config": _LOGIN,
            "listener.name.password.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.password.scram-sha-256.sasl.jaas.config": _LOGIN,
            "listener.name.password.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
            f'required user_{READER[0]}="{READER[1]}";',
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.truststore.type": "PEM",
            "listener.name.mutual.ssl.truststore.location": str(known),
            "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=([^,]*).*$/$1/",
            "listener.name.token.sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.token.oauthbearer.sasl.jaas.config": f"{_OAUTH}OAuthBearerLoginModule required;",
            "listener.name.token.oauthbearer.sasl.server.callback.handler.class": f"{_OAUTH}{_VALIDATOR}",
            "sasl.oauthbearer.jwks.endpoint.url": issuer(folder).as_uri(),
            "sasl.oauthbearer.expected.audience": AUDIENCE,
            "sasl.oauthbearer.expected.issuer": ISSUER,
        }
    )
    settings |= more
    file = folder / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return file


_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_OAUTH = "org.apache.kafka.common.security.oauthbearer."
_VALIDATOR = "OAuthBearerValidatorCallbackHandler"


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
