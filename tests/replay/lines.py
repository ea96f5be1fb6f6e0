"""The rows of a replay as lines of text, in the order of time."""

from collections.abc import Callable
from itertools import starmap
from typing import Any

from kip848_records.replay.rows import (
    Anomaly,
    AwaitedPartition,
    Epoch,
    GroupState,
    GroupStateInterval,
    Membership,
    MemberStateInterval,
    OwnershipInterval,
    PartitionHandover,
    Rebalance,
    RebalanceLag,
    SharePartitionState,
    TaskHandover,
)
from tests.replay.logs import Rows
from tests.replay.stories import START, dash, since_start


def epoch(row: Epoch) -> str:
    times = (("bumped", row.bumped_at), ("assigned", row.assigned_at), ("converged", row.converged_at))
    text = " ".join(f"{name} {since_start(at)}" for name, at in times)
    by = "" if row.superseded_by is None else f" by {row.superseded_by}"
    members = f"{row.incarnation}/{row.group_epoch} {text} {dash(row.status)}{by}, {row.members} members"
    return members + _history(row.history) + _skew(row)


def cause(row: Epoch) -> str:
    by = "".join(f" {member}" for member in row.trigger_member_ids)
    changed = {None: "?", True: " metadata changed", False: ""}[row.metadata_changed]
    changed = " metadata ?" if changed == "?" else changed
    return f"{row.group_epoch} {row.cause}{' by' if by else ''}{by},{changed} {dash(row.partitions_moved)} moved"


def lag(row: RebalanceLag) -> str:
    late = " superseded" if row.superseded else ""
    parts = [f"{row.group_epoch} {row.member_id} {dash(row.status)} in {dash(row.lag_ms)}{late}"]
    if row.behind_since != row.first_bumped_at:
        parts += [f"behind since {since_start(row.behind_since)}"]
    parts += [f"revoked {row.revoke_ms}"] if row.revoke_ms else []
    waited = " ".join([f"waited {row.wait_ms}", *(["for", *row.blocked_by] if row.blocked_by else [])])
    parts += [waited] if row.wait_ms else []
    for each in starmap(AwaitedPartition, row.awaited or ()):
        free = "" if each.released_at is None else f" since {each.released_at - START}"
        unit = each.partition if each.role is None else f"{each.role} {each.subtopology_id}_{each.partition}"
        parts.append(f"awaits {unit} of {dash(each.owner)}{free}")
    return ", ".join(parts) + _history(row.history) + _skew(row)


def handover(row: PartitionHandover) -> str:
    if row.to_member is None:
        text = f"{row.partition} {row.from_member} to - from {since_start(row.released_at)}"
    else:
        text = f"{row.partition} {dash(row.from_member)} to {row.to_member} at {since_start(row.acquired_at)}"
    if row.from_member is not None:
        text += f" after {dash(row.unowned_ms)}"
        text += f" ({row.wanted_ms} wanted)" if row.wanted else ""
    return text + _history(row.history) + _skew(row)


def task(row: TaskHandover) -> str:
    text = f"{row.subtopology_id}_{row.task} {dash(row.from_member)} to {dash(row.to_member)} {row.status}"
    text += f" at {since_start(row.ended_at)}"
    if row.from_member is not None:
        text += f" after {dash(row.unowned_ms)}"
    return text + {None: "", True: ", warm", False: ", cold"}[row.was_warm] + _history(row.history) + _skew(row)


def owned(row: OwnershipInterval) -> str:
    unit = f"{row.role} {row.subtopology_id}_{row.partition}" if row.topic_id is None else str(row.partition)
    text = f"{row.incarnation} {row.member_id} {unit} {since_start(row.from_at)} to {since_start(row.to_at)}"
    return text + _history(row.history) + _skew(row)


def shared(row: SharePartitionState) -> str:
    numbers = "" if row.partitions is None else " " + "+".join(map(str, row.partitions))
    text = f"{row.incarnation} {row.topic} {row.state}{numbers} {since_start(row.from_at)} to {since_start(row.to_at)}"
    return text + _history(row.history) + _skew(row)


def state(row: GroupStateInterval) -> str:
    text = f"{row.incarnation} {row.group_type} {row.state} {since_start(row.from_at)} to {since_start(row.to_at)}"
    assert row.hides_rebalance == (row.group_type in {"classic", "share"})
    return text + _history(row.history) + _skew(row)


def last(row: GroupState) -> str:
    consumer = f"{dash(row.group_epoch)}/{dash(row.assignment_epoch)}"
    epochs = consumer if row.generation is None else f"generation {row.generation}"
    away = f", {row.members_away} away" if row.members_away else ""
    text = f"{row.group_type} {row.state} {epochs}, {dash(row.members)} members{away} since {since_start(row.since)}"
    is_hidden = row.group_type in {"classic", "share"}
    if row.rebalancing_history is not None and (is_hidden or row.rebalancing_since != row.since):
        before = " or before" if row.rebalancing_history == "censored" else ""
        text += f", rebalancing since {since_start(row.rebalancing_since)}{before}"
    return text + _history(row.history, normal="right_censored")


def rebalance(row: Rebalance) -> str:
    first = f"{row.first_epoch}-{row.last_epoch}" if row.epochs > 1 else str(row.first_epoch)
    parts = [f"{first} {'+'.join(row.causes)}"]
    parts[0] += f" by {' '.join(row.trigger_member_ids)}" if row.trigger_member_ids else ""
    parts.append(f"{since_start(row.began_at)} to {since_start(row.ended_at)} {dash(row.outcome)}")
    parts.append(f"{dash(row.members_before)} to {dash(row.members)} members")
    if row.duration_is_minimum:
        parts[0] = f"{row.group_type} {parts[0]}"
    elif row.duration_ms:
        not_ready = f" + {row.not_ready_ms} not ready" if row.not_ready_ms else ""
        parts.append(f"{row.assigning_ms} assigning + {row.late_ms} late{not_ready} = {row.duration_ms}")
    parts += [f"{row.members_waited} waited"] if row.members_waited else []
    parts.append(f"{dash(row.partitions_moved)} moved")
    parts += [f"{row.unowned_ms} unowned, longest {row.longest_unowned_ms}"] if row.unowned_ms else []
    for each in row.blockers or ():
        text = f"{each.member_id} {each.last_state}: {each.late_ms} late"
        text += f" {each.blocked_ms} blocking {each.held_up}" if each.blocked_ms else ""
        text += f" {each.revoke_ms} revoking" if each.revoke_ms else ""
        parts.append(text + (f" {each.away_ms} away" if each.away_ms else ""))
    parts += ["leader changed"] if row.leader_changed else []
    return ", ".join(parts) + _history(row.history) + _skew(row)


def stay(row: Membership) -> str:
    text = f"{row.incarnation} {row.group_type} {row.member_id}"
    text += "" if row.instance_id is None else f" @{row.instance_id}"
    text += f" {dash(row.joined_how)} at {since_start(row.joined_at)} ({dash(row.joined_epoch)})"
    if row.left_offset is not None:
        text += f", {dash(row.left_how)} at {since_start(row.left_at)} ({dash(row.left_epoch)})"
    if row.left_offset is not None:
        text += {True: ", returned", False: "", None: ", may return"}[row.returned]
    text += f", {row.away_ms} away" if row.away_ms else ""
    text += f", {row.topology_lag_ms} behind the topology" if row.topology_lag_ms else ""
    return text + _history(row.history)


def member(row: MemberStateInterval) -> str:
    text = (
        f"{row.member_id} {row.state} {dash(row.member_epoch)} {since_start(row.from_at)} to {since_start(row.to_at)}"
    )
    return text + (" classic" if row.is_classic else "") + _history(row.history)


def anomaly(row: Anomaly) -> str:
    of = "" if row.member_id is None else f" of {row.member_id}"
    return f"{row.kind}{of} at {row.offset}: {row.expected}, seen {row.seen}{'' if row.is_proven else ', not proven'}"


TABLES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], str]]] = {
    "epochs": ("Epoch", lambda row: row.bump_offset, epoch),
    "causes": ("Epoch", lambda row: row.bump_offset, cause),
    "lags": ("RebalanceLag", lambda row: (row.incarnation, row.group_epoch, row.member_id), lag),
    "handovers": ("PartitionHandover", lambda row: (row.partition, _place(row)), handover),
    "tasks": ("TaskHandover", lambda row: (row.task, _place(row)), task),
    "owned": ("OwnershipInterval", lambda row: (row.from_offset, row.member_id, row.role or "", row.partition), owned),
    "shared": ("SharePartitionState", lambda row: (row.from_offset, row.state), shared),
    "states": ("GroupStateInterval", lambda row: row.from_offset, state),
    "rebalances": ("Rebalance", lambda row: row.began_offset, rebalance),
    "stays": ("Membership", lambda row: (row.joined_offset or 0, row.member_id), stay),
    "members": ("MemberStateInterval", lambda row: (row.member_id, row.from_offset), member),
    "anomalies": ("Anomaly", lambda row: row.offset, anomaly),
}
"""The table of each field of a story, its order, and its lines."""


def lines_of(rows: Rows, field: str) -> list[str]:
    name, order, line = TABLES[field]
    return [line(row) for row in sorted(rows[name], key=order)]


def last_line(rows: Rows) -> str:
    found = rows["GroupState"]
    return last(found[0]) if found else "gone"


def _place(row: PartitionHandover | TaskHandover) -> int:
    return row.released_offset + 1 if row.acquired_offset is None else row.acquired_offset


def _history(history: str, normal: str = "observed") -> str:
    return "" if history == normal else f", {history}"


def _skew(row: Any) -> str:
    return ", clock skew" if row.clock_skew else ""
