"""Which trouble of a group over time explains its ongoing rebalance: then no client is blamed for what is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.blocker.advice import NOT_READY, SLOW_REVOCATION, Advice
from kip848_records.replay.diagnosis.severity import ERROR, INFO
from kip848_records.replay.diagnosis.storm import LOOPS
from kip848_records.replay.diagnosis.storm import PATTERN as STORM
from kip848_records.text import client_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.replay.diagnosis.episodes import Episode, Subject
    from kip848_records.replay.rows import Row

_LOOPS: Final = frozenset(LOOPS)
_SLOW: Final = "slow_by_habit"
_OF_THE_GROUP: Final = frozenset({STORM.name, *STORM.explained_by})


def present_alarms(episodes: Iterable[Episode], incarnation: int) -> list[Episode]:
    """Return the alarms of an incarnation that last at the capture, the worst first, as `troubles_now.sql` has them."""
    found = [
        each
        for each in episodes
        if each.is_present and each.explained_by is None and each.severity != INFO and each.incarnation == incarnation
    ]
    return sorted(found, key=_harm)


def _harm(episode: Episode) -> tuple[object, ...]:
    subject = episode.subject
    names = (subject.client_id, subject.client_host, subject.instance_id, subject.member_id, subject.what)
    return (
        *(episode.severity != ERROR, -(episode.cost_share or 0), episode.first_seen, episode.pattern, -episode.count),
        *((name is None, name or "") for name in (*names, subject.regex)),
        episode.episode,
    )


def explained(advice: Advice, worst: Row | None, alarms: Iterable[Episode], triggers: Sequence[Row]) -> Advice:
    """Return the advice about a trouble over time that explains an ongoing rebalance; `advice` if none does.

    `worst`: the blocker that `advice` names. `alarms`: those of `present_alarms`. `triggers`: rows of `membership` of
    the members that began the rebalance.
    """
    for each in alarms:
        if _explains(each, advice, worst, triggers):
            sentence, next_step = each.words
            return Advice(
                each.pattern,
                advice.member_id if _is_blocker(each, worst) else None,
                _who(each.subject) if _is_there(each, worst, triggers) else None,
                sentence.removesuffix("."),
                next_step.removesuffix("."),
            )
    return advice


def _explains(episode: Episode, advice: Advice, worst: Row | None, triggers: Sequence[Row]) -> bool:
    """Return whether a trouble explains what is open.

    A coordinator that does not act removes no member and asks none. A member that is late for less than a turn of a
    loop only follows it.
    """
    pattern = episode.pattern
    if pattern == "coordinator_silent":
        return advice.pattern != NOT_READY
    is_blocker = _is_blocker(episode, worst)
    if pattern == _SLOW:
        return is_blocker and advice.pattern == SLOW_REVOCATION
    follows = worst is None or (worst.late_ms or 0) <= (episode.median_interval_ms or 0)
    if pattern in _LOOPS:
        if is_blocker:
            return follows or (episode.subject.members_of_that_name or 1) == 1
        follows = follows and any(_is_about(episode.subject, each) for each in triggers)
    elif pattern not in _OF_THE_GROUP:
        return False
    return follows and advice.pattern != NOT_READY


def _is_there(episode: Episode, worst: Row | None, triggers: Sequence[Row]) -> bool:
    """Return whether a trouble is that of a client with a member now: one that has left blocks nobody."""
    members = (each for each in triggers if each.left_how is None and each.left_at is None)
    return _is_blocker(episode, worst) or any(_is_about(episode.subject, each) for each in members)


def _is_blocker(episode: Episode, worst: Row | None) -> bool:
    """Return whether a trouble is that of one client, the worst blocker."""
    return worst is not None and episode.pattern in _LOOPS | {_SLOW} and _is_about(episode.subject, worst)


def _is_about(subject: Subject, member: Row) -> bool:
    """Return whether a subject is a member: by member id or instance id, else by name."""
    if subject.member_id is not None:
        return bool(subject.member_id == member.member_id)
    if subject.instance_id is not None:
        return bool(subject.instance_id == member.instance_id)
    if subject.client_id is None:  # names that are new each time
        return member.client_id in (subject.clients or ())
    return (subject.client_id, subject.client_host) == (member.client_id, member.client_host)


def _who(subject: Subject) -> str | None:
    """Return the client that a trouble is about; None if it is none."""
    return client_text(subject.client_id, subject.client_host, subject.instance_id) or None
