"""How a client logs in, and what it trusts: the properties of Kafka's own clients, translated for Python.

What has no form in Python is refused by name. A setting that was silently ignored might open a connection that its user
believes to be closed.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import urllib.error
import urllib.request
from base64 import b64encode
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkstemp
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode, urlparse

from kip848_records.sources.topic.client_properties import jaas_options
from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MODULES: Final = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": ("PLAIN",),
    "org.apache.kafka.common.security.scram.ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": ("OAUTHBEARER",),
    "com.sun.security.auth.module.Krb5LoginModule": ("GSSAPI",),
    "software.amazon.msk.auth.iam.IAMLoginModule": ("AWS_MSK_IAM",),
}
"""The login modules that have a form in Python, with their mechanisms."""

_HANDLERS: Final = {
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
    "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
    "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
}
_READ: Final = re.compile(
    r"security\.protocol|sasl\.(mechanism|jaas\.config|kerberos\.service\.name|login\.callback\.handler\.class"
    r"|client\.callback\.handler\.class|oauthbearer\.(token\.endpoint\.url|client\.credentials\..*|scope)"
    r"|login\.(connect|read|retry|refresh).*|kerberos\.(kinit|min\.time|ticket).*)"
    r"|ssl\.(truststore|keystore)\.(type|location|password)|ssl\.truststore\.certificates|ssl\.key\.password"
    r"|ssl\.keystore\.(key|certificate\.chain)|ssl\.endpoint\.identification\.algorithm|ssl\.protocol"
    r"|ssl\.enabled\.protocols|ssl\.(trustmanager|keymanager)\.algorithm"
)
"""The settings of security that are translated, or that change nothing in Python."""

_JKS: Final = b"\xfe\xed\xfe\xed"
_TOKEN_WITHIN_S: Final = 10


@dataclass(frozen=True)
class Login:
    """What a connection needs besides an address.

    `tls`: the context of TLS; None: no TLS. `mechanism`: of SASL; None: no login. `options`: those of the JAAS line.
    `settings`: all settings of the client. No text contains them.
    """

    tls: ssl.SSLContext | None = field(default=None, repr=False)
    mechanism: str | None = None
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def has_certificate(self) -> bool:
        """Return whether the client shows a certificate."""
        return not self.settings.keys().isdisjoint({"ssl.keystore.key", "ssl.keystore.location"})

    def user(self) -> tuple[str, str]:
        """Return name and password. Raises TopicError if one is missing."""
        try:
            return self.options["username"], self.options["password"]
        except KeyError as error:
            raise TopicError.refused_settings(f"sasl.jaas.config has no {error.args[0]}") from None

    def token(self) -> str:
        """Return a token of OAUTHBEARER: from the token endpoint or a file. Raises TopicError if there is none."""
        address = self.settings.get("sasl.oauthbearer.token.endpoint.url")
        if address is None:
            raise TopicError.refused_settings("OAUTHBEARER needs sasl.oauthbearer.token.endpoint.url")
        if address.startswith("file:"):
            try:
                return Path(urlparse(address).path).read_text("utf-8").strip()
            except OSError as error:
                raise TopicError.no_token(address, error.strerror or type(error).__name__) from None
        own = {name: value for name, value in self.options.items() if name.startswith("ssl.")}
        return _token_at(
            address, self._credentials(), self._client("scope", "scope"), _tls_context(own) if own else None
        )

    def _credentials(self) -> tuple[str, str]:
        found = self._client("client.id", "clientId"), self._client("client.secret", "clientSecret")
        if not all(found):
            raise TopicError.refused_settings("OAUTHBEARER needs clientId and clientSecret in sasl.jaas.config")
        return str(found[0]), str(found[1])

    def _client(self, setting: str, option: str) -> str | None:
        prefix = "sasl.oauthbearer." if setting == "scope" else "sasl.oauthbearer.client.credentials."
        return self.settings.get(prefix + setting) or self.options.get(option)


PACKAGES: Final = {"GSSAPI": "gssapi", "AWS_MSK_IAM": "botocore"}
"""What logins need besides."""


def _check_package(mechanism: str) -> None:
    package = PACKAGES.get(mechanism)
    if package is not None and find_spec(package) is None:
        raise TopicError(f"the login {mechanism} needs the package {package}", f"pip install {package}")


def login_of(settings: Mapping[str, str]) -> Login:
    """Return the login of a client's settings. Raises TopicError for what Python's client cannot do."""
    protocol = settings.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise TopicError.refused_settings(f"security.protocol is {protocol}, not one of {', '.join(_PROTOCOLS)}")
    if unknown := sorted(name for name in settings if name.startswith(("ssl.", "sasl.")) and not _READ.fullmatch(name)):
        raise TopicError.no_python_form(", ".join(unknown))
    tls = _tls_context(settings) if protocol.endswith("SSL") else None
    if not protocol.startswith("SASL"):
        return Login(tls, settings=settings)
    for name in ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class"):
        if (handler := settings.get(name)) is not None and handler not in _HANDLERS:
            raise TopicError.no_python_form(f"{name}={handler}")
    line = settings.get("sasl.jaas.config")
    if line is None:
        raise TopicError(
            f"the client's settings have security.protocol={protocol}, but no sasl.jaas.config",
            "set sasl.jaas.config in the file of --kafka-config, such as sasl.jaas.config="
            'org.apache.kafka.common.security.scram.ScramLoginModule required username="..." password="...";',
        )
    module, options = _jaas(line)
    mechanism = settings.get("sasl.mechanism", "GSSAPI").upper()
    if module not in _MODULES:
        raise TopicError.no_python_form(f"the login module {module}")
    if mechanism not in _MODULES[module]:
        raise TopicError.refused_settings(f"{module} does not log in with sasl.mechanism={mechanism}")
    _check_package(mechanism)
    if mechanism == "GSSAPI" and (keytab := options.get("keyTab")):
        os.environ.setdefault("KRB5_CLIENT_KTNAME", keytab)  # so MIT Kerberos finds it
    return Login(tls, mechanism, options, settings)


def _jaas(line: str) -> tuple[str, dict[str, str]]:
    """Return the login module and the options of a JAAS line."""
    module, _, rest = line.strip().partition(" ")
    return module, {name: value for name, value, _ in jaas_options(rest)}


def _token_at(address: str, credentials: tuple[str, str], scope: str | None, tls: ssl.SSLContext | None) -> str:
    """Return an access token for client credentials (RFC 6749, section 4.4). `tls`: None: as the system trusts."""
    form = {"grant_type": "client_credentials"} | ({} if scope is None else {"scope": scope})
    basic = b64encode(":".join(credentials).encode()).decode()
    headers = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
    if not address.startswith(("https://", "http://")):
        raise TopicError.no_token(address, "it is not an https:// address")
    request = urllib.request.Request(address, urlencode(form).encode(), headers)  # noqa: S310 - checked
    try:
        with urllib.request.urlopen(request, timeout=_TOKEN_WITHIN_S, context=tls) as answer:  # noqa: S310 - checked
            return str(json.load(answer)["access_token"])
    except urllib.error.HTTPError as error:
        raise TopicError.no_token(address, f"it answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise TopicError(
                f"no token from {address}: {error.reason.verify_message}",
                "add ssl.truststore.location, a PEM file with its CA, to the options in sasl.jaas.config",
            ) from None
        raise TopicError.no_token(address, str(error.reason)) from None
    except TimeoutError:
        raise TopicError.no_token(address, f"it does not answer within {_TOKEN_WITHIN_S:g} s") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise TopicError.no_token(address, "its answer has no access_token") from None


def _tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https").strip().lower() == "https"
    inline = settings.get("ssl.truststore.certificates")
    trusted = settings.get("ssl.truststore.location")
    try:
        if inline is not None:
            context.load_verify_locations(cadata=inline)
        elif trusted is not None:
            context.load_verify_locations(cadata=_trusted(trusted, settings.get("ssl.truststore.password")))
        else:
            context.load_default_certs()
        _load_own(context, settings)
    except ssl.SSLError as error:
        named = trusted or settings.get("ssl.keystore.location") or "the certificates"
        raise TopicError.refused_settings(f"{named} cannot be used for TLS: {error.reason or error}") from None
    return context


def _trusted(path: str, password: str | None) -> str:
    """Return the certificates of a trust store as PEM."""
    content = _store(path)
    if b"-----BEGIN" in content:
        return content.decode("ascii", "replace")
    _, _, certificates = _pkcs12(path, content, password)
    return certificates


def _load_own(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    """Load the key and the certificates with which the client shows who it is, if the settings name some."""
    password = settings.get("ssl.key.password")
    if (key := settings.get("ssl.keystore.key")) is not None:
        chain = settings.get("ssl.keystore.certificate.chain", "")
        _load_chain(context, "ssl.keystore.key", f"{key}\n{chain}".encode(), password)
    elif (path := settings.get("ssl.keystore.location")) is not None:
        content = _store(path)
        if b"-----BEGIN" not in content:
            key, own, others = _pkcs12(path, content, settings.get("ssl.keystore.password") or password)
            if not key:
                raise TopicError.refused_settings(f"{path} has no private key")
            content, password = f"{key}\n{own}\n{others}".encode(), None
        _load_chain(context, path, content, password)


def _load_chain(context: ssl.SSLContext, name: str, pem: bytes, password: str | None) -> None:
    """Load key and certificates from PEM; `name`: the file or setting that they are of."""
    with _as_file(pem) as path:
        try:
            # Without a password, OpenSSL would ask for one at the terminal.
            context.load_cert_chain(path, password=password or "")
        except OSError as error:
            reason = f"the client's own key in {name} cannot be used for TLS: {error.strerror}"
            if b"ENCRYPTED" in pem:
                wrong = f"ssl.key.password does not open the client's key in {name}"
                reason = (
                    wrong if password else f"the client's key in {name} is encrypted, and ssl.key.password is not set"
                )
            raise TopicError.refused_settings(reason) from None


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Offer bytes as a file: ssl takes keys only from files. On Linux it is in memory, so no disk ever has the key."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("kip848")
        try:
            os.write(handle, content)
            yield f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
        return
    handle, path = mkstemp()
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield path
    finally:
        with suppress(OSError):
            Path(path).unlink()


def _store(path: str) -> bytes:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TopicError.refused_settings(f"{path} cannot be read: {error.strerror}") from None
    if content.startswith(_JKS):
        raise TopicError(
            f"{path} is a JKS key store, which only Java reads",
            f"convert it: keytool -importkeystore -srckeystore {path} -destkeystore store.p12 -deststoretype PKCS12",
        )
    return content


def _pkcs12(path: str, content: bytes, password: str | None) -> tuple[str, str, str]:
    """Return the key, its certificate and all other certificates of a PKCS#12 store, as PEM."""
    try:
        from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, pkcs12  # noqa: PLC0415
    except ImportError:
        raise TopicError(
            f"{path} is a PKCS#12 store, and the package cryptography is not installed",
            "pip install 'kip848-records[pkcs12]', or convert the store to PEM",
        ) from None
    try:
        store: Any = pkcs12.load_pkcs12(content, password.encode() if password else None)
    except ValueError:
        raise TopicError.refused_settings(f"{path} is no PKCS#12 store, or its password is another one") from None
    pem = Encoding.PEM
    key = store.key and store.key.private_bytes(pem, PrivateFormat.PKCS8, NoEncryption()).decode()
    own = store.cert and store.cert.certificate.public_bytes(pem).decode()
    others = "".join(each.certificate.public_bytes(pem).decode() for each in store.additional_certs)
    return key or "", own or "", others
