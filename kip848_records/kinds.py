"""The kinds of groups: their records, their words, and the traits that reports and SQL depend on.

This is the only list of kinds. The replay, the simulator, SQL texts and the page derive theirs from it.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.protocol.key_types import KeyType

if TYPE_CHECKING:
    from collections.abc import Mapping


class Role(IntEnum):
    """The purpose of a record type, in any kind of group."""

    CLASSIC_GROUP = 0
    GROUP_EPOCH = 1
    MEMBER = 2
    ASSIGNMENT_EPOCH = 3
    MEMBER_TARGET = 4
    CURRENT_ASSIGNMENT = 5
    PARTITION_METADATA = 6
    REGULAR_EXPRESSION = 7
    OTHER = 8
    """A group's record that counts in its operations, but has no other effect here."""
    LOST = 9
    """A record of a known group that could not be read or decoded."""
    TOPOLOGY = 10
    SHARE_STATE = 11


CONSUMER: Final = "consumer"
CLASSIC: Final = "classic"
CONNECT: Final = "connect"
"""A classic group whose members are Connect workers: its type is `CLASSIC`, and this is its protocol type."""
SHARE: Final = "share"
STREAMS: Final = "streams"
SIMPLE: Final = "simple"
"""A group without records of its own: it exists while it has offset commits."""


class Kind(NamedTuple):
    """A kind of groups. `group_type`: the value of the columns ``group_type``; `roles`: the records of the kind.

    The words, in English: `title` names a group, `member` who is in it, `unit` and `units` what an assignment consists
    of, `step` a numbered assignment, `owner` who has a unit. `limit`: what the log does not show of such a group, and
    `page`: the page of the documentation about it. None: the kind has no limit of its own.

    The traits: `has_epochs`: members have epochs and states; without them, the log has generations only.
    `hides_rebalances`: a group is Stable in the log while it rebalances. `shares_units`: several members can have the
    same unit, and no member waits until another one revokes it. `has_tasks`: its units are tasks, in roles.
    `delays_lost_units`: the leader waits for a lost member before others get its units. `keeps_absent_members`: static
    members that are absent keep their units. `migrates`: the group can become a classic one or a consumer group.
    `commits`: members commit offsets of the units that they have.
    `first_release`: Kafka's first release with this kind.
    """

    name: str
    group_type: str
    roles: Mapping[int, Role]
    title: str
    member: str
    unit: str
    units: str
    step: str
    owner: str = "owner"
    limit: str | None = None
    page: str | None = None
    has_epochs: bool = True
    hides_rebalances: bool = False
    shares_units: bool = False
    has_tasks: bool = False
    delays_lost_units: bool = False
    keeps_absent_members: bool = True
    migrates: bool = False
    commits: bool = True
    first_release: str = "4.0"

    @property
    def label(self) -> str:
        """Its title in a list of groups of all kinds; the most common kind has none."""
        return "" if self.name == CONSUMER else self.title

    @property
    def words(self) -> dict[str, Any]:
        """Its words and traits by their names, and `an_owner`, the owner with its article."""
        return self._asdict() | {"an_owner": f"{'a' if self.owner == 'worker' else 'an'} {self.owner}"}

    def for_page(self) -> dict[str, Any]:
        """Return what the page's scripts know of the kind."""
        known = self.words | {"label": self.label}
        return {name: value for name, value in known.items() if name not in {"roles", "page", "first_release"}}


_CONSUMER: Final = Kind(
    name=CONSUMER,
    group_type=CONSUMER,
    roles={
        KeyType.CONSUMER_GROUP_METADATA: Role.GROUP_EPOCH,
        KeyType.CONSUMER_GROUP_PARTITION_METADATA: Role.PARTITION_METADATA,
        KeyType.CONSUMER_GROUP_MEMBER_METADATA: Role.MEMBER,
        KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: Role.ASSIGNMENT_EPOCH,
        KeyType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: Role.MEMBER_TARGET,
        KeyType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: Role.CURRENT_ASSIGNMENT,
        KeyType.CONSUMER_GROUP_REGULAR_EXPRESSION: Role.REGULAR_EXPRESSION,
    },
    title="consumer group",
    member="member",
    unit="partition",
    units="partitions",
    step="epoch",
    migrates=True,
)
_CLASSIC: Final = Kind(
    name=CLASSIC,
    group_type=CLASSIC,
    roles={KeyType.GROUP_METADATA: Role.CLASSIC_GROUP},
    title="classic group",
    member="member",
    unit="partition",
    units="partitions",
    step="generation",
    limit="The log does not show when members begin to join: a rebalance took at least its sync time",
    page="docs/groups/classic.md",
    has_epochs=False,
    hides_rebalances=True,
    migrates=True,
)
_CONNECT: Final = _CLASSIC._replace(
    name=CONNECT,
    roles={},
    title="Connect cluster",
    member="worker",
    unit="connector or task",
    units="connectors and tasks",
    owner="worker",
    limit="The log shows what the leader decided: a failed or paused task looks like a running one",
    page="docs/groups/connect.md",
    delays_lost_units=True,
    migrates=False,
    commits=False,
)
_SHARE: Final = Kind(
    name=SHARE,
    group_type=SHARE,
    roles={
        KeyType.SHARE_GROUP_PARTITION_METADATA: Role.OTHER,
        KeyType.SHARE_GROUP_MEMBER_METADATA: Role.MEMBER,
        KeyType.SHARE_GROUP_METADATA: Role.GROUP_EPOCH,
        KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: Role.ASSIGNMENT_EPOCH,
        KeyType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: Role.MEMBER_TARGET,
        KeyType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: Role.CURRENT_ASSIGNMENT,
        KeyType.SHARE_GROUP_STATE_PARTITION_METADATA: Role.SHARE_STATE,
    },
    title="share group",
    member="member",
    unit="partition",
    units="partitions",
    step="epoch",
    limit="A share group is Stable also while members are late, and the log does not show deliveries",
    page="docs/groups/share.md",
    hides_rebalances=True,
    shares_units=True,
    commits=False,
    keeps_absent_members=False,
    first_release="4.1",
)
_STREAMS: Final = Kind(
    name=STREAMS,
    group_type=STREAMS,
    roles={
        KeyType.STREAMS_GROUP_METADATA: Role.GROUP_EPOCH,
        KeyType.STREAMS_GROUP_MEMBER_METADATA: Role.MEMBER,
        KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: Role.ASSIGNMENT_EPOCH,
        KeyType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: Role.MEMBER_TARGET,
        KeyType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: Role.CURRENT_ASSIGNMENT,
        KeyType.STREAMS_GROUP_TOPOLOGY: Role.TOPOLOGY,
    },
    title="streams group",
    member="member",
    unit="task",
    units="tasks",
    step="epoch",
    limit="The log does not show how long tasks restore their state",
    page="docs/groups/streams.md",
    has_tasks=True,
    keeps_absent_members=False,
    first_release="4.1",
)
_SIMPLE: Final = Kind(
    name=SIMPLE,
    group_type=SIMPLE,
    roles={},
    title="simple group",
    member="member",
    unit="partition",
    units="partitions",
    step="epoch",
    has_epochs=False,
    keeps_absent_members=False,
    commits=False,
)

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind for kind in (_CONSUMER, _CLASSIC, _CONNECT, _SHARE, _STREAMS, _SIMPLE)
}
"""The kinds by name. Those of the group types have the names of the types."""

ROLES: Final[Mapping[int, tuple[str, Role]]] = {
    key_type: (kind.group_type, role) for kind in KINDS.values() for key_type, role in kind.roles.items()
}
"""Key type in Kafka's own dialect -> the type of its group, and its role there."""


def key_types_of(*roles: Role) -> tuple[int, ...]:
    """Return the types of the records with one of these purposes, of all kinds."""
    return tuple(key_type for key_type, (_, role) in ROLES.items() if role in roles)


def kind_of(group_type: str, protocol_type: str | None) -> str:
    """Return the kind of a group: its type, or `CONNECT` for a classic group of Connect workers."""
    return CONNECT if group_type == CLASSIC and protocol_type == CONNECT else group_type
