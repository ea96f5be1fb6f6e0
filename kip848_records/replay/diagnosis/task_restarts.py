"""The pattern `task_restarts`: connectors and tasks of a Connect cluster that move from worker to worker."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, of_span
from kip848_records.replay.diagnosis.limits import HOUR, MINUTE, AllSettings, PatternSettings, counted, seconds
from kip848_records.replay.diagnosis.pattern import Pattern
from kip848_records.replay.diagnosis.phrases import last_time, some, tense, times
from kip848_records.replay.diagnosis.rolling_restart import rollouts
from kip848_records.replay.diagnosis.storm import LOOPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.pattern import Words

_NAMED: Final = 20


class Settings(PatternSettings, pattern="task_restarts"):
    """The limits of `task_restarts` that users may change."""

    moves = counted(10, "moves", "A crash of a worker moves a task away and back: five crashes, as of processes.")
    within_seconds = seconds(HOUR, "As of processes.")
    lasts_seconds = seconds(
        30 * MINUTE, "Some crashes in a rollout of workers move tasks as often, and are over sooner."
    )


def task_restarts(history: GroupHistory) -> Iterator[Episode]:
    """Yield the times in which a task moves again and again, one row for all tasks together.

    What a rolling restart moves does not count, nor what the leader moves later because it waited for a worker.
    """
    limits = history.limits
    by_task: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for at, offset, connector, task, member_id in history.rows.task_moves:
        if not any(
            each.began_at <= at <= each.last_at + limits[AllSettings.calm_seconds] for each in history.once(rollouts)
        ):
            by_task[connector, task].append(Event(at, offset, (connector, task, member_id)))
    spans = []
    for events in by_task.values():
        for span in history.spans(events, Settings.moves, Settings.within_seconds):
            known = [each.at for each in span.events if each.at - span.first_seen >= limits[Settings.lasts_seconds]]
            if known:
                span.recognized_at = max(span.recognized_at, known[0])
                spans.append(span)
    spans.sort(key=lambda span: span.first_seen)
    while spans:
        together, *others = spans
        rest = []
        for each in others:
            end = history.captured_at if together.ended_at is None else together.ended_at
            if each.first_seen > end:
                rest.append(each)
                continue
            together.events += each.events
            together.last_seen = max(together.last_seen, each.last_seen)
            together.recognized_at = min(together.recognized_at, each.recognized_at)
            is_over = together.ended_at is not None and each.ended_at is not None
            together.ended_at = max(together.ended_at or 0, each.ended_at or 0) if is_over else None
        together.events.sort(key=lambda event: event[:2])
        tasks = sorted({event.item[:2] for event in together.events})
        names = tuple(f"{connector}-{task}" if task >= 0 else connector for connector, task in tasks)
        yield of_span(
            PATTERN,
            Subject(what=", ".join(names[:_NAMED]), members=len(tasks)),
            together,
            history.newest_incarnation,
            members=frozenset(event.item[2] for event in together.events if event.item[2] is not None),
            probable_cause="tasks_move",
        )
        spans = rest


def _words(episode: Episode) -> Words:
    """Return the words of `task_restarts`."""
    does = tense(episode, "move", "moved")
    tasks = some((episode.subject.what or "").split(", "), episode.subject.members)
    return (
        f"Connect tasks {does} from worker to worker, {times(episode)}: {tasks}.",
        f"Read the workers' logs at {last_time(episode)}: which worker ends, or which task fails?",
    )


PATTERN: Final = Pattern(
    "task_restarts",
    _words,
    "A connector or task moves `moves` times within `within_seconds`, and still does after `lasts_seconds`.",
    find=task_restarts,
    limits=Settings.by_name,
    explained_by=("storm", *LOOPS),
    expected="No task of Connect moves from worker to worker over and over",
    about="Connect cluster",
)
