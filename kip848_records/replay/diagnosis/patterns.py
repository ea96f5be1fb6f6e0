"""All patterns, in the order in which they are looked for and described: a new one is listed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.diagnosis import (
    assignment_error,
    assignment_not_applied,
    configurations_differ,
    consumption,
    coordinator_silent,
    endless_warm_ups,
    everybody_left,
    flips,
    job,
    leaves_and_returns,
    moved_groups,
    not_initialized,
    restart_loop,
    rolling_restart,
    slow_by_habit,
    static_members,
    storm,
    storm_across,
    task_restarts,
    two_applications,
    without_partitions,
)
from kip848_records.replay.diagnosis.limits import ALL_PATTERNS, AllSettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.diagnosis.pattern import Pattern
    from kip848_records.replay.inputs import ChangedLimit

_ALL: Final[tuple[Pattern, ...]] = (
    restart_loop.PATTERN,
    leaves_and_returns.PATTERN,
    static_members.FLAPS,
    static_members.DUPLICATE,
    storm.PATTERN,
    rolling_restart.PATTERN,
    job.PATTERN,
    everybody_left.PATTERN,
    without_partitions.SPARES,
    without_partitions.NO_TOPIC,
    not_initialized.PATTERN,
    slow_by_habit.PATTERN,
    coordinator_silent.PATTERN,
    flips.TOPICS,
    flips.ASSIGNOR,
    two_applications.PATTERN,
    assignment_not_applied.PATTERN,
    configurations_differ.PATTERN,
    endless_warm_ups.PATTERN,
    assignment_error.PATTERN,
    task_restarts.PATTERN,
    consumption.NOT_CONSUMED,
    consumption.BLOCKED,
    consumption.LOST,
    consumption.NEGATIVE,
    consumption.RETENTION,
    consumption.BOTH_WAYS,
    consumption.STALE,
    moved_groups.GREW,
    moved_groups.BEGAN_AGAIN,
    moved_groups.IN_TWO,
    storm_across.PATTERN,
)
ACROSS_GROUPS: Final = storm_across.PATTERN.name
PATTERNS: Final = {pattern.name: pattern for pattern in _ALL}
SETTINGS: Final = {ALL_PATTERNS: AllSettings.by_name} | {pattern.name: pattern.limits for pattern in _ALL}
"""The limits that users may change, by pattern and name."""
RULES: Final = {
    ALL_PATTERNS: "A trouble is over `calm_seconds` after its last event, or later if its events are far apart. "
    "A present one that can be an error is one from `error_share` on.",
} | {pattern.name: pattern.rule for pattern in _ALL}
"""The rule of each pattern, with the names of its limits."""


def changed_patterns(changes: Iterable[ChangedLimit]) -> list[str]:
    """Return the patterns of which a limit is changed, in the order of `SETTINGS`."""
    changed = {each.pattern for each in changes}
    return [pattern for pattern in SETTINGS if pattern in changed]
