"""The rows that the replay emits, one class per table; a field is the table's column of that name.

Fields that end in `_at` are milliseconds since 1970 (UTC), `_ms` are durations in milliseconds, offsets are those of
`__consumer_offsets`. `partition` is the partition of `__consumer_offsets` that holds the group; only in
`PartitionHandover`, `OwnershipInterval` and `AwaitedPartition` it is the partition of the topic or the task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.classic_rows import ClassicGeneration, ClassicMember, ConnectAssignment, GroupMigration

if TYPE_CHECKING:
    from collections.abc import Mapping


class Epoch(NamedTuple):
    """A row of `epoch_timeline`; `status` is null if it ended before the history is complete."""

    partition: int
    group_id: str
    incarnation: int
    group_epoch: int
    group_type: str
    bumped_at: int | None
    bump_offset: int
    cause: str
    metadata_changed: bool | None
    trigger_member_ids: tuple[str, ...]
    assigned_at: int | None
    target_partitions: int | None
    target_duplicates: int | None
    converged_at: int | None
    status: str | None
    superseded_by: int | None
    members: int | None
    partitions_moved: int | None
    assign_lag_ms: int | None
    reconcile_lag_ms: int | None
    rebalance_lag_ms: int | None
    history: str
    clock_skew: bool


class AwaitedPartition(NamedTuple):
    """A topic partition, or a task, that a member waits for; `owner` is null if no member owns it.

    `released_at`: since when, if that was seen.
    """

    topic_id: str | None
    partition: int
    owner: str | None
    released_at: int | None
    subtopology_id: str | None = None
    role: str | None = None


class RebalanceLag(NamedTuple):
    """A row of `rebalance_lag`; `status` is null if it ended before the history is complete."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    group_epoch: int
    member_id: str
    target_at: int | None
    reconciled_at: int | None
    status: str | None
    superseded: bool
    first_bumped_at: int | None
    behind_since: int | None
    lag_ms: int | None
    revoke_ms: int | None
    wait_ms: int | None
    blocked_by: tuple[str, ...]
    awaited: tuple[AwaitedPartition, ...] | None
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rebalance_timeout_ms: int | None
    history: str
    clock_skew: bool


class PartitionHandover(NamedTuple):
    """A row of `partition_handover`. `topic` is null where `topic_id` is known: the table adds the name."""

    offsets_partition: int
    group_id: str
    incarnation: int
    topic_id: str | None
    partition: int
    acquired_offset: int | None
    from_member: str | None
    released_at: int | None
    released_offset: int | None
    to_member: str | None
    acquired_at: int | None
    unowned_ms: int | None
    wanted: bool | None
    wanted_ms: int | None
    group_epoch: int | None
    history: str
    clock_skew: bool
    group_type: str
    topic: str | None
    generation: int | None
    unowned_max_ms: int | None


class TaskHandover(NamedTuple):
    """A row of `task_handover`: an active task of a streams group, or a connector (task -1) or task of Connect."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    subtopology_id: str | None
    connector: str | None
    task: int
    acquired_offset: int | None
    from_member: str | None
    reason: str | None
    released_at: int | None
    released_offset: int | None
    to_member: str | None
    acquired_at: int | None
    unowned_ms: int | None
    unowned_max_ms: int | None
    wanted: bool | None
    wanted_ms: int | None
    was_warm: bool | None
    has_changelogs: bool | None
    epoch: int | None
    status: str
    ended_at: int | None
    expected_at: int | None
    history: str
    clock_skew: bool


class OwnershipInterval(NamedTuple):
    """A row of `ownership`; the table adds the topic's name. `topic_id` or `subtopology_id` is null."""

    offsets_partition: int
    group_id: str
    incarnation: int
    group_type: str
    member_id: str
    topic_id: str | None
    subtopology_id: str | None
    partition: int
    role: str | None
    has_changelogs: bool | None
    from_at: int | None
    from_offset: int
    to_at: int | None
    duration_ms: int | None
    history: str
    clock_skew: bool


class SharePartitionState(NamedTuple):
    """A row of `share_partition_state`; `partitions` is null for a topic that is deleted."""

    partition: int
    group_id: str
    incarnation: int
    topic_id: str
    topic: str | None
    state: str
    partitions: tuple[int, ...] | None
    from_at: int | None
    from_offset: int
    to_at: int | None
    duration_ms: int | None
    history: str
    clock_skew: bool


class GroupStateInterval(NamedTuple):
    """A row of `group_state_timeline`."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    state: str
    from_at: int | None
    from_offset: int
    to_at: int | None
    to_offset: int | None
    duration_ms: int | None
    hides_rebalance: bool
    history: str
    clock_skew: bool


class GroupState(NamedTuple):
    """A row of `group_state`: the present state of a group that was not deleted."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    offset: int
    state: str
    since: int | None
    rebalancing_since: int | None
    rebalancing_history: str | None
    group_epoch: int | None
    assignment_epoch: int | None
    generation: int | None
    topology_epoch: int | None
    validated_topology_epoch: int | None
    standby_replicas: int | None
    members: int | None
    converged_members: int | None
    members_away: int | None
    waits_for_away_only: bool
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    upgradable: bool | None
    upgradable_reason: str | None
    group_id_hash: int
    records: int
    operations: int
    largest_operation_bytes: int
    largest_operation_offset: int | None
    complete_from: int | None
    has_full_history: bool
    has_lost_prefix: bool
    captured_at: int | None
    is_read_to_end: bool | None
    history: str


class Blocker(NamedTuple):
    """A member that held a rebalance up (`Rebalance.blockers`), the worst first.

    `held_up` counts the members that waited for it at any time of the rebalance. `late_now`, `waiting_now`: at the end
    of the log, null if the rebalance has ended or records of the group were lost.
    """

    member_id: str
    client_id: str | None
    client_host: str | None
    instance_id: str | None
    late_ms: int
    blocked_ms: int
    held_up: int
    revoke_ms: int
    away_ms: int
    last_state: str | None
    late_now: bool | None
    waiting_now: int | None


class Rebalance(NamedTuple):
    """A row of `rebalance`; `outcome` is null if it ended before the history is complete."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    began_offset: int
    began_at: int | None
    first_epoch: int | None
    last_epoch: int | None
    epochs: int
    causes: tuple[str, ...]
    trigger_member_ids: tuple[str, ...]
    ended_at: int | None
    ended_offset: int | None
    outcome: str | None
    duration_ms: int | None
    started_empty: bool | None
    members_before: int | None
    members: int | None
    members_waited: int | None
    partitions_moved: int | None
    unowned_ms: int | None
    longest_unowned_ms: int | None
    assigning_ms: int | None
    late_ms: int | None
    not_ready_ms: int | None
    blockers: tuple[Blocker, ...] | None
    blockers_count: int | None
    history: str
    clock_skew: bool
    leader_changed: bool | None
    rounds: int | None
    duration_is_minimum: bool
    delay_ms: int | None
    expected_at: int | None
    revoked: int | None
    partitions_stopped: int | None
    is_measured: bool


class MemberStateInterval(NamedTuple):
    """A row of `member_state_timeline`."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    member_id: str
    state: str
    member_epoch: int | None
    from_at: int | None
    from_offset: int
    to_at: int | None
    duration_ms: int | None
    is_classic: bool
    history: str


class Membership(NamedTuple):
    """A row of `membership`: one stay of a member in a group."""

    partition: int
    group_id: str
    incarnation: int
    group_type: str
    member_id: str
    joined_offset: int | None
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rack_id: str | None
    server_assignor: str | None
    rebalance_timeout_ms: int | None
    topics: tuple[str, ...] | None
    regex: str | None
    process_id: str | None
    topology_epoch: int | None
    joined_at: int | None
    joined_epoch: int | None
    joined_how: str | None
    left_at: int | None
    left_offset: int | None
    left_epoch: int | None
    left_how: str | None
    returned: bool | None
    away_ms: int | None
    topology_lag_ms: int | None
    history: str


class RegexResolution(NamedTuple):
    """A row of `regex_resolution`."""

    partition: int
    group_id: str
    incarnation: int
    regex: str
    topics: tuple[str, ...]
    version: int
    resolved_at: int | None
    offset: int


class Anomaly(NamedTuple):
    """A row of `anomaly`: a fact that contradicts the protocol."""

    kind: str
    group_id: str
    incarnation: int
    partition: int
    offset: int
    at: int | None
    member_id: str | None
    epoch: int | None
    expected: str | None
    seen: str | None
    releases: str | None
    known_bug: str | None
    is_proven: bool


class LatestState(NamedTuple):
    """A row of `latest_state` without `transaction`: `key` and `value` are JSON."""

    partition: int
    offset: int
    timestamp: int | None
    key_type: int
    record: str
    group_id: str | None
    member_id: str | None
    key: str
    value: str


class Quarantine(NamedTuple):
    """A row of `quarantine`; `error_code` is an error of the source or of the decoder."""

    partition: int | None
    offset: int | None
    timestamp: int | None
    key_type: int | None
    group_id: str | None
    key: bytes | None
    value: bytes | None
    error_code: str
    reason: str
    position: int | None


class UnknownRecord(NamedTuple):
    """A row of `unknown_record`."""

    partition: int
    offset: int
    timestamp: int | None
    key_type: int
    key: bytes
    value: bytes | None


class StoppedPartition(NamedTuple):
    """A partition that a rebalance stopped. `topic_id` or `topic` is null.

    `kind`: moved, kept or revoked. `offset`: of the round that assigned it, or of the record that released it;
    `round_before`: of the first record of the generation or epoch before the rebalance.
    """

    offsets_partition: int
    group_id: str
    incarnation: int
    group_type: str
    epoch: int | None
    topic_id: str | None
    topic: str | None
    partition: int
    kind: str
    offset: int
    rebalance_offset: int
    round_before: int
    is_one_round: bool
    history: str


class TopicName(NamedTuple):
    """A topic's name in a record; `source` is the record's table, the highest offset counts."""

    topic_id: str
    topic: str
    source: str
    partition: int
    offset: int


ROW_CLASSES: Final[Mapping[str, type[NamedTuple]]] = {
    "epoch_timeline": Epoch,
    "rebalance_lag": RebalanceLag,
    "partition_handover": PartitionHandover,
    "task_handover": TaskHandover,
    "ownership": OwnershipInterval,
    "share_partition_state": SharePartitionState,
    "group_state_timeline": GroupStateInterval,
    "group_state": GroupState,
    "rebalance": Rebalance,
    "member_state_timeline": MemberStateInterval,
    "membership": Membership,
    "regex_resolution": RegexResolution,
    "anomaly": Anomaly,
    "classic_generation": ClassicGeneration,
    "classic_member": ClassicMember,
    "connect_assignment": ConnectAssignment,
    "group_migration": GroupMigration,
    "latest_state": LatestState,
    "quarantine": Quarantine,
    "unknown_record": UnknownRecord,
    "topic_name": TopicName,
    "stopped_partition": StoppedPartition,
}
"""Table -> the class of its rows, for the tables whose rows a worker returns."""
