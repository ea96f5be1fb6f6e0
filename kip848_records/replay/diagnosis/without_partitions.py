"""The patterns `spares` and `no_topic`: members that have nothing, because others have all, or there is nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.client_settings import fewer_step
from kip848_records.replay.diagnosis.episodes import Episode, Subject
from kip848_records.replay.diagnosis.holdings import Sweep, holdings, key_of
from kip848_records.replay.diagnosis.intervals import Interval, bridged, long_ones
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, PatternSettings, seconds
from kip848_records.replay.diagnosis.not_initialized import attempts
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import lasted, number, some, tense, whom
from kip848_records.replay.diagnosis.severity import INFO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.holdings import Holding
    from kip848_records.replay.diagnosis.pattern import Words

_SUBSCRIPTIONS: Final = 50
"""Each moment is looked at for each of them."""

_SPARES_AGE: Final = 10 * MINUTE
"""A process that restarts has nothing for a moment each time: a stay counts from here on."""
SPARES_BRIDGE: Final = 5 * MINUTE
_NAMED: Final = 3
_SPELLING: Final = (
    "Check how the topic is spelled, that it exists, and that the client has the permission DESCRIBE for it."
)
_RE2: Final = " Brokers read expressions as RE2 does: `.*`, not `*`, and no lookahead."


class SparesSettings(PatternSettings, pattern="spares"):
    """The limits of `spares` that users may change."""

    idle_seconds = seconds(4 * HOUR, "Longer than an autoscaler's swing.")


class NoTopicSettings(PatternSettings, pattern="no_topic"):
    """The limits of `no_topic` that users may change."""

    idle_seconds = seconds(10 * MINUTE, "A topic that is created with its consumer is in the metadata after 5 min.")


def without_partitions(history: GroupHistory) -> Iterator[Episode]:
    """Yield a row for the spares of a group, and one for each subscription to nothing."""
    limits = history.limits
    found = holdings(history)
    idle = [holding for holding in found if holding.is_idle]
    if not idle:
        return
    subscriptions = Counter(key_of(holding.stay) for holding in idle)
    keys = [key for key, _ in subscriptions.most_common(_SUBSCRIPTIONS)]
    spares = Sweep(found, _SPARES_AGE).intervals(
        lambda sweep, _: any(sweep.idle[key] > 0 and sweep.has_holder(key) for key in keys), [None]
    )[None]
    for each in long_ones(bridged(spares, SPARES_BRIDGE), limits[SparesSettings.idle_seconds], history.captured_at):
        yield _episode(SPARES, Subject(), idle, each, limits[SparesSettings.idle_seconds], history)
    nothing = Sweep(found, 0).intervals(lambda sweep, key: sweep.idle[key] > 0 and not sweep.has_holder(key), keys)
    unheld = Sweep(found, 0).intervals(lambda sweep, key: not sweep.has_holder(key), keys)
    tried = list(attempts(history))
    for key, intervals in nothing.items():
        bridges = list(_bridged(intervals, unheld[key], SPARES_BRIDGE))
        for each in long_ones(bridges, limits[NoTopicSettings.idle_seconds], history.captured_at):
            topics, regex = key
            if any(run.topic in topics and _overlaps(run.begin, run.end, each) for run in tried):
                continue  # it exists: `not_initialized` says what its members wait for
            those = [holding for holding in idle if key_of(holding.stay) == key]
            subject = Subject(topics=topics or None, regex=regex)
            episode = _episode(NO_TOPIC, subject, those, each, limits[NoTopicSettings.idle_seconds], history)
            episode.probable_cause = _why(regex, history)
            yield episode


def _bridged(intervals: Iterable[Interval], unheld: Sequence[Interval], pause: int) -> Iterator[Interval]:
    """Yield intervals, pauses bridged in which nobody had a partition: who restarts has none for a moment each time."""
    begins = [each.begin for each in unheld]
    for _, together in groupby(intervals, lambda each: bisect_right(begins, each.begin)):
        yield from bridged(together, pause)


def _why(regex: str | None, history: GroupHistory) -> str:
    if regex is None:
        return "topic_not_there"
    is_resolved = regex in history.rows.resolutions.last
    return "expression_matches_nothing" if is_resolved else "expression_not_resolved"


def _overlaps(begin: int, end: int | None, each: Interval) -> bool:
    return (end is None or end > each.begin) and (each.end is None or begin < each.end)


def _most_at_once(idle: Iterable[Holding], each: Interval) -> int:
    steps = []
    for holding in idle:
        begin = max(holding.begin, each.begin)
        steps.append((begin, 1))
        if holding.end is not None:
            steps.append((max(begin, holding.end), -1))  # two clocks may disagree
    count = most = 0
    for _, by in sorted(steps):
        count += by
        most = max(most, count)
    return most


def _episode(  # noqa: PLR0913, PLR0917
    pattern: Pattern,
    subject: Subject,
    idle: Iterable[Holding],
    each: Interval,
    needed: int,
    history: GroupHistory,
) -> Episode:
    those = [holding for holding in idle if _overlaps(holding.begin, holding.end, each)]
    those.sort(key=lambda holding: (holding.end is not None, -(holding.end or 0), holding.begin))
    clients = sorted({holding.stay.client_id for holding in those if holding.stay.client_id is not None})
    return Episode(
        pattern,
        subject._replace(members=_most_at_once(those, each), clients=tuple(clients[:20])),
        len({holding.stay.member_id for holding in those}),
        each.begin,
        history.captured_at if each.end is None else each.end,
        each.begin + needed,
        each.end,
        history.newest_incarnation,
        evidence=() if each.offset is None else (each.offset,),
        members=frozenset(),
        facts={"who": [holding.stay.subject for holding in those], "undecoded": history.undecoded_since(each.begin)},
    )


def _spares_words(episode: Episode) -> Words:
    """Return the words of `spares`."""
    one = episode.subject.members == 1
    members = f"{'1 member' if one else f'Up to {episode.subject.members} members'}{_named(episode)}"
    does = tense(episode, "has had" if one else "have had", "had")
    sentence = f"{members} {does} no partition for {lasted(episode)}: others have all partitions of their topics."
    return sentence, fewer_step(episode)


def _named(episode: Episode) -> str:
    """Return who the members are, at most as many as there are at once."""
    found = (whom(each, episode.kind) for each in episode.facts.get("who", ()))
    names = [*dict.fromkeys(found)][: episode.subject.members]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" ({', '.join(names[:_NAMED])}{more})" if names else ""


def _no_topic_words(episode: Episode) -> Words:
    """Return the words of `no_topic`."""
    subject, one = episode.subject, episode.subject.members == 1
    members = f"{number(subject.members, 'member')}{_named(episode)}"
    is_regex = subject.regex is not None
    what = f"the expression {subject.regex}" if is_regex else some(subject.topics or ())
    does = tense(episode, "has had" if one else "have had", "had")
    why = {
        "expression_matches_nothing": "it matches no topic",
        "expression_not_resolved": "the broker has not resolved it",
    }.get(episode.probable_cause or "", "no such topic exists")
    sentence = (
        f"{members} with a subscription to {what} {does} no partition for {lasted(episode)}, and no other member has "
        f"a partition of it: {why}, or the client may not see it."
    )
    return sentence, _SPELLING + (_RE2 if is_regex else "")


SPARES: Final = Pattern(
    "spares",
    _spares_words,
    "For `idle_seconds` members have nothing, because others have all partitions of their topics.",
    find=without_partitions,
    limits=SparesSettings.by_name,
    explained_by=("two_applications",),
    severity=INFO,
)
NO_TOPIC: Final = Pattern(
    "no_topic",
    _no_topic_words,
    "For `idle_seconds` a member has nothing, and nobody has a partition of its topics.",
    limits=NoTopicSettings.by_name,
    expected="Every member subscribes to topics that exist",
    about="consumer, classic or share group",
)
