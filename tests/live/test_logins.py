"""Each login that `docs/live.md` lists, on a real broker: what is right reads, what is wrong is one line in seconds."""

import json
import re
import ssl
import subprocess
import sys
import threading
import time
from base64 import b64decode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from kip848_records.cli import main
from kip848_records.sources.topic import login
from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.client import READ_UNCOMMITTED
from kip848_records.sources.topic.client_properties import ClientSettings
from tests import users
from tests.audits import table_rows
from tests.broker import settings
from tests.broker.clients import consumer, make_topic
from tests.broker.identities import STORE_PASSWORD, certificate, token
from tests.broker.lookup import end_offsets, look_up
from tests.broker.process import keytool
from tests.broker.running import OFFSETS
from tests.broker.settings import READER
from tests.commands import PROGRAM
from tests.live.proxies import proxy

GROUP, SUBJECT = "of-logins", "subject-of-logins"
CLIENT_SECRET = "client-secret"  # noqa: S105
SECRETS = (READER[1], settings.STRANGER[1], STORE_PASSWORD, CLIENT_SECRET, "wrong-secret", "PRIVATE KEY")
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
READ_ONLY = (
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"',
    "sh",
)
SECONDS = 20
"""For an error, on a busy machine."""


@pytest.fixture(scope="module", autouse=True)
def group(broker):
    """A group of whose log a run reads."""
    make_topic(broker, SUBJECT)
    with consumer(broker, GROUP, [SUBJECT]) as member:
        member.wait_for(1)


@pytest.fixture(scope="module")
def stores(broker, tmp_path_factory):
    """The folder of stores as keytool makes them, and of certificates of others."""
    folder = tmp_path_factory.mktemp("stores")
    trust = ["-keystore", str(folder / "trust.p12"), "-storepass", STORE_PASSWORD, "-storetype", "PKCS12"]
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", str(broker.truststore), *trust)
    old = ["-J-Dkeystore.pkcs12.legacy=true", "-keystore", str(folder / "trust-old.p12"), "-storepass", STORE_PASSWORD]
    keytool("-importcert", "-noprompt", "-alias", "ca", "-file", str(broker.truststore), "-storetype", "PKCS12", *old)
    keytool(
        *("-importkeystore", "-noprompt", "-srckeystore", str(broker.home / "reader.p12")),
        *("-srcstorepass", STORE_PASSWORD, "-deststoretype", "PKCS12"),
        *("-destkeystore", str(folder / "reader.p12"), "-deststorepass", STORE_PASSWORD),
    )
    certificate(folder, "other")
    for name, key in (("open", ".key"), ("locked", ".locked.key")):
        parts = (broker.home / f"reader{key}", broker.home / "reader.pem")
        (folder / f"{name}.pem").write_text("".join(part.read_text() for part in parts))
    (folder / "other-client.pem").write_text((folder / "other.key").read_text() + (folder / "other.pem").read_text())
    return folder


def sasl(module, mechanism, **options):
    said = " ".join(f'{name}="{value}"' for name, value in options.items())
    return {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{module} required {said};"}


def password(mechanism, secret=READER[1], module=SCRAM, protocol="SASL_PLAINTEXT", name=READER[0]):
    return {"security.protocol": protocol} | sasl(module, mechanism, username=name, password=secret)


@pytest.fixture
def run(broker, tmp_path, capfd):
    """Explain the group at a listener with a client's settings: its code, and what it prints, which has no secret."""

    def explained(listener, given, *more, address=None):
        file = tmp_path / "client.properties"
        lines = (f"{name}={value}".replace("\n", "\\n\\\n") for name, value in given.items())
        file.write_text("\n".join(lines) + "\n")
        url = f"kafka://{address or broker.address(listener)}/{OFFSETS}"
        code = main(["inspect", url, "--limit", "1", "--kafka-config", str(file), *more])
        said = capfd.readouterr()
        for secret in SECRETS:
            assert secret not in said.out + said.err
        return code, said.out, said.err

    return explained


def read(answer):
    code, out, err = answer
    assert code == 0, err
    assert re.fullmatch(r"\d:\d+ .* \w+ \{.*\n", out), err
    assert "Traceback" not in err
    assert "WARNING" not in err.upper()


@contextmanager
def refused(*parts):
    """An error of one line with a way out, within seconds."""
    began = time.monotonic()
    found = []
    yield found.append
    ((code, out, err),) = found
    assert code == 2, err
    assert not out
    lines = [line for line in err.splitlines() if line.startswith(("error: ", "kip848"))]
    assert len(lines) == 1, err
    assert "hint: " in err
    said = " ".join(err.split())
    for part in parts:
        assert part in said
    assert time.monotonic() - began < SECONDS


@pytest.mark.parametrize(
    ("listener", "module", "mechanism"),
    [("SCRAM", SCRAM, "SCRAM-SHA-512"), ("PASSWORD", SCRAM, "SCRAM-SHA-256"), ("PASSWORD", PLAIN, "PLAIN")],
)
def test_a_password(run, broker, listener, module, mechanism):
    read(run(listener, password(mechanism, module=module)))
    with refused(f"error: the cluster at {broker.address(listener)} rejects the login: ") as error:
        error(run(listener, password(mechanism, "wrong-secret", module)))


def test_a_password_of_the_environment_or_another_file(run, tmp_path, monkeypatch):
    monkeypatch.setenv("OF_LOGINS", READER[1])
    read(run("SCRAM", password("SCRAM-SHA-512", "${env:OF_LOGINS}")))
    (tmp_path / "secrets.properties").write_text(f"reader={READER[1]}\n")
    read(run("SCRAM", password("SCRAM-SHA-512", f"${{file:{tmp_path}/secrets.properties:reader}}")))
    monkeypatch.delenv("OF_LOGINS")
    with refused("sets sasl.jaas.config to ${env:OF_LOGINS}") as error:
        error(run("SCRAM", password("SCRAM-SHA-512", "${env:OF_LOGINS}")))


def test_tls_trusts_pem_and_pkcs12(run, broker, stores):
    user = password("SCRAM-SHA-512", protocol="SASL_SSL")
    p12 = {"ssl.truststore.location": stores / "trust.p12", "ssl.truststore.password": STORE_PASSWORD}
    text = broker.truststore.read_text()
    old = p12 | {"ssl.truststore.location": stores / "trust-old.p12"}
    for trust in ({"ssl.truststore.location": broker.truststore}, p12, old, {"ssl.truststore.certificates": text}):
        read(run("TLS", user | trust))


def test_tls_with_the_wrong_trust(run, broker, stores):
    user = password("SCRAM-SHA-512", protocol="SASL_SSL")
    failed = f"error: the TLS connection to {broker.tls} failed: self-signed certificate"
    for trust in ({"ssl.truststore.location": stores / "other.pem"}, {}):
        with refused(failed, "ssl.truststore.location (the cluster's CA)") as error:
            error(run("TLS", user | trust))
    p12 = {"ssl.truststore.location": stores / "trust.p12"}
    for secret in ({"ssl.truststore.password": "wrong-secret"}, {}):
        with refused("trust.p12", "password") as error:
            error(run("TLS", user | p12 | secret))


def test_the_name_in_the_brokers_certificate(run, broker):
    """The certificate is of 127.0.0.1."""
    with proxy(broker.ports["PROXY"], broker.ports["TLS"], "127.0.0.2"):
        given = password("SCRAM-SHA-512", protocol="SASL_SSL") | {"ssl.truststore.location": broker.truststore}
        address = f"127.0.0.2:{broker.ports['PROXY']}"
        with refused(f"error: the TLS connection to {address} failed: IP address mismatch", "host names") as error:
            error(run("TLS", given, address=address))
        read(run("TLS", given | {"ssl.endpoint.identification.algorithm": ""}, address=address))


def owns(broker, stores):
    """How a client shows its certificate."""
    text = {
        "ssl.keystore.key": (broker.home / "reader.key").read_text(),
        "ssl.keystore.certificate.chain": (broker.home / "reader.pem").read_text(),
        "ssl.keystore.type": "PEM",
    }
    locked_text = text | {
        "ssl.keystore.key": (broker.home / "reader.locked.key").read_text(),
        "ssl.key.password": STORE_PASSWORD,
    }
    return {
        "a PEM file": {"ssl.keystore.location": stores / "open.pem", "ssl.keystore.type": "PEM"},
        "an encrypted PEM file": {"ssl.keystore.location": stores / "locked.pem", "ssl.key.password": STORE_PASSWORD},
        "PEM text": text,
        "encrypted PEM text": locked_text,
        "PKCS12": {"ssl.keystore.location": stores / "reader.p12", "ssl.keystore.password": STORE_PASSWORD},
    }


def mutual(broker):
    return {"security.protocol": "SSL", "ssl.truststore.location": broker.truststore}


@pytest.mark.parametrize("how", ["a PEM file", "an encrypted PEM file", "PEM text", "encrypted PEM text", "PKCS12"])
def test_the_clients_certificate(run, broker, stores, how):
    read(run("MUTUAL", mutual(broker) | owns(broker, stores)[how]))


def test_no_certificate_or_another_one(run, broker, stores):
    for own in ({}, {"ssl.keystore.location": stores / "other-client.pem"}):
        said = "rejects the client's certificate: " if own else "asks for a certificate of the client"
        with refused(f"error: {broker.address('MUTUAL')} {said}", "ssl.keystore.location") as error:
            error(run("MUTUAL", mutual(broker) | own))


def test_a_wrong_password_of_the_clients_key(run, broker, stores):
    for own in ({"ssl.keystore.location": stores / "reader.p12"}, {"ssl.keystore.location": stores / "locked.pem"}):
        for secret in ({}, {"ssl.keystore.password": "wrong-secret", "ssl.key.password": "wrong-secret"}):
            with refused(str(own["ssl.keystore.location"].name), "password") as error:
                error(run("MUTUAL", mutual(broker) | own | secret))


def test_a_read_only_root_and_no_secret_in_any_file(broker, stores, tmp_path):
    """As in a container: only the volume of the tables can be written to, and the client's key is decrypted."""
    volume = tmp_path / "volume"
    (volume / "tmp").mkdir(parents=True)
    given = mutual(broker) | owns(broker, stores)["PKCS12"]
    lines = "".join(f"{name}={value}\n" for name, value in given.items())
    (tmp_path / "client.properties").write_text(lines)
    arguments = ["audit", f"kafka://{broker.address('MUTUAL')}", "--kafka-config", tmp_path / "client.properties"]
    command = [*READ_ONLY, volume, sys.executable, "-c", PROGRAM, *arguments, "--out", volume / "tables"]
    environment = users.environment(TMPDIR=str(volume / "tmp"))
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if "unshare: " in done.stderr or "mount: " in done.stderr:
        pytest.skip(f"no read-only root here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert GROUP in {row["group_id"] for row in table_rows(volume / "tables", "group_state", "default")}
    tables = [folder.parent.name for folder in volume.glob("tables/*/_delta_log")]
    written = [repr(table_rows(volume / "tables", table, "default")) for table in tables if table != "topic_name"]
    written += [file.read_text("latin-1") for file in volume.rglob("*") if file.is_file()]
    assert list((volume / "tmp").iterdir()) == []
    key = (broker.home / "reader.key").read_text().splitlines()[1]
    assert [
        secret for secret in (*SECRETS, key) for text in [done.stdout, done.stderr, *written] if secret in text
    ] == []


@pytest.fixture
def endpoint(broker):
    """A token endpoint for client credentials; `replies` changes what it answers."""

    class Endpoint(BaseHTTPRequestHandler):
        replies = None
        asked = 0

        def do_POST(self):
            Endpoint.asked += 1
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            name, _, secret = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode().partition(":")
            is_known = secret == CLIENT_SECRET and form["grant_type"] == ["client_credentials"]
            code, answer = 200, {"access_token": token(broker.home, name), "expires_in": 600}
            if not is_known:
                code, answer = 401, {"error": "invalid_client"}
            if self.replies is not None:
                code, answer = self.replies()
            self.send_response(code)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_):
            """Clients go that do not trust it, or that wait no longer."""

    with Server(("127.0.0.1", 0), Endpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Endpoint.server, Endpoint.url = server, f"http://127.0.0.1:{server.server_port}/token"
        yield Endpoint
        server.shutdown()


def oauth(broker, address, user=READER[0], secret=CLIENT_SECRET, **more):
    options = {name.replace("_", "."): value for name, value in more.items()}
    user_of = sasl(OAUTH, "OAUTHBEARER", clientId=user, clientSecret=secret, **options)
    given = {"security.protocol": "SASL_SSL", "ssl.truststore.location": broker.truststore}
    return given | user_of | {"sasl.oauthbearer.token.endpoint.url": address}


def test_a_token_of_an_endpoint(run, broker, endpoint, tmp_path):
    read(run("TOKEN", oauth(broker, endpoint.url)))
    (tmp_path / "token").write_text(token(broker.home, READER[0]))
    read(run("TOKEN", oauth(broker, (tmp_path / "token").as_uri())))


def test_an_endpoint_that_refuses_or_says_something_else(run, broker, endpoint):
    where = f"error: no token from {endpoint.url}: "
    with refused(where, "401", "clientId and clientSecret") as error:
        error(run("TOKEN", oauth(broker, endpoint.url, READER[0], "wrong-secret")))
    endpoint.replies = lambda _: (200, {"token": "x"})
    with refused(where, "its answer has no access_token") as error:
        error(run("TOKEN", oauth(broker, endpoint.url)))
    endpoint.replies = lambda _: (200, {"access_token": token(broker.home, READER[0], -60)})
    with refused(f"error: the cluster at {broker.address('TOKEN')} rejects the login: ") as error:
        error(run("TOKEN", oauth(broker, endpoint.url)))
    with refused("error: no token from http://127.0.0.1:1/token: ", "refused") as error:
        error(run("TOKEN", oauth(broker, "http://127.0.0.1:1/token")))


def test_an_endpoint_of_a_private_authority(run, broker, endpoint):
    """The login module takes settings of TLS for the endpoint, as Java's does."""
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(broker.home / "broker.pem", broker.home / "broker.key")
    endpoint.server.socket = own.wrap_socket(endpoint.server.socket, server_side=True)
    address = endpoint.url.replace("http:", "https:")
    with refused(f"no token from {address}: ", "self-signed certificate", "ssl.truststore.location") as error:
        error(run("TOKEN", oauth(broker, address)))
    read(run("TOKEN", oauth(broker, address, ssl_truststore_location=broker.truststore)))


def test_an_endpoint_that_stalls(run, broker, endpoint, monkeypatch):
    monkeypatch.setattr(login, "_TOKEN_WITHIN_S", 0.3)
    going_on = threading.Event()
    endpoint.replies = lambda _: going_on.wait(30) and (200, {})
    with refused(f"no token from {endpoint.url}: it does not answer within 0.3 s") as error:
        error(run("TOKEN", oauth(broker, endpoint.url)))
    going_on.set()


def rule(kind, name, operation):
    return getattr(ResourceType, kind), name, ResourcePatternType.LITERAL, getattr(AclOperation, operation)


READ, DESCRIBE = (rule("TOPIC", OFFSETS, operation) for operation in ("READ", "DESCRIBE"))


def test_the_least_rights_are_to_read_the_topic(run, broker):
    """Kafka's own authorizer includes Describe in Read."""
    user = password("SCRAM-SHA-512", settings.STRANGER[1], name=settings.STRANGER[0])
    with (
        broker.allowed(settings.STRANGER, DESCRIBE),
        refused(f"may not read topic {OFFSETS}", "Read on topic") as error,
    ):
        error(run("SCRAM", user))
    with broker.allowed(settings.STRANGER, READ):
        read(run("SCRAM", user))


def test_each_right_that_is_optional(broker):
    """Without it, a fact is not known."""
    user = password("SCRAM-SHA-512", settings.STRANGER[1], name=settings.STRANGER[0])
    topic = Topic(f"kafka://{broker.scram}", broker.scram, OFFSETS, ClientSettings(user))
    rights = {
        "delete_retention_ms": rule("TOPIC", OFFSETS, "DESCRIBE_CONFIGS"),
        "offsets_retention_ms": rule("BROKER", "kafka-cluster", "DESCRIBE_CONFIGS"),
        SUBJECT: rule("TOPIC", SUBJECT, "DESCRIBE"),
    }
    for missing in rights:
        with broker.allowed(settings.STRANGER, READ, *(right for name, right in rights.items() if name != missing)):
            ends = look_up(topic, isolation=READ_UNCOMMITTED)
            found = {name for name in rights if getattr(ends, name, None) is not None}
            found |= (
                {SUBJECT} & set(ends.topic_names.values()) & {name for name, *_ in end_offsets(topic, [(SUBJECT, 0)])}
            )
            assert found == rights.keys() - {missing}


def test_a_user_that_may_do_nothing(run, broker, endpoint):
    with refused(f"error: the user may not describe topic {OFFSETS}", "Describe and Read") as error:
        error(run("TOKEN", oauth(broker, endpoint.url, settings.STRANGER[0])))
