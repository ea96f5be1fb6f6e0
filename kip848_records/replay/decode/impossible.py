"""Values that decode, and that Kafka's coordinator refuses to load: no broker writes most of them."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from kip848_records.protocol.key_types import KeyType
from kip848_records.protocol.schema import NO_UUID
from kip848_records.replay import refusals
from kip848_records.replay.decode.columns import list_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from kip848_records.replay.decode.columns import Columns
    from kip848_records.replay.refusals import Refusal

    Bools = NDArray[np.bool_]
    Check = Callable[[Columns], Bools]

_TASKS: Final = ("active_tasks", "standby_tasks", "warmup_tasks")
_NO_EPOCH: Final = -1


def refused_values(key_type: int, columns: Columns) -> Iterable[Refusal | None]:
    """Return why Kafka refuses the value of each record of one type and layout; None if it does not."""
    found: list[Refusal | None] | None = None
    for is_refused, refusal in _CHECKS.get(key_type, ()):
        (rows,) = is_refused(columns).nonzero()
        if len(rows):
            found = found or [None] * columns.rows
            for row in rows.tolist():
                found[row] = found[row] or refusal
    return repeat(None, columns.rows) if found is None else found


def _twice(id_field: str, *names: str) -> Check:
    """Return a check whether an array of one of these fields has two elements of one id."""

    def is_refused(columns: Columns) -> Bools:
        refused = np.zeros(columns.rows, bool)
        for name in names:
            if name in columns:
                offsets, elements = list_parts(columns[name])
                rows = np.repeat(np.arange(columns.rows), np.diff(offsets))
                ids = elements.field(id_field).dictionary_encode()
                both = rows * (len(ids.dictionary) + 1) + ids.indices.to_numpy()
                distinct, counts = np.unique(both, return_counts=True)
                refused[distinct[counts > 1] // (len(ids.dictionary) + 1)] = True
        return refused

    return is_refused


def _below(name: str, least: int) -> Check:
    """Return a check whether an integer is too small."""

    def is_refused(columns: Columns) -> Bools:
        if name not in columns:
            return np.zeros(columns.rows, bool)
        return pc.less(columns[name], least).fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]  # noqa: FBT003 - the value

    return is_refused


def _lacks(name: str) -> Check:
    """Return a check whether the layout lacks a field."""
    return lambda columns: np.full(columns.rows, name not in columns.fields)


def _other_count_of_epochs(columns: Columns) -> Bools:
    """Return whether active tasks have epochs, and another number of them than of partitions."""
    refused = np.zeros(columns.rows, bool)
    for name in ("active_tasks", "active_tasks_pending_revocation"):
        if name in columns:
            offsets, elements = list_parts(columns[name])
            rows = np.repeat(np.arange(columns.rows), np.diff(offsets))
            partitions, epochs = (
                pc.list_value_length(elements.field(each)).fill_null(0).to_numpy(zero_copy_only=False)
                for each in ("partitions", "assignment_epochs")
            )
            refused[rows[(epochs > 0) & (epochs != partitions)]] = True
    return refused


def _impossible_metadata(columns: Columns) -> Bools:
    """Return whether a topic in a type 4 has no id, no name, or a negative number of partitions."""
    refused = np.zeros(columns.rows, bool)
    if "topics" in columns:
        offsets, topics = list_parts(columns["topics"])
        rows = np.repeat(np.arange(columns.rows), np.diff(offsets))
        is_bad = pc.or_(pc.equal(topics.field("topic_name"), ""), pc.less(topics.field("num_partitions"), 0))
        is_bad = pc.or_(is_bad, pc.equal(topics.field("topic_id"), NO_UUID))
        refused[rows[is_bad.to_numpy(zero_copy_only=False)]] = True
    return refused


_HELD_TOPIC_TWICE: Final = _twice("topic_id", "assigned_partitions", "partitions_pending_revocation")
_ASSIGNMENT: Final = (
    (_below("assignment_epoch", _NO_EPOCH), refusals.NEGATIVE_EPOCH),
    (_below("assignment_timestamp", 0), refusals.NEGATIVE_TIMESTAMP),
)
_CHECKS: Final[Mapping[int, tuple[tuple[Check, Refusal], ...]]] = {
    KeyType.CONSUMER_GROUP_PARTITION_METADATA: ((_impossible_metadata, refusals.IMPOSSIBLE_METADATA),),
    KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: _ASSIGNMENT,
    KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: ((_twice("topic_id", "topic_partitions"), refusals.TOPIC_TWICE),),
    KeyType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: ((_HELD_TOPIC_TWICE, refusals.HELD_TOPIC_TWICE),),
    KeyType.SHARE_GROUP_METADATA: ((_lacks("metadata_hash"), refusals.SHARE_OF_4_0),),
    KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: _ASSIGNMENT,
    KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: ((_twice("topic_id", "topic_partitions"), refusals.TOPIC_TWICE),),
    KeyType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: ((_HELD_TOPIC_TWICE, refusals.TOPIC_TWICE),),
    KeyType.SHARE_GROUP_STATE_PARTITION_METADATA: (
        (_lacks("initializing_topics"), refusals.SHARE_OF_4_0),
        (_twice("topic_id", "initializing_topics", "initialized_topics"), refusals.TOPIC_TWICE),
    ),
    KeyType.STREAMS_GROUP_METADATA: ((_twice("key", "last_assignment_configs"), refusals.OPTION_TWICE),),
    KeyType.STREAMS_GROUP_MEMBER_METADATA: ((_twice("key", "client_tags"), refusals.TAG_TWICE),),
    KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: _ASSIGNMENT,
    KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: ((_twice("subtopology_id", *_TASKS), refusals.SUBTOPOLOGY_TWICE),),
    KeyType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: (
        (
            _twice("subtopology_id", *_TASKS, *(f"{each}_pending_revocation" for each in _TASKS)),
            refusals.HELD_SUBTOPOLOGY_TWICE,
        ),
        (_other_count_of_epochs, refusals.OTHER_COUNT_OF_EPOCHS),
    ),
    KeyType.STREAMS_GROUP_TOPOLOGY: (
        (_twice("subtopology_id", "subtopologies"), refusals.SUBTOPOLOGY_TWICE),
        (_below("epoch", 0), refusals.NEGATIVE_TOPOLOGY_EPOCH),
    ),
}
"""Key type in Kafka's own dialect -> what is refused, and why."""
