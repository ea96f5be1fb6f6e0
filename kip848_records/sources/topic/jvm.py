"""The driver's JVM, which runs Kafka's own client: Spark's Kafka connector contains it. Only a session has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage

from kip848_records.sources.topic.address import Topic, parse_url
from kip848_records.sources.topic.client_properties import ClientSettings, read_client_settings
from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


def open_topic(spark: SparkSession, url: str, config: str | None) -> Topic:
    """Return the topic at `kafka://host:port[,host:port...]/name`, with its client's settings from the file `config`.

    It does not contact the cluster. Raises TopicError for a bad URL, settings that cannot be used, or a session that
    cannot reach a cluster: one without a JVM, or without the Kafka connector.
    """
    servers, name = parse_url(url)
    kafka_jvm(spark)
    settings = ClientSettings() if config is None else read_client_settings(config)
    return Topic(url=url, bootstrap_servers=servers, name=name, settings=settings)


def kafka_jvm(spark: SparkSession) -> Any:  # noqa: ANN401 - Py4J's objects have no types
    """Return the JVM of a session's driver; raises TopicError if there is none, or it lacks the Kafka connector."""
    jvm = getattr(spark, "_jvm", None)  # a Connect session has none
    if jvm is None:
        raise TopicError.no_jvm()
    # Py4J represents a class that does not exist as a package.
    if isinstance(jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider, JavaPackage):
        raise TopicError.no_connector("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0")
    return jvm


def java_list(jvm: Any, items: Iterable[Any]) -> Any:  # noqa: ANN401
    """Return a Java list of items, which may be Java objects."""
    made = jvm.java.util.ArrayList()
    for item in items:
        made.add(item)
    return made


def java_map(jvm: Any, items: Iterable[tuple[Any, Any]]) -> Any:  # noqa: ANN401
    """Return a Java map of pairs, which may be Java objects."""
    made = jvm.java.util.HashMap()
    for key, value in items:
        made.put(key, value)
    return made
