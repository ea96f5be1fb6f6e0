"""The patterns `flapping_topics` and `assignor_flip`: something changes, and changes back, again and again."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.kinds import CONSUMER
from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.severity import WARNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory

TOPICS: Final = "flapping_topics"
ASSIGNOR: Final = "assignor_flip"


class _Value(NamedTuple):
    at: int
    offset: int
    value: Any


def flapping_topics(history: GroupHistory) -> Iterator[Episode]:
    """Yield the expressions whose topics come back, and the classic member whose topics do so most."""
    by_regex: dict[str, list[_Value]] = defaultdict(list)
    for regex, row in history.rows.resolutions.items():
        if row.at is not None:
            by_regex[regex].append(_Value(row.at, row.offset, row.topics))
    for regex, values in by_regex.items():
        for span in _topic_spans(sorted(values, key=_offset), history):
            yield _topics_episode(span, Subject(regex=regex, topics=_between(span)), history)
    at = {
        (row.incarnation, row.generation): (row.completed_at, row.offset)
        for row in history.generations
        if row.completed_at is not None
    }
    by_member: dict[str, list[_Value]] = defaultdict(list)
    for member_id, row in history.rows.subscriptions.items():
        found = None if row.generation is None else at.get(row.generation)
        if found is not None:
            by_member[member_id].append(_Value(*found, row.topics))
    spans = [
        (span, member_id)
        for member_id, values in by_member.items()
        for span in _topic_spans(sorted(values, key=_offset), history)
    ]
    while spans:
        most, whose = max(spans, key=lambda each: len(each[0].events))
        episode = _topics_episode(most, Subject(topics=_between(most)), history)
        episode.facts["who"] = [stay.subject for stay in history.stays if stay.member_id == whose]
        yield episode
        spans = [each for each in spans if each[0].first_seen > most.last_seen or each[0].last_seen < most.first_seen]


def _topic_spans(values: Iterable[_Value], history: GroupHistory) -> list[Any]:
    limits = history.limits
    test = Test(limits.topic_flaps, limits.topic_flaps_within, limits.topic_calm)
    return recognise(returns(values), [test], limits, history.captured_at)


def _topics_episode(span: Any, subject: Subject, history: GroupHistory) -> Episode:  # noqa: ANN401
    return of_span(TOPICS, WARNING, subject, span, history.newest_incarnation, probable_cause="topics_come_and_go")


def _between(span: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the topics that come and go."""
    return tuple(sorted(frozenset().union(*(event.item[0] ^ event.item[1] for event in span.events))))[:20]


def assignor_flip(history: GroupHistory) -> Iterator[Episode]:
    """Yield the assignors, and the types of the group, that come back."""
    limits = history.limits
    sources = {
        "classic": [
            _Value(row.completed_at, row.offset, row.protocol)
            for row in history.generations
            if row.protocol is not None and row.completed_at is not None and row.cause != "emptied"
        ],
        "server": list(_votes(history)),
        "conversion": list(_types(history)),
    }
    for cause, values in sources.items():
        test = Test(limits.assignor_flips, limits.assignor_flips_within)
        for span in recognise(returns(values), [test], limits, history.captured_at):
            names = sorted({str(each) for event in span.events for each in event.item})
            yield of_span(
                ASSIGNOR,
                WARNING,
                Subject(what=", ".join(names)),
                span,
                history.newest_incarnation,
                probable_cause=cause,
                facts={"by": _ASKED[cause](history, span.last_seen) if cause in _ASKED else ()},
            )


def _asked(history: GroupHistory, at: int) -> list[tuple[str, list[Subject]]]:
    """Return who asks for which server assignor at a time; the fewest first."""
    found: dict[str, list[Subject]] = defaultdict(list)
    for stay in history.stays:
        if stay.server_assignor is not None and (stay.joined_at or 0) <= at and (stay.left_at or at + 1) > at:
            found[stay.server_assignor].append(stay.subject)
    return sorted(found.items(), key=lambda each: (len(each[1]), each[0]))


def _upgraded(history: GroupHistory, at: int) -> list[tuple[str, list[Subject]]]:
    """Return who began the last upgrade up to a time: the members that joined with it."""
    upgrades = [row.at for row in history.rows.migrations if row.direction == "upgrade" and (row.at or at + 1) <= at]
    last = max(upgrades, default=None)
    joined = [stay for stay in history.stays if stay.joined_at == last and stay.joined_how == "joined"]
    return [(CONSUMER, [stay.subject for stay in joined])] if joined else []


_ASKED: Final = {"server": _asked, "conversion": _upgraded}


def returns(values: Iterable[_Value]) -> Iterator[Event]:
    """Yield an event for each value that is the one before the last one: A, B, A. Repetitions count as one."""
    before = last = None
    for each in values:
        if last is not None and each.value == last:
            continue
        if last is not None and each.value == before:
            yield Event(each.at, each.offset, (last, each.value))
        before, last = last, each.value


def _votes(history: GroupHistory) -> Iterator[_Value]:
    """Yield the server assignor with most votes, where it changes; a tie changes nothing."""
    steps = []
    for stay in history.stays:
        if stay.server_assignor is None:
            continue
        if stay.joined_at is not None and stay.joined_offset is not None:
            steps.append((stay.joined_offset, stay.joined_at, 1, stay.server_assignor))
            if stay.left_at is not None and stay.left_offset is not None:
                steps.append((stay.left_offset, stay.left_at, -1, stay.server_assignor))
    votes = Counter[str]()
    for offset, at, by, assignor in sorted(steps):
        votes[assignor] += by
        first = votes.most_common(2)
        if first[0][1] > 0 and (len(first) == 1 or first[0][1] > first[1][1]):
            yield _Value(at, offset, first[0][0])


def _types(history: GroupHistory) -> Iterator[_Value]:
    for row in sorted(history.rows.migrations, key=lambda row: row.offset):
        if row.at is not None and row.direction in {"upgrade", "downgrade"}:
            yield _Value(row.at, row.offset, row.to_type)


def _offset(value: _Value) -> int:
    return value.offset
