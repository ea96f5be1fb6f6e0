"""The present state of a group at the end of the log: `group_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CLASSIC
from kip848_records.protocol.group_partition import group_id_hash
from kip848_records.replay.group.known_history import CENSORED, NEVER, RIGHT_CENSORED
from kip848_records.replay.group.vocabulary import REBALANCING, RECONCILING, UNKNOWN
from kip848_records.replay.rows import GroupState

if TYPE_CHECKING:
    from kip848_records.replay.classic.group import ClassicGroup
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.known_history import KnownHistory
    from kip848_records.replay.group.states import StateTimeline
    from kip848_records.replay.modern.group import ModernGroup
    from kip848_records.replay.rows import Row
_UNKNOWN: Final = dict.fromkeys(
    (
        *("group_epoch", "assignment_epoch", "generation", "topology_epoch", "validated_topology_epoch"),
        *("standby_replicas", "members", "converged_members", "members_away"),
        *("protocol_type", "protocol", "leader", "upgradable", "upgradable_reason"),
    )
)
"""The columns that depend on the type of the group, or are unknown."""


class Work:
    """A group's volume: records, operations, and the bytes of the largest operation with its first offset."""

    def __init__(self) -> None:
        self.records = self.operations = self.bytes = self.largest = 0
        self.largest_offset: int | None = None

    def end_operation(self, offset: int) -> None:
        """End an operation that began at this offset."""
        if self.bytes > self.largest:
            self.largest, self.largest_offset = self.bytes, offset
        self.bytes = 0
        self.operations += 1


def group_state(  # noqa: PLR0913, PLR0917 - the parts of a group
    context: Context,
    states: StateTimeline,
    classic: ClassicGroup,
    modern: ModernGroup | None,
    work: Work,
    history: KnownHistory,
    *,
    is_lost: bool,
) -> Row:
    """Return the state of a group that was not deleted; `is_lost`: records of it are missing.

    In that case the members of all groups but classic ones are unknown. In state unknown a lost record may have changed
    what earlier records say: that is null.
    """
    columns: dict[str, Any] = {}
    is_known = states.state not in {None, UNKNOWN}
    if states.group_type == CLASSIC:
        if is_known:
            columns = _of_classic(classic)
    elif modern is not None and (is_known or not history.has_losses):
        columns = _of_modern(modern, is_lost=is_lost)
    columns = _UNKNOWN | columns
    members, away, converged = columns["members"], columns["members_away"], columns["converged_members"]
    waits_for_away_only = members is not None and away is not None and converged == members - away
    complete_from, since = history.complete_from, states.since_offset
    has_full_history = complete_from is not None and context.incarnation_offset >= complete_from
    is_seen = since != NEVER and history.is_seen(since, history.last)
    state_history = RIGHT_CENSORED if is_seen else CENSORED
    rebalancing_since, rebalancing_history = _rebalancing(context, states, state_history)
    return GroupState(
        partition=context.partition,
        group_id=context.group_id,
        incarnation=context.incarnation,
        group_type=states.group_type,
        offset=history.last,
        state=states.state or UNKNOWN,
        since=states.since_at,
        rebalancing_since=rebalancing_since,
        rebalancing_history=rebalancing_history,
        waits_for_away_only=states.state == RECONCILING and waits_for_away_only,
        group_id_hash=group_id_hash(context.group_id),
        records=work.records,
        operations=work.operations,
        largest_operation_bytes=work.largest,
        largest_operation_offset=work.largest_offset,
        complete_from=complete_from,
        has_full_history=has_full_history,
        known_since=None if has_full_history else history.known_since,
        has_lost_prefix=is_lost,
        captured_at=context.captured_at,
        is_read_to_end=context.is_read_to_end,
        moved_from=None if context.move is None else context.move.old,
        moved_at=None if context.move is None else context.move.at,
        blocker=None,  # of all rows together
        history=state_history,
        **columns,
    )


def _of_classic(group: ClassicGroup) -> dict[str, Any]:
    """Return the columns that a classic group's last type 2 says."""
    value = group.value
    if value is None:
        return {}
    upgradable, upgradable_reason = group.upgradable()
    return {
        "generation": value.generation,
        "members": group.members,
        "members_away": 0,
        "protocol_type": value.protocol_type or None,
        "protocol": value.protocol,
        "leader": value.leader,
        "upgradable": upgradable,
        "upgradable_reason": upgradable_reason,
    }


def _of_modern(group: ModernGroup, *, is_lost: bool) -> dict[str, Any]:
    """Return the columns that the records of a group of another type say.

    If only the start of the log is missing, its epochs are those of the last records. Without types 3 and 6 a complete
    group's epochs have their start value.
    """
    columns = {
        "group_epoch": group.group_epoch,
        "assignment_epoch": group.assignment_epoch,
        "topology_epoch": group.topology_epoch,
        "validated_topology_epoch": group.validated_topology_epoch,
        "standby_replicas": group.standby_replicas,
    }
    if is_lost:
        return columns
    start = group.effective_assignment_epoch
    if group.group_epoch is None and group.assignment_epoch is None:
        columns["group_epoch"] = start
    is_unknown = group.stateless or (start is None and group.member_count)
    return columns | {
        "assignment_epoch": start,
        "members": group.member_count,
        "members_away": group.away,
        "converged_members": None if is_unknown else group.converged,
    }


def _rebalancing(context: Context, states: StateTimeline, history: str) -> tuple[int | None, str | None]:
    """Return since when the group rebalances, and the history of that: nulls if it does not, or is unknown.

    A group may rebalance without a row of `rebalance`, for example because a static member went away: then its state
    counts, which has this `history`. A censored rebalance may include an epoch that converged, so that it is only known
    to last since the start of the state. If its time is not known, it has lasted since the last operation at least.
    """
    if states.state in {None, UNKNOWN}:
        return None, None
    ongoing = context.ongoing.get(states.group_type)
    if ongoing is None:
        return (states.since_at, history) if states.state in REBALANCING else (None, None)
    if ongoing.history == CENSORED and ongoing.group_type != CLASSIC:
        return states.since_at, CENSORED
    if ongoing.began_at is None:
        return context.operation.at, CENSORED
    return ongoing.began_at, ongoing.history
