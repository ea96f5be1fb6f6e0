"""The address of a topic: its URL and its client's settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kip848_records.sources.topic.client_properties import ClientSettings, read_client_settings
from kip848_records.sources.topic.errors import TopicError
from kip848_records.specs.log_columns import TOPIC

_SCHEME = "kafka://"
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+(%\w+)?\]|[\w.-]+):(?P<port>[0-9]{1,5})", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PORTS = range(1, 1 << 16)


@dataclass(frozen=True)
class Topic:
    """A live topic, and how to connect to it."""

    url: str
    bootstrap_servers: str
    name: str
    settings: ClientSettings = field(default_factory=ClientSettings, repr=False)


def is_topic(source: str) -> bool:
    """Return whether a source is the URL of a live topic, not a path."""
    return source.startswith(_SCHEME)


def open_topic(url: str, config: str | None) -> Topic:
    """Return the topic at `kafka://host:port[,host:port...]/name`, with its client's settings from the file `config`.

    It does not contact the cluster. Raises TopicError for a bad URL, or settings that cannot be used.
    """
    servers, name = parse_url(url)
    settings = ClientSettings() if config is None else read_client_settings(config)
    return Topic(url=url, bootstrap_servers=servers, name=name, settings=settings)


def parse_url(url: str) -> tuple[str, str]:
    """Return the servers and the topic's name, by default `__consumer_offsets`; raises TopicError for a bad URL."""
    if "@" in url or "%40" in url:
        raise TopicError(
            "a kafka:// URL takes no user and no password: other users can see the command line",
            "remove the text before the @, and set sasl.jaas.config in the file of --kafka-config",
        )
    servers, _, name = url.removeprefix(_SCHEME).partition("/")
    if not is_topic(url):
        raise TopicError.bad_url(url, "it does not begin with kafka://")
    if not servers:
        raise TopicError.bad_url(url, "it names no server")
    for server in servers.split(","):
        _check_server(url, server)
    name = name or TOPIC
    if not _NAME.fullmatch(name) or name in {".", ".."}:
        raise TopicError.bad_url(url, f"{name!r} is not a valid topic name")
    return servers, name


def _check_server(url: str, server: str) -> None:
    if not server.strip():
        raise TopicError.bad_url(url, "a server's name is empty")
    if server.count(":") > 1 and "]" not in server:
        raise TopicError.bad_url(url, f"the IPv6 address in {server} is not in brackets, as in [::1]:9092")
    if re.fullmatch(r"\[[^\]]*\]|[^:]+", server):
        raise TopicError.bad_url(url, f"{server} has no port")
    form = _SERVER.fullmatch(server)
    if form is None:
        raise TopicError.bad_url(url, f"{server} is not host:port")
    if int(form["port"]) not in _PORTS:
        raise TopicError.bad_url(url, f"{form['port']} is not a port")
