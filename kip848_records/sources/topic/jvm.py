"""The driver's JVM, in which Kafka's own client runs: it comes with Spark's Kafka connector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaPackage

from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession


def kafka_jvm(spark: SparkSession) -> Any:  # noqa: ANN401 - Py4J's objects have no types
    """Return the JVM of a session's driver; raises TopicError where there is none, or it lacks the Kafka connector."""
    jvm = getattr(spark, "_jvm", None)  # a session of Spark Connect has none
    if jvm is None:
        raise TopicError.no_jvm()
    # To Py4J, a class that is not there is a package.
    if isinstance(jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider, JavaPackage):
        raise TopicError.no_connector("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0")
    return jvm


def java_list(jvm: Any, items: Iterable[Any]) -> Any:  # noqa: ANN401
    """Return Java's own list of what may be objects of Java's."""
    made = jvm.java.util.ArrayList()
    for item in items:
        made.add(item)
    return made


def java_map(jvm: Any, items: Iterable[tuple[Any, Any]]) -> Any:  # noqa: ANN401
    """Return Java's own map of such pairs."""
    made = jvm.java.util.HashMap()
    for key, value in items:
        made.put(key, value)
    return made
