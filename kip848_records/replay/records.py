"""Decoded records of a group in the form that the replay reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from kip848_records.kinds import Role
    from kip848_records.replay.refusals import Refusal


class Subscription(NamedTuple):
    """What a member of a classic group said when it joined. `topics`: sorted; a worker has none.

    `owned`: the units that it still had; empty for members that revoke all units first, None if the payload is cut
    there. Of workers only: `url`, and `config_offset`: how far it had read the configuration.
    """

    topics: tuple[str, ...] | None
    owned: frozenset[int] | None
    url: str | None = None
    config_offset: int | None = None


class Assignment(NamedTuple):
    """What the leader of a classic group assigned to a member. `user_data`: the bytes that a custom assignor added.

    Of workers only: from `version` 1 on, `assigned` contains new units only, and `revoked` those that the worker stops.
    `error` 1: the leader had not read the configuration far enough, up to `config_offset`. `delay_ms`: how long it
    waits for workers that left.
    """

    assigned: frozenset[int]
    user_data: bytes | None = None
    version: int = 0
    error: int = 0
    config_offset: int | None = None
    revoked: frozenset[int] = frozenset()
    delay_ms: int = 0

    def units(self, subscription: Subscription | None) -> frozenset[int] | None:
        """Return the units that a member with this subscription has in this generation; None if unknown."""
        if not self.version:
            return self.assigned
        owned = None if subscription is None else subscription.owned
        return None if owned is None else (owned - self.revoked) | self.assigned


class ClassicMemberValue(NamedTuple):
    """A member in the value of a type 2.

    `subscription` and `assignment` are None if nothing was read of their bytes, or if these belong to a protocol type
    that the replay does not know. `subscription_error`, `assignment_error`: why Kafka cannot parse the payload of a
    consumer; None if it can. In both cases `subscription_bytes` and `assignment_bytes` have the bytes.
    `subscription_version`: as a consumer wrote it.
    """

    member_id: str
    instance_id: str | None
    client_id: str | None
    client_host: str | None
    rebalance_timeout_ms: int | None
    session_timeout_ms: int | None = None
    subscription: Subscription | None = None
    assignment: Assignment | None = None
    subscription_bytes: bytes | None = None
    assignment_bytes: bytes | None = None
    subscription_error: str | None = None
    assignment_error: str | None = None
    subscription_version: int | None = None

    @property
    def identity(self) -> str:
        """The instance id of a static member, else the member id."""
        return self.member_id if self.instance_id is None else self.instance_id

    @property
    def topics(self) -> tuple[str, ...] | None:
        """The topics that it subscribes to; None if unknown."""
        return None if self.subscription is None else self.subscription.topics

    @property
    def owned(self) -> frozenset[int] | None:
        """The units that it still had when it joined; None if unknown."""
        return None if self.subscription is None else self.subscription.owned

    @property
    def units(self) -> frozenset[int] | None:
        """The partitions, or connectors and tasks, that it has from this generation on; None if unknown."""
        assignment, subscription = self.assignment, self.subscription
        if assignment is not None:
            return assignment.units(subscription)
        is_worker = subscription is not None and subscription.url is not None
        return frozenset() if is_worker and self.assignment_bytes is None else None

    @property
    def user_data_bytes(self) -> int | None:
        """How many bytes an assignor of consumers added to the assignment; None if none."""
        return len(self.assignment.user_data or b"") or None if self.assignment is not None else None

    @property
    def owner(self) -> str:
        """The identity of the owner of partitions: a Connect worker that restarts keeps its URL."""
        url = None if self.subscription is None else self.subscription.url
        return self.identity if url is None else url


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

    @property
    def has_duplicate_instance(self) -> bool:
        """Whether two members have one instance id."""
        ids = [member.instance_id for member in self.members if member.instance_id is not None]
        return len(set(ids)) < len(ids)

    @property
    def has_duplicate_member(self) -> bool:
        """Whether a member id occurs twice with another member behind it: Kafka loads a repeated last member."""
        ids = self.member_ids[:-1]
        return len(set(ids)) < len(ids)


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
    """The value of a type 5. `topics` are sorted; `is_classic`: it has classicMemberMetadata.

    `classic_protocols`: the names of the assignors there, in their order; None for a member of the consumer protocol.
    """

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
    classic_protocols: tuple[str | None, ...] | None = None


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


class Record(NamedTuple):
    """A record of a group, or (Role.LOST) a lost one.

    `value` is None for a tombstone and for a lost record. `timestamp` is in ms. `size`: bytes of key and value.
    `regex` is the key's of a type 16. `key_type` is that of Kafka's own dialect, in any dialect of the log. The draft
    dialect writes an assignment epoch and all members' targets in one record: the reader splits it into MEMBER_TARGET
    records (same offset, no size) before one ASSIGNMENT_EPOCH record.

    `refusal`: why Kafka does not load the value. `commit_before`: the offset of the group's last offset commit before
    the record, in a log of which they were read.
    """

    offset: int
    timestamp: int | None
    kind: str
    role: Role
    key_type: int
    member_id: str | None
    value: Any | None
    size: int
    regex: str | None = None
    leader_epoch: int | None = None
    refusal: Refusal | None = None
    commit_before: int | None = None
