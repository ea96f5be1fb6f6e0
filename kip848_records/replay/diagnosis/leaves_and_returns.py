"""The pattern `leaves_and_returns`: one member id leaves and joins again, so its process lives."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import SHARE, STREAMS
from kip848_records.replay.diagnosis import poll_timeout
from kip848_records.replay.diagnosis.client_settings import heartbeats_step, poll_step
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.limits import HOUR, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import last_time, tense, times, who
from kip848_records.replay.diagnosis.poll_timeout import MAX_POLL, NOT, POLL_TIMEOUT, POSSIBLE
from kip848_records.replay.diagnosis.severity import BY_COST
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay


class Settings(PatternSettings, pattern="leaves_and_returns"):
    """The limits of `leaves_and_returns` that users may change."""

    returns = counted(3, "returns", "A member returns once after a bad moment of the network.")
    within_seconds = seconds(
        2 * HOUR,
        "Consumers miss a poll when the work is heavy, not all the time. Six rebalance timeouts, at most a day, if "
        "that is longer.",
    )


def leaves_and_returns(history: GroupHistory) -> Iterator[Episode]:
    """Yield the episodes of members without instance id; classic member ids do not return."""
    by_member: dict[str, list[Stay]] = defaultdict(list)
    for stay in history.stays:
        if stay.instance_id is None and not stay.is_classic:
            by_member[stay.member_id].append(stay)
    for stays in by_member.values():
        if len(stays) > history.limits[Settings.returns]:
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
    test = Test(limits[Settings.returns], poll_timeout.window(timeouts, limits[Settings.within_seconds]))
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
            subject,
            span,
            last.incarnation,
            probable_cause=_cause(stays, span),
            members=frozenset({stay.member_id for stay in stays}),
            facts={"timeout_ms": last.rebalance_timeout},
        )


def _cause(stays: Sequence[Stay], span: Span) -> str:
    """Judge by the stays between returns: the one before the first return began with a start of the process."""
    between = [stays[event.item] for event in span.events[:-1]]
    found = [(stay.length - stay.away_ms, stay.rebalance_timeout, 0) for stay in between if stay.is_measured]
    return poll_timeout.cause(found)


def _words(episode: Episode) -> Words:
    """Return the words of `leaves_and_returns`."""
    poll = f"{MAX_POLL} ({duration_text(episode.facts.get('timeout_ms'))})"
    lost = "heartbeats are lost (garbage collection, CPU, network)"
    kind = episode.kind
    unknown = "Its group has no poll timeout" if kind == SHARE else f"The log does not show its {MAX_POLL}"
    leaves = "it unsubscribes" if kind != STREAMS else "its thread joins anew"
    why = {
        POLL_TIMEOUT: f"Each stay lasts about as long as its {poll}: a batch takes longer than that.",
        POSSIBLE: f"Nearly all stays are longer than its {poll}: some batches take longer, or {lost}.",
        NOT: f"Its stays are shorter than its {poll}, so no slow batch explains it: {lost}, or {leaves}.",
    }.get(episode.probable_cause or "", f"{unknown}: {lost}, or {leaves}.")
    does = tense(episode, "leaves and joins again", "left and joined again")
    name = who(episode)
    sentence = f"{name} {does}, {times(episode)}, under the same member id: its process lives. {why}"
    if episode.probable_cause in {POLL_TIMEOUT, POSSIBLE}:
        return sentence, poll_step(episode)
    session = f"The broker's group.{kind}.session.timeout.ms says for how long heartbeats may be missing."
    return sentence, f"{heartbeats_step(episode, last_time(episode))} {session}"


PATTERN: Final = Pattern(
    "leaves_and_returns",
    _words,
    "A member id leaves, and joins again, `returns` times within `within_seconds`.",
    find=leaves_and_returns,
    limits=Settings.by_name,
    error=BY_COST,
    explained_by=("storm",),
    expected="No member leaves and returns over and over, as after a missed max.poll.interval.ms",
)
