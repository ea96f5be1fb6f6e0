"""The pattern `task_restarts`: connectors and tasks of a Connect cluster that move from worker to worker."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.episodes import Episode, Event, Subject, Test, of_span, recognise
from kip848_records.replay.diagnosis.severity import WARNING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kip848_records.replay.diagnosis.group_history import GroupHistory
    from kip848_records.replay.diagnosis.rolling_restart import Rollout

PATTERN: Final = "task_restarts"
_NAMED: Final = 20


def task_restarts(history: GroupHistory, exchanges: Sequence[Rollout] = ()) -> Iterator[Episode]:
    """Yield the times in which a task moves again and again, one row for all tasks together.

    What a rolling restart moves does not count, nor what the leader moves later because it waited for a worker.
    """
    limits = history.limits
    by_task: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for at, offset, connector, task, member_id in history.rows.task_moves:
        if not any(each.began_at <= at <= each.last_at + limits.calm for each in exchanges):
            by_task[connector, task].append(Event(at, offset, (connector, task, member_id)))
    test = Test(limits.task_moves, limits.task_moves_within)
    spans = []
    for events in by_task.values():
        for span in recognise(events, [test], limits, history.captured_at):
            known = [each.at for each in span.events if each.at - span.first_seen >= limits.task_moves_for]
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
            WARNING,
            Subject(what=", ".join(names[:_NAMED]), members=len(tasks)),
            together,
            history.newest_incarnation,
            members=frozenset(event.item[2] for event in together.events if event.item[2] is not None),
            probable_cause="tasks_move",
        )
        spans = rest
