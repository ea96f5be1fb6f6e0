"""The pattern `rolling_restart`: the members of a group are exchanged once, by a deployment or a restart of all."""

from __future__ import annotations

from collections import Counter, deque
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.stays import Stay

PATTERN: Final = "rolling_restart"
_JOIN, _LEAVE = 1, 0


class Rollout:
    """An exchange of members that began with a leave at `began_at`.

    `old`: the members that are to leave; `gone`: those that have left; `come`: newcomers, those of the time before
    included. `completed_at`: None if it has not completed. `is_repeat`: it takes the last one back, or puts it right.
    """

    def __init__(self, began_at: int, old: Iterable[Stay], recent: Iterable[Stay], limits: Limits) -> None:
        self._limits = limits
        self.is_repeat = False
        self.began_at = self.last_at = began_at
        self.old = set(old)
        self.gone: list[Stay] = []
        self.come = list(recent)
        self.completed_at: int | None = None
        self._newcomers_left = 0
        self._leaves: list[int] = []
        self._needed = Counter[str | None]()
        self._there = Counter(stay.normalised for stay in self.come)
        self._matched = 0

    def leave(self, stay: Stay, at: int, size: int) -> bool:
        """Note a leave, with the members that are there behind it; return whether the rollout goes on."""
        if stay not in self.old:
            self._newcomers_left += 1
            return self._newcomers_left <= self._limits.rollout_newcomers_leave * len(self.old)
        self.gone.append(stay)
        self._leaves.append(at)
        self._needed[stay.normalised] += 1
        self._matched += self._needed[stay.normalised] <= self._there[stay.normalised]
        self._check(at, size)
        return True

    def join(self, stay: Stay, at: int, size: int) -> None:
        """Note a join, with the members that are there then."""
        self.come.append(stay)
        self._there[stay.normalised] += 1
        self._matched += self._there[stay.normalised] <= self._needed[stay.normalised]
        if len(self.come) <= len(self.old) + 1:
            self._check(at, size)

    def _check(self, at: int, size: int) -> None:
        self.last_at = at
        limits, wanted = self._limits, len(self.old)
        if (
            self.completed_at is None
            and len(self.gone) >= limits.rollout_share * wanted
            and self._matched >= len(self.gone)
            and abs(size - wanted) <= max(1, limits.rollout_size_share * wanted)
        ):
            self.completed_at = at

    @property
    def is_over(self) -> bool:
        """Whether all old members have been exchanged."""
        return self.completed_at is not None and len(self.gone) >= len(self.old) and self._matched >= len(self.gone)

    def is_given_up(self, at: int) -> bool:
        """Return whether nothing came for too long."""
        limits = self._limits
        if at - self.last_at <= limits.rollout_pause:
            return False
        gaps = [later - leave for leave, later in zip(self._leaves, self._leaves[1:], strict=False)]
        usual = median(gaps) if gaps else 0
        pause = max(limits.rollout_pause, min(limits.rollout_pause_gaps * usual, limits.rollout_longest_pause))
        return at - self.last_at > pause


class _Watch:
    """The members that are there, and the rollout that is open; `found`: those that completed."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._present: dict[Stay, None] = {}
        self._recent: deque[Stay] = deque()
        self._empty_since: int | None = None
        self._rollout: Rollout | None = None
        self._repeats = 0
        self.found: list[Rollout] = []

    def join(self, stay: Stay, at: int) -> None:
        """Note a join."""
        self._give_up(at)
        self._empty_since = None
        self._present[stay] = None
        while self._recent and (self._recent[0].joined_at or 0) < at - self._limits.rollout_recent:
            self._recent.popleft()
        self._recent.append(stay)
        if self._rollout is not None:
            self._rollout.join(stay, at, len(self._present))
            self._check()

    def leave(self, stay: Stay, at: int) -> None:
        """Note a leave: of an old member, or of a newcomer, which may end the rollout and begin another."""
        self._give_up(at)
        if not stay.returned and self._rollout is not None:
            size = len(self._present) - (stay in self._present)
            if not self._rollout.leave(stay, at, size):
                self._rollout = None
            else:
                self._present.pop(stay, None)
        if not stay.returned and self._rollout is None:
            self._rollout = self._repeated(stay, at)
            if self._rollout is None:
                self._rollout = _opened(stay, at, self._present, self._recent, self._limits)
            if self._rollout is not None:
                self._rollout.leave(stay, at, len(self._present) - 1)
        self._present.pop(stay, None)
        if not self._present:
            self._empty_since = at
        self._check()

    def _repeated(self, stay: Stay, at: int) -> Rollout | None:
        """Return the rollout that takes the last one back: the members that are to leave have just come."""
        last, limits = self.found[-1] if self.found else None, self._limits
        if last is None or at - last.last_at > limits.rollout_recent:
            self._repeats = 0
            return None
        old = [each for each in last.come if each in self._present]
        if (
            stay not in old
            or not stay.has_ended
            or len(old) < len(last.gone)
            or self._repeats >= limits.rollout_repeats
        ):
            return None
        self._repeats += 1
        new = set(old)
        rollout = Rollout(at, old, (each for each in self._recent if each not in new), limits)
        rollout.is_repeat = True
        return rollout

    def _give_up(self, at: int) -> None:
        """Give up a rollout if nothing came for too long, or the group was Empty for too long."""
        is_left_empty = self._empty_since is not None and at - self._empty_since > self._limits.rollout_empty
        if self._rollout is not None and (is_left_empty or self._rollout.is_given_up(at)):
            self._rollout = None

    def _check(self) -> None:
        rollout = self._rollout
        if rollout is None:
            return
        if rollout.completed_at is not None and (not self.found or self.found[-1] is not rollout):
            self.found.append(rollout)
        if rollout.is_over:
            self._rollout = None


def rollouts(history: GroupHistory) -> list[Rollout]:
    """Return the exchanges of members that completed."""
    watch = _Watch(history.limits)
    for at, _, kind, stay in sorted(_steps(history), key=lambda step: step[:3]):
        if kind == _JOIN:
            watch.join(stay, at)
        else:
            watch.leave(stay, at)
    return watch.found


def _steps(history: GroupHistory) -> Iterator[tuple[int, int, int, Stay]]:
    """Yield the joins and leaves: time, offset, kind, stay."""
    for stay in history.stays:
        if stay.joined_at is not None and stay.joined_offset is not None:
            yield stay.joined_at, stay.joined_offset, _JOIN, stay
        if stay.left_at is not None and stay.left_offset is not None:
            yield stay.left_at, stay.left_offset, _LEAVE, stay


def _opened(stay: Stay, at: int, before: Iterable[Stay], recent: Iterable[Stay], limits: Limits) -> Rollout | None:
    """Return the rollout that a leave may begin: all members that were there for some time are to leave."""
    if not stay.has_ended or (stay.joined_at is not None and at - stay.joined_at < limits.rollout_old):
        return None
    old = [each for each in before if each.joined_at is None or at - each.joined_at >= limits.rollout_old]
    older = [each for each in old if each.joined_at is None or at - each.joined_at > limits.rollout_recent]
    old = older or old
    if stay not in old or len(old) < 2:  # noqa: PLR2004 - one member alone is no rollout
        return None
    new = set(old)
    return Rollout(at, old, (each for each in recent if each not in new), limits)


def rolling_restart(rollout: Rollout) -> Episode:
    """Return the episode of a rollout."""
    stays = [*rollout.gone, *rollout.come]
    names = Counter(stay.normalised for stay in rollout.gone)
    completed = rollout.completed_at
    assert completed is not None  # noqa: S101 - only those that completed
    return Episode(
        PATTERN,
        INFO,
        Subject(what=names.most_common(1)[0][0], members=len(rollout.gone)),
        len(rollout.gone),
        rollout.began_at,
        rollout.last_at,
        completed,
        rollout.last_at,
        rollout.gone[-1].incarnation,
        evidence=some_offsets(stay.left_offset for stay in rollout.gone if stay.left_offset is not None),
        members=frozenset(stay.member_id for stay in stays),
        probable_cause="deployment",
    )
