"""The trigger of each epoch: the events of its operation up to the bump."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kip848_records.simulate.broker.operation import (
    EpochBumped,
    Event,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    RegexResolved,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.simulate.broker.operation import Operation


class Trigger(NamedTuple):
    """A cause as in `epoch_timeline`, with the members that caused it."""

    cause: str
    member_ids: tuple[str, ...] = ()


def triggered_bumps(operation: Operation) -> Iterator[tuple[EpochBumped, Trigger]]:
    """Return the operation's bumps in order, each with its trigger."""
    before: list[Event] = []
    for event in operation.events:
        if isinstance(event, EpochBumped):
            yield event, _trigger(before, event)
            before = []
        else:
            before.append(event)


def _trigger(events: Sequence[Event], bump: EpochBumped) -> Trigger:
    """Return the first trigger that matches."""
    joined = [event for event in events if isinstance(event, MemberJoined)]
    upgraded = tuple(event.member_id for event in joined if event.is_upgraded)
    new = tuple(event.member_id for event in joined if not event.is_upgraded and event.predecessor is None)
    resubscribed = tuple(e.member_id for e in events if isinstance(e, MemberUpdated) and e.resubscribed)
    left = tuple(e.member_id for e in events if isinstance(e, MemberRemoved) and e.successor is None)
    for cause, member_ids in (
        ("upgraded", upgraded),
        ("member_joined", new),
        ("subscription_changed", resubscribed),
        ("member_left", left),
    ):
        if member_ids:
            return Trigger(cause, member_ids)
    if any(isinstance(event, RegexResolved) for event in events):
        return Trigger("regex_resolved")
    if bump.metadata_changed:
        return Trigger("topic_metadata_changed")
    replaced = tuple(event.member_id for event in joined if event.predecessor is not None)
    return Trigger("static_member_replaced", replaced) if replaced else Trigger("unknown")
