"""The pattern `rolling_restart`: the members of a group are exchanged once, by a deployment or a restart of all."""

from __future__ import annotations

from collections import Counter, deque
from statistics import median
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import KINDS
from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.job import jobs
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, PatternSettings, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import lasted, number
from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.pattern import Words
    from kip848_records.replay.diagnosis.stays import Stay

_JOIN, _LEAVE = 1, 0

_ROLLOUT_RECENT: Final = 30 * MINUTE
"""Of members of the last 30 min, others are older: surge and blue-green deployments start the new ones first."""
_ROLLOUT_SHARE: Final = 0.8
_ROLLOUT_SIZE_SHARE: Final = 0.2
_ROLLOUT_NEWCOMERS_LEAVE: Final = 0.1
_ROLLOUT_PAUSE_GAPS: Final = 3
_ROLLOUT_LONGEST_PAUSE: Final = HOUR
_ROLLOUT_EMPTY: Final = 5 * MINUTE
_ROLLOUT_REPEATS: Final = 2
"""A release is taken back, and comes again mended; members that are replaced without end have a storm."""


class Settings(PatternSettings, pattern="rolling_restart"):
    """The limits of `rolling_restart` that users may change."""

    old_seconds = seconds(10 * MINUTE, "A rollout exchanges members that have been there for so long.")
    pause_seconds = seconds(
        20 * MINUTE,
        "A rollout that waits for longer was given up. Three of its usual pauses, at most an hour, if that is longer.",
    )


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
            return self._newcomers_left <= _ROLLOUT_NEWCOMERS_LEAVE * len(self.old)
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
        wanted = len(self.old)
        if (
            self.completed_at is None
            and len(self.gone) >= _ROLLOUT_SHARE * wanted
            and self._matched >= len(self.gone)
            and abs(size - wanted) <= max(1, _ROLLOUT_SIZE_SHARE * wanted)
        ):
            self.completed_at = at

    @property
    def is_over(self) -> bool:
        """Whether all old members have been exchanged."""
        return self.completed_at is not None and len(self.gone) >= len(self.old) and self._matched >= len(self.gone)

    def is_given_up(self, at: int) -> bool:
        """Return whether nothing came for too long."""
        limits = self._limits
        if at - self.last_at <= limits[Settings.pause_seconds]:
            return False
        gaps = [later - leave for leave, later in zip(self._leaves, self._leaves[1:], strict=False)]
        usual = median(gaps) if gaps else 0
        pause = max(limits[Settings.pause_seconds], min(_ROLLOUT_PAUSE_GAPS * usual, _ROLLOUT_LONGEST_PAUSE))
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
        while self._recent and (self._recent[0].joined_at or 0) < at - _ROLLOUT_RECENT:
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
        if last is None or at - last.last_at > _ROLLOUT_RECENT:
            self._repeats = 0
            return None
        old = [each for each in last.come if each in self._present]
        if stay not in old or not stay.has_ended or len(old) < len(last.gone) or self._repeats >= _ROLLOUT_REPEATS:
            return None
        self._repeats += 1
        new = set(old)
        rollout = Rollout(at, old, (each for each in self._recent if each not in new), limits)
        rollout.is_repeat = True
        return rollout

    def _give_up(self, at: int) -> None:
        """Give up a rollout if nothing came for too long, or the group was Empty for too long."""
        is_left_empty = self._empty_since is not None and at - self._empty_since > _ROLLOUT_EMPTY
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
    """Return the exchanges of members that completed; the next run of a job is none."""
    watch = _Watch(history.limits)
    for at, _, kind, stay in sorted(_steps(history), key=lambda step: step[:3]):
        if kind == _JOIN:
            watch.join(stay, at)
        else:
            watch.leave(stay, at)
    return watch.found


def _steps(history: GroupHistory) -> Iterator[tuple[int, int, int, Stay]]:
    """Yield the joins and leaves: time, offset, kind, stay. Members that left before they joined had two clocks."""
    for stay in history.stays:
        if stay.joined_at is not None and stay.left_at is not None and stay.left_at < stay.joined_at:
            continue
        if any(job.is_run(stay) for job in history.once(jobs)):
            continue
        if stay.joined_at is not None and stay.joined_offset is not None:
            yield stay.joined_at, stay.joined_offset, _JOIN, stay
        if stay.left_at is not None and stay.left_offset is not None:
            yield stay.left_at, stay.left_offset, _LEAVE, stay


def _opened(stay: Stay, at: int, before: Iterable[Stay], recent: Iterable[Stay], limits: Limits) -> Rollout | None:
    """Return the rollout that a leave may begin: all members that were there for some time are to leave."""
    if not stay.has_ended or (stay.joined_at is not None and at - stay.joined_at < limits[Settings.old_seconds]):
        return None
    old = [each for each in before if each.joined_at is None or at - each.joined_at >= limits[Settings.old_seconds]]
    older = [each for each in old if each.joined_at is None or at - each.joined_at > _ROLLOUT_RECENT]
    old = older or old
    if stay not in old or len(old) < 2:  # noqa: PLR2004 - one member alone is no rollout
        return None
    new = set(old)
    return Rollout(at, old, (each for each in recent if each not in new), limits)


def rolling_restarts(history: GroupHistory) -> Iterator[Episode]:
    """Yield the episodes of the exchanges of members."""
    return map(_episode, history.once(rollouts))


def _episode(rollout: Rollout) -> Episode:
    stays = [*rollout.gone, *rollout.come]
    names = Counter(stay.normalised for stay in rollout.gone)
    completed = rollout.completed_at
    assert completed is not None  # noqa: S101 - only those that completed
    return Episode(
        PATTERN,
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


def _words(episode: Episode) -> Words:
    """Return the words of `rolling_restart`."""
    what = "a deployment, or a restart of all"
    does = "was" if episode.count == 1 else "were"
    replaced = number(episode.count, KINDS[episode.kind].member)
    sentence = f"{replaced} {does} replaced by new ones in {lasted(episode)}: {what}."
    return sentence, "Nothing, if it was meant."


PATTERN: Final = Pattern(
    "rolling_restart",
    _words,
    "Members of at least `old_seconds` leave one after the other, and as many new ones come, "
    "without a pause of more than `pause_seconds`.",
    find=rolling_restarts,
    limits=Settings.by_name,
    explained_by=("storm",),
    severity=INFO,
)
