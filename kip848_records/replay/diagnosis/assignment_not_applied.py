"""The pattern `assignment_not_applied`: a classic member joins round after round as if it had got no assignment."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import KINDS
from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, of_span
from kip848_records.replay.diagnosis.limits import HOUR, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import last_time, tense, times, who
from kip848_records.replay.diagnosis.severity import BY_COST
from kip848_records.replay.group.known_history import OBSERVED
from kip848_records.text import ranges_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words

KEEPS: Final = "keeps_revoked"
LACKS: Final = "lacks_assigned"
_OF_THE_SAME: Final = frozenset({"unknown", "follow_up"})
"""The causes of rounds in which no member came, left or changed: of others, a member may have missed the answer."""


class Settings(PatternSettings, pattern="assignment_not_applied"):
    """The limits of `assignment_not_applied` that users may change."""

    rounds = counted(
        5,
        "rounds",
        "A round that begins before a slow member has its assignment makes one; five of the same members are no "
        "chance.",
    )
    within_seconds = seconds(HOUR, "Members join again within seconds, or a poll interval.")


def assignment_not_applied(history: GroupHistory) -> Iterator[Episode]:
    """Yield the members that join again and again with units that were taken from them, or without those assigned.

    An event is a generation with a member that had the same unit too much, or too few, in the one before already.
    """
    found: dict[tuple[str, str], list[Event]] = defaultdict(list)
    before: dict[tuple[str, str], Any] = {}
    for row in history.generations:
        now: dict[tuple[str, str], Any] = {}
        for member_id, kept, missing in row.unapplied if row.history == OBSERVED else ():
            for how, units in ((KEEPS, kept), (LACKS, missing)):
                if not units:
                    continue
                now[member_id, how] = units
                is_again = _have_common(units, before.get((member_id, how), ()))
                if is_again and row.cause in _OF_THE_SAME and row.completed_at is not None:
                    found[member_id, how].append(Event(row.completed_at, row.offset, units))
        before = now
    for (member_id, how), events in found.items():
        for span in history.spans(events, Settings.rounds, Settings.within_seconds):
            yield of_span(
                PATTERN,
                _subject(member_id, history),
                span,
                history.newest_incarnation,
                probable_cause=how,
                members=None,
                facts={"units": _text(span.events[-1].item)},
            )


def _have_common(units: Any, others: Any) -> bool:  # noqa: ANN401 - units by topic or connector
    numbers = {topic: frozenset(partitions) for topic, partitions in others}
    return any(not numbers.get(topic, frozenset()).isdisjoint(partitions) for topic, partitions in units)


def _subject(member_id: str, history: GroupHistory) -> Subject:
    stay = history.last_stay(member_id)
    if stay is None:
        return Subject(member_id=member_id)
    return stay.subject._replace(member_id=member_id, members_of_that_name=history.at_once(stay.name))


def _text(units: Sequence[tuple[str, Sequence[int]]]) -> str:
    return ", ".join(f"{topic} {ranges_text(numbers)}" for topic, numbers in units)


def _words(episode: Episode) -> Words:
    """Return the words of `assignment_not_applied`."""
    kind, units = KINDS[episode.kind], episode.facts["units"]
    name = who(episode) if episode.subject.client_id else f"Member {episode.subject.member_id}"
    joins, does = tense(episode, "joins", "joined"), tense(episode, "does", "did")
    if episode.probable_cause == KEEPS:
        what = f"with {kind.units} that the {kind.step} before took from it"
        then = f"A {kind.member} that is to get them {tense(episode, 'waits', 'had to wait')} for it"
    else:
        what = f"without {kind.units} that the {kind.step} before gave to it"
        then = f"It {does} not work on them"
    sentence = (
        f"{name} {joins} again and again {what}, {times(episode)}: {units}. It {does} not receive its assignments, or "
        f"{does} not apply them. {then}."
    )
    step = (
        f"Read the log of this {kind.member} at {last_time(episode)} for errors of SyncGroup or of its rebalance "
        f"listener. Restart this {kind.member} alone: the others only join because it does."
    )
    return sentence, step


PATTERN: Final = Pattern(
    "assignment_not_applied",
    _words,
    "A classic member joins with partitions that the generation before took from it, or "
    "without those that it got, in `rounds` rounds of the same members within `within_seconds`.",
    find=assignment_not_applied,
    limits=Settings.by_name,
    error=BY_COST,
    expected="Every member of a classic group applies the assignment that it gets",
    about="classic group",
)
