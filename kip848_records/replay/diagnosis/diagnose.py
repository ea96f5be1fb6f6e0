"""The diagnosis of one group: all patterns over its rows, with cost, severity, precedence and words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis.cost import add_bill, add_costs
from kip848_records.replay.diagnosis.group_history import GroupHistory
from kip848_records.replay.diagnosis.limits import MINUTE, AllSettings, limits_of
from kip848_records.replay.diagnosis.outline import outline
from kip848_records.replay.diagnosis.patterns import PATTERNS
from kip848_records.replay.diagnosis.precedence import explain
from kip848_records.replay.diagnosis.severity import BY_COST, ERROR, WARNING, WHILE_PRESENT
from kip848_records.replay.diagnosis.storm_across import PATTERN as ACROSS
from kip848_records.replay.diagnosis.storm_across import Begin, Outline, storms_across

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.replay.diagnosis.episodes import Episode
    from kip848_records.replay.diagnosis.limits import Limits
    from kip848_records.replay.diagnosis.observed import ObservedRows
    from kip848_records.replay.diagnosis.storm_across import GroupKey
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.inputs import ChangedLimit, ReplayInputs
    from kip848_records.replay.rows import Row

_CUT_HISTORY: Final = 10 * MINUTE
"""A trouble that began so soon after the history's begin may have begun before it."""


def history_of(context: Context, inputs: ReplayInputs, observed: ObservedRows) -> GroupHistory | None:
    """Return what the patterns know of a group; None if its time is not known: it has no diagnosis."""
    if context.captured_at is None:
        return None
    state = observed.state
    return GroupHistory(
        observed,
        context.captured_at,
        limits_of(inputs.limits, context.group_id),
        known_since=observed.lost_until or (None if state is None else state.known_since),
        partition=context.partition,
        partition_last_at=inputs.newest.get(context.partition),
        newest_at=max(inputs.newest.values(), default=None),
    )


def diagnoses(context: Context, history: GroupHistory, episodes: Iterable[Episode]) -> Iterator[Row]:
    """Yield the rows of `diagnosis` of a group, and its outline. `episodes`: those of its history."""
    for episode in episodes:
        yield episode.row(context.group_id, context.partition)
    yield outline(history, context.group_id)


def across_groups(
    outlines: Iterable[Row], captured_at: int | None, changes: Sequence[ChangedLimit] = ()
) -> Iterator[Row]:
    """Yield the rows of `diagnosis` of many groups together, from the outlines of all groups."""
    limits = limits_of(changes, None)
    if ACROSS.name in limits.off:
        return
    groups: dict[GroupKey, Outline] = {}
    begins: list[Begin] = []
    for row in outlines:
        hosts, topics = frozenset(row.hosts), frozenset(row.topics)
        key = row.group_id, row.partition
        groups[key] = Outline(row.partition, row.run_begins, row.run_ends, hosts, topics)
        begins += [Begin(at, key, frozenset(hosts), by_topics) for at, _, hosts, by_topics in row.begins]
    for episode in storms_across(groups, begins, limits, captured_at):
        yield episode.row(None, None)


def episodes_of(history: GroupHistory) -> list[Episode]:
    """Return the troubles of a group over all of its history.

    What a pattern that is switched off costs and explains is still its own: no other pattern tells it.
    """
    episodes = history.found = []
    for pattern in PATTERNS.values():
        if pattern.find is not None:
            episodes.extend(list(pattern.find(history)))
    claims = add_costs(episodes, history)
    explain(episodes)
    since = history.known_since
    for episode in episodes:
        episode.kind = history.kind_at(episode.last_seen)
        episode.severity = _severity(episode, history.limits)
        episode.at_least = since is not None and episode.first_seen - since < _CUT_HISTORY
    add_bill(claims, history)
    return [episode for episode in episodes if episode.pattern not in history.limits.off]


def _severity(episode: Episode, limits: Limits) -> str:
    """Return the severity: a present episode is an error by what it costs; a past one is a warning at most."""
    if episode.severity != WARNING or not episode.is_present:
        return episode.severity
    if episode.of.error == WHILE_PRESENT:
        return ERROR
    is_costly = episode.cost_share is not None and episode.cost_share >= limits[AllSettings.error_share]
    return ERROR if is_costly and episode.of.error == BY_COST else WARNING
