"""Which members have nothing, for how long, and whether others have partitions of their topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.kinds import CONNECT, STREAMS
from kip848_records.replay.diagnosis.intervals import Interval
from kip848_records.replay.group.known_history import OBSERVED, RIGHT_CENSORED
from kip848_records.replay.group.vocabulary import RECONCILED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.stays import Stay

    Key = tuple[tuple[str, ...], str | None]

_SEEN: Final = frozenset({OBSERVED, RIGHT_CENSORED})


class Holding(NamedTuple):
    """From `begin` to `end` (ms; None: still) the stay's member has so many partitions."""

    begin: int
    end: int | None
    stay: Stay
    owned: int


def holdings(history: GroupHistory) -> list[Holding]:
    """Return what members have. That one has nothing counts between its first and last reconciled moments only.

    Members that were there before the history begins, and those without topics, are left out.
    """
    return [*_of_states(history), *_of_generations(history)]


def _of_states(history: GroupHistory) -> Iterator[Holding]:
    by_member: dict[str, list[Any]] = defaultdict(list)
    for row in history.rows("member_state_timeline"):
        if row.history in _SEEN and row.from_at is not None and row.group_type != STREAMS:
            by_member[row.member_id].append(row)
    stays = _by_member(history)
    for member_id, rows in by_member.items():
        rows.sort(key=lambda row: row.from_offset)
        settled = [number for number, row in enumerate(rows) if row.state == RECONCILED]
        if not settled:
            continue
        for number, row in enumerate(rows):
            stay = _stay_at(stays.get(member_id, ()), row.from_offset)
            is_settled = settled[0] <= number <= settled[-1]
            if stay is not None and row.owned_units is not None and (is_settled or row.owned_units):
                yield Holding(row.from_at, row.to_at, stay, row.owned_units)


def _of_generations(history: GroupHistory) -> Iterator[Holding]:
    generations = sorted(
        (row for row in history.rows("classic_generation") if row.protocol_type != CONNECT and row.completed_at),
        key=lambda row: row.offset,
    )
    begins = {(row.incarnation, row.generation): number for number, row in enumerate(generations)}
    stays = _by_member(history)
    for row in history.rows("classic_member"):
        number = begins.get((row.incarnation, row.generation))
        if number is None or row.assigned is None:
            continue
        generation = generations[number]
        end = generations[number + 1].completed_at if number + 1 < len(generations) else generation.ended_at
        stay = _stay_at(stays.get(row.member_id, ()), generation.offset)
        if stay is not None:
            owned = sum(len(each["partitions"] if isinstance(each, dict) else each[1]) for each in row.assigned)
            yield Holding(generation.completed_at, end, stay, owned)


def _by_member(history: GroupHistory) -> dict[str, list[Stay]]:
    found: dict[str, list[Stay]] = defaultdict(list)
    for stay in history.stays:
        if stay.is_begin_seen and (stay.topics or stay.regex):
            found[stay.member_id].append(stay)
    return found


def _stay_at(stays: Sequence[Stay], offset: int) -> Stay | None:
    for stay in stays:
        if stay.joined_offset is not None and stay.joined_offset <= offset and (
            stay.left_offset is None or offset < stay.left_offset
        ):
            return stay
    return None


def key_of(stay: Stay) -> Key:
    """Return what a member subscribes to."""
    return tuple(stay.topics), stay.regex


class Sweep:
    """The members with and without partitions at each moment, by subscription."""

    def __init__(self, found: Iterable[Holding], age: int) -> None:
        steps: list[tuple[int, int, Key, bool, int]] = []
        for holding in found:
            key, is_idle = key_of(holding.stay), not holding.owned
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
