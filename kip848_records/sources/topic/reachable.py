"""Whether a live topic's servers accept connections from this machine: known in seconds. It sends nothing."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LOOK_UP_S: Final = 15.0
"""For the names before. The system waits 5 s for a name server before it asks the next one, as Kafka's client does."""

_UNKNOWN: Final = "unknown host"

_Answer = str | None
"""Why there is no connection; None: there is one."""


def check_reachable(servers: str, wait_s: float) -> str:
    """Return a server that accepts a connection; raises TopicError if none does.

    `servers`: `host:port[,host:port...]`. All are asked at the same time, at all of their addresses, and one is enough.
    `wait_s`: for the connections of all servers. Another continent takes half a second, a lost packet one or three.
    """
    named = list(dict.fromkeys(server.strip() for server in servers.split(",")))
    limit_s = _LOOK_UP_S + wait_s
    answers = _ask_all(_connect_to_server, [(server, wait_s) for server in named], limit_s)
    reasons = {server: answers.get((server, wait_s), f"its name was not found in {limit_s:g} s") for server in named}
    for server, reason in reasons.items():
        if reason is None:
            return server
    if set(reasons.values()) == {_UNKNOWN}:
        raise TopicError.unknown_host(servers)
    raise TopicError.unreachable(", ".join(f"{server} ({reason})" for server, reason in reasons.items()))


def _ask_all(
    ask: Callable[..., _Answer], each: Sequence[tuple[Any, ...]], limit_s: float
) -> dict[tuple[Any, ...], _Answer]:
    """Return the answers up to the first connection, or to a time limit. A thread that asks on ends by itself."""
    answered: SimpleQueue[tuple[tuple[Any, ...], _Answer]] = SimpleQueue()
    for arguments in each:
        Thread(target=lambda given: answered.put((given, ask(*given))), args=(arguments,), daemon=True).start()
    found: dict[tuple[Any, ...], _Answer] = {}
    ends_at = time.monotonic() + limit_s
    with suppress(Empty):
        while len(found) < len(each) and None not in found.values():
            arguments, answer = answered.get(timeout=max(0.0, ends_at - time.monotonic()))
            found[arguments] = answer
    return found


def _connect_to_server(server: str, wait_s: float) -> _Answer:
    host, _, port = server.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # a name with a part that is empty or too long
        return _UNKNOWN
    addresses = dict.fromkeys((family, address, wait_s) for family, _, _, _, address in found)
    answers = _ask_all(_connect_to_address, [*addresses], 2 * wait_s)
    return None if None in answers.values() else next(iter(answers.values()), f"no answer in {wait_s:g} s")


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
