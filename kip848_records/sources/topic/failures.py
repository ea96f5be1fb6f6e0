"""Failures of Spark's Kafka source as errors of one line: Java's client runs in it, in tasks of other machines too."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kip848_records.errors import Kip848Error
from kip848_records.sources.topic.errors import TopicError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.sources.topic.address import Topic
    from kip848_records.sources.topic.client import Brokers

GROUP_PREFIX = "kip848-records"
"""The prefix of the group ids with which Spark reads; no such group is ever joined or written."""

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
_NO_SOURCE = "Failed to find data source: kafka"

# Spark has only the text of a task that failed on another machine.
_OF_KAFKA: Final = re.compile(r"org\.apache\.kafka\.|KAFKA_DATA_LOSS|Cannot fetch (?:record for )?offset \d+")
_DATA_LOSS: Final = re.compile(r"KAFKA_DATA_LOSS|Some data may (?:have been|be) lost|Cannot fetch offset \d+")
_LOGIN: Final = re.compile(r"(?:Sasl\w*|\bAuthentication)Exception: ")
_CAUSE: Final = re.compile(r"(?:^|: |Caused by: )(?:(?:[a-z]\w*\.)+\w*(?:Exception|Error): )+([^\n]*)", re.MULTILINE)
_MAKING: Final = ("Failed to create new", "Failed to construct")


@contextmanager
def failures_of(brokers: Brokers) -> Iterator[None]:
    """Convert failures of Kafka's source within the block to a TopicError. Other errors are not changed.

    The client in this process asks the cluster first: its errors name what is wrong with address, login and topic.
    """
    try:
        yield
    except Kip848Error:
        raise
    except Exception as error:
        if (converted := _converted(brokers, str(error))) is None:
            raise
        # Without the original error, because its stack trace would show all of Java's text.
        raise converted from None


def _converted(brokers: Brokers, text: str) -> TopicError | None:
    topic = brokers.topic
    if _NO_SOURCE in text:
        return TopicError(
            "this Spark session was started without Spark's Kafka connector",
            f"add {_CONNECTOR} to spark.jars.packages, as conf/spark-defaults.conf does",
        )
    if _OF_KAFKA.search(text):
        brokers.close()  # the password may be another one since
        try:
            brokers.check_readable()
        except TopicError as error:
            return error
    elif topic.settings.masked(text) == text:
        return None
    return _of_spark(topic, text)


def _of_spark(topic: Topic, text: str) -> TopicError:
    """Return the error for what only Java's client has met."""
    # The first of the causes says only which object was under construction.
    causes = [cause for cause in _CAUSE.findall(text) if not cause.startswith(_MAKING)]
    reason = topic.settings.masked(": ".join(list(dict.fromkeys(causes))[:2]) or "no reason given")
    if "GroupAuthorizationException" in text:
        what = "describe the group id with which Spark reads"
        return TopicError.not_permitted(what, "Describe", f"groups with the prefix {GROUP_PREFIX}")
    if _DATA_LOSS.search(text):
        return TopicError.records_gone(topic.name)
    if _LOGIN.search(text):
        return TopicError.not_logged_in(topic.bootstrap_servers, reason)
    if "ConfigException" in text or any(each in text for each in _MAKING):
        return TopicError.refused_settings(reason)
    return TopicError.failed(topic.bootstrap_servers, reason)
