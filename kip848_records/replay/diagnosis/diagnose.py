"""The diagnosis of one group: all patterns over its rows, with cost, severity, precedence and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.changed_limits import limits_of
from kip848_records.replay.diagnosis.coordinator_silent import coordinator_silent
from kip848_records.replay.diagnosis.cost import add_bill, add_costs
from kip848_records.replay.diagnosis.everybody_left import everybody_left
from kip848_records.replay.diagnosis.flips import assignor_flip, flapping_topics
from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.job import job_episode, jobs
from kip848_records.replay.diagnosis.leaves_and_returns import leaves_and_returns
from kip848_records.replay.diagnosis.outline import outline
from kip848_records.replay.diagnosis.precedence import explain
from kip848_records.replay.diagnosis.restart_loop import restart_loops
from kip848_records.replay.diagnosis.rolling_restart import rolling_restart, rollouts
from kip848_records.replay.diagnosis.sentences import words
from kip848_records.replay.diagnosis.severity import severity
from kip848_records.replay.diagnosis.slow_by_habit import slow_by_habit
from kip848_records.replay.diagnosis.static_members import static_member_flaps
from kip848_records.replay.diagnosis.storm import storms
from kip848_records.replay.diagnosis.storm_across import PATTERN as ACROSS
from kip848_records.replay.diagnosis.storm_across import Begin, Outline, storms_across
from kip848_records.replay.diagnosis.task_restarts import task_restarts
from kip848_records.replay.diagnosis.two_applications import two_applications
from kip848_records.replay.diagnosis.without_partitions import without_partitions
from kip848_records.replay.rows import Diagnosis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.changed_limits import ChangedLimit
    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.observed import ObservedRows
    from kip848_records.replay.diagnosis.storm_across import GroupKey
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.inputs import ReplayInputs
    from kip848_records.replay.rows import Row

_MADE: Final = frozenset({"group_id", "partition", "subject", "is_present", "sentence", "next_step"})
_OF_EPISODE: Final = tuple(name for name in Diagnosis._fields if name not in _MADE)


def diagnoses(context: Context, inputs: ReplayInputs, observed: ObservedRows) -> Iterator[Row]:
    """Yield the rows of `diagnosis` of a group, and its outline; none if its time is not known."""
    if context.captured_at is None:
        return
    state = observed.state
    history = GroupHistory(
        observed,
        context.captured_at,
        limits_of(inputs.limits, context.group_id),
        known_since=observed.lost_until or (None if state is None else state.known_since),
        partition=context.partition,
        partition_last_at=inputs.newest.get(context.partition),
        newest_at=max(inputs.newest.values(), default=None),
    )
    for episode in episodes_of(history):
        yield row_of(episode, context.group_id, context.partition)
    yield outline(history, context.group_id)


def row_of(episode: Episode, group_id: str | None, partition: int | None) -> Row:
    """Return the row of an episode."""
    sentence, next_step = words(episode)
    values = {name: getattr(episode, name) for name in _OF_EPISODE}
    return Diagnosis(
        **values,
        group_id=group_id,
        partition=partition,
        subject=tuple(episode.subject),
        is_present=episode.is_present,
        sentence=sentence,
        next_step=next_step,
    )


def across_groups(
    outlines: Iterable[Row], captured_at: int | None, changes: Sequence[ChangedLimit] = ()
) -> Iterator[Row]:
    """Yield the rows of `diagnosis` of many groups together, from the outlines of all groups."""
    limits = limits_of(changes, None)
    if ACROSS in limits.off:
        return
    groups: dict[GroupKey, Outline] = {}
    begins: list[Begin] = []
    for row in outlines:
        hosts, topics = frozenset(row.hosts), frozenset(row.topics)
        key = row.group_id, row.partition
        groups[key] = Outline(row.partition, row.run_begins, row.run_ends, hosts, topics)
        begins += [Begin(at, key, frozenset(hosts), by_topics) for at, _, hosts, by_topics in row.begins]
    for episode in storms_across(groups, begins, limits, captured_at):
        yield row_of(episode, None, None)


def episodes_of(history: GroupHistory) -> list[Episode]:
    """Return the troubles of a group over all of its history.

    What a pattern that is switched off costs and explains is still its own: no other pattern tells it.
    """
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
        *storms(history, loops, exchanges),
        *map(rolling_restart, exchanges),
        *(job_episode(job, history) for job in timetables),
        *everybody_left(history, timetables),
        *without_partitions(history),
        *slow_by_habit(history),
        *coordinator_silent(history),
        *flapping_topics(history),
        *assignor_flip(history),
        *two_applications(history),
        *task_restarts(history, exchanges),
    ]
    claims = add_costs(episodes, history)
    explain(episodes)
    since = history.known_since
    for episode in episodes:
        episode.kind = history.kind_at(episode.last_seen)
        episode.severity = severity(episode, history.limits)
        episode.at_least = since is not None and episode.first_seen - since < history.limits.cut_history
    add_bill(claims, history)
    return [episode for episode in episodes if episode.pattern not in history.limits.off]
