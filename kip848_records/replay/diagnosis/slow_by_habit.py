"""The pattern `slow_by_habit`: one member takes much longer than the others to revoke partitions, again and again."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import KINDS
from kip848_records.replay.diagnosis.client_settings import revoke_step
from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, of_span
from kip848_records.replay.diagnosis.limits import DAY, SECOND, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import tense, times, who
from kip848_records.replay.diagnosis.storm import LOOPS
from kip848_records.replay.group.vocabulary import CONVERGED
from kip848_records.text import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.pattern import Words

_SLOW_SHARE: Final = 0.75
"""If so many of its revocations are slow, that is a habit."""
_SLOW_OTHERS: Final = 3


class Settings(PatternSettings, pattern="slow_by_habit"):
    """The limits of `slow_by_habit` that users may change."""

    revocation_seconds = seconds(
        10 * SECOND, "Two heartbeats of 5 s: who has nothing to finish has given up its partitions."
    )
    rebalances = counted(5, "rebalances", "Fewer are a batch that was large.")
    within_seconds = seconds(DAY, "Groups rebalance a few times a day, in deployments.")
    times = counted(3, "times", "So many times slower than the others, by the median; chance makes twice.", least=1)


def slow_by_habit(history: GroupHistory) -> Iterator[Episode]:
    """Yield the members that are slow. Only those count that had something to revoke; classic groups write no times."""
    limits = history.limits
    revoked: dict[Any, list[Event]] = defaultdict(list)
    for row in history.rebalances:
        if row.outcome != CONVERGED or row.started_empty is not False or row.ended_at is None:
            continue
        for blocker in row.revoked:
            revoked[_who(blocker, history)].append(Event(row.ended_at, row.began_offset, blocker))
    for whose, events in revoked.items():
        events.sort(key=lambda event: (event.at, event.offset))
        slow = [event for event in events if event.item.revoke_ms >= limits[Settings.revocation_seconds]]
        for span in history.spans(slow, Settings.rebalances, Settings.within_seconds):
            of_it = [event.item.revoke_ms for event in events if span.first_seen <= event.at <= span.last_seen]
            others = [
                event.item.revoke_ms
                for other, found in revoked.items()
                if other != whose
                for event in found
                if span.first_seen <= event.at <= span.last_seen
            ]
            usual = median(of_it)
            if len(others) < _SLOW_OTHERS:
                continue
            if usual < limits[Settings.times] * median(others) or not _is_habit(of_it, others, limits):
                continue
            blocker = span.events[-1].item
            subject = Subject(
                client_id=blocker.client_id,
                client_host=blocker.client_host,
                instance_id=blocker.instance_id,
                member_id=whose if isinstance(whose, str) else None,
            )
            yield of_span(
                PATTERN,
                subject,
                span,
                history.newest_incarnation,
                members=frozenset(event.item.member_id for event in span.events),
                probable_cause="slow_revocation",
                facts={
                    "revoke_ms": int(usual),
                    "others_ms": int(median(others)),
                    "rebalances": frozenset(event.offset for event in span.events),
                },
            )


def _is_habit(of_it: Sequence[int], others: Sequence[int], limits: Limits) -> bool:
    """Return whether a member is slow nearly always, and others are not: where all are at times, one is by chance."""
    its, theirs = (
        sum(ms >= limits[Settings.revocation_seconds] for ms in found) / len(found) for found in (of_it, others)
    )
    return its >= max(_SLOW_SHARE, limits[Settings.times] * theirs)


def _who(blocker: Any, history: GroupHistory) -> Any:  # noqa: ANN401
    """Return the name of a member; its id if several members have that name at once."""
    if blocker.instance_id is not None:
        return ("instance", blocker.instance_id)
    name = blocker.client_id, blocker.client_host
    return name if history.at_once(name) <= 1 else blocker.member_id


def _words(episode: Episode) -> Words:
    """Return the words of `slow_by_habit`."""
    usual, others = (duration_text(episode.facts[name]) for name in ("revoke_ms", "others_ms"))
    does = tense(episode, "takes", "took")
    units = KINDS[episode.kind].units
    sentence = (
        f"{who(episode)} {does} about {usual} to give up {units}, {times(episode)}; the others take "
        f"{others}. Members that are to have these {units} wait for it."
    )
    return sentence, revoke_step(episode)


def _is_of_one_client(loop: Episode, slow: Episode) -> bool:
    mine, its = slow.subject, loop.subject
    return (mine.instance_id, mine.client_id, mine.client_host) == (its.instance_id, its.client_id, its.client_host)


PATTERN: Final = Pattern(
    "slow_by_habit",
    _words,
    "A member revokes for `revocation_seconds` or more in `rebalances` rebalances within "
    "`within_seconds`, `times` times as long as the others.",
    find=slow_by_habit,
    limits=Settings.by_name,
    explained_by=LOOPS,
    is_explained=_is_of_one_client,
    expected="No member takes much longer than the others to give up partitions, each time",
    about="consumer or streams group",
)
