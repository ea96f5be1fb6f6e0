"""The patterns `flapping_topics` and `assignor_flip`: something changes, and changes back, again and again."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CONNECT, CONSUMER, KINDS
from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, of_span
from kip848_records.replay.diagnosis.joined_again import STRATEGY
from kip848_records.replay.diagnosis.limits import DAY, HOUR, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import some, tense, times, whom

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words


class TopicSettings(PatternSettings, pattern="flapping_topics"):
    """The limits of `flapping_topics` that users may change."""

    returns = counted(3, "returns", "A topic that is deleted and made again comes back once.")
    within_seconds = seconds(3 * HOUR, "Once an hour is a habit of who creates the topics.")
    calm_seconds = seconds(HOUR, "In place of the one of all patterns, as metadata ages for minutes.")


class AssignorSettings(PatternSettings, pattern="assignor_flip"):
    """The limits of `assignor_flip` that users may change."""

    returns = counted(3, "returns", "A migration that is taken back, and tried again, has fewer.")
    within_seconds = seconds(DAY, "The last member to join decides, in each deployment.")


def flapping_topics(history: GroupHistory) -> Iterator[Episode]:
    """Yield the expressions whose topics come back, and the classic member whose topics do so most."""
    by_regex: dict[str, list[Event]] = defaultdict(list)
    for regex, row in history.rows.resolutions.items():
        if row.at is not None:
            by_regex[regex].append(Event(row.at, row.offset, row.topics))
    for regex, values in by_regex.items():
        for span in _topic_spans(sorted(values, key=lambda each: each.offset), history):
            yield _topics_episode(span, Subject(regex=regex, topics=_between(span)), history)
    at = {
        (row.incarnation, row.generation): (row.completed_at, row.offset)
        for row in history.generations
        if row.completed_at is not None
    }
    by_member: dict[str, list[Event]] = defaultdict(list)
    for member_id, row in history.rows.subscriptions.items():
        found = None if row.generation is None else at.get(row.generation)
        if found is not None:
            by_member[member_id].append(Event(*found, row.topics))
    spans = [
        (span, member_id)
        for member_id, values in by_member.items()
        for span in _topic_spans(sorted(values, key=lambda each: each.offset), history)
    ]
    while spans:
        most, whose = max(spans, key=lambda each: len(each[0].events))
        episode = _topics_episode(most, Subject(topics=_between(most)), history)
        episode.facts["who"] = [stay.subject for stay in history.stays if stay.member_id == whose]
        yield episode
        spans = [each for each in spans if each[0].first_seen > most.last_seen or each[0].last_seen < most.first_seen]


def _topic_spans(values: Iterable[Event], history: GroupHistory) -> list[Any]:
    return history.spans(
        returns(values), TopicSettings.returns, TopicSettings.within_seconds, TopicSettings.calm_seconds
    )


def _topics_episode(span: Any, subject: Subject, history: GroupHistory) -> Episode:  # noqa: ANN401
    return of_span(TOPICS, subject, span, history.newest_incarnation, probable_cause="topics_come_and_go")


def _between(span: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the topics that come and go."""
    return tuple(sorted(frozenset().union(*(event.item[0] ^ event.item[1] for event in span.events))))[:20]


def assignor_flip(history: GroupHistory) -> Iterator[Episode]:
    """Yield the assignors, and the types of the group, that come back."""
    sources = {
        "classic": [
            Event(row.completed_at, row.offset, row.protocol)
            for row in history.generations
            if row.protocol is not None and row.completed_at is not None and row.cause != "emptied"
        ],
        "server": list(_votes(history)),
        "conversion": list(_types(history)),
    }
    for cause, values in sources.items():
        for span in history.spans(returns(values), AssignorSettings.returns, AssignorSettings.within_seconds):
            names = sorted({str(each) for event in span.events for each in event.item})
            yield of_span(
                ASSIGNOR,
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


def returns(values: Iterable[Event]) -> Iterator[Event]:
    """Yield an event for each value that is the one before the last one: A, B, A. Repetitions count as one."""
    before = last = None
    for each in values:
        if last is not None and each.item == last:
            continue
        if last is not None and each.item == before:
            yield Event(each.at, each.offset, (last, each.item))
        before, last = last, each.item


def _votes(history: GroupHistory) -> Iterator[Event]:
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
            yield Event(at, offset, first[0][0])


def _types(history: GroupHistory) -> Iterator[Event]:
    for row in sorted(history.rows.migrations, key=lambda row: row.offset):
        if row.at is not None and row.direction in {"upgrade", "downgrade"}:
            yield Event(row.at, row.offset, row.to_type)


def _flapping_topics_words(episode: Episode) -> Words:
    """Return the words of `flapping_topics`."""
    subject = episode.subject
    member = next(iter(episode.facts.get("who", ())), None)
    its = "a member" if member is None else whom(member, episode.kind)
    what = f"the expression {subject.regex}" if subject.regex is not None else f"the pattern of {its}"
    does = tense(episode, "come and go", "came and went")
    topics = some(subject.topics or ())
    sentence = f"Topics that match {what} {does}, {times(episode)}: {topics}. Each time the group rebalances."
    return sentence, "Use a narrower pattern, and find out who creates and deletes the topics."


def _assignor_flip_words(episode: Episode) -> Words:
    """Return the words of `assignor_flip`."""
    is_connect = episode.kind == CONNECT
    what = {
        "classic": "The protocol of the Connect cluster" if is_connect else "The assignor of the classic group",
        "server": "The assignor that most members ask for",
        "conversion": "The type of the group",
    }[episode.probable_cause or "classic"]
    does = tense(episode, "changes back and forth", "changed back and forth")
    names = episode.subject.what
    members = f"{KINDS[episode.kind].member}s"
    sentence = f"{what} {does}, {times(episode)}, between {names}: the {members} are configured in different ways."
    asked = [
        f"{value} by {some(list(dict.fromkeys(whom(each, episode.kind) for each in who)))}"
        for value, who in episode.facts.get("by", ())
    ]
    if asked:
        sentence += f" Last asked for: {'; '.join(asked)}."
    setting = {"server": "group.remote.assignor", "conversion": "group.protocol"}
    same = setting.get(episode.probable_cause or "", "connect.protocol" if is_connect else STRATEGY)
    return sentence, f"Give all {members} the same {same}; finish the deployment that changes it, or take it back."


TOPICS: Final = Pattern(
    "flapping_topics",
    _flapping_topics_words,
    "The topics of a subscription come back to what they were `returns` times within "
    "`within_seconds`; it is over after `calm_seconds`.",
    find=flapping_topics,
    limits=TopicSettings.by_name,
    expected="The topics of a subscription do not come and go",
    about="consumer or classic group",
)
ASSIGNOR: Final = Pattern(
    "assignor_flip",
    _assignor_flip_words,
    "The assignor, or the protocol of the group, comes back to what it was `returns` times within `within_seconds`.",
    find=assignor_flip,
    limits=AssignorSettings.by_name,
    expected="A group does not change its assignor or its protocol back and forth",
    about="consumer or classic group",
)
