"""The limits that users may change: what they mean, and the reasons for the defaults.

The other fields of `Limits` say how a log is read, which no operator can judge better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.diagnosis.limits import DEFAULTS, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

ENABLED: Final = "enabled"
ALL_PATTERNS: Final = "all_patterns"
"""What stands in place of a pattern for limits that all have."""
ACROSS_GROUPS: Final = "storm_across"

SECONDS: Final = "seconds"
SHARE: Final = "share"


class LimitSetting(NamedTuple):
    """A limit that users may change.

    `field`: of `Limits`. `unit`: `SECONDS`, `SHARE` (from 0 to 1), or what a whole number counts. `least`: the smallest
    value; what is to come again and again comes twice at least.
    """

    field: str
    unit: str
    reason: str
    least: int = 0

    @property
    def default(self) -> float:
        """The default, in the unit of the setting."""
        value: float = getattr(DEFAULTS, self.field)
        return value // SECOND if self.unit == SECONDS else value

    def value(self, given: float) -> float:
        """Return a value in the unit of the setting as that of `Limits`, where times are in ms."""
        return round(given * SECOND) if self.unit == SECONDS else given if self.unit == SHARE else int(given)


def _times(field: str, unit: str, reason: str, least: int = 2) -> LimitSetting:
    return LimitSetting(field, unit, reason, least)


def _seconds(field: str, reason: str) -> LimitSetting:
    return LimitSetting(field, SECONDS, reason)


SETTINGS: Final[Mapping[str, Mapping[str, LimitSetting]]] = {
    ALL_PATTERNS: {
        "calm_seconds": _seconds(
            "calm",
            "A trouble goes on for at least so long without an event, so that two of them are one. Two restarts of a "
            "Kubernetes pod are up to 5 min apart.",
        ),
        "error_share": LimitSetting(
            "cost_error",
            SHARE,
            "A present `restart_loop`, `leaves_and_returns`, `static_member_flaps` or `storm` is an error from this "
            "share of the group's work on (`cost_share`). An operator is called if a tenth is lost.",
        ),
    },
    "restart_loop": {
        "short_stays": _times(
            "short_stays", "stays", "A process that is started once more, or a deployment that is tried, has fewer."
        ),
        "short_stay_seconds": _seconds("short_stay", "A process that worked for longer has started well."),
        "within_seconds": _seconds("short_stays_within", "A restart each 12 min is still a loop; people come by less."),
        "leaking_stay_seconds": _seconds(
            "leaking_stay",
            "Memory leaks take tens of minutes to kill a process. As many stays of at most this length count while "
            "other members stay for longer.",
        ),
        "leaking_within_seconds": _seconds("leaking_within", "Five stays of 30 min, and the pauses between them."),
        "poll_timeouts": _times(
            "poll_timeouts",
            "stays",
            "Stays of a classic member that end at its rebalance timeout, which is max.poll.interval.ms. Chance does "
            "not end three of them there.",
        ),
        "poll_timeouts_within_seconds": _seconds(
            "poll_window",
            "Consumers miss a poll when the work is heavy, not all the time. Six rebalance timeouts, at most a day, if "
            "that is longer.",
        ),
        "restart_pause_seconds": _seconds(
            "restart_pause",
            "A process of the same name comes so soon after the last one. Kubernetes waits at most 5 min before it "
            "starts a container again; longer pauses are jobs and people.",
        ),
        "replaced_pause_seconds": _seconds(
            "replaced_pause",
            "A process of a new name, such as a new pod, comes so soon after the last one: scheduling takes less.",
        ),
    },
    "leaves_and_returns": {
        "returns": _times("returns", "returns", "A member returns once after a bad moment of the network."),
        "within_seconds": _seconds(
            "returns_within",
            "Consumers miss a poll when the work is heavy, not all the time. Six rebalance timeouts, at most a day, if "
            "that is longer.",
        ),
    },
    "static_member_flaps": {
        "flaps": _times(
            "flaps",
            "ends",
            "A release that is taken back, and comes again, restarts a member three times. Also of "
            "`duplicate_instance_id`.",
        ),
        "within_seconds": _seconds("flaps_within", "A restart each half hour. Also of `duplicate_instance_id`."),
    },
    "duplicate_instance_id": {
        "interval_seconds": _seconds(
            "duplicate_interval",
            "The median time from one holder to the next: a start of 30 s and a supervisor's pause of 60 s. Who is "
            "replaced less often has `static_member_flaps`.",
        ),
    },
    "storm": {
        "moments": _times("storm_moments", "moments", "One each 3 min. What comes within 30 s is one moment."),
        "within_seconds": _seconds("storm_within", "Scaling up and down in the morning takes less."),
        "young_seconds": _seconds("storm_age", "Only members that leave so soon count: others did their work."),
        "subjects": _times(
            "storm_subjects", "subjects", "So many members that do not stay at once have one cause, not three."
        ),
    },
    "rolling_restart": {
        "old_seconds": _seconds("rollout_old", "A rollout exchanges members that have been there for so long."),
        "pause_seconds": _seconds(
            "rollout_pause",
            "A rollout that waits for longer was given up. Three of its usual pauses, at most an hour, if that is "
            "longer.",
        ),
    },
    "job": {
        "runs": _times("job_runs", "runs", "Three starts fit a timetable by chance, four hardly.", least=3),
    },
    "everybody_left": {
        "empty_seconds": _seconds(
            "left_for",
            "Deployments and restarts of all members are over sooner. Twice the group's longest pause, if that is "
            "longer.",
        ),
        "members_seconds": _seconds("left_run", "A console or a developer's consumer does not run for so long."),
        "warning_members_seconds": _seconds(
            "left_long_run", "Info if the group had members for less: it was a try, or a batch."
        ),
        "forgotten_seconds": _seconds(
            "left_known", "Info if it has been empty for longer: who misses it has noticed within a week."
        ),
    },
    "spares": {"idle_seconds": _seconds("spares_for", "Longer than an autoscaler's swing.")},
    "no_topic": {
        "idle_seconds": _seconds(
            "no_topic_for", "A topic that is created with its consumer is in the metadata after 5 min."
        )
    },
    "slow_by_habit": {
        "revocation_seconds": _seconds(
            "slow_revocation", "Two heartbeats of 5 s: who has nothing to finish has given up its partitions."
        ),
        "rebalances": _times("slow_revocations", "rebalances", "Fewer are a batch that was large."),
        "within_seconds": _seconds("slow_within", "Groups rebalance a few times a day, in deployments."),
        "times": _times(
            "slow_times", "times", "So many times slower than the others, by the median; chance makes twice.", least=1
        ),
    },
    "coordinator_silent": {
        "silent_seconds": _seconds(
            "silent_for",
            "Sessions end after 45 s: a coordinator that works has removed the member. More if the brokers allow "
            "longer sessions.",
        )
    },
    "flapping_topics": {
        "returns": _times("topic_flaps", "returns", "A topic that is deleted and made again comes back once."),
        "within_seconds": _seconds("topic_flaps_within", "Once an hour is a habit of who creates the topics."),
        "calm_seconds": _seconds("topic_calm", "In place of the one of all patterns, as metadata ages for minutes."),
    },
    "assignor_flip": {
        "returns": _times("assignor_flips", "returns", "A migration that is taken back, and tried again, has fewer."),
        "within_seconds": _seconds("assignor_flips_within", "The last member to join decides, in each deployment."),
    },
    "two_applications": {
        "together_seconds": _seconds("applications_for", "A deployment that renames all has both for less."),
    },
    "task_restarts": {
        "moves": _times(
            "task_moves", "moves", "A crash of a worker moves a task away and back: five crashes, as of processes."
        ),
        "within_seconds": _seconds("task_moves_within", "As of processes."),
        "lasts_seconds": _seconds(
            "task_moves_for", "Some crashes in a rollout of workers move tasks as often, and are over sooner."
        ),
    },
    "not_consumed": {
        "min_silence_seconds": _seconds(
            "min_silence",
            "0: the owner's rebalance timeout, or 5 min if it is unknown, as a member that works longer on a batch "
            "leaves the group. Less finds a stopped partition sooner, where batches are short. Also of "
            "`blocked_by_transaction`.",
        ),
    },
    "blocked_by_transaction": {},
    "offsets_lost": {
        "present_seconds": _seconds(
            "lost_for", "A nightly audit reports a loss once. Set less if partitions are committed again sooner."
        ),
    },
    ACROSS_GROUPS: {
        "min_groups": _times("across_groups", "groups", "Four groups in one minute are chance."),
        "times": _times(
            "across_times", "times", "So many times as many groups as in a usual minute; chance makes less.", least=1
        ),
        "share": LimitSetting(
            "across_share",
            SHARE,
            "A warning from this share of the groups with members on, whatever they have in common.",
        ),
    },
}
"""The settings by pattern and name."""

RULES: Final[Mapping[str, str]] = {
    ALL_PATTERNS: "A trouble is over `calm_seconds` after its last event, or later if its events are far apart. "
    "A present one that can be an error is one from `error_share` on.",
    "restart_loop": "`short_stays` stays of at most `short_stay_seconds` within `within_seconds`; or as many of at "
    "most `leaking_stay_seconds` within `leaking_within_seconds` while other members stay; or `poll_timeouts` within "
    "`poll_timeouts_within_seconds` that end at max.poll.interval.ms. Each process comes within "
    "`restart_pause_seconds` of the last one of its name, or `replaced_pause_seconds` if each has a new name.",
    "leaves_and_returns": "A member id leaves, and joins again, `returns` times within `within_seconds`.",
    "static_member_flaps": "An instance id goes away and is back, or is replaced, `flaps` times within "
    "`within_seconds`.",
    "duplicate_instance_id": "The same in a classic group, always by a new holder, within `interval_seconds` of the "
    "last one.",
    "storm": "Members that have been there for less than `young_seconds` leave at `moments` moments within "
    "`within_seconds`; or `subjects` members do not stay, all at once.",
    "rolling_restart": "Members of at least `old_seconds` leave one after the other, and as many new ones come, "
    "without a pause of more than `pause_seconds`.",
    "job": "`runs` runs begin at the times of a timetable.",
    "everybody_left": "A group has been empty for `empty_seconds`, after it had members for `members_seconds`. It is "
    "a warning after `warning_members_seconds` with members, until it has been empty for `forgotten_seconds`.",
    "spares": "For `idle_seconds` members have nothing, because others have all partitions of their topics.",
    "no_topic": "For `idle_seconds` a member has nothing, and nobody has a partition of its topics.",
    "slow_by_habit": "A member revokes for `revocation_seconds` or more in `rebalances` rebalances within "
    "`within_seconds`, `times` times as long as the others.",
    "coordinator_silent": "Members have not answered for `silent_seconds`, and are still members.",
    "flapping_topics": "The topics of a subscription come back to what they were `returns` times within "
    "`within_seconds`; it is over after `calm_seconds`.",
    "assignor_flip": "The assignor, or the protocol of the group, comes back to what it was `returns` times within "
    "`within_seconds`.",
    "two_applications": "For `together_seconds` members are there that share no topic, client id or host.",
    "task_restarts": "A connector or task moves `moves` times within `within_seconds`, and still does after "
    "`lasts_seconds`.",
    "not_consumed": "The committed offset of an owned partition has not moved for `min_silence_seconds`, three times "
    "the longest time between its advances, and three times the usual time between its owner's commits; and another "
    "group has read further, the topic ended further on before, or all partitions of its owner stopped at once.",
    "blocked_by_transaction": "An open transaction has written the committed offset of an owned partition, which has "
    "not moved for the smallest silence of not_consumed.",
    "offsets_lost": "Committed offsets were removed while their group lives on. That lasts until each of these "
    "partitions has a commit again, not at all if the topic was deleted, at most for `present_seconds`.",
    ACROSS_GROUPS: "`min_groups` groups, and `times` times as many as usual, begin a rebalance within a minute. It is "
    "a warning if they are `share` of all groups with members, or have something in common.",
}
"""What makes a pattern, by the names of its settings. `replay/diagnosis/` has the whole rules."""
