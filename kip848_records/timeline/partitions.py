"""Topic partitions in events as flat columns, and how a member's change from one of its states to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.timeline.windows import NONE, Window, are_among, ints, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.windows import Ints

RELEASED: Final = 0
ACQUIRED: Final = 1
ASKED: Final = 2
"""Steps, in the order in which those of one operation count: only what it leaves behind is judged."""
_BITS: Final = 32
_LOWEST: Final = -(1 << 31)
"""Of the numbers that a record may have: Kafka's are not negative, those of a damaged one may be."""


@dataclass(frozen=True)
class Lists:
    """The partitions that each event has in one of its columns.

    `begins`: where the event's begin among `partitions`, and at last their number.
    """

    begins: Ints
    partitions: Ints

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """Return the partitions of these events, NONE has none, each with the place of its event in `rows`."""
        begins = self.begins[rows]
        counts = np.where(rows == NONE, 0, self.begins[rows + 1] - begins)
        place, nth = spread(counts)
        return place, self.partitions[begins[place] + nth]


class TopicPartitions:
    """The partitions in events as numbers: of each the topic's, and its own."""

    def __init__(self, events: Events) -> None:
        flat = {name: _flat(events.whole(name)) for name in ("assigned", "pending", "target")}
        topics = pa.concat_arrays([topic_ids for topic_ids, _, _ in flat.values()]).dictionary_encode()
        codes = np.asarray(topics.indices.to_numpy(zero_copy_only=False), np.int64)
        self._topic_ids = topics.dictionary
        self._lists = {}
        for name, (topic_ids, of_topic, begins) in flat.items():
            topic, codes = codes[: len(topic_ids)], codes[len(topic_ids) :]
            counts = _lengths(of_topic)
            number = np.asarray(of_topic.flatten().to_numpy(zero_copy_only=False), np.int64)
            up_to = np.concatenate([[0], np.cumsum(counts)])
            self._lists[name] = Lists(up_to[begins], (np.repeat(topic, counts) << _BITS) + number - _LOWEST)

    def __getitem__(self, column: str) -> Lists:
        return self._lists[column]

    def topic_ids(self, partitions: Ints) -> pa.Array:
        """Return the topic id of each partition."""
        return self._topic_ids.take(pa.array(partitions >> _BITS))

    def numbers(self, partitions: Ints) -> pa.Array:
        """Return the number of each partition in its topic."""
        return pa.array((partitions & ((1 << _BITS) - 1)) + _LOWEST, pa.int32())


@dataclass(frozen=True)
class Changes:
    """Which partitions a member has in a state and had not in its state before, and the other way round.

    `state`: the place of the state; `step`: RELEASED or ACQUIRED; `partition`.
    """

    state: Ints
    step: Ints
    partition: Ints


def changes(of_member: Window, has: Sequence[tuple[Lists, Ints]]) -> Changes:
    """Tell the changes from each state to the member's next.

    Args:
        of_member: the states, those of one member in their order.
        has: where the partitions of each state are: lists, and of which event. Of several it has those of all.
    """
    before, following = of_member.previous(), of_member.following()
    # Most states have what the one before had, as they tell of something else.
    is_first = before == NONE
    is_other = is_first | np.logical_or.reduce([rows != rows[before] for _, rows in has])
    is_left = (following != NONE) & is_other[following]
    parts = [lists.of(np.where(is_other | is_left, rows, NONE)) for lists, rows in has]
    known, keys = _keys(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    state, partition = np.divmod(keys, max(len(known), 1))
    acquired = is_other[state] & ~are_among(before[state] * len(known) + partition, keys)
    released = is_left[state] & ~are_among(following[state] * len(known) + partition, keys)
    steps = np.repeat([RELEASED, ACQUIRED], [released.sum(), acquired.sum()])
    return Changes(
        state=np.concatenate([following[state[released]], state[acquired]]),
        step=steps,
        partition=known[np.concatenate([partition[released], partition[acquired]])],
    )


def _keys(state: Ints, partition: Ints) -> tuple[Ints, Ints]:
    """Return the partitions, and a key for each that a state has: once, sorted, the state first."""
    known, dense = np.unique(partition, return_inverse=True)
    return known, np.unique(state * len(known) + dense.reshape(-1))


def _flat(column: pa.ListArray) -> tuple[pa.Array, pa.Array, Ints]:
    """Return the topics of all rows, their partitions, and where each row's topics begin, at last their number.

    No layout of Kafka's lets a topic, or a partition in it, be null.
    """
    counts = _lengths(column)
    topics = column.flatten()
    return topics.field("topic_id"), topics.field("partitions"), np.concatenate([[0], np.cumsum(counts)])


def _lengths(lists: pa.ListArray) -> Ints:
    return ints(pa.chunked_array([pc.list_value_length(lists)]), 0)
