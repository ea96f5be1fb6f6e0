"""The pattern `rolling_restart`: the members of a group are exchanged once, by a deployment or a restart of all."""

from __future__ import annotations

from collections import Counter
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
    included. `completed_at`: None if it has not completed.
    """

    def __init__(self, began_at: int, old: Iterable[Stay], recent: Iterable[Stay], limits: Limits) -> None:
        self._limits = limits
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
        gaps = [later - leave for leave, later in zip(self._leaves, self._leaves[1:], strict=False)]
        usual = median(gaps) if gaps else 0
        pause = min(max(limits.rollout_pause, limits.rollout_pause_gaps * usual), limits.rollout_longest_pause)
        return at - self.last_at > pause


def rollouts(history: GroupHistory) -> list[Rollout]:
    """Return the exchanges of members that completed."""
    limits = history.limits
    steps = sorted(_steps(history), key=lambda step: step[:3])
    present: dict[Stay, None] = {}
    recent: list[Stay] = []
    found: list[Rollout] = []
    rollout: Rollout | None = None
    empty_since: int | None = None
    for at, _, kind, stay in steps:
        is_left_empty = empty_since is not None and at - empty_since > limits.rollout_empty
        if rollout is not None and (is_left_empty or rollout.is_given_up(at)):
            rollout = None
        empty_since = None
        if kind == _JOIN:
            present[stay] = None
            recent = [each for each in recent if (each.joined_at or 0) >= at - limits.rollout_recent]
            recent.append(stay)
            if rollout is not None:
                rollout.join(stay, at, len(present))
        else:
            before = list(present) if rollout is None else ()
            present.pop(stay, None)
            if rollout is not None and not stay.returned and not rollout.leave(stay, at, len(present)):
                rollout, before = None, [*present, stay]
            if rollout is None and not stay.returned:
                rollout = _opened(stay, at, before, recent, limits)
                if rollout is not None:
                    rollout.leave(stay, at, len(present))
            if not present:
                empty_since = at
        if rollout is not None and rollout.completed_at == at and (not found or found[-1] is not rollout):
            found.append(rollout)
        if rollout is not None and rollout.is_over:
            rollout = None
    return found


def _steps(history: GroupHistory) -> Iterator[tuple[int, int, int, Stay]]:
    """Yield the joins and leaves: time, offset, kind, stay."""
    for stay in history.stays:
        if stay.joined_at is not None and stay.joined_offset is not None:
            yield stay.joined_at, stay.joined_offset, _JOIN, stay
        if stay.left_at is not None and stay.left_offset is not None:
            yield stay.left_at, stay.left_offset, _LEAVE, stay


def _opened(stay: Stay, at: int, before: Iterable[Stay], recent: Iterable[Stay], limits: Limits) -> Rollout | None:
    """Return the rollout that a leave may begin: all members that were there for some time are to leave."""
    if not stay.has_ended:
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
