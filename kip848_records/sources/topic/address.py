"""Which topic: its URL and its client's settings."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kip848_records.sources.topic.client_properties import ClientSettings, read_client_settings
from kip848_records.sources.topic.errors import TopicError
from kip848_records.sources.topic.jvm import kafka_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = "kafka://"
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+(%\w+)?\]|[\w.-]+):(?P<port>[0-9]{1,5})", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_PORTS = range(1, 1 << 16)


@dataclass(frozen=True)
class Topic:
    """A live topic, and how to come to it."""

    url: str
    bootstrap_servers: str
    name: str
    settings: ClientSettings = field(default_factory=ClientSettings, repr=False)


def is_topic(source: str) -> bool:
    """Return whether a source is a live topic by the way it is named, not a path."""
    return source.startswith(_SCHEME)


def open_topic(spark: SparkSession, url: str, config: str | None) -> Topic:
    """Return the topic at `kafka://host:port[,host:port...]/name`, its client's settings read from the file `config`.

    Nothing is asked of the cluster. Raises TopicError for another URL, settings that cannot be used, or a session that
    cannot reach a cluster: one without a JVM, or without the Kafka connector.
    """
    servers, name = parse_url(url)
    kafka_jvm(spark)
    settings = ClientSettings() if config is None else read_client_settings(spark, config)
    return Topic(url=url, bootstrap_servers=servers, name=name, settings=settings)


def parse_url(url: str) -> tuple[str, str]:
    """Return the servers and the topic's name, as Kafka's settings take them; raises TopicError for another URL."""
    if "@" in url or "%40" in url:
        raise TopicError.credentials_in_url()
    servers, slash, name = url.removeprefix(_SCHEME).partition("/")
    if not is_topic(url):
        raise TopicError.bad_url(url, "it does not begin with kafka://")
    if not servers:
        raise TopicError.bad_url(url, "it names no server")
    for server in servers.split(","):
        _check_server(url, server)
    if not slash or not name:
        raise TopicError.bad_url(url, "it names no topic")
    if not _NAME.fullmatch(name) or name in {".", ".."}:
        raise TopicError.bad_url(url, f"a topic cannot be called {name!r}")
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
        raise TopicError.bad_url(url, f"{form['port']} is no port")
