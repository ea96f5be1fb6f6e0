"""The limits of the patterns, each with its reason. Times are in ms.

`settings.py` has the reasons of those that a user may change.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SECOND: Final = 1000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR


class Limits(NamedTuple):
    """What makes a pattern, in one group. A field's comment gives the reason for its value.

    `off`: the patterns of which the group gets no rows.
    """

    off: frozenset[str] = frozenset()

    # Episodes
    calm: int = 10 * MINUTE
    calm_gaps: int = 3
    """An episode ends after so many times its usual gap: one that is missing is chance, three are not."""
    cut_history: int = 10 * MINUTE
    """What began so soon after the history's begin may have begun before."""

    # Members that stay for a short time
    corpse: int = 60 * SECOND
    """The longest session of consumer, share and streams members that brokers allow by default."""
    shortest_session: int = 45 * SECOND
    """The shortest session of consumer, share and streams members that brokers allow by default."""
    classic_corpse: int = 15 * SECOND
    """What a classic member's session timeout takes longer to notice."""
    longest_corpse: int = 10 * MINUTE
    """Session timeouts of hours exist; a corpse of hours would explain everything."""
    short_stay: int = 10 * MINUTE
    short_stays: int = 5
    short_stays_within: int = HOUR
    leaking_stay: int = 30 * MINUTE
    leaking_within: int = 3 * HOUR
    restart_pause: int = 330 * SECOND
    replaced_pause: int = 3 * MINUTE
    poll_timeouts: int = 3
    poll_share: float = 0.9
    """Share of the stays that a poll timeout must explain."""
    poll_shortest: float = 0.95
    """A missed poll never ends a stay before max.poll.interval.ms; heartbeats round."""
    poll_longest: float = 1.10
    poll_slack: int = 10 * SECOND
    poll_window: int = 2 * HOUR
    poll_window_timeouts: int = 6
    longest_window: int = DAY
    """Timeouts of 2^31-1 ms exist."""
    returns: int = 3
    returns_within: int = 2 * HOUR
    empty_together: int = MINUTE

    # Static members
    flaps: int = 5
    flaps_within: int = 3 * HOUR
    same_member_share: float = 0.8
    duplicate_interval: int = 90 * SECOND

    # Many members at once
    storm_age: int = HOUR
    storm_moments: int = 20
    storm_within: int = HOUR
    storm_moment: int = 30 * SECOND
    """Ends of one scale-down."""
    storm_name_share: float = 0.5
    storm_new_share: float = 0.8
    storm_subjects: int = 3
    storm_near_empty: int = MINUTE

    # Rollouts
    rollout_old: int = 10 * MINUTE
    rollout_recent: int = 30 * MINUTE
    """Of members of the last 30 min, others are older: surge and blue-green deployments start the new ones first."""
    rollout_share: float = 0.8
    rollout_size_share: float = 0.2
    rollout_newcomers_leave: float = 0.1
    rollout_pause: int = 20 * MINUTE
    rollout_pause_gaps: int = 3
    rollout_longest_pause: int = HOUR
    rollout_empty: int = 5 * MINUTE
    rollout_repeats: int = 2
    """A release is taken back, and comes again mended; members that are replaced without end have a storm."""

    # Groups without members
    bridge: int = 5 * SECOND
    """A run goes on over a pause so short: the last process was replaced."""
    job_runs: int = 4
    job_share: float = 0.8
    job_phase: int = 30 * SECOND
    job_phase_share: float = 0.05
    job_longest_phase_share: float = 0.1
    """With 30 s on both sides, any start fits a period of a minute."""
    job_longest_phase: int = 30 * MINUTE
    job_daily: int = 20 * HOUR
    job_run_share: float = 0.95
    left_for: int = 10 * MINUTE
    left_pauses: int = 2
    left_run: int = HOUR
    left_long_run: int = 4 * HOUR
    left_known: int = 7 * DAY

    # Members without partitions
    spares_for: int = 4 * HOUR
    spares_age: int = 10 * MINUTE
    """A process that restarts has nothing for a moment each time: a stay counts from here on."""
    spares_bridge: int = 5 * MINUTE
    no_topic_for: int = 10 * MINUTE

    # Slow, silent, to and fro
    slow_revocation: int = 10 * SECOND
    slow_revocations: int = 5
    slow_within: int = DAY
    slow_share: float = 0.75
    """If so many of its revocations are slow, that is a habit."""
    slow_times: int = 3
    slow_others: int = 3
    silent_for: int = 2 * MINUTE
    old_copy: int = 2 * MINUTE
    """A busy log has a record in each partition more often."""
    topic_flaps: int = 3
    topic_flaps_within: int = 3 * HOUR
    topic_calm: int = HOUR
    assignor_flips: int = 3
    assignor_flips_within: int = DAY
    applications_for: int = 10 * MINUTE
    task_moves: int = 10
    task_moves_within: int = HOUR
    task_moves_for: int = 30 * MINUTE

    # Committed offsets
    min_silence: int = 0
    """0: the owner's rebalance timeout."""
    lost_for: int = DAY

    # Many groups at once
    across_run: int = 10 * MINUTE
    """A group that has just begun to have members rebalances for that."""
    across_empty: int = 5 * MINUTE
    """Members that are back so soon had not ended."""
    across_calm: int = HOUR
    across_others: int = 6
    """A group that rebalances so often in an hour has a trouble of its own."""
    across_within: int = MINUTE
    across_groups: int = 5
    across_times: int = 5
    across_share: float = 0.2
    across_more: int = 2
    """So many times the groups of a storm are told as info, though they share nothing."""
    across_in_common: float = 0.5
    across_times_in_common: int = 2

    # Cost
    cost_before: int = MINUTE
    cost_after: int = 90 * SECOND
    cost_error: float = 0.10


DEFAULTS: Final = Limits()
