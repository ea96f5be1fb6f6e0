"""The rows of `membership` of one group: the stays of its members, and which of them come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.spill import IdSet
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import MEMBERSHIP

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import AnyMemberValue, ClassicMemberValue

    Left = tuple[int | None, int | None, int | None, str | None]

PRESENT: Final[Left] = (None, None, None, None)
_IDENTITY: Final = (
    *("instance_id", "client_id", "client_host", "rack_id", "server_assignor"),
    *("rebalance_timeout_ms", "session_timeout_ms", "topics", "regex", "process_id", "topology_epoch"),
    "classic_protocols",
)

_write: Final = row_writer(MEMBERSHIP, left=("left_at", "left_offset", "left_epoch", "left_how"), identity=_IDENTITY)


@dataclass(slots=True, eq=False)
class Stay:
    """One membership of a member, with the fields of `membership`. `joined_how`: None if the join was not seen."""

    joined_offset: int
    joined_at: int | None
    value: AnyMemberValue | ClassicMemberValue | None
    joined_epoch: int | None = None
    joined_how: str | None = None
    topology_since: int | None = None
    """Since when its topology is older than that of its streams group (`Operation.elapsed`); None: it is not."""
    longest_lag_ms: int | None = None
    """The longest such time that has ended; None if the group's topology was not seen during the stay."""

    def compare_topology(self, elapsed: int, *, is_older: bool) -> None:
        """Note whether the member's topology is older than the group's from now on."""
        self.longest_lag_ms = self.topology_lag_ms(elapsed) or 0
        if not is_older:
            self.topology_since = None
        elif self.topology_since is None:
            self.topology_since = elapsed

    def topology_lag_ms(self, elapsed: int | None) -> int | None:
        """Return the longest time of an older topology, up to this moment; None if that is unknown."""
        if self.topology_since is None or elapsed is None:
            return self.longest_lag_ms
        return max(elapsed - self.topology_since, self.longest_lag_ms or 0)


class Stays:
    """The rows of `membership` of one kind of group."""

    def __init__(self, context: Context, group_type: str) -> None:
        self.context = context
        self._group_type = group_type
        self._departed = IdSet()

    def begin(self, member_id: str, stay: Stay) -> None:
        """Note the begin of a stay; the member may have been in the group before."""
        if member_id in self._departed:
            self.context.returned[self.context.incarnation, self._group_type, member_id] = stay.joined_offset

    def depart(self, member_id: str) -> None:
        """Note the end of a stay."""
        self._departed.add(member_id)

    def emit(self, member_id: str, stay: Stay | None, left: Left = PRESENT, away_ms: int | None = None) -> None:
        """Write a stay; None if only its end was seen. `left`: time, offset and epoch of the end, and how it left."""
        context = self.context
        value = topology_lag_ms = None
        _, left_offset, *_ = left
        if stay is not None:
            value = stay.value
            operation = context.operation
            elapsed = operation.elapsed_at(context.captured_at) if left_offset is None else operation.elapsed
            topology_lag_ms = stay.topology_lag_ms(elapsed)
        _write(
            context,
            NEVER if stay is None else stay.joined_offset,
            group_type=self._group_type,
            member_id=member_id,
            joined_offset=None if stay is None else stay.joined_offset,
            joined_at=None if stay is None else stay.joined_at,
            joined_epoch=None if stay is None else stay.joined_epoch,
            joined_how=None if stay is None else stay.joined_how,
            left=left,
            returned=False,
            away_ms=away_ms,
            topology_lag_ms=topology_lag_ms,
            identity=[getattr(value, name, None) for name in _IDENTITY],
            has_end=left_offset is not None,
        )
