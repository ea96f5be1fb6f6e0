"""The pattern `assignment_error`: the leader of a classic group answers its members with an error, and they stop.

The assignor of Kafka Streams and Schema Registry write an error into assignments. That of Connect lasts for a moment in
healthy clusters too: see `configurations_differ`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE, SCHEMA_REGISTRY_PROTOCOL_TYPE
from kip848_records.replay.diagnosis.episodes import Episode, Event, Span, Subject, of_span
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import first_time, some, times, whom

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.observed import Generation
    from kip848_records.replay.diagnosis.pattern import Words

DUPLICATE_URLS: Final = "duplicate_urls"
SOURCE_TOPIC_MISSING: Final = "source_topic_missing"
ASSIGNOR_FAILED: Final = "assignor_failed"
SHUTDOWN_REQUESTED: Final = "shutdown_requested"
UNKNOWN_ERROR: Final = "unknown_error"

_CAUSES: Final[Mapping[str, Mapping[int, str | None]]] = {
    CONSUMER_PROTOCOL_TYPE: {
        1: SOURCE_TOPIC_MISSING,
        2: None,  # members of several versions, in a deployment: they agree on one, and go on
        3: ASSIGNOR_FAILED,
        4: SHUTDOWN_REQUESTED,
    },
    SCHEMA_REGISTRY_PROTOCOL_TYPE: {1: DUPLICATE_URLS},
}
"""The causes by protocol type and error; None: no trouble."""


def assignment_error(history: GroupHistory) -> Iterator[Episode]:
    """Yield a row for each time in which all assignments have the same error."""
    rows: list[Generation] = []
    for row in history.generations:
        if rows and (_cause(row) != _cause(rows[-1]) or row.incarnation != rows[-1].incarnation):
            yield _episode(rows, row.completed_at or row.joined_at, history)
            rows = []
        if _cause(row) is not None and row.completed_at is not None:
            rows.append(row)
    if rows:
        yield _episode(rows, rows[-1].ended_at, history)


def _cause(row: Generation) -> str | None:
    causes = _CAUSES.get(row.protocol_type or "")
    return causes.get(row.error, UNKNOWN_ERROR) if causes and row.error else None


def _episode(rows: list[Generation], ended_at: int | None, history: GroupHistory) -> Episode:
    events = [Event(row.completed_at or 0, row.offset) for row in rows]
    first, last = events[0].at, events[-1].at
    leader = history.last_stay(rows[-1].leader)
    cause = _cause(rows[-1])
    return of_span(
        PATTERN,
        Subject(),
        Span(events, first, last, first, set(), ended_at),
        rows[-1].incarnation,
        probable_cause=cause,
        members=None,
        facts={
            "error": rows[-1].error,
            "leader": None if leader is None else leader.subject,
            "urls": _shared_urls(last, history) if cause == DUPLICATE_URLS else (),
        },
    )


def _shared_urls(at: int, history: GroupHistory) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the URLs that several members announce at a time, with the hosts or else the ids of these members."""
    there = {
        stay.member_id: (stay.host or stay.member_id).removeprefix("/")
        for stay in history.stays
        if (stay.joined_at is None or stay.joined_at <= at) and (stay.left_at is None or stay.left_at > at)
    }
    counts = Counter(url for member_id, url in history.rows.urls.items() if member_id in there)
    return tuple(
        (url, tuple(sorted(there[each] for each, its in history.rows.urls.items() if its == url and each in there)))
        for url, count in sorted(counts.items())
        if count > 1
    )


def _words(episode: Episode) -> Words:
    """Return the words of `assignment_error`."""
    leader = episode.facts["leader"]
    name = "the leader" if leader is None else f"the leader, {whom(leader, episode.kind)}"
    answered = f"{name[0].upper()}{name[1:]}, answered all members with an error"
    if leader is None:
        answered = "The leader answered all members with an error"
    answered += f", {times(episode)}, " if episode.count > 1 else f" at {first_time(episode)}, "
    cause = episode.probable_cause
    if cause == DUPLICATE_URLS:
        shared = "; ".join(f"{url} by {some(members)}" for url, members in episode.facts["urls"])
        sentence = (
            f"{answered}because several instances of Schema Registry announce one URL"
            f"{f': {shared}' if shared else ''}. Each of them stops with an error."
        )
        return sentence, "Set host.name, or listeners, of each instance to an address by which the others reach it."
    if cause == SOURCE_TOPIC_MISSING:
        sentence = (
            f"{answered}because a source topic of this application of Kafka Streams is missing. Each thread stops."
        )
        return (
            sentence,
            f"Read the log of {name} for the topic that is missing. Create it, and restart the application.",
        )
    if cause == SHUTDOWN_REQUESTED:
        sentence = f"{answered}because a client of this application of Kafka Streams asked for the shutdown of all."
        return sentence, (
            "Read the logs of all clients for the first uncaught exception: its handler answered SHUTDOWN_APPLICATION. "
            "Restart the application when that is mended."
        )
    if cause == ASSIGNOR_FAILED:
        sentence = f"{answered}because its assignor of Kafka Streams failed. Each thread stops."
        return sentence, f"Read the log of {name} for the exception of its assignor."
    sentence = f"{answered}number {episode.facts['error']}, which this version of kip848 does not know."
    return sentence, f"Read the log of {name} at that time."


PATTERN: Final = Pattern(
    "assignment_error",
    _words,
    "The assignments of a generation have an error: of the assignor of Kafka Streams, or of Schema Registry.",
    find=assignment_error,
    expected="The leader of a group answers its members without an error",
    about="application of Kafka Streams in a classic group, or group of Schema Registry",
)
