"""The pattern `storm`: many members of a group do not stay."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.episodes import (
    Episode,
    Event,
    Span,
    Subject,
    Test,
    of_span,
    recognise,
)
from kip848_records.replay.diagnosis.severity import WARNING
from kip848_records.replay.group.known_history import OBSERVED

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.rolling_restart import Rollout
    from kip848_records.replay.diagnosis.stays import Stay

PATTERN: Final = "storm"
LOOPS: Final = frozenset({"duplicate_instance_id", "static_member_flaps", "leaves_and_returns", "restart_loop"})
REJOINED: Final = "rejoined"
_SELDOM: Final = 16
_REJOINED: Final = frozenset({"unknown", "subscription_changed", "assignor_changed"})


def storms(history: GroupHistory, loops: Sequence[Episode], exchanges: Sequence[Rollout]) -> Iterator[Episode]:
    """Yield the storms of a group, given its loops and rolling restarts, whose ends do not count.

    Those that take a rolling restart back count in a storm, but make none.
    """
    limits = history.limits
    exchanged = frozenset(stay for rollout in exchanges if not rollout.is_repeat for stay in rollout.gone)
    repeated = frozenset(stay for rollout in exchanges if rollout.is_repeat for stay in rollout.gone)
    young = list(_young(history, exchanged))
    found = []
    moments = list(_moments(young, limits.storm_moment))
    for span in recognise(moments, [Test(limits.storm_moments, limits.storm_within)], limits, history.captured_at):
        recognized_at = _recognized_at(span, repeated, loops, history)
        if recognized_at is not None:
            span.recognized_at = recognized_at
            found.append(_episode(span, _items(span.events), history))
    yield from found
    for begin, end in _of_loops(loops, history):
        if not any(each.first_seen <= end and (each.ended_at or history.captured_at) >= begin for each in found):
            yield from _by_loops(begin, end, young, history)


def _recognized_at(
    span: Span, repeated: Container[Stay], loops: Sequence[Episode], history: GroupHistory
) -> int | None:
    """Return when the moments of a span were a storm at first: no name alone caused them. None: they never are one.

    The longer it lasts, the more seldom this is looked at, so that it takes a time linear in the moments.
    """

    def is_storm(events: Sequence[Event]) -> bool:
        others = sum(any(item is None or item not in repeated for item in event.item) for event in events)
        return others >= history.limits.storm_moments and not _is_of_one(_items(events), loops, history)

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
    ends_of_runs = [run.ended_at for run in history.runs if run.ended_at is not None]
    for stay in history.ends:
        assert stay.left_at is not None and stay.left_offset is not None  # noqa: S101, PT018 - measured
        if stay.length >= limits.storm_age or stay in exchanged:
            continue
        place = bisect_left(ends_of_runs, stay.left_at - limits.storm_near_empty)
        if place < len(ends_of_runs) and ends_of_runs[place] <= stay.left_at + limits.storm_near_empty:
            continue
        yield stay.left_at, stay.left_offset, stay
    for row in history.generations:
        if row.cause in _REJOINED and row.history == OBSERVED and row.joined_at is not None:
            yield row.joined_at, row.offset, None


def _moments(found: list[tuple[int, int, Stay | None]], length: int) -> Iterator[Event]:
    """Yield the moments: what comes within so many ms of the first one is one."""
    items: list[Stay | None] = []
    began = offset = None
    for at, place, stay in sorted(found, key=lambda each: each[:2]):
        if began is not None and offset is not None and at > began + length:
            yield Event(began, offset, items)
            items, began = [], None
        if began is None:
            began, offset = at, place
        items.append(stay)
    if began is not None and offset is not None:
        yield Event(began, offset, items)


def _is_of_one(items: Sequence[Stay | None], loops: Sequence[Episode], history: GroupHistory) -> bool:
    """Return whether one name causes half, or one loop of new names most of it: that row says it."""
    limits = history.limits
    names = Counter(_name(stay) for stay in items)
    names.pop(None, None)
    if names:
        name, count = names.most_common(1)[0]
        if count >= limits.storm_name_share * len(items) and _is_one_process(name, items, loops, history):
            return True
    ids = [stay.member_id for stay in items if stay is not None]
    return any(
        loop.facts.get("is_new_each_time")
        and loop.members is not None
        and sum(member_id in loop.members for member_id in ids) >= limits.storm_new_share * len(items)
        for loop in loops
    )


def _is_one_process(
    name: Any,  # noqa: ANN401
    items: Sequence[Stay | None],
    loops: Sequence[Episode],
    history: GroupHistory,
) -> bool:
    """Return whether one process of a name causes its ends: behind one address, all may have one name."""
    if isinstance(name, str) or history.at_once(name) <= 1:
        return True
    ids = [stay.member_id for stay in items if _name(stay) == name and stay is not None]
    looping: set[str] = set()
    for loop in loops:
        if (loop.subject.client_id, loop.subject.client_host) == name:
            looping |= loop.members or frozenset()
    return sum(member_id in looping for member_id in ids) >= history.limits.storm_name_share * len(ids)


def _name(stay: Stay | None) -> Any:  # noqa: ANN401
    if stay is None:
        return None
    return stay.instance_id or stay.name


def _episode(span: Span, items: Sequence[Stay | None], history: GroupHistory) -> Episode:
    stays = [stay for stay in items if stay is not None]
    names = {_name(stay) for stay in stays}
    clients = tuple(sorted({stay.client_id for stay in stays if stay.client_id is not None}))
    incarnation = stays[-1].incarnation if stays else history.newest_incarnation
    return of_span(
        PATTERN,
        WARNING,
        Subject(members=len(names), clients=clients[:20]),
        span,
        incarnation,
        count=len(items),
        probable_cause=_cause(items, history),
        members=None,
    )


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


def _of_loops(loops: Sequence[Episode], history: GroupHistory) -> list[tuple[int, int]]:
    """Return the times in which three subjects have loops, pauses bridged; one that lasts ends after the capture."""
    limits = history.limits
    steps = []
    for loop in loops:
        if loop.pattern in LOOPS:
            steps.append((loop.recognized_at, 1, loop.subject.names))
            steps.append((history.captured_at + 1 if loop.ended_at is None else loop.ended_at, -1, loop.subject.names))
    open_ones = Counter[Any]()
    pieces: list[list[int]] = []
    for at, step, names in sorted(steps, key=lambda each: each[:2]):
        before = len(open_ones)
        open_ones[names] += step
        if not open_ones[names]:
            del open_ones[names]
        if before < limits.storm_subjects <= len(open_ones):
            if pieces and at - pieces[-1][1] <= limits.calm:
                pieces[-1][1] = history.captured_at + 1
            else:
                pieces.append([at, history.captured_at + 1])
        elif len(open_ones) < limits.storm_subjects <= before:
            pieces[-1][1] = at
    return [(begin, end) for begin, end in pieces]


def _by_loops(
    begin: int, end: int, young: Sequence[tuple[int, int, Stay | None]], history: GroupHistory
) -> Iterator[Episode]:
    within = sorted((each for each in young if begin <= each[0] <= end), key=lambda each: each[:2])
    if len(within) < history.limits.storm_subjects:
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
