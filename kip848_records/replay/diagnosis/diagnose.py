"""The diagnosis of one group: all patterns over its rows, with cost, severity, precedence and words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.diagnosis.cost import add_costs
from kip848_records.replay.diagnosis.everybody_left import everybody_left
from kip848_records.replay.diagnosis.coordinator_silent import coordinator_silent
from kip848_records.replay.diagnosis.flips import assignor_flip, flapping_topics
from kip848_records.replay.diagnosis.job import job_episode, jobs
from kip848_records.replay.diagnosis.leaves_and_returns import leaves_and_returns
from kip848_records.replay.diagnosis.precedence import explain
from kip848_records.replay.diagnosis.restart_loop import restart_loops
from kip848_records.replay.diagnosis.rolling_restart import rolling_restart, rollouts
from kip848_records.replay.diagnosis.severity import severity
from kip848_records.replay.diagnosis.slow_by_habit import slow_by_habit
from kip848_records.replay.diagnosis.static_members import static_member_flaps
from kip848_records.replay.diagnosis.storm import storms
from kip848_records.replay.diagnosis.task_restarts import task_restarts
from kip848_records.replay.diagnosis.two_applications import two_applications
from kip848_records.replay.diagnosis.without_partitions import without_partitions

if TYPE_CHECKING:
    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.group_history import GroupHistory


def episodes_of(history: GroupHistory) -> list[Episode]:
    """Return the troubles of a group over all of its history."""
    timetables = jobs(history)
    exchanges = rollouts(history)
    exchanged = frozenset(stay for rollout in exchanges for stay in rollout.gone)
    loops = [
        *restart_loops(history, timetables),
        *leaves_and_returns(history),
        *static_member_flaps(history, exchanged),
    ]
    episodes = [
        *loops,
        *storms(history, loops, exchanged),
        *map(rolling_restart, exchanges),
        *(job_episode(job, history) for job in timetables),
        *everybody_left(history, timetables),
        *without_partitions(history),
        *slow_by_habit(history),
        *coordinator_silent(history),
        *flapping_topics(history),
        *assignor_flip(history),
        *two_applications(history),
        *task_restarts(history),
    ]
    add_costs(episodes, history)
    explain(episodes)
    since = history.known_since
    for episode in episodes:
        episode.severity = severity(episode, history.limits)
        episode.at_least = since is not None and episode.first_seen - since < history.limits.cut_history
    return episodes
