"""What a cluster says of a topic, asked by a client of its own."""

from collections.abc import Iterable
from contextlib import closing

from kip848_records.sources.topic.address import Topic
from kip848_records.sources.topic.client import Brokers
from kip848_records.sources.topic.ends import Ends


def look_up(topic: Topic, *, isolation: str) -> Ends:
    """Return the facts about a topic."""
    with closing(Brokers.of(topic)) as brokers:
        return brokers.look_up(isolation)


def end_offsets(topic: Topic, partitions: Iterable[tuple[str, int]]) -> list[tuple[str, int, int, int, int]]:
    """Return where other topics of its cluster end."""
    with closing(Brokers.of(topic)) as brokers:
        return brokers.end_offsets(partitions)
