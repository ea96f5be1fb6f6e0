"""Decoded records of a group in the form that the replay reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.replay.connect_records import EAGER_VERSION, WorkerAssignment, WorkerSubscription

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.kinds import Role
    from kip848_records.replay.refusals import Refusal


class ConsumerSubscription(NamedTuple):
    """The subscription of a member of protocol type `consumer`, by `ConsumerProtocolSubscription` in kafka-clients.

    `topics` are sorted. `owned`: the partitions that the member still had when it joined; empty for members that revoke
    all partitions first, None if the payload is cut there. Partitions are numbers of `PartitionNumbers.of_names`.
    """

    topics: tuple[str, ...]
    owned: frozenset[int] | None


class ConsumerAssignment(NamedTuple):
    """The assignment of a member of protocol type `consumer`; partitions are numbers of `PartitionNumbers.of_names`.

    `has_user_data`: a custom assignor added bytes of its own.
    """

    assigned: frozenset[int]
    has_user_data: bool


class ClassicMemberValue(NamedTuple):
    """A member in the value of a type 2.

    `subscription` and `assignment` are None if nothing was read of their bytes, or if these belong to a protocol type
    that the replay does not know. `subscription_error`, `assignment_error`: why Kafka cannot parse the payload of a
    consumer; None if it can. In both cases `subscription_bytes` and `assignment_bytes` have the bytes.
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rebalance_timeout_ms: int | None
    session_timeout_ms: int | None = None
    subscription: ConsumerSubscription | WorkerSubscription | None = None
    assignment: ConsumerAssignment | WorkerAssignment | None = None
    subscription_bytes: bytes | None = None
    assignment_bytes: bytes | None = None
    subscription_error: str | None = None
    assignment_error: str | None = None

    @property
    def identity(self) -> str:
        """The instance id of a static member, else the member id."""
        return self.member_id if self.instance_id is None else self.instance_id

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The topics that it subscribes to; None if unknown."""
        return self.subscription.topics if isinstance(self.subscription, ConsumerSubscription) else None

    @property
    def owned(self) -> frozenset[int] | None:
        """The units that it still had when it joined; None if unknown."""
        return None if self.subscription is None else self.subscription.owned

    @property
    def units(self) -> frozenset[int] | None:
        """The partitions that it has from this generation on; None if unknown. A worker's connectors and tasks.

        From version 1 on, a Connect worker continues what it runs, unless the leader asks it to stop. The leader may
        leave a worker without an assignment.
        """
        assignment, subscription = self.assignment, self.subscription
        if assignment is None:
            is_left_out = isinstance(subscription, WorkerSubscription) and self.assignment_bytes is None
            return frozenset() if is_left_out else None
        if not isinstance(assignment, WorkerAssignment) or assignment.version == EAGER_VERSION:
            return assignment.assigned
        if not isinstance(subscription, WorkerSubscription):
            return None
        return (subscription.owned - assignment.revoked) | assignment.assigned

    @property
    def owner(self) -> str:
        """The identity of the owner of partitions: a Connect worker that restarts keeps its URL."""
        return self.subscription.url if isinstance(self.subscription, WorkerSubscription) else self.identity


class ClassicGroupValue(NamedTuple):
    """The value of a type 2. `members`: () if the record's members were not read.

    `state_at`: `currentStateTimestamp`, the time at which the join phase ended, in ms; None before version 2.
    """

    generation: int
    member_ids: tuple[str, ...]
    members: tuple[ClassicMemberValue, ...] = ()
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    state_at: int | None = None


class GroupEpochValue(NamedTuple):
    """The value of a type 3. Kafka before 4.1 wrote no hash: 0."""

    epoch: int
    metadata_hash: int


class StreamsGroupEpochValue(NamedTuple):
    """The value of a type 17. `validated_topology_epoch`: -1 for none.

    `assignment_configs`: pairs of name and value. Kafka writes them from 4.2 on, with the validated topology epoch.
    """

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int = -1
    assignment_configs: tuple[tuple[str, str], ...] = ()


class MemberValue(NamedTuple):
    """The value of a type 5. `topics` are sorted; `is_classic`: it has classicMemberMetadata."""

    instance_id: str | None
    rack_id: str | None
    client_id: str | None
    client_host: str | None
    topics: tuple[str, ...]
    regex: str | None
    server_assignor: str | None
    rebalance_timeout_ms: int | None
    is_classic: bool
    assignors: tuple[tuple[str | None, int, int, int], ...] = ()
    """In early dialects: name, minimum, maximum and own version of each."""


class StreamsMemberValue(NamedTuple):
    """The value of a type 19: a member is a thread, and threads of one process share its stores.

    `endpoint`: host and port.
    """

    instance_id: str | None
    rack_id: str | None
    client_id: str | None
    client_host: str | None
    rebalance_timeout_ms: int | None
    process_id: str | None
    topology_epoch: int | None
    endpoint: tuple[str, int] | None = None
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def is_classic(self) -> bool:
        """A streams group has no members of the classic protocol."""
        return False


AnyMemberValue = MemberValue | StreamsMemberValue


class TopologyValue(NamedTuple):
    """The value of a type 23. `stateful`: the subtopologies with changelog topics."""

    epoch: int
    stateful: frozenset[str]


class ShareTopic(NamedTuple):
    """A topic of a type 15, with its partitions as numbers of `PartitionNumbers`; none for a topic that is deleted."""

    topic_id: str
    name: str
    partitions: frozenset[int] = frozenset()


class ShareStateValue(NamedTuple):
    """The value of a type 15: the topics of a share group by the state of their partitions."""

    initializing: tuple[ShareTopic, ...]
    initialized: tuple[ShareTopic, ...]
    deleting: tuple[ShareTopic, ...]


class CurrentAssignmentValue(NamedTuple):
    """The value of a type 8 or 22, with the states of a type 8. Early dialects have no `state`: None.

    Partitions are numbers of `PartitionNumbers`, tasks those of `tasks`.
    """

    member_epoch: int
    previous_member_epoch: int | None
    state: int | None
    assigned: frozenset[int]
    pending: frozenset[int]


class RegularExpressionValue(NamedTuple):
    """The value of a type 16; its regular expression is `Record.regex`. `topics` are sorted."""

    topics: tuple[str, ...]
    version: int
    timestamp: int


Value = (
    ClassicGroupValue  # CLASSIC_GROUP
    | GroupEpochValue  # GROUP_EPOCH
    | MemberValue  # MEMBER
    | int  # ASSIGNMENT_EPOCH: the epoch
    | frozenset[int]  # MEMBER_TARGET: partitions, or tasks in their roles
    | CurrentAssignmentValue  # CURRENT_ASSIGNMENT
    | dict[str, str]  # PARTITION_METADATA: topic id -> name; topics without a name are skipped
    | ShareStateValue  # SHARE_STATE
    | RegularExpressionValue  # REGULAR_EXPRESSION
    | bool  # OTHER: True
    | StreamsGroupEpochValue  # GROUP_EPOCH, MEMBER and TOPOLOGY of streams groups
    | StreamsMemberValue
    | TopologyValue
)


class Record(NamedTuple):
    """A record of a group, or (Role.LOST) a lost one.

    `value` is None for a tombstone and for a lost record. `timestamp` is in ms. `size`: bytes of key and value.
    `regex` is the key's of a type 16. `targets`: the draft dialect writes an assignment epoch and all members' targets
    in one record; the reader splits it into MEMBER_TARGET records (same offset, no size) before one ASSIGNMENT_EPOCH
    record.
    `key_type` is that of Kafka's own dialect, in any dialect of the log. `refusal`: why Kafka does not load the value.
    `commit_before`: the offset of the group's last offset commit before the record, in a log of which they were read.
    """

    offset: int
    timestamp: int | None
    kind: str
    role: Role
    key_type: int
    member_id: str | None
    value: Value | None
    size: int
    regex: str | None = None
    leader_epoch: int | None = None
    refusal: Refusal | None = None
    commit_before: int | None = None


class PartitionNumbers:
    """Topic partitions as single integers: the topic's index times 2^32 plus the partition.

    Indexes are assigned in the order of first use, and are valid within one Python worker.
    """

    def __init__(self) -> None:
        self.index_of: dict[str, int] = {}
        self.topic_ids: list[str] = []

    @cached_property
    def of_names(self) -> PartitionNumbers:
        """The numbers of partitions whose topic is known by its name only, as in classic groups."""
        return PartitionNumbers()

    def topic(self, topic_id: str) -> int:
        """Return the number to add to a partition of the topic."""
        index = self.index_of.get(topic_id)
        if index is None:
            index = self.index_of[topic_id] = len(self.topic_ids)
            self.topic_ids.append(topic_id)
        return index << 32

    def name(self, number: int) -> tuple[str, int]:
        """Return topic id and partition of a number. A connector is the partition -1, with its tasks beside it."""
        partition = number & 0xFFFFFFFF
        return self.topic_ids[number >> 32], partition if partition >> 31 == 0 else partition - (1 << 32)


@dataclass(frozen=True)
class PartitionCoverage:
    """How much of the history of a partition of `__consumer_offsets` is known.

    `complete_ranges`: the parts of the log without missing records, in order, each by its first offset and the offset
    after its last. A topic that was compacted between two reads has several. `tombstone_gaps`: the first offsets of
    reads before which tombstones may have been removed too, unseen. `log_start_missing`: the start of the log is
    missing, though compaction would have kept it. `last_offset`: of any record that was read; None if none was.
    `first_loss`, `last_loss`: offsets of the first and last lost record that may belong to any group.

    `captured_at`: ms since 1970; up to then all that happened in the partition is known. None: up to the time of the
    whole log. `is_read_to_end`: false if records behind `captured_at` could not be read; None for a copy, which does
    not show it.
    """

    complete_ranges: tuple[tuple[int, int], ...] = ()
    log_start_missing: bool = False
    last_offset: int | None = None
    tombstone_gaps: tuple[int, ...] = ()
    first_loss: int | None = None
    last_loss: int | None = None
    captured_at: int | None = None
    is_read_to_end: bool | None = None


@dataclass(frozen=True)
class ReplayInputs:
    """The inputs of a replay besides the records.

    `dialect`: a name in `protocol.messages.DIALECTS`. `captured_at`: ms since 1970; the age of open rows is measured to
    it, if their partition has no time of its own. `partitions`: the coverage of each; the history of a missing one
    never counts as complete. `offset_commits`: the log has offset commits, which rebalances are compared with.
    """

    dialect: str
    captured_at: int | None
    partitions: Mapping[int, PartitionCoverage]
    offset_commits: bool = False

    def captured_at_of(self, partition: int) -> int | None:
        """Return the time to which the age of what is open in a partition is measured, in ms since 1970.

        None if it is unknown: no record of a partition that was not read to its end was read yet.
        """
        covered = self.partitions.get(partition)
        if covered is None or (covered.captured_at is None and covered.is_read_to_end is not False):
            return self.captured_at
        return covered.captured_at
