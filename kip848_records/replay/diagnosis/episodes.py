"""Episodes: the times in which a trouble lasts, recognised by so many events within a window."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.kinds import CONSUMER
from kip848_records.replay.diagnosis.limits import SECOND, AllSettings
from kip848_records.replay.rows import Diagnosis
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.pattern import Pattern, Words
    from kip848_records.replay.rows import Row

_GAPS: Final = 10
_MADE: Final = frozenset({"group_id", "partition", "sentence", "next_step"})
_COLUMNS: Final = tuple(name for name in Diagnosis._fields if name not in _MADE)

_CALM_GAPS: Final = 3
"""An episode ends after so many times its usual gap: one that is missing is chance, three are not."""


class Subject(NamedTuple):
    """Whom or what an episode is about; a field that does not apply is None.

    `members_of_that_name`: the members that have the client id and host at once. `clients`: distinct client ids.
    """

    client_id: str | None = None
    client_host: str | None = None
    instance_id: str | None = None
    member_id: str | None = None
    members_of_that_name: int | None = None
    members: int | None = None
    groups: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    what: str | None = None
    clients: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[object, ...]:
        """What tells one subject from another: everything but counts."""
        return (
            *(self.client_id, self.client_host, self.instance_id, self.member_id),
            *(self.groups, self.topics, self.regex, self.what),
        )


class Event(NamedTuple):
    """A moment (ms) at which something of a pattern was complete, and could be known; the tests that it counts for."""

    at: int
    offset: int
    item: Any = None
    tests: tuple[int, ...] = (0,)


class Test(NamedTuple):
    """So many events within a window (ms) make an episode. `calm`: it lasts for at least this time without an event."""

    needed: int
    window: int
    calm: int | None = None


@dataclass(slots=True, eq=False)
class Span:
    """The events of an episode. `ended_at`: None while it lasts."""

    events: list[Event]
    first_seen: int
    last_seen: int
    recognized_at: int
    held: set[int]
    ended_at: int | None = None


def recognise(events: Iterable[Event], tests: Sequence[Test], limits: Limits, captured_at: int) -> list[Span]:
    """Return the times in which one of some tests holds.

    A span begins with the first of the events that complete a test. It goes on until nothing comes for three times the
    median of its last ten gaps, and at least `Limits.calm`; at most for the longest window of the tests that hold.
    """
    spans: list[Span] = []
    span: Span | None = None
    waiting: list[deque[Event]] = [deque() for _ in tests]
    for event in sorted(events, key=lambda event: event[:2]):  # offsets may follow another order than times
        if span is not None and event.at > span.last_seen + _silence(span, tests, limits):
            span.ended_at = span.last_seen + _silence(span, tests, limits)
            span = None
            for recent in waiting:  # an event belongs to one episode
                recent.clear()
        complete = []
        for number in event.tests:
            recent, (needed, window, _) = waiting[number], tests[number]
            recent.append(event)
            while recent[0].at < event.at - window:
                recent.popleft()
            if len(recent) >= needed:
                complete.append(number)
        if span is not None:
            if span.held.intersection(event.tests) or complete:
                span.events.append(event)
                span.last_seen = max(event.at, span.last_seen)
                span.held.update(complete)
        elif complete:
            number = min(complete, key=lambda each: waiting[each][-tests[each].needed].at)
            first = list(waiting[number])[-tests[number].needed :]
            span = Span(first, first[0].at, event.at, event.at, set(complete))
            spans.append(span)
    return _ended(spans, tests, limits, captured_at)


def _ended(spans: list[Span], tests: Sequence[Test], limits: Limits, captured_at: int) -> list[Span]:
    if spans and spans[-1].ended_at is None:
        end = spans[-1].last_seen + _silence(spans[-1], tests, limits)
        spans[-1].ended_at = end if end < captured_at else None
    return spans


def _silence(span: Span, tests: Sequence[Test], limits: Limits) -> int:
    """Return for how long nothing comes until the span has ended."""
    last = span.events[-_GAPS - 1 :]
    gaps = [later.at - event.at for event, later in pairwise(last)]
    usual = median(gaps) if gaps else 0
    window = max(tests[number].window for number in span.held)
    calm = max(tests[number].calm or limits[AllSettings.calm_seconds] for number in span.held)
    return int(min(max(calm, _CALM_GAPS * usual), max(window, calm)))


@dataclass(slots=True, eq=False)
class Episode:
    """One trouble of a group: a row of `diagnosis` before its words.

    `members`: the ids of the members whose rebalances it costs; None: all that begin in its time. `episode`: its number
    among those of its pattern and subject. `kind`: that of its group at its end, of `kinds.KINDS`.
    """

    of: Pattern
    subject: Subject
    count: int
    first_seen: int
    last_seen: int
    recognized_at: int
    ended_at: int | None
    incarnation: int | None
    evidence: tuple[int, ...] = ()
    probable_cause: str | None = None
    members: frozenset[str] | None = None
    median_interval_ms: int | None = None
    usual_stay_ms: int | None = None
    at_least: bool = False
    unowned_ms: int | None = None
    away_ms: int | None = None
    lost_ms: int | None = None
    empty_ms: int | None = None
    late_ms: int | None = None
    cost_share: float | None = None
    rebalances: int | None = None
    rebalances_shared: int | None = None
    epochs: int | None = None
    partitions_moved: int | None = None
    explained_by: str | None = None
    episode: int = 1
    kind: str = CONSUMER
    severity: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.severity = self.severity or self.of.severity

    @property
    def pattern(self) -> str:
        """The name of its pattern."""
        return self.of.name

    @property
    def is_present(self) -> bool:
        """Whether it lasts at the capture."""
        return self.ended_at is None

    @property
    def words(self) -> Words:
        """The sentence for an operator, and what to do."""
        sentence, step = self.of.words(self)
        return printable(sentence), printable(step)

    def row(self, group_id: str | None, partition: int | None) -> Row:
        """Return its row of `diagnosis`."""
        sentence, next_step = self.words
        values = {name: getattr(self, name) for name in _COLUMNS}
        return Diagnosis(
            **values | {"subject": tuple(self.subject)},
            group_id=group_id,
            partition=partition,
            sentence=sentence,
            next_step=next_step,
        )


def of_span(pattern: Pattern, subject: Subject, span: Span, incarnation: int, **more: Any) -> Episode:  # noqa: ANN401
    """Return the episode of a span."""
    times = [event.at for event in span.events]
    gaps = [later - at for at, later in pairwise(times)]
    fields = {
        "count": len(span.events),
        "first_seen": span.first_seen,
        "last_seen": span.last_seen,
        "recognized_at": span.recognized_at,
        "ended_at": span.ended_at,
        "median_interval_ms": _interval(gaps),
        "evidence": some_offsets(event.offset for event in span.events),
    }
    return Episode(pattern, subject, incarnation=incarnation, **(fields | more))


def _interval(gaps: Sequence[int]) -> int | None:
    """Return the median gap of events; the mean if most come at once, as the ends of a classic generation do."""
    if not gaps:
        return None
    usual = median(gaps)
    return int(usual if usual >= SECOND else sum(gaps) / len(gaps))


def some_offsets(offsets: Iterable[int]) -> tuple[int, ...]:
    """Return the first offset and the last nine: enough to look at."""
    found = sorted(set(offsets))
    return tuple(found if len(found) <= _GAPS else [found[0], *found[1 - _GAPS :]])
