"""A `client.properties` of Kafka's tools, translated for Python; what has no form there is refused by name."""

import json
import ssl
import subprocess
import sys
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate

from kip848_records.errors import InputError
from kip848_records.sources.topic import login
from kip848_records.sources.topic.errors import TopicError
from kip848_records.sources.topic.login import login_of

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"


def settings(**given):
    return {name.replace("_", "."): value for name, value in given.items()}


def sasl(line, mechanism, **more):
    return settings(security_protocol="SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_jaas_config=line, **more)


def refusal(given):
    with pytest.raises(InputError) as caught:
        login_of(given)
    assert "-secret" not in str(caught.value)
    return str(caught.value)


def test_nothing_is_no_login():
    login = login_of({})
    assert (login.tls, login.mechanism) == (None, None)


@pytest.mark.parametrize(
    ("module", "mechanism"),
    [(PLAIN, "PLAIN"), (SCRAM, "SCRAM-SHA-256"), (SCRAM, "SCRAM-SHA-512"), (IAM, "AWS_MSK_IAM"), (KERBEROS, "GSSAPI")],
)
def test_each_login_module_has_its_mechanisms(module, mechanism, monkeypatch):
    monkeypatch.setattr(login, "find_spec", lambda _: "is installed")
    assert login_of(sasl(f"{module} required;", mechanism)).mechanism == mechanism


@pytest.mark.parametrize(
    ("module", "mechanism", "package"), [(IAM, "AWS_MSK_IAM", "botocore"), (KERBEROS, "GSSAPI", "gssapi")]
)
def test_the_package_of_a_login_is_missing(module, mechanism, package, monkeypatch):
    monkeypatch.setattr(login, "find_spec", lambda _: None)
    with pytest.raises(TopicError, match=f"^the login {mechanism} needs the package {package}; pip install {package}$"):
        login_of(sasl(f"{module} required;", mechanism))


def test_name_and_password_are_read_as_java_reads_them():
    line = SCRAM + r""" required username='o"\'n' password="a\"b\\c d;=" ;"""
    login = login_of(sasl(line, "SCRAM-SHA-512"))
    assert login.user() == ("o\"'n", 'a"b\\c d;=')
    assert repr(login) == "Login(mechanism='SCRAM-SHA-512')"


def test_a_login_without_a_password():
    login = login_of(sasl(f'{PLAIN} required username="me";', "PLAIN"))
    with pytest.raises(InputError, match=r"sasl.jaas.config has no password"):
        login.user()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (settings(security_protocol="TLS"), "security.protocol is TLS, not one of PLAINTEXT, SSL, SASL_PLAINTEXT"),
        (
            settings(security_protocol="SASL_SSL"),
            "the client's settings have security.protocol=SASL_SSL, but no sasl.jaas.config",
        ),
        (sasl('a.Module required password="x-secret";', "PLAIN"), "the client's settings name the login module a.Mod"),
        (sasl(f"{PLAIN} required;", "SCRAM-SHA-512"), "PlainLoginModule does not log in with sasl.mechanism=SCRAM"),
        (
            sasl(f"{OAUTH} required;", "OAUTHBEARER", sasl_login_callback_handler_class="my.Handler"),
            "the client's settings name sasl.login.callback.handler.class=my.Handler",
        ),
        (settings(ssl_cipher_suites="x", ssl_provider="y"), "the client's settings name ssl.cipher.suites, ssl.prov"),
        (settings(security_protocol="SSL", ssl_truststore_location="/none.p12"), "/none.p12 cannot be read: No such"),
        (
            settings(security_protocol="SSL", ssl_keystore_key="y-secret"),
            "the client's own key in ssl.keystore.key cannot be used for",
        ),
        (settings(security_protocol="SSL", ssl_truststore_certificates="y-secret"), "cannot be used for TLS"),
    ],
)
def test_what_has_no_form_in_python_is_refused(given, says):
    assert says in refusal(given)


def test_a_java_key_store_is_named_with_the_way_out(tmp_path):
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2")
    said = refusal(settings(security_protocol="SSL", ssl_truststore_location=str(store)))
    assert said == (
        f"{store} is a JKS key store, which only Java reads; convert it: keytool -importkeystore -srckeystore {store} "
        "-destkeystore store.p12 -deststoretype PKCS12"
    )


@pytest.fixture(scope="module")
def identity(tmp_path_factory):
    """A key and its certificate: as PEM, the key encrypted too, and as PKCS#12."""
    folder = tmp_path_factory.mktemp("identity")
    key_pem, cert_pem = (Path(__file__).parent / "identity" / name for name in ("key.pem", "certificate.pem"))
    key = load_pem_private_key(key_pem.read_bytes(), None)
    cert = load_pem_x509_certificate(cert_pem.read_bytes())
    locked = BestAvailableEncryption(b"k-secret")
    (folder / "locked.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked) + cert_pem.read_bytes()
    )
    (folder / "open.pem").write_bytes(key_pem.read_bytes() + cert_pem.read_bytes())
    (folder / "key.p12").write_bytes(pkcs12.serialize_key_and_certificates(b"me", key, cert, [cert], locked))
    (folder / "trust.p12").write_bytes(pkcs12.serialize_key_and_certificates(None, None, None, [cert], locked))
    (folder / "trust.pem").write_bytes(cert_pem.read_bytes())
    return folder


@pytest.mark.parametrize(
    "own",
    [
        {"ssl_keystore_location": "open.pem", "ssl_keystore_type": "PEM"},
        {"ssl_keystore_location": "locked.pem", "ssl_key_password": "k-secret"},
        {"ssl_keystore_location": "key.p12", "ssl_keystore_password": "k-secret"},
    ],
)
@pytest.mark.parametrize("trust", [{"": "trust.pem"}, {"": "trust.p12", "ssl_truststore_password": "k-secret"}])
def test_both_sides_know_each_other_by_their_stores(identity, own, trust):
    trust = dict(trust) | {"ssl_truststore_location": trust[""]}
    del trust[""]
    given = {k: str(identity / v) if k.endswith("location") else v for k, v in (own | trust).items()}
    context = login_of(settings(security_protocol="SSL", **given)).tls
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(identity / "open.pem")
    server.load_verify_locations(identity / "trust.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    assert shaken(context, server) == "localhost"


def shaken(context, server):
    """Let two sides shake hands in memory; return the name in the certificate that the server saw."""
    ends = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = context.wrap_bio(*ends, server_hostname="localhost")
    server_side = server.wrap_bio(*reversed(ends), server_side=True)
    for _ in range(4):
        for side in (client_side, server_side):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return dict(each[0] for each in server_side.getpeercert()["subject"])["commonName"]


def test_a_wrong_password_of_a_store(identity):
    for name, password in (("key.p12", "wrong-secret"), ("locked.pem", "wrong-secret"), ("locked.pem", None)):
        given = settings(security_protocol="SSL", ssl_keystore_location=str(identity / name))
        given |= {} if password is None else {"ssl.keystore.password": password, "ssl.key.password": password}
        assert refusal(given).startswith("Kafka's client rejects these settings: ")


def test_no_decrypted_key_is_ever_a_file(identity, monkeypatch):
    opened = []
    load = ssl.SSLContext.load_cert_chain
    monkeypatch.setattr(
        ssl.SSLContext, "load_cert_chain", lambda self, path, **more: (opened.append(path), load(self, path, **more))
    )
    given = {"ssl_keystore_location": str(identity / "key.p12"), "ssl_keystore_password": "k-secret"}
    login_of(settings(security_protocol="SSL", **given))
    (path,) = opened
    assert path.startswith("/proc/self/fd/")
    assert not Path(path).exists()


@pytest.mark.parametrize(("algorithm", "checks"), [(None, True), ("https", True), ("HTTPS", True), ("", False)])
def test_the_name_in_a_certificate_is_checked_unless_the_user_says_no(algorithm, checks):
    given = settings(security_protocol="SSL")
    given |= {} if algorithm is None else {"ssl.endpoint.identification.algorithm": algorithm}
    context = login_of(given).tls
    assert (context.check_hostname, context.verify_mode) == (checks, ssl.CERT_REQUIRED)


@pytest.fixture
def endpoint():
    """A token endpoint: its address, and what it was asked."""
    asked = []

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            asked.append((b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode(), body))
            is_known = asked[-1][0] == "me:c-secret"
            self.send_response(200 if is_known else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"access_token": "a.b.c"} if is_known else {}).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/token", asked
        server.shutdown()


def test_a_token_comes_from_its_endpoint(endpoint):
    address, asked = endpoint
    line = f'{OAUTH} required clientId="me" clientSecret="c-secret" scope="kafka read";'
    login = login_of(sasl(line, "OAUTHBEARER") | {"sasl.oauthbearer.token.endpoint.url": address})
    assert login.token() == "a.b.c"
    assert asked == [("me:c-secret", "grant_type=client_credentials&scope=kafka+read")]


def test_a_token_endpoint_that_refuses(endpoint):
    address, _ = endpoint
    line = f'{OAUTH} required clientId="me" clientSecret="wrong-secret";'
    login = login_of(sasl(line, "OAUTHBEARER") | {"sasl.oauthbearer.token.endpoint.url": address})
    with pytest.raises(InputError, match=f"no token from {address}: it answers 401 Unauthorized") as caught:
        login.token()
    assert "secret" not in str(caught.value).replace("clientSecret", "")


def test_a_token_in_a_file(tmp_path):
    (tmp_path / "token").write_text("a.b.c\n")
    given = {"sasl.oauthbearer.token.endpoint.url": f"file://{tmp_path}/token"}
    assert login_of(sasl(f"{OAUTH} required;", "OAUTHBEARER") | given).token() == "a.b.c"


def test_a_token_from_nowhere():
    login = login_of(sasl(f'{OAUTH} required unsecuredLoginStringClaim_sub="me";', "OAUTHBEARER"))
    with pytest.raises(InputError, match=r"OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url"):
        login.token()


@pytest.mark.slow
@pytest.mark.process
def test_commands_without_a_topic_import_no_client():
    """It takes half a second; who has a session may have imported it before."""
    program = "import kip848_records.cli, kip848_records.pipeline.audit, sys; "
    program += "sys.exit(any(name.split('.')[0] == 'kafka' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
