"""Who brokers and clients are by TLS, and the tokens of an issuer: keys and certificates made without a JVM."""

import json
import time
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import (
    BasicConstraints,
    CertificateBuilder,
    DNSName,
    IPAddress,
    Name,
    NameAttribute,
    SubjectAlternativeName,
    random_serial_number,
)
from cryptography.x509.oid import NameOID

STORE_PASSWORD = "store-secret"  # noqa: S105
ISSUER, AUDIENCE = "https://issuer.test", "kafka"
_ISSUER_KEY = "issuer"


def certificate(folder: Path, name: str = "broker") -> tuple[Path, Path]:
    """Make a key for 127.0.0.1 and sign it with itself: return the PKCS#12 store, and the certificate as PEM.

    `<name>.key` is the key as PEM, and `<name>.locked.key` the same with the password of the store.
    """
    store, pem = folder / f"{name}.p12", folder / f"{name}.pem"
    key = ec.generate_private_key(ec.SECP256R1())
    called = Name([NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        CertificateBuilder(called, called, key.public_key(), random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            SubjectAlternativeName([DNSName("localhost"), IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, SHA256())
    )
    locked = BestAvailableEncryption(STORE_PASSWORD.encode())
    store.write_bytes(pkcs12.serialize_key_and_certificates(name.encode(), key, made, None, locked))
    pem.write_bytes(made.public_bytes(Encoding.PEM))
    for suffix, encryption in ((".key", NoEncryption()), (".locked.key", locked)):
        content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
        (folder / f"{name}{suffix}").write_bytes(content)
    return store, pem


def issuer(folder: Path) -> Path:
    """Make the key of an issuer of tokens; return the file by which a broker knows the issuer (a JSON Web Key Set)."""
    key = ec.generate_private_key(ec.SECP256R1())
    (folder / "issuer.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    at = key.public_key().public_numbers()
    known = {"kty": "EC", "crv": "P-256", "kid": _ISSUER_KEY, "alg": "ES256", "use": "sig"}
    known |= {"x": _text(at.x.to_bytes(32)), "y": _text(at.y.to_bytes(32))}
    (folder / "issuer.json").write_text(json.dumps({"keys": [known]}))
    return folder / "issuer.json"


def token(folder: Path, user: str, seconds: float = 600) -> str:
    """Return a token for a user, by the issuer of a folder, that is valid for so long."""
    now = int(time.time())
    claims = {"iss": ISSUER, "sub": user, "aud": AUDIENCE, "scope": "kafka", "iat": now, "exp": now + seconds}
    parts = ({"alg": "ES256", "kid": _ISSUER_KEY}, claims)
    signed = ".".join(_text(json.dumps(part).encode()) for part in parts)
    key = load_pem_private_key((folder / "issuer.key").read_bytes(), None)
    numbers = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
    return f"{signed}.{_text(b''.join(number.to_bytes(32) for number in numbers))}"


def _text(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
