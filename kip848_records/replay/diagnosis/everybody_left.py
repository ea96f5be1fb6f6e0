"""The pattern `everybody_left`: a group that had members for a long time, and then none for longer than before."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, KINDS
from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.intervals import bridged
from kip848_records.replay.diagnosis.job import jobs
from kip848_records.replay.diagnosis.limits import DAY, HOUR, MINUTE, PatternSettings, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import lasted, tense, whom
from kip848_records.replay.diagnosis.severity import INFO, WARNING
from kip848_records.replay.group.vocabulary import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.intervals import Interval
    from kip848_records.replay.diagnosis.pattern import Words

_LAST: Final = 2 * MINUTE

_LEFT_PAUSES: Final = 2


class Settings(PatternSettings, pattern="everybody_left"):
    """The limits of `everybody_left` that users may change."""

    empty_seconds = seconds(
        10 * MINUTE,
        "Deployments and restarts of all members are over sooner. Twice the group's longest pause, if that is longer.",
    )
    members_seconds = seconds(HOUR, "A console or a developer's consumer does not run for so long.")
    warning_members_seconds = seconds(4 * HOUR, "Info if the group had members for less: it was a try, or a batch.")
    forgotten_seconds = seconds(
        7 * DAY, "Info if it has been empty for longer: who misses it has noticed within a week."
    )


def everybody_left(history: GroupHistory) -> Iterator[Episode]:
    """Yield a row for each time in which the group was Empty for long; it ends when members are back.

    A past one is no alarm: most were a pause on purpose.

    A partition of which this is the only group has no later record, like an old copy: the words say so. It is not
    likely that a copy ends in the pause of a group that had members for hours.
    """
    limits, state = history.limits, history.rows.state
    runs = bridged(history.runs, limits[Settings.empty_seconds])
    is_empty = state is not None and state.state == EMPTY
    longest = max([job.period for job in history.once(jobs)], default=0)
    for run, later in zip_longest(runs, runs[1:]):
        empty_at, back_at = run.end, None if later is None else later.begin
        if empty_at is None or (back_at is None and not is_empty):
            return
        until = history.captured_at if back_at is None else back_at
        recognized_at = empty_at + max(limits[Settings.empty_seconds], _LEFT_PAUSES * longest)
        longest = max(longest, until - empty_at)
        is_known = history.known_since is None or empty_at >= history.known_since or back_at is None
        if is_known and recognized_at <= until and empty_at - run.begin >= limits[Settings.members_seconds]:
            yield from _episode(history, run, recognized_at, back_at, is_longest=run is not runs[0])


def _episode(
    history: GroupHistory, run: Interval, recognized_at: int, back_at: int | None, *, is_longest: bool
) -> Iterator[Episode]:
    limits, empty_at = history.limits, run.end or 0
    left = [stay for stay in history.stays if stay.left_at is not None and empty_at - _LAST <= stay.left_at <= empty_at]
    if not left:  # by two clocks that disagree
        return
    who = max(left, key=lambda stay: (stay.left_at, stay.left_offset))
    until = history.captured_at if back_at is None else back_at
    is_short = (
        empty_at - run.begin < limits[Settings.warning_members_seconds]
        or until - empty_at > limits[Settings.forgotten_seconds]
    )
    is_alarm = back_at is None and not is_short
    yield Episode(
        PATTERN,
        Subject(client_id=who.client_id, client_host=who.host, instance_id=who.instance_id, members=len(left)),
        len(left),
        empty_at,
        until,
        recognized_at,
        back_at,
        who.incarnation,
        probable_cause="left_together" if len(left) > 1 else "last_left",
        evidence=some_offsets(stay.left_offset for stay in left if stay.left_offset is not None),
        members=frozenset(),
        facts={"is_longest": is_longest, "is_copy_old": back_at is None and history.is_copy_old(recognized_at)},
        severity=WARNING if is_alarm else INFO,
    )


def _words(episode: Episode) -> Words:
    """Return the words of `everybody_left`."""
    member = KINDS[episode.kind].member
    others = f"; {episode.count} {member}s left within two minutes" if episode.count > 1 else ""
    longest = ", longer than before" if episode.facts.get("is_longest") else ""
    sentence = (
        f"The group {tense(episode, 'has had', 'had')} no {member} for {lasted(episode)}{longest}. "
        f"The last to leave was {whom(episode.subject, episode.kind)}{others}."
    )
    if episode.facts.get("is_copy_old"):
        sentence += " Nothing else happened in its partition since, or this copy of the partition is an old one."
    what = "Connect cluster" if episode.kind == CONNECT else "application"
    if not episode.is_present:
        return sentence, f"It has {member}s again. Was the {what} scaled to zero, or did it not start?"
    return sentence, f"Is the {what} scaled to zero, or does it not start? If it is gone, delete the group."


PATTERN: Final = Pattern(
    "everybody_left",
    _words,
    "A group has been empty for `empty_seconds`, after it had members for `members_seconds`. It is "
    "a warning after `warning_members_seconds` with members, until it has been empty for `forgotten_seconds`.",
    find=everybody_left,
    limits=Settings.by_name,
    expected="A group that had members for hours has some",
)
