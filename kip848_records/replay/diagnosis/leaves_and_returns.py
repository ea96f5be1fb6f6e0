"""The pattern `leaves_and_returns`: one member id leaves and joins again, so its process lives."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis import poll_timeout
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.severity import WARNING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.stays import Stay

PATTERN: Final = "leaves_and_returns"


def leaves_and_returns(history: GroupHistory) -> Iterator[Episode]:
    """Yield the episodes of members without instance id; classic member ids do not return."""
    by_member: dict[str, list[Stay]] = defaultdict(list)
    for stay in history.stays:
        if stay.instance_id is None and not stay.is_classic:
            by_member[stay.member_id].append(stay)
    for stays in by_member.values():
        if len(stays) > history.limits.returns:
            yield from returning(history, stays, history.at_once(stays[0].name))


def returning(history: GroupHistory, stays: Sequence[Stay], at_once: int | None) -> Iterator[Episode]:
    """Yield the episodes of the stays of one member id, or of an instance id that keeps its member id."""
    limits = history.limits
    events = [
        Event(stay.joined_at, stay.joined_offset, number)
        for number, stay in enumerate(stays)
        if number and stays[number - 1].has_ended and stay.joined_at is not None and stay.joined_offset is not None
    ]
    timeouts = (stay.rebalance_timeout for stay in stays)
    test = Test(limits.returns, poll_timeout.window(timeouts, limits.returns_within, limits))
    for span in recognise(events, [test], limits, history.captured_at):
        last = stays[span.events[-1].item]
        subject = Subject(
            client_id=last.client_id,
            client_host=last.host,
            instance_id=last.instance_id,
            member_id=last.member_id,
            members_of_that_name=at_once,
        )
        yield of_span(
            PATTERN,
            WARNING,
            subject,
            span,
            last.incarnation,
            probable_cause=_cause(history, stays, span),
            members=frozenset({stay.member_id for stay in stays}),
            facts={"timeout_ms": last.rebalance_timeout},
        )


def _cause(history: GroupHistory, stays: Sequence[Stay], span: Span) -> str:
    """Judge by the stays between returns: the one before the first return began with a start of the process."""
    between = [stays[event.item] for event in span.events[:-1]]
    found = [(stay.length - stay.away_ms, stay.rebalance_timeout, 0) for stay in between if stay.is_measured]
    return poll_timeout.cause(found, history.limits)
