"""The pattern `storm`: many members of a group do not stay."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import KINDS
from kip848_records.replay.diagnosis.episodes import (
    Episode,
    Event,
    Span,
    Subject,
    of_span,
)
from kip848_records.replay.diagnosis.intervals import at_once, bridged, together
from kip848_records.replay.diagnosis.job import jobs
from kip848_records.replay.diagnosis.joined_again import again_step, unchanged_text
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, SECOND, AllSettings, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import number, tense, times
from kip848_records.replay.diagnosis.rolling_restart import rollouts
from kip848_records.replay.diagnosis.severity import BY_COST
from kip848_records.replay.group.known_history import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.job import Job
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay

LOOPS: Final = ("duplicate_instance_id", "leaves_and_returns", "restart_loop", "static_member_flaps")
REJOINED: Final = "rejoined"
_SELDOM: Final = 16
_REJOINED: Final = frozenset({"unknown", "subscription_changed", "assignor_changed"})

_STORM_MOMENT: Final = 30 * SECOND
"""Ends of one scale-down."""
_STORM_NAME_SHARE: Final = 0.5
_STORM_NEW_SHARE: Final = 0.8
_STORM_NEAR_EMPTY: Final = MINUTE
_SHARED: Final = "Look at what all of them share: memory and CPU limits, a record that none can process, the network."
_STORM_STEPS: Final = {
    "returned": "Look at what all of them share: CPU limits, long garbage collection, the network to the brokers.",
    "new": "Look at what starts and stops them. An autoscaler: raise stabilizationWindowSeconds or cooldownPeriod. "
    "Else read the log of one that ended.",
}


class Settings(PatternSettings, pattern="storm"):
    """The limits of `storm` that users may change."""

    moments = counted(20, "moments", "One each 3 min. What comes within 30 s is one moment.")
    within_seconds = seconds(HOUR, "Scaling up and down in the morning takes less.")
    young_seconds = seconds(HOUR, "Only members that leave so soon count: others did their work.")
    subjects = counted(3, "subjects", "So many members that do not stay at once have one cause, not three.")


def storms(history: GroupHistory) -> Iterator[Episode]:
    """Yield the storms of a group, given its loops. The ends of its rolling restarts and jobs do not count.

    Those that take a rolling restart back count in a storm, but make none.
    """
    exchanged = frozenset(stay for rollout in history.once(rollouts) if not rollout.is_repeat for stay in rollout.gone)
    repeated = frozenset(stay for rollout in history.once(rollouts) if rollout.is_repeat for stay in rollout.gone)
    young = [each for each in _young(history, exchanged) if not _is_of_job(each[2], history.once(jobs))]
    found = []
    moments = list(_moments(young, _STORM_MOMENT))
    for span in history.spans(moments, Settings.moments, Settings.within_seconds):
        recognized_at = _recognized_at(span, repeated, history)
        if recognized_at is not None:
            span.recognized_at = recognized_at
            found.append(_episode(span, _items(span.events), history))
    yield from found
    for begin, end in _of_loops(history):
        if not any(each.first_seen <= end and (each.ended_at or history.captured_at) >= begin for each in found):
            yield from _by_loops(begin, end, young, history)


def _is_of_job(stay: Stay | None, jobs: Sequence[Job]) -> bool:
    return stay is not None and any(job.is_run(stay) for job in jobs)


def _recognized_at(span: Span, repeated: Container[Stay], history: GroupHistory) -> int | None:
    """Return when the moments of a span were a storm at first: no name alone caused them. None: they never are one.

    The longer it lasts, the more seldom this is looked at, so that it takes a time linear in the moments.
    """

    def is_storm(events: Sequence[Event]) -> bool:
        others = sum(any(item is None or item not in repeated for item in event.item) for event in events)
        return others >= history.limits[Settings.moments] and not _is_of_one(_items(events), history)

    if not is_storm(span.events):
        return None
    number = next(n for n, event in enumerate(span.events, 1) if event.at >= span.recognized_at)
    while number < len(span.events) and not is_storm(span.events[:number]):
        number += 1 + number // _SELDOM
    return span.events[min(number, len(span.events)) - 1].at


def _items(events: Sequence[Event]) -> list[Stay | None]:
    return [item for event in events for item in event.item]


def _young(history: GroupHistory, exchanged: Container[Stay]) -> Iterator[tuple[int, int, Stay | None]]:
    """Yield the ends of young stays, and the rounds in which a member of a classic group rejoined; not yet sorted."""
    limits = history.limits
    ends_of_runs = [run.end for run in history.runs if run.end is not None]
    for stay in history.ends:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - measured
        if stay.length >= limits[Settings.young_seconds] or stay in exchanged:
            continue
        place = bisect_left(ends_of_runs, stay.left_at - _STORM_NEAR_EMPTY)
        if place < len(ends_of_runs) and ends_of_runs[place] <= stay.left_at + _STORM_NEAR_EMPTY:
            continue
        yield stay.left_at, stay.left_offset, stay
    for row in history.generations:
        if _is_again(row) and row.joined_at is not None:
            yield row.joined_at, row.offset, None


def _is_again(row: Any) -> bool:  # noqa: ANN401 - a generation
    """Return whether members formed a generation without one that came or left."""
    return row.cause in _REJOINED and row.history == OBSERVED


def _moments(found: list[tuple[int, int, Stay | None]], length: int) -> Iterator[Event]:
    """Yield the moments: what comes within so many ms of the first one is one."""
    ordered = sorted(found, key=lambda each: each[:2])
    for moment in together(ordered, lambda before, each: each[0] <= before[0][0] + length):
        yield Event(moment[0][0], moment[0][1], [stay for _, _, stay in moment])


def _is_of_one(items: Sequence[Stay | None], history: GroupHistory) -> bool:
    """Return whether one name causes half, or loops of new names of few kinds most of it: these rows say it."""
    limits = history.limits
    names = Counter(_name(stay) for stay in items)
    names.pop(None, None)
    if names:
        name, count = names.most_common(1)[0]
        if count >= _STORM_NAME_SHARE * len(items) and _is_one_process(name, items, history):
            return True
    ids = [stay.member_id for stay in items if stay is not None]
    by_kind: dict[str | None, set[str]] = defaultdict(set)
    for loop in history.found:
        if loop.facts.get("is_new_each_time"):
            by_kind[loop.subject.what] |= loop.members or frozenset()
    counts = sorted((sum(member_id in members for member_id in ids) for members in by_kind.values()), reverse=True)
    # Loops of as many kinds at once would be a storm.
    return sum(counts[: limits[Settings.subjects] - 1]) >= _STORM_NEW_SHARE * len(items)


def _is_one_process(
    name: Any,  # noqa: ANN401
    items: Sequence[Stay | None],
    history: GroupHistory,
) -> bool:
    """Return whether one process of a name causes its ends: behind one address, all may have one name."""
    if isinstance(name, str) or history.at_once(name) <= 1:
        return True
    ids = [stay.member_id for stay in items if _name(stay) == name and stay is not None]
    looping: set[str] = set()
    for loop in history.found:
        if (loop.subject.client_id, loop.subject.client_host) == name:
            looping |= loop.members or frozenset()
    return sum(member_id in looping for member_id in ids) >= _STORM_NAME_SHARE * len(ids)


def _name(stay: Stay | None) -> Any:  # noqa: ANN401
    if stay is None:
        return None
    return stay.instance_id or stay.name


def _episode(span: Span, items: Sequence[Stay | None], history: GroupHistory) -> Episode:
    stays = [stay for stay in items if stay is not None]
    again = [row for row in history.generations if _is_again(row) and _within(span, row.joined_at)]
    names = {_name(stay) for stay in stays}
    clients = tuple(sorted({stay.client_id for stay in stays if stay.client_id is not None}))
    incarnation = stays[-1].incarnation if stays else history.newest_incarnation
    return of_span(
        PATTERN,
        Subject(members=len(names), clients=clients[:20]),
        span,
        incarnation,
        count=len(items),
        probable_cause=_cause(items, history),
        members=None,
        facts={
            "causes": frozenset(row.cause for row in again),
            "left": sum(_within(span, stay.left_at) for stay in history.all_ends),
            "undecoded": history.undecoded_since(span.first_seen),
            "is_read": all(row.units is not None for row in again),
        },
    )


def _within(span: Span, at: int | None) -> bool:
    return at is not None and span.first_seen <= at <= span.last_seen


def _cause(items: Sequence[Stay | None], history: GroupHistory) -> str:
    causes = Counter[str]()
    for stay in items:
        if stay is None:
            causes[REJOINED] += 1
        elif stay.returned:
            causes["returned"] += 1
        elif stay.instance_id is not None or history.by_name[stay.name][0] is not stay:
            causes["again"] += 1
        else:
            causes["new"] += 1
    return causes.most_common(1)[0][0]


def _of_loops(history: GroupHistory) -> list[tuple[int, int]]:
    """Return the times in which three subjects have loops, pauses bridged; one that lasts ends after the capture."""
    limits, end = history.limits, history.captured_at + 1
    loops = ((loop.recognized_at, loop.ended_at, loop.subject.names, None) for loop in history.found)
    there = bridged(at_once(loops, limits[Settings.subjects]), limits[AllSettings.calm_seconds] + 1)
    return [(each.begin, end if each.end is None else each.end) for each in there]


def _by_loops(
    begin: int, end: int, young: Sequence[tuple[int, int, Stay | None]], history: GroupHistory
) -> Iterator[Episode]:
    within = sorted((each for each in young if begin <= each[0] <= end), key=lambda each: each[:2])
    if len(within) < history.limits[Settings.subjects]:
        return
    items = [stay for _, _, stay in within]
    span = Span(
        [Event(at, offset, [stay]) for at, offset, stay in within],
        begin,
        within[-1][0],
        begin,
        set(),
        end if end <= history.captured_at else None,
    )
    yield _episode(span, items, history)


def _words(episode: Episode) -> Words:
    """Return the words of `storm`."""
    if not episode.subject.members:
        return _joined_again(episode)
    why = {
        "returned": "Most came back under their member ids: their processes live, and lose their sessions.",
        "again": "Most came back under a name that was there before: processes restart.",
        "new": "Most had new names: an autoscaler or a controller replaces them.",
        REJOINED: "Members of the classic group joined again and again without leaving.",
    }[episode.probable_cause or "again"]
    many = f"Many {KINDS[episode.kind].member}s"
    does = tense(episode, f"{many} do not stay", f"{many} did not stay")
    names = "one name" if episode.subject.members == 1 else number(episode.subject.members, "name")
    sentence = f"{does}: {times(episode)} one left or joined again, under {names}. {why}"
    if episode.probable_cause == REJOINED:
        return sentence, again_step(episode.facts["causes"], episode.kind)
    return sentence, _STORM_STEPS.get(episode.probable_cause or "", _SHARED)


def _joined_again(episode: Episode) -> Words:
    """Return the words of a storm in which no member left."""
    causes, kind = episode.facts["causes"], episode.kind
    member = KINDS[kind].member
    unchanged = unchanged_text(causes, kind) if episode.facts["is_read"] else ""
    gone = episode.facts["left"]
    left = f"{number(gone, member)} left" if gone else "none of them left"
    sentence = f"{member.capitalize()}s of this group joined again {times(episode)}, and {left}. {unchanged}"
    undecoded = episode.facts.get("undecoded")
    if undecoded is not None:
        sentence = f"{sentence.rstrip()} The reason may stand in data that could not be read: {undecoded}."
    return sentence.rstrip(), again_step(causes, kind)


def _is_explained(other: Episode, storm: Episode) -> bool:
    return other.pattern == "assignor_flip" or storm.probable_cause == REJOINED


PATTERN: Final = Pattern(
    "storm",
    _words,
    "Members that have been there for less than `young_seconds` leave at `moments` moments within "
    "`within_seconds`; or `subjects` members do not stay, all at once.",
    find=storms,
    limits=Settings.by_name,
    error=BY_COST,
    explained_by=("assignor_flip", "flapping_topics", "assignment_not_applied", "configurations_differ"),
    is_explained=_is_explained,
    expected="The members of a group do not leave and join all the time",
)
