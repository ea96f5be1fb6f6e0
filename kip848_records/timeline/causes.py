"""Why a group epoch was bumped: inferred from what else the same operation wrote before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP_EPOCH,
    GROUP_METADATA,
    MEMBER,
    PARTITION_METADATA,
    REGULAR_EXPRESSION,
)
from kip848_records.timeline.windows import NO_VALUE, NONE, NULL, Window, holds_of, of_rows, within

if TYPE_CHECKING:
    from kip848_records.timeline.censoring import History
    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.windows import Bools, Ints

_CAUSES: Final = (
    "upgraded",
    "topic_metadata_changed",
    "subscription_changed",
    "static_member_replaced",
    "member_joined",
    "unknown",  # a member that joined, or one whose earlier records are missing
    "member_left",
    "regex_resolved",
    "topic_metadata_changed",  # the first one came, or the last one went: who joins or leaves may bring that about
)
"""The first that fits is the cause; `unknown` as well if none does."""
_NO_MEMBER: Final = -2
"""In place of an instance id's number, which is `NO_VALUE` for a member without one."""


def bump_causes(events: Events, operations: Operations, history: History) -> pa.Array:
    """Return the cause of every type-3 record that is no tombstone, null for all other events.

    It is told by the records of its operation up to it, from the operation's previous type 3 on. Leave, session expiry
    and fencing write the same records, so they have one name.
    """
    is_epoch = events.ints("key_type") == GROUP_EPOCH
    bumps_before = operations.of_incarnation.running_sum(is_epoch, before=True)
    # A type 3 is the last of its window: what its operation writes behind it belongs to the next bump.
    of_bump = Window(within(operations.of_operation, bumps_before), are_together=True)
    rank = of_bump.min(_signs(events, operations, history))
    causes = pa.array([*_CAUSES, "unknown"], pa.string())
    return causes.take(pa.array(rank, mask=~is_epoch | events.bools("is_tombstone")))


def _signs(events: Events, operations: Operations, history: History) -> Ints:
    """Return the place in `_CAUSES` of what each record points to, the place behind them if it points to nothing."""
    key_type, is_live = events.ints("key_type"), ~events.bools("is_tombstone")
    is_member = key_type == MEMBER
    was_member = holds_of(is_live, operations.of_member.last(is_member, before=True))
    joins = is_member & is_live & ~was_member
    replaces, resubscribes = _replacements(events, operations, joins)
    is_rehashed, is_first_or_last = _rehashed(events, operations, history)
    of_causes = (
        (key_type == GROUP_METADATA) & ~is_live,
        ((key_type == PARTITION_METADATA) & is_live) | is_rehashed,
        (is_member & is_live & was_member) | resubscribes,
        replaces,
        joins & (history.is_complete | _is_first_epoch(events, operations)),
        joins,
        is_member & ~is_live,
        key_type == REGULAR_EXPRESSION,
        is_first_or_last,
    )
    return np.select(of_causes, range(len(_CAUSES)), len(_CAUSES))


def _replacements(events: Events, operations: Operations, joins: Bools) -> tuple[Bools, Bools]:
    """Tell which members join in the place of another of the same instance id that the same operation removed.

    And which of them with another subscription.
    """
    instance, member, subscription = events.codes("instance_id"), events.codes("member_id"), events.ints("subscription")
    is_member, is_tombstone = events.ints("key_type") == MEMBER, events.bools("is_tombstone")
    # Of a tombstone the identity that it deletes.
    identity = operations.of_member.last(is_member & ~is_tombstone)
    known_as = np.where(identity == NONE, NO_VALUE, instance[identity])
    gone = Window(within(operations.of_incarnation, np.where(is_member, known_as, _NO_MEMBER))).previous()
    replaces = (
        joins
        & (instance != NO_VALUE)
        & holds_of(is_tombstone, gone)
        & (of_rows(operations.operation, gone) == operations.operation)
        & (of_rows(member, gone) != member)
    )
    of_gone = of_rows(subscription, np.where(gone == NONE, NONE, identity[gone]))
    return replaces, replaces & (of_gone != subscription)


def _rehashed(events: Events, operations: Operations, history: History) -> tuple[Bools, Bools]:
    """Tell where the hash of topic metadata changed, and where there was none before, or is none now.

    It is 0 while none of the topics that the group subscribes to is there. In Kafka 4.0 it is 0 too, for type 4 told of
    topics: while that is live, a hash that comes says only that the coordinator was upgraded, which deletes the type 4
    in the same operation. Where records are missing in between nobody can tell.
    """
    metadata_hash, key_type = events.ints("metadata_hash"), events.ints("key_type")
    so_far, rows = operations.of_incarnation, np.arange(len(events))
    last_epoch = so_far.last(key_type == GROUP_EPOCH, before=True)
    before = of_rows(metadata_hash, last_epoch)
    changes = (metadata_hash != NULL) & (before != NULL) & (metadata_hash != before)
    is_hash = (metadata_hash != 0) & (before != 0)
    begin = operations.of_operation.min(rows)
    of_topics = so_far.last(key_type == PARTITION_METADATA, before=True)[begin]
    has_type_4 = holds_of(~events.bools("is_tombstone"), of_topics)
    is_first_or_last = changes & ~is_hash & ~has_type_4 & history.saw(last_epoch, rows)
    return np.asarray(changes & is_hash), np.asarray(is_first_or_last)


def _is_first_epoch(events: Events, operations: Operations) -> Bools:
    """Tell whether the member's next type 8 is of the same operation, and its first."""
    current = operations.of_member.next(events.ints("key_type") == CURRENT_ASSIGNMENT)
    is_first = of_rows(events.ints("previous_member_epoch"), current) == 0
    return np.asarray(is_first & (of_rows(operations.operation, current) == operations.operation))
