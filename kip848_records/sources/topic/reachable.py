"""Whether a live topic's servers accept connections from this machine: known in seconds, before Spark starts.

It only connects, and sends nothing: what a listener speaks is a matter of Kafka's own client, which has the settings.
"""

from __future__ import annotations

import os
import socket
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_WAIT_S: Final = 5.0
"""For the connections of all servers. Another continent takes half a second, a lost packet one or three."""

_LOOK_UP_S: Final = 15.0
"""For a name before. The system waits 5 s for a name server before it asks the next one, as Kafka's client does."""

_SETTING: Final = "socket.connection.setup.timeout.ms"
_UNKNOWN: Final = "unknown host"

_Answer = str | None
"""Why there is no connection; None: there is one."""


def check_reachable(servers: str, settings: Mapping[str, str]) -> None:
    """Raise TopicError if no server accepts a connection from this machine, on which Kafka's client runs.

    `servers`: `host:port[,host:port...]`. All are asked at the same time, at all of their addresses, and one is enough.
    `settings`: those of Kafka's client; a time limit for connections in them counts.
    """
    named = list(dict.fromkeys(server.strip() for server in servers.split(",")))
    limit = settings.get(_SETTING, "")
    wait_s = int(limit) / 1000 if limit.isdecimal() else _WAIT_S
    answers = _ask_all(_connect_to_server, [(server, wait_s) for server in named])
    if None in answers.values():
        return
    reasons = {server: str(answers[server, wait_s]) for server in named}
    if set(reasons.values()) == {_UNKNOWN}:
        raise TopicError.unknown_host(servers)
    raise TopicError.unreachable(", ".join(f"{server} ({reason})" for server, reason in reasons.items()))


def _ask_all(ask: Callable[..., _Answer], each: Sequence[tuple[Any, ...]]) -> dict[tuple[Any, ...], _Answer]:
    """Return the answers of all, or those up to the first connection; each question has a time limit of its own."""
    answered: SimpleQueue[tuple[tuple[Any, ...], _Answer]] = SimpleQueue()
    for arguments in each:
        Thread(target=lambda given: answered.put((given, ask(*given))), args=(arguments,), daemon=True).start()
    found: dict[tuple[Any, ...], _Answer] = {}
    while len(found) < len(each):
        arguments, answer = answered.get()
        found[arguments] = answer
        if answer is None:
            break
    return found


def _connect_to_server(server: str, wait_s: float) -> _Answer:
    host, _, port = server.rpartition(":")
    found = _addresses(host.strip("[]"), int(port))
    if isinstance(found, str):
        return found
    answers = _ask_all(_connect_to_address, [(family, address, wait_s) for family, address in found])
    return None if None in answers.values() else next(iter(answers.values()))


def _addresses(host: str, port: int) -> list[tuple[socket.AddressFamily, Any]] | str:
    """Return the addresses of a name, or why there are none. A look-up cannot be ended: its thread ends by itself."""
    answered: SimpleQueue[list[tuple[socket.AddressFamily, Any]] | str] = SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):  # a name with a part that is empty or too long
            answered.put(_UNKNOWN)
        else:
            answered.put(list(dict.fromkeys((family, address) for family, _, _, _, address in found)))

    Thread(target=look_up, daemon=True).start()
    try:
        return answered.get(timeout=_LOOK_UP_S)
    except Empty:
        return f"its name was not found in {_LOOK_UP_S:g} s"


def _connect_to_address(family: socket.AddressFamily, address: Any, wait_s: float) -> _Answer:  # noqa: ANN401 - of two forms
    try:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(wait_s)
            connection.connect(address)
    except TimeoutError:
        return f"no answer in {wait_s:g} s"
    except OSError as error:
        return os.strerror(error.errno).lower() if error.errno else str(error)
    return None
