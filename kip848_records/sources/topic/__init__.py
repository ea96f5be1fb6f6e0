"""A live topic as a source: `kafka://host:port/__consumer_offsets`, read without leaving a trace in the cluster."""

from kip848_records.sources.topic.address import Topic, is_topic, open_topic, parse_url
from kip848_records.sources.topic.admin import READ_COMMITTED, READ_UNCOMMITTED
from kip848_records.sources.topic.ends import Ends, look_up
from kip848_records.sources.topic.errors import TopicError
from kip848_records.sources.topic.failures import failures_of
from kip848_records.sources.topic.live import LiveTopic
from kip848_records.sources.topic.rows import read_range, stream

__all__ = [
    "READ_COMMITTED",
    "READ_UNCOMMITTED",
    "Ends",
    "LiveTopic",
    "Topic",
    "TopicError",
    "failures_of",
    "is_topic",
    "look_up",
    "open_topic",
    "parse_url",
    "read_range",
    "stream",
]
