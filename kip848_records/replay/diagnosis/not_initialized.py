"""The pattern `not_initialized`: a share group's coordinator tries to initialize a topic, and never succeeds.

The coordinator writes the partitions as initializing, asks the share coordinator to begin their state in
`__share_group_state`, and takes them back if that fails; the next heartbeat begins another attempt. Members get
initialized partitions only, and a topic that is being initialized exists.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.diagnosis.episodes import Episode, Subject, some_offsets
from kip848_records.replay.diagnosis.intervals import together
from kip848_records.replay.diagnosis.limits import MINUTE, PatternSettings, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import lasted, number, some, tense
from kip848_records.replay.group.vocabulary import INITIALIZED, INITIALIZING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.observed import ShareState
    from kip848_records.replay.diagnosis.pattern import Words


_ATTEMPTS_PAUSE: Final = 5 * MINUTE
"""An attempt that failed is followed by another with one of the next heartbeats."""


class Settings(PatternSettings, pattern="not_initialized"):
    """The limits of `not_initialized` that users may change."""

    initializing_seconds = seconds(
        5 * MINUTE,
        "The coordinator tries again with the members' heartbeats: a broker that was restarted is back sooner.",
    )


class Attempts(NamedTuple):
    """Attempts to initialize a topic that follow one another, from the first (ms); `end`: None while they go on."""

    topic: str
    begin: int
    end: int | None
    offsets: tuple[int, ...]


def not_initialized(history: GroupHistory) -> Iterator[Episode]:
    """Yield the topics that are not initialized for a long time, a row for each; the time counts over all attempts."""
    limits = history.limits
    for run in attempts(history):
        last = history.captured_at if run.end is None else run.end
        if last - run.begin < limits[Settings.initializing_seconds]:
            continue
        subscribed = [
            stay for stay in history.stays if run.topic in stay.topics and _was_there(stay.left_at, run.begin)
        ]
        yield Episode(
            PATTERN,
            Subject(topics=(run.topic,), members=len({stay.member_id for stay in subscribed})),
            len(run.offsets),
            run.begin,
            last,
            run.begin + limits[Settings.initializing_seconds],
            run.end,
            history.newest_incarnation,
            evidence=some_offsets(run.offsets),
            probable_cause="attempts_fail" if len(run.offsets) > 1 else "attempt_lasts",
            members=frozenset(),
        )


def attempts(history: GroupHistory) -> Iterator[Attempts]:
    """Yield the attempts to initialize each topic, those together that follow one another until one succeeds."""
    by_topic: dict[str, list[ShareState]] = defaultdict(list)
    done: set[tuple[str, int | None]] = set()
    for row in history.rows.share_states:
        if row.state == INITIALIZING:
            by_topic[row.topic].append(row)
        elif row.state == INITIALIZED:
            done.add((row.topic, row.from_at))

    def goes_on(before: Sequence[ShareState], row: ShareState) -> bool:
        return not _is_over(before[-1], done) and row.from_at - (before[-1].to_at or 0) <= _ATTEMPTS_PAUSE

    for topic, rows in by_topic.items():
        for run in together(sorted(rows, key=lambda each: each.from_offset), goes_on):
            yield _attempts(topic, run, done, history)


def _attempts(
    topic: str, run: Sequence[ShareState], done: set[tuple[str, int | None]], history: GroupHistory
) -> Attempts:
    end = run[-1].to_at
    if end is not None and not _is_over(run[-1], done) and history.captured_at - end <= _ATTEMPTS_PAUSE:
        end = None  # the next attempt has not begun
    return Attempts(topic, run[0].from_at, end, tuple(row.from_offset for row in run))


def _is_over(row: ShareState, done: set[tuple[str, int | None]]) -> bool:
    """Return whether an attempt ended because partitions of the topic were initialized."""
    return row.to_at is not None and (row.topic, row.to_at) in done


def _was_there(left_at: int | None, since: int) -> bool:
    return left_at is None or left_at >= since


def _words(episode: Episode) -> Words:
    """Return the words of `not_initialized`."""
    topics, one = some(episode.subject.topics or ()), episode.subject.members == 1
    has = tense(episode, "has tried to initialize", "tried to initialize")
    tried = f"in {number(episode.count, 'attempt')}" if episode.count > 1 else "in one attempt"
    reads = f"{number(episode.subject.members, 'member')} {'subscribes' if one else 'subscribe'} to it"
    sentence = (
        f"The coordinator {has} partitions of {topics} for this share group for {lasted(episode)}, {tried}, without "
        f"success. {reads}, and no member gets a partition that is not initialized. The topic exists."
    )
    step = (
        "Look at the topic __share_group_state: do its partitions have a leader, and do as many brokers live as its "
        "replication factor (share.coordinator.state.topic.replication.factor) and min.insync.replicas "
        "(share.coordinator.state.topic.min.isr) ask for? Read the broker's log for errors of the share coordinator."
    )
    return sentence, step


PATTERN: Final = Pattern(
    "not_initialized",
    _words,
    "For `initializing_seconds` the coordinator of a share group has tried to initialize partitions "
    "of a topic, in one attempt or several, without success.",
    find=not_initialized,
    limits=Settings.by_name,
    expected="The topics of a share group become ready",
)
