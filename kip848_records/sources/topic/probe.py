"""Probes a server's port if Kafka's client got no answer and cannot report the reason."""

from __future__ import annotations

import socket
import ssl
import struct
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WAIT_S = 2.0
_MOST_BYTES = 1 << 16
# SaslHandshakeRequest, version 1: header version 1 (key, version, correlation id, client id), then the mechanism.
_SASL_HANDSHAKE = struct.pack(">hhihh", 17, 1, 1, -1, 0)


@dataclass(frozen=True)
class Port:
    """The expectations of a port: TLS, and a login by one of these SASL mechanisms; empty if it takes no login."""

    speaks_tls: bool
    sasl_mechanisms: Sequence[str] = ()


def probe(server: str) -> Port | None:
    """Return what `host:port` expects; None if nothing accepts a connection.

    A broker lists its SASL mechanisms to a client that requests an unknown one; a port without SASL answers that
    request with an error (KIP-43).
    """
    try:
        with _connected(server) as connection:
            speaks_tls = _speaks_tls(connection)
    except OSError:
        return None
    try:
        with _connected(server) as plain:
            if not speaks_tls:
                return Port(speaks_tls, _sasl_mechanisms(plain))
            with _tls().wrap_socket(plain) as connection:
                return Port(speaks_tls, _sasl_mechanisms(connection))
    except (OSError, struct.error, UnicodeDecodeError):  # not a broker, or it requires a client certificate
        return Port(speaks_tls)


@contextmanager
def _connected(server: str) -> Iterator[socket.socket]:
    host, _, port = server.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=_WAIT_S) as connection:
        yield connection


def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    # Any certificate is accepted: the client sends a greeting, and no secret.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _speaks_tls(connection: socket.socket) -> bool:
    try:
        with _tls().wrap_socket(connection):
            return True
    except OSError:
        return False


def _sasl_mechanisms(connection: socket.socket) -> list[str]:
    """Return the mechanisms of a SaslHandshakeResponse, version 1: correlation id, error code, array of names."""
    connection.sendall(struct.pack(">i", len(_SASL_HANDSHAKE)) + _SASL_HANDSHAKE)
    (size,) = struct.unpack(">i", _received(connection, 4))
    response = _received(connection, size if 0 < size <= _MOST_BYTES else 0)
    _, _, count = struct.unpack_from(">ihi", response)
    names, at = [], 10
    for _ in range(count):
        (length,) = struct.unpack_from(">h", response, at)
        names.append(response[at + 2 : at + 2 + length].decode())
        at += 2 + length
    return names


def _received(connection: socket.socket, size: int) -> bytes:
    """Return the next `size` bytes, or fewer if the connection ends before."""
    received = b""
    while len(received) < size and (more := connection.recv(size - len(received))):
        received += more
    return received
