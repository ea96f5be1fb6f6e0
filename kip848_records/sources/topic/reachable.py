"""Whether a live topic's servers accept connections from this machine: known in seconds. It sends nothing."""

from __future__ import annotations

import os
import socket
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from kip848_records.sources.topic.errors import TopicError

_LOOK_UP_S: Final = 15.0
"""For the names before. The system waits 5 s for a name server before it asks the next one, as Kafka's client does."""

_UNKNOWN: Final = "unknown host"


def check_reachable(servers: str, wait_s: float) -> str:
    """Return a server that accepts a connection; raises TopicError if none does.

    `servers`: `host:port[,host:port...]`. All are asked at the same time, and one is enough.
    `wait_s`: for a connection to an address. Another continent takes half a second, a lost packet one or three.
    """
    named = list(dict.fromkeys(server.strip() for server in servers.split(",")))
    answered: SimpleQueue[tuple[str, str | None]] = SimpleQueue()
    for each in named:  # a thread that waits longer ends by itself
        Thread(
            target=lambda server: answered.put((server, _refusal(server, wait_s))), args=(each,), daemon=True
        ).start()
    limit_s = _LOOK_UP_S + wait_s
    ends_at = time.monotonic() + limit_s
    reasons = dict.fromkeys(named, f"its name was not found in {limit_s:g} s")
    with suppress(Empty):
        for _ in named:
            server, reason = answered.get(timeout=max(0.0, ends_at - time.monotonic()))
            if reason is None:
                return server
            reasons[server] = reason
    if set(reasons.values()) == {_UNKNOWN}:
        raise TopicError(f"unknown host: {servers}", "check the servers in the URL, and this machine's DNS")
    raise TopicError.unreachable(", ".join(f"{server} ({reason})" for server, reason in reasons.items()))


def _refusal(server: str, wait_s: float) -> str | None:
    """Return why there is no connection to a server at any of its addresses; None: there is one."""
    host, _, port = server.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), wait_s).close()
    except TimeoutError:
        return f"no answer in {wait_s:g} s"
    except (socket.gaierror, UnicodeError):  # a name with a part that is empty or too long
        return _UNKNOWN
    except OSError as error:
        return os.strerror(error.errno).lower() if error.errno else str(error)
    return None
