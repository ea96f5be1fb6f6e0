"""Which members have nothing, for how long, and whether others have partitions of their topics."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from kip848_records.replay.diagnosis.intervals import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.stays import Stay

    Key = tuple[tuple[str, ...], str | None]


class Holding(NamedTuple):
    """From `begin` to `end` (ms; None: still) the stay's member has partitions, or none."""

    begin: int
    end: int | None
    stay: Stay
    is_idle: bool


def holdings(history: GroupHistory) -> list[Holding]:
    """Return what members have. That one has nothing counts between its first and last reconciled moments only.

    It does not count for members that were there before the history begins. Members without topics are left out.
    """
    stays = _by_member(history)
    generations = history.generations
    places = {(row.incarnation, row.generation): number for number, row in enumerate(generations)}
    found = []
    for member_id, owned in history.rows.owned.items():
        begin, end, offset = owned.begin, owned.end, owned.offset
        if isinstance(begin, tuple):
            first, last = places.get(begin), places.get(end)
            if first is None or last is None:
                continue
            begin, offset = generations[first].completed_at, generations[first].offset
            end = generations[last].ended_at
            if last + 1 < len(generations):
                end = generations[last + 1].completed_at
        elif owned.is_idle:
            begin, end = owned.settled_from, owned.settled_to
        stay = _stay_at(stays.get(member_id, ()), offset)
        if stay is not None and begin is not None and (stay.is_begin_seen or not owned.is_idle):
            found.append(Holding(begin, end, stay, is_idle=owned.is_idle))
    return found


def _by_member(history: GroupHistory) -> dict[str, list[Stay]]:
    """Return the stays with a subscription, by member id and their begin."""
    found: dict[str, list[Stay]] = defaultdict(list)
    for stay in history.stays:
        if stay.topics or stay.regex:
            found[stay.member_id].append(stay)
    return found


def _stay_at(stays: Sequence[Stay], offset: int) -> Stay | None:
    """Return the stay of a member at an offset."""
    place = bisect_right(stays, offset, key=_began) - 1
    if place < 0:
        return None
    stay = stays[place]
    return stay if stay.left_offset is None or offset < stay.left_offset else None


def _began(stay: Stay) -> int:
    return -1 if stay.joined_offset is None else stay.joined_offset


def key_of(stay: Stay) -> Key:
    """Return what a member subscribes to."""
    return tuple(stay.topics), stay.regex


class Sweep:
    """The members with and without partitions at each moment, by subscription."""

    def __init__(self, found: Iterable[Holding], age: int) -> None:
        steps: list[tuple[int, int, Key, bool, int]] = []
        for holding in found:
            key, is_idle = key_of(holding.stay), holding.is_idle
            begin = holding.begin
            if is_idle:
                begin = max(begin, (holding.stay.joined_at or 0) + age)
            if holding.end is None or holding.end > begin:
                steps.append((begin, 1, key, is_idle, holding.stay.joined_offset or 0))
                if holding.end is not None:
                    steps.append((holding.end, -1, key, is_idle, 0))
        self._steps = sorted(steps, key=lambda step: step[:2])
        self._holders = Counter[Any]()
        self.idle = Counter[Any]()

    def has_holder(self, key: Key) -> bool:
        """Return whether a member with one of its topics, or its expression, has partitions now."""
        topics, regex = key
        return any(self._holders[topic] for topic in topics) or (regex is not None and self._holders[None, regex] > 0)

    def intervals(self, key_is_so: Callable[[Sweep, Any], bool], keys: Iterable[Any]) -> dict[Any, list[Interval]]:
        """Return when something is so, by key. It is asked behind each moment at which anything changed."""
        wanted = list(keys)
        began: dict[Any, tuple[int, int]] = {}
        found: dict[Any, list[Interval]] = {key: [] for key in wanted}
        place, steps = 0, self._steps
        while place < len(steps):
            at, offset = steps[place][0], steps[place][4]
            while place < len(steps) and steps[place][0] == at:
                self._step(steps[place])
                place += 1
            for key in wanted:
                is_so = key_is_so(self, key)
                if is_so and key not in began:
                    began[key] = at, offset
                elif not is_so and key in began:
                    begin, first = began.pop(key)
                    found[key].append(Interval(begin, at, first))
        for key, (begin, first) in began.items():
            found[key].append(Interval(begin, None, first))
        return found

    def _step(self, step: tuple[int, int, Key, bool, int]) -> None:
        _, by, (topics, regex), is_idle, _ = step
        if is_idle:
            self.idle[topics, regex] += by
            return
        for topic in topics:
            self._holders[topic] += by
        if regex is not None:
            self._holders[None, regex] += by
