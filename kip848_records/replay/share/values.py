"""Columns of decoded records of share groups (KIP-932) -> values: as of consumer groups, and those of type 15."""

from __future__ import annotations

from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.kinds import Role
from kip848_records.replay.decode import values
from kip848_records.replay.decode.columns import list_parts, texts, tuples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kip848_records.replay.decode.columns import Columns

_TOPIC_COLUMNS: Final = ("initializing_topics", "initialized_topics", "deleting_topics")


class ShareTopic(NamedTuple):
    """A topic of a type 15, with its partitions as numbers of `PartitionNumbers`; none for a topic that is deleted."""

    topic_id: str
    name: str
    partitions: frozenset[int] = frozenset()


class ShareStateValue(NamedTuple):
    """The value of a type 15: the topics of a share group by the state of their partitions."""

    initializing: tuple[ShareTopic, ...]
    initialized: tuple[ShareTopic, ...]
    deleting: tuple[ShareTopic, ...]

    def topic_names(self) -> Iterator[tuple[str, str]]:
        """Return the topics that the record names, by id."""
        return ((topic_id, name) for topics in self for topic_id, name, _ in topics if topic_id and name)


def _share_states(columns: Columns) -> Iterable[ShareStateValue]:
    return tuples(ShareStateValue, *(_share_topics(columns, name) for name in _TOPIC_COLUMNS))


def _share_topics(columns: Columns, name: str) -> Iterable[tuple[ShareTopic, ...]]:
    if name not in columns:
        return repeat((), columns.rows)
    offsets, topics = list_parts(columns[name])
    ids, names = texts(topics.field("topic_id")), texts(topics.field("topic_name"))
    sets: Iterable[frozenset[int]] = repeat(frozenset(), len(topics))
    if "partitions" in topics.type.names:
        lists, numbers = topics.field("partitions").to_pylist(), columns.numbers
        firsts = (numbers.topic(topic_id or "") for topic_id in ids)
        sets = (frozenset(first + number % 2**32 for number in some) for first, some in zip(firsts, lists, strict=True))
    all_topics = list(tuples(ShareTopic, ids, names, sets))
    return (tuple(all_topics[first:end]) for first, end in pairwise(offsets.tolist()))


READERS: Final[Mapping[Role, Callable[[Columns], Iterable[Any]]]] = {**values.READERS, Role.SHARE_STATE: _share_states}
