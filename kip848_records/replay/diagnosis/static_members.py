"""The patterns `static_member_flaps` and `duplicate_instance_id`: an instance id that goes and comes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis import poll_timeout
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.leaves_and_returns import returning
from kip848_records.replay.diagnosis.severity import WARNING
from kip848_records.replay.diagnosis.stays import REPLACED

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.stays import Stay

FLAPS: Final = "static_member_flaps"
DUPLICATE: Final = "duplicate_instance_id"


def static_member_flaps(history: GroupHistory, exchanged: Container[Stay] = ()) -> Iterator[Episode]:
    """Yield the episodes of instance ids. `exchanged`: stays that a rolling restart ended, which do not count."""
    limits = history.limits
    for instance_id, stays in history.by_instance.items():
        if len(stays) < min(limits.returns + 1, limits.flaps):
            continue
        if _keeps_member_id(stays, limits.same_member_share):
            yield from returning(history, stays, None)
            continue
        events = _events(stays, exchanged)
        test = Test(limits.flaps, limits.flaps_within)
        for span in recognise(events, [test], limits, history.captured_at):
            ended = [stays[event.item] for event in span.events]
            yield _episode(instance_id, ended, span, history)


def _keeps_member_id(stays: Sequence[Stay], share: float) -> bool:
    """Return whether a member came back under its member id, most of the times: its process lives."""
    came_back = [later.member_id == stay.member_id for stay, later in pairwise(stays) if stay.has_ended]
    return sum(came_back) >= share * len(came_back) and not stays[0].is_classic


def _events(stays: Sequence[Stay], exchanged: Container[Stay]) -> Iterator[Event]:
    """Yield an event for each end: when the member went away or was replaced, else when its successor joined."""
    for number, stay in enumerate(stays):
        successor = stays[number + 1] if number + 1 < len(stays) else None
        if not stay.has_ended or stay in exchanged or stay.left_at is None or stay.left_offset is None:
            continue
        if stay.away_ms or stay.left_how == REPLACED:
            yield Event(stay.left_at - stay.away_ms, stay.left_offset, number)
        elif successor is not None and successor.joined_at is not None and successor.joined_offset is not None:
            yield Event(successor.joined_at, successor.joined_offset, number)


def _episode(instance_id: str, ended: Sequence[Stay], span: Span, history: GroupHistory) -> Episode:
    limits = history.limits
    (client_id, host), _ = Counter(stay.name for stay in ended).most_common(1)[0]
    subject = Subject(client_id=client_id, client_host=host, instance_id=instance_id)
    is_classic = ended[-1].is_classic
    replaced = sum(stay.left_how == REPLACED and not stay.away_ms for stay in ended)
    gaps = [later.at - event.at for event, later in zip(span.events, span.events[1:], strict=False)]
    pattern, cause = FLAPS, "restarting"
    if is_classic and replaced == len(ended) and median(gaps) <= limits.duplicate_interval:
        pattern, cause = DUPLICATE, "duplicate_or_restarting"
    elif is_classic:
        lengths = [(stay.length, stay.rebalance_timeout, stay.corpse) for stay in ended[1:] if stay.is_measured]
        if poll_timeout.cause(lengths, limits) == poll_timeout.POLL_TIMEOUT:
            cause = poll_timeout.POLL_TIMEOUT
        elif replaced * 2 > len(ended):
            cause = "restarting_or_duplicate"
    measured = [stay.length - stay.away_ms for stay in ended if stay.is_measured]
    return of_span(
        pattern,
        WARNING,
        subject,
        span,
        ended[-1].incarnation,
        probable_cause=cause,
        members=frozenset(stay.member_id for stay in ended),
        usual_stay_ms=int(median(measured)) if measured else None,
        facts={"is_classic": is_classic},
    )
