"""The pattern `configurations_differ`: workers of one Connect group have configurations that never become alike.

A worker reads the config topic of its cluster to the end before it joins. One that stays behind the others reads
another topic, as that of a second cluster with the same group id, or cannot read its own. Offsets of a topic do not go
back: if that of the leader's configuration does, the leaders read different topics.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kip848_records.protocol.messages.classic import CONNECT_PROTOCOL_TYPE
from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, of_span
from kip848_records.replay.diagnosis.limits import HOUR, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import some, tense, times
from kip848_records.replay.diagnosis.severity import BY_COST
from kip848_records.replay.group.known_history import OBSERVED
from kip848_records.replay.group.vocabulary import CONFIG_MISMATCH
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words

TWO_TOPICS: Final = "two_config_topics"
BEHIND: Final = "worker_stays_behind"


class Settings(PatternSettings, pattern="configurations_differ"):
    """The limits of `configurations_differ` that users may change."""

    rounds = counted(
        5, "rounds", "A worker that starts, or a connector that is changed, makes one or two, until all have read it."
    )
    within_seconds = seconds(HOUR, "Workers join again at once, or after a worker's sync timeout.")


def configurations_differ(history: GroupHistory) -> Iterator[Episode]:
    """Yield the times in which workers join again and again, because their configurations differ.

    An event is a generation that follows another one for this reason, and does not end it.
    """
    if not history.is_connect:
        return
    generations = [row for row in history.generations if row.protocol_type == CONNECT_PROTOCOL_TYPE]
    events = [
        Event(row.completed_at, row.offset, row)
        for before, row in pairwise(generations)
        if row.cause == CONFIG_MISMATCH and row.history == OBSERVED and row.completed_at is not None
        if row.error or not before.error
    ]
    for span in history.spans(events, Settings.rounds, Settings.within_seconds):
        last = span.events[-1].item
        place = last.incarnation, last.generation
        reads = [each for each in history.rows.config_reads.values() if each.begin <= place <= each.end]
        back = next(
            (each for each in reversed(history.rows.config_backs) if each.place[0] == place[0] and each.place <= place),
            None,
        )
        back_at = None if back is None else _time_of(back.place, history)
        yield of_span(
            PATTERN,
            Subject(),
            span,
            last.incarnation,
            probable_cause=BEHIND if back is None else TWO_TOPICS,
            members=None,
            facts={
                "reads": sorted({(each.read, each.url or "a worker") for each in reads}),
                "back": None if back is None else (back.before, back.now, back_at),
                "assigns_nothing": bool(last.error),
            },
        )


def _time_of(place: tuple[int, int], history: GroupHistory) -> int | None:
    return next((row.completed_at for row in history.generations if (row.incarnation, row.generation) == place), None)


def _words(episode: Episode) -> Words:
    """Return the words of `configurations_differ`."""
    reads: Sequence[tuple[int, str]] = episode.facts["reads"]
    offsets = sorted({offset for offset, _ in reads})
    sides = [(offset, some([url for read, url in reads if read == offset])) for offset in offsets]
    last = sides[0][1] if sides else "the workers that stay behind"
    joined, differ = tense(episode, "join", "joined"), tense(episode, "differ", "differed")
    sentence = (
        f"Workers of this group {joined} again and again, {times(episode)}, because their configurations {differ}."
    )
    if len(sides) > 1:
        read = "; ".join(f"{urls} to {offset}" for offset, urls in sides)
        sentence += f" They have read them to different offsets: {read}."
    if episode.facts["assigns_nothing"]:
        sentence += " The leader cannot read as far as another worker, so it assigns nothing (error 1)."
    if episode.facts["back"] is not None:
        before, now, at = episode.facts["back"]
        when = "" if at is None else f" at {utc_text(utc(at))}"
        sentence += (
            f" The leader's configuration went back{when}, from offset {before} to {now}: the leaders read different "
            "config topics, so two Connect clusters use one group id, or the topic was made anew."
        )
        return sentence, (
            "Compare group.id and config.storage.topic of all workers. Give each Connect cluster a group.id of its "
            f"own: change it for {last}, and restart these workers."
        )
    sentence += " A worker that stays behind reads another config topic, or cannot read its own to the end."
    return sentence, (
        "Compare group.id and config.storage.topic of all workers: those with another topic are another Connect "
        "cluster, and need a group.id of their own. If all have the same, read the log of "
        f"{last} for errors of the config topic."
    )


PATTERN: Final = Pattern(
    "configurations_differ",
    _words,
    "Workers of Connect join again, because the leader's configuration is behind that of a "
    "worker, or a worker stays behind that of the leader, in `rounds` rounds within `within_seconds`.",
    find=configurations_differ,
    limits=Settings.by_name,
    error=BY_COST,
    expected="The workers of a Connect group have one configuration",
    about="Connect cluster",
)
