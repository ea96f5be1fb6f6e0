"""The patterns `static_member_flaps` and `duplicate_instance_id`: an instance id that goes and comes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CLASSIC, CONNECT
from kip848_records.replay.diagnosis import poll_timeout
from kip848_records.replay.diagnosis.client_settings import poll_step
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, of_span
from kip848_records.replay.diagnosis.leaves_and_returns import Settings, returning
from kip848_records.replay.diagnosis.limits import HOUR, SECOND, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import interval, last_time, tense, times, who
from kip848_records.replay.diagnosis.poll_timeout import MAX_POLL, POLL_TIMEOUT
from kip848_records.replay.diagnosis.rolling_restart import rollouts
from kip848_records.replay.diagnosis.severity import BY_COST, WHILE_PRESENT
from kip848_records.replay.group.vocabulary import REPLACED

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay

_SAME_MEMBER_SHARE: Final = 0.8


class FlapSettings(PatternSettings, pattern="static_member_flaps"):
    """The limits of `static_member_flaps` that users may change."""

    flaps = counted(
        5,
        "ends",
        "A release that is taken back, and comes again, restarts a member three times. Also of "
        "`duplicate_instance_id`.",
    )
    within_seconds = seconds(3 * HOUR, "A restart each half hour. Also of `duplicate_instance_id`.")


class DuplicateSettings(PatternSettings, pattern="duplicate_instance_id"):
    """The limits of `duplicate_instance_id` that users may change."""

    interval_seconds = seconds(
        90 * SECOND,
        "The median time from one holder to the next: a start of 30 s and a supervisor's pause of 60 s. Who is "
        "replaced less often has `static_member_flaps`.",
    )


def static_member_flaps(history: GroupHistory) -> Iterator[Episode]:
    """Yield the episodes of instance ids. Stays that a rolling restart ended do not count."""
    limits = history.limits
    exchanged = frozenset(stay for rollout in history.once(rollouts) for stay in rollout.gone)
    for instance_id, stays in history.by_instance.items():
        if len(stays) < min(limits[Settings.returns] + 1, limits[FlapSettings.flaps]):
            continue
        if _keeps_member_id(stays, _SAME_MEMBER_SHARE):
            yield from returning(history, stays, None)
            continue
        events = _events(stays, exchanged)
        for span in history.spans(events, FlapSettings.flaps, FlapSettings.within_seconds):
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
    if is_classic and replaced == len(ended) and median(gaps) <= limits[DuplicateSettings.interval_seconds]:
        pattern, cause = DUPLICATE, "duplicate_or_restarting"
    elif is_classic:
        lengths = [(stay.length, stay.rebalance_timeout, stay.corpse) for stay in ended[1:] if stay.is_measured]
        if poll_timeout.cause(lengths) == poll_timeout.POLL_TIMEOUT:
            cause = poll_timeout.POLL_TIMEOUT
        elif replaced * 2 > len(ended):
            cause = "restarting_or_duplicate"
    measured = [stay.length - stay.away_ms for stay in ended if stay.is_measured]
    return of_span(
        pattern,
        subject,
        span,
        ended[-1].incarnation,
        probable_cause=cause,
        members=frozenset(stay.member_id for stay in ended),
        usual_stay_ms=int(median(measured)) if measured else None,
        facts={"is_classic": is_classic},
    )


def _static_member_flaps_words(episode: Episode) -> Words:
    """Return the words of `static_member_flaps`."""
    why = {
        POLL_TIMEOUT: f"It goes when its {MAX_POLL} has passed, or it restarts at that period: the log cannot tell.",
        "restarting_or_duplicate": "It restarts, or two processes use the instance id: the log cannot tell.",
    }.get(episode.probable_cause or "", "Its process restarts.")
    does = tense(episode, "goes away and comes back", "went away and came back")
    sentence = f"{who(episode)} {does}, {times(episode)}, about every {interval(episode)}. {why}"
    step = (
        f"Read its log at {last_time(episode)} for why it ends. While it is away its partitions are not read: "
        f"{_session(episode.kind)} should be just longer than a restart."
    )
    return sentence, poll_step(episode) if episode.probable_cause == POLL_TIMEOUT else step


def _session(kind: str) -> str:
    """Return the setting of a member's session: clients set it in classic groups only."""
    if kind in {CLASSIC, CONNECT}:
        return "its session.timeout.ms"
    name = f"{kind}.session.timeout.ms"
    return f"the group's {name} (or the broker's group.{name})"


def _duplicate_instance_id_words(episode: Episode) -> Words:
    """Return the words of `duplicate_instance_id`."""
    does = tense(episode, "has been", "was")
    sentence = (
        f"{who(episode)} {does} replaced {times(episode)}, about every {interval(episode)}: two processes use "
        "this group.instance.id and fence each other, or one restarts that fast (the log cannot tell)."
    )
    step = (
        "Compare group.instance.id of all replicas: each needs its own. FencedInstanceIdException in the logs of two "
        "processes proves it."
    )
    return sentence, step


FLAPS: Final = Pattern(
    "static_member_flaps",
    _static_member_flaps_words,
    "An instance id goes away and is back, or is replaced, `flaps` times within `within_seconds`.",
    find=static_member_flaps,
    limits=FlapSettings.by_name,
    error=BY_COST,
    explained_by=("storm",),
    expected="No static member goes away and comes back over and over",
    about="group with static members",
)
DUPLICATE: Final = Pattern(
    "duplicate_instance_id",
    _duplicate_instance_id_words,
    "The same in a classic group, always by a new holder, within `interval_seconds` of the last one.",
    limits=DuplicateSettings.by_name,
    error=WHILE_PRESENT,
    explained_by=("storm",),
    expected="No two processes use the same group.instance.id",
    about="group with static members",
)
