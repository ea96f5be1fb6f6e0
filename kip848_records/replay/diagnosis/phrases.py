"""Phrases that the sentences of several patterns share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.text import duration_text
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.episodes import Episode, Subject

    Words = tuple[str, str]
    """A sentence, and the next step."""


def who(subject: Subject) -> str:
    """Return the name of a subject, as an operator knows it."""
    host = "" if subject.client_host is None else f" @ {subject.client_host.removeprefix('/')}"
    name = f"{subject.client_id or 'a client without client.id'}{host}"
    if subject.instance_id is not None:
        return f"Instance id {subject.instance_id} ({name})"
    if (subject.members_of_that_name or 0) > 1:
        return f"One of {subject.members_of_that_name} members named {name}"
    return name


def lasted(episode: Episode) -> str:
    """Return for how long an episode lasts."""
    return duration_text(episode.last_seen - episode.first_seen)


def times(episode: Episode) -> str:
    """Return how often it happened, and in what time."""
    at_least = "at least " if episode.at_least else ""
    return f"{at_least}{episode.count:,} times in {lasted(episode)}"


def interval(episode: Episode) -> str:
    """Return the usual time from one event to the next."""
    return duration_text(episode.median_interval_ms)


def last_time(episode: Episode) -> str:
    """Return the time of the last event."""
    return utc_text(utc(episode.last_seen))


def tense(episode: Episode, present: str, past: str) -> str:
    """Return one of two forms of a verb."""
    return present if episode.is_present else past
