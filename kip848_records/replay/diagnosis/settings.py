"""The limits that users may change, for all groups or by patterns of group ids, with the reasons for the defaults.

The other fields of `Limits` say how a log is read, which no operator can judge better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.diagnosis.limits import DEFAULTS, SECOND, Limits
from kip848_records.text import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ENABLED: Final = "enabled"
ALL_PATTERNS: Final = "all_patterns"
"""What stands in place of a pattern for limits that all have."""
ACROSS_GROUPS: Final = "storm_across"

SECONDS: Final = "seconds"
SHARE: Final = "share"


class ChangedLimit(NamedTuple):
    """A limit that is not the default.

    `groups`: for the groups whose ids match this pattern; None: for all others. `name`: of `SETTINGS[pattern]`, or
    `ENABLED` with 0 or 1. `value`: in the unit of the setting.
    """

    pattern: str
    groups: str | None
    name: str
    value: float


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
    ACROSS_GROUPS: {
        "groups": _times("across_groups", "groups", "Four groups in one minute are chance."),
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


def limits_of(changes: Sequence[ChangedLimit], group_id: str | None) -> Limits:
    """Return the limits of a group: for each pattern those of all groups, and of the first of `groups` that matches.

    `group_id`: None for what concerns many groups.
    """
    if not changes:
        return DEFAULTS
    first: dict[str, str] = {}
    for each in changes:
        if each.groups is not None and group_id is not None and matches(each.groups, group_id):
            first.setdefault(each.pattern, each.groups)
    values: dict[str, float] = {}
    enabled: dict[str, float] = {}
    for each in sorted(changes, key=lambda each: each.groups is not None):  # those of single groups prevail
        if each.groups not in {None, first.get(each.pattern)}:
            continue
        if each.name == ENABLED:
            enabled[each.pattern] = each.value
        elif (setting := SETTINGS.get(each.pattern, {}).get(each.name)) is not None:  # else of another version's run
            values[setting.field] = setting.value(each.value)
    off = frozenset(pattern for pattern, value in enabled.items() if not value)
    return DEFAULTS._replace(off=off, **values)  # type: ignore[arg-type]


def changed_patterns(changes: Iterable[ChangedLimit]) -> list[str]:
    """Return the patterns of which a limit is changed, in the order of `SETTINGS`."""
    changed = {each.pattern for each in changes}
    return [pattern for pattern in SETTINGS if pattern in changed]
