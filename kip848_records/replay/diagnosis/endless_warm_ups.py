"""The pattern `endless_warm_ups`: copies of tasks that a client of Kafka Streams restores, and that never get ready.

In a classic group the assignor of Streams first lets a client warm up copies of the tasks that are to move to it, and
asks for a probing rebalance from time to time, to see whether they are ready. That is no trouble while it ends.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, of_span
from kip848_records.replay.diagnosis.intervals import together
from kip848_records.replay.diagnosis.limits import HOUR, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import first_time, interval, lasted, number, some, tense, who
from kip848_records.replay.diagnosis.severity import INFO, WARNING
from kip848_records.replay.group.vocabulary import PROBING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.observed import Generation
    from kip848_records.replay.diagnosis.pattern import Words

_USUAL_PROBES: Final = 9 * 60_000
"""A probing rebalance comes each 10 min by default."""


class Settings(PatternSettings, pattern="endless_warm_ups"):
    """The limits of `endless_warm_ups` that users may change."""

    warm_up_seconds = seconds(
        HOUR, "Some ten GB of state are restored in this time. More, if the stores of an application are larger."
    )
    probes = counted(3, "probing rebalances", "One may come when a copy is nearly ready; they are 10 min apart.")


@dataclass(eq=False)
class _WarmUp:
    """The generations in which a member warms up a copy of a task, one after the other. `ended_at`: None: it lasts."""

    member_id: str
    task: str
    incarnation: int
    generations: list[Generation] = field(default_factory=list)
    ended_at: int | None = None


def endless_warm_ups(history: GroupHistory) -> Iterator[Episode]:
    """Yield a row for each member that warms up copies of tasks for long, over several probing rebalances."""
    limits = history.limits
    by_member: dict[str, list[_WarmUp]] = defaultdict(list)
    for each in _warm_ups(history.generations):
        end = history.captured_at if each.ended_at is None else each.ended_at
        probes = sum(row.cause == PROBING for row in each.generations)
        if end - _time(each.generations[0]) >= limits[Settings.warm_up_seconds] and probes >= limits[Settings.probes]:
            by_member[each.member_id].append(each)
    for member_id, found in by_member.items():
        found.sort(key=lambda each: (_time(each.generations[0]), each.task))
        for copies in together(found, _overlaps):
            yield _episode(member_id, copies, history)


def _warm_ups(generations: Iterable[Generation]) -> Iterator[_WarmUp]:
    lasting: dict[tuple[str, str], _WarmUp] = {}
    for row in generations:
        if row.completed_at is None:
            continue
        now = {(member_id, task) for member_id, tasks in row.warm_ups or () for task in tasks}
        for key in [key for key, each in lasting.items() if key not in now or each.incarnation != row.incarnation]:
            ended = lasting.pop(key)
            ended.ended_at = row.completed_at
            yield ended
        for key in now:
            lasting.setdefault(key, _WarmUp(*key, row.incarnation)).generations.append(row)
    for each in lasting.values():
        each.ended_at = each.generations[-1].ended_at
        yield each


def _overlaps(found: list[_WarmUp], each: _WarmUp) -> bool:
    ends = [other.ended_at for other in found if other.ended_at is not None]
    return len(ends) < len(found) or _time(each.generations[0]) <= max(ends)


def _episode(member_id: str, copies: list[_WarmUp], history: GroupHistory) -> Episode:
    rows = sorted({row for each in copies for row in each.generations}, key=lambda row: row.offset)
    probes = [Event(_time(row), row.offset) for row in rows if row.cause == PROBING]
    begin = _time(rows[0])
    ends = [each.ended_at for each in copies]
    ended_at = None if None in ends else max(end for end in ends if end is not None)
    last_seen = history.captured_at if ended_at is None else ended_at
    span = Span(probes, begin, last_seen, begin + history.limits[Settings.warm_up_seconds], set(), ended_at)
    stay = history.last_stay(member_id)
    subject = Subject() if stay is None else stay.subject
    tasks = tuple(dict.fromkeys(each.task for each in copies))
    return of_span(
        PATTERN,
        # it got ready, or its member is gone
        subject._replace(member_id=member_id, what=", ".join(tasks)),
        span,
        copies[-1].incarnation,
        members=None,
        facts={"tasks": tasks},
        severity=WARNING if ended_at is None else INFO,
    )


def _time(row: Generation) -> int:
    assert row.completed_at is not None  # noqa: S101 - others are left out
    return row.completed_at


def _words(episode: Episode) -> Words:
    """Return the words of `endless_warm_ups`."""
    tasks: Sequence[str] = episode.facts["tasks"]
    one = len(tasks) == 1
    restores = tense(episode, "has been restoring", "restored")
    copies = f"{'a copy of task' if one else 'copies of tasks'} {some(tasks)}"
    subject = episode.subject
    name = who(episode) if subject.client_id else f"Member {subject.member_id}"
    sentence = (
        f"{name} {restores} {copies}, to take {'it' if one else 'them'} over, from {first_time(episode)} on, for "
        f"{lasted(episode)}: {number(episode.count, 'probing rebalance')}, one about every {interval(episode)}, found "
        f"{'it not ready' if one else 'none of them ready'}. The probing rebalances themselves are no trouble."
    )
    if not episode.is_present:
        return sentence, "Nothing: it is over. If it comes again, look for what makes the restore slow on this client."
    step = (
        "A copy is ready if it is at most acceptable.recovery.lag (10,000 by default) behind the end of its changelog: "
        "raise it if more is written than that between two commits. Else look for what makes the restore slow on this "
        "client: network, disk, quotas, or max.warmup.replicas copies that share them."
    )
    if episode.median_interval_ms is not None and episode.median_interval_ms < _USUAL_PROBES:
        step += f" Raise probing.rebalance.interval.ms: it is about {interval(episode)}, the default is 10 min."
    return sentence, step


PATTERN: Final = Pattern(
    "endless_warm_ups",
    _words,
    "For `warm_up_seconds` a client of Kafka Streams has warmed up a copy of a task, over `probes` probing rebalances.",
    find=endless_warm_ups,
    limits=Settings.by_name,
    expected="Copies of tasks that a client of Kafka Streams warms up get ready",
    about="application of Kafka Streams in a classic group",
)
