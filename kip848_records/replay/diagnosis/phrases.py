"""Phrases that the sentences of several patterns share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import KINDS
from kip848_records.text import duration_text
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.replay.diagnosis.episodes import Episode, Subject


_NAMED: Final = 5


def whom(subject: Subject, kind: str) -> str:
    """Return the name of a member of a group of a kind, as an operator knows it."""
    host = "" if subject.client_host is None else f" @ {subject.client_host.removeprefix('/')}"
    name = f"{subject.client_id or 'a client without client.id'}{host}"
    if subject.instance_id is not None:
        return f"instance id {subject.instance_id} ({name})"
    if (subject.members_of_that_name or 0) > 1:
        named = f"named {name}" if subject.client_id else f"without client.id{host}"
        return f"one of {subject.members_of_that_name} {KINDS[kind].member}s {named}"
    return name


def who(episode: Episode) -> str:
    """Return the name of an episode's subject at the start of a sentence: a client id stays as it is."""
    subject, name = episode.subject, whom(episode.subject, episode.kind)
    return name if subject.client_id and name.startswith(subject.client_id) else name[0].upper() + name[1:]


def number(count: int | None, noun: str) -> str:
    """Return a number of things."""
    return f"{count or 0:,} {noun}{'' if count == 1 else 's'}"


def some(names: Sequence[str], count: int | None = None) -> str:
    """Return the first of some names, and how many more there are of them, or of `count`."""
    more = (len(names) if count is None else count) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def lasted(episode: Episode) -> str:
    """Return for how long an episode lasts."""
    return duration_text(episode.last_seen - episode.first_seen)


def times(episode: Episode) -> str:
    """Return how often it happened, and in what time."""
    at_least = "at least " if episode.at_least else ""
    return f"{at_least}{number(episode.count, 'time')} in {lasted(episode)}"


def interval(episode: Episode) -> str:
    """Return the usual time from one event to the next."""
    return duration_text(episode.median_interval_ms)


def first_time(episode: Episode) -> str:
    """Return the time of the first event."""
    return utc_text(utc(episode.first_seen))


def last_time(episode: Episode) -> str:
    """Return the time of the last event."""
    return utc_text(utc(episode.last_seen))


def tense(episode: Episode, present: str, past: str) -> str:
    """Return one of two forms of a verb."""
    return present if episode.is_present else past
