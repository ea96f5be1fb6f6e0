"""One group as text for a terminal: what blocks it first, then who waits for whom, rebalances and members."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.kinds import KINDS, SIMPLE
from kip848_records.machine.paths import with_page_paths
from kip848_records.replay.blocker.advice import runbook_link
from kip848_records.replay.group.states import NOT_READY
from kip848_records.replay.group.vocabulary import OPEN
from kip848_records.report.cleaning import group_not_cleaned
from kip848_records.report.comings import comings_and_goings
from kip848_records.report.consumption import committed_by_members, handovers, jumps, not_subscribed, set_while_empty
from kip848_records.report.current_state import current_state, well
from kip848_records.report.diagnosis import diagnosis, pattern_text
from kip848_records.report.explain_kind import kind_of_group, kind_of_incarnation, one_generation
from kip848_records.report.group_history import Incarnation
from kip848_records.report.members import members_table, regexes
from kip848_records.report.migration import BEFORE_AND_AFTER, CONVERSIONS
from kip848_records.report.readiness import readiness, refused_records
from kip848_records.report.terminal import fitted, fitted_table, ids_text, wrapped
from kip848_records.report.transactions import transactions_of_group
from kip848_records.report.wrong import also_wrong, mixed, needed_topics
from kip848_records.text import CLOCK_WENT_BACK, client_text, count_text, printable, ranges_text, span_text
from kip848_records.times import time_text
from kip848_records.wording import TASK_OF, cause_text, causes_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory

_MEMBERS_SHOWN: Final = 100
_NAMED_CAUSES: Final = frozenset({"member_joined", "member_left", "members_changed", "static_member_replaced"})
"""The causes that the names of those who joined and left say better."""


def explain(group: GroupHistory, epoch: int | None = None) -> Iterator[Text]:
    """Yield the parts of a group's history as texts of 80 columns, wider only if a name alone is.

    The history is that of the last incarnation; with `epoch`, that of one epoch of the last incarnation that has it.
    Raises InputError, before the first part, if the log has no such epoch.
    """
    incarnation = group.incarnations[-1] if epoch is None else group.incarnation_with(epoch)
    yield from map(fitted, _parts(group, incarnation, epoch))


def _parts(group: GroupHistory, incarnation: Incarnation, epoch: int | None) -> Iterator[Text]:
    kind = kind_of_incarnation(group, incarnation)
    yield from current_state(group)
    if epoch is None and kind != SIMPLE:
        yield from well(group, kind)
    yield from refused_records(group)
    yield from group_not_cleaned(group)
    if epoch is None:
        yield from set_while_empty(group)
        yield from diagnosis(group)
    else:
        yield from _incarnations(group, incarnation, epoch)
        yield from _epoch(group, incarnation, epoch, kind)
        yield from one_generation(group, incarnation, epoch)
        return
    if kind == SIMPLE:
        yield from transactions_of_group(group)
        yield from jumps(group)
        yield from _incarnations(group, incarnation, epoch)
        return
    rebalances = group.rows("rebalances", incarnation)
    members = group.rows("members_now", incarnation, open=OPEN)
    for now in group.rows("group_now"):
        if Incarnation(now.partition, now.incarnation) == incarnation and now.blocker is not None:
            yield from _answer(now.blocker)
            if now.state == NOT_READY:
                yield from needed_topics(group, incarnation)
    yield from transactions_of_group(group)
    yield from also_wrong(group)
    yield from mixed(members)
    yield from _waiting(group, members, kind)
    yield from _incarnations(group, incarnation, epoch)
    yield from _rebalances(rebalances, comings_and_goings(group, incarnation, rebalances), kind)
    yield from members_table(group, incarnation, members, kind)
    yield from regexes(group, incarnation)
    clients = {row.member_id: _who(row) for row in members}
    yield from committed_by_members(group, incarnation, clients)
    yield from not_subscribed(group)
    yield from handovers(group, clients)
    yield from jumps(group)
    yield from kind_of_group(group, incarnation, kind)
    yield from readiness(group)
    yield from CONVERSIONS.terminal(group)
    yield from BEFORE_AND_AFTER.terminal(group)


def _answer(blocker: Mapping[str, Any]) -> Iterator[Text]:
    """Yield who blocks the ongoing rebalance, and what to do."""
    yield Text("")
    if blocker["ongoing"] is not None:
        yield wrapped(f"Ongoing now: {blocker['ongoing']}")
        yield Text(f'  explained by "{pattern_text(blocker["pattern"])}" above')
        return
    yield wrapped(blocker["sentence"])
    if blocker["member_id"] is not None:
        yield Text(f"  member   {printable(blocker['member_id'])}")
    yield wrapped(blocker["next_step"], "  next     ")
    yield Text(f"  runbook  {with_page_paths(runbook_link(blocker['pattern']))}")


def _incarnations(group: GroupHistory, incarnation: Incarnation, epoch: int | None) -> Iterator[Text]:
    last = group.incarnations[-1]
    # If a group becomes a classic one, the coordinator writes the same records as for a deletion.
    migrates = KINDS[kind_of_incarnation(group, incarnation)].migrates
    deleted = "deleted, or became a classic group," if migrates else "deleted"
    ended = f"It was {deleted} {count_text(last.incarnation, 'time')} before"
    if incarnation.partition == last.partition and incarnation != last:
        yield Text(f"\n{ended}: epoch {epoch} belongs to an earlier incarnation only")
    elif incarnation == last and last.incarnation:
        yield Text(f"\n{ended}: the following shows its last incarnation")
    if others := sorted({each.partition for each in group.incarnations} - {incarnation.partition}):
        shown = f"\nThe following shows partition {incarnation.partition}"
        moved = [
            row
            for row in group.rows("group_now")
            if row.partition == incarnation.partition and others == [row.moved_from]
        ]
        before = f"the group was in {ranges_text(others)}"
        also = (
            f"until {time_text(moved[0].moved_ms)} {before}" if moved else f"the group is also in {ranges_text(others)}"
        )
        yield Text(f"{shown}; {also}")


def _rebalances(rows: Sequence[Row], changes: Mapping[int, str], kind: str) -> Iterator[Text]:
    """List rebalances, the latest first, with who joined and who left, by the first epoch of each."""
    if not rows:
        yield Text("\nThe log has no rebalance of it")
        return
    total = rows[0].total
    yield Text(f"\nRebalances, the latest{f' {len(rows)} of {total:,}' if total > len(rows) else ''} first:")
    cells = [
        (
            f"{row.first_epoch}" if row.first_epoch == row.last_epoch else f"{row.first_epoch}-{row.last_epoch}",
            time_text(row.began_ms),
            _total(row),
            span_text(row.assigning_ms),
            row.members,
            row.partitions_moved,
            _what(row, changes.get(row.first_epoch, ""), kind),
        )
        for row in rows
    ]
    epochs, count = f"{KINDS[kind].step}s", f"{KINDS[kind].member}s"
    titles = (epochs, "began at", "total", "assigned in", count, "moved", "")
    yield from fitted_table(*titles, rows=cells, right=("total", "assigned in", count, "moved"))


def _what(row: Row, changes: str, kind: str) -> str:
    """Return how a rebalance ended unless it converged, and why it began: who joined and left, and other causes."""
    others = [cause for cause in row.causes or () if not (changes and cause in _NAMED_CAUSES)]
    outcome = {"converged": "", OPEN: "ongoing at capture"}.get(row.outcome, (row.outcome or "").replace("_", " "))
    said = "; ".join(filter(None, (causes_text(others, kind), changes)))
    return f"{outcome}: {said}" if outcome and said else outcome or said


def _total(row: Row) -> str:
    """Return the duration of a rebalance; if a clock went back within one that ended, its duration is unknown."""
    if row.clock_skew and row.outcome != OPEN and row.duration_ms is not None:
        return CLOCK_WENT_BACK
    return span_text(row.duration_ms, is_minimum=row.outcome == OPEN or row.duration_is_minimum)


def _behind(group: GroupHistory, row: Row) -> str:
    return span_text(group.ago(row.behind_ms), is_minimum=True)


def _waiting(group: GroupHistory, members: Sequence[Row], kind: str) -> Iterator[Text]:
    """Show who waits for whom, the oldest first; nothing if no member waits."""
    waiting = sorted((row for row in members if row.awaited), key=lambda row: -(group.ago(row.behind_ms) or 0))
    if not waiting:
        return
    by_id = {row.member_id: row for row in members}
    yield Text("\nWho waits for whom, the oldest first:")
    for row in waiting[:_MEMBERS_SHOWN]:
        waits = f"waits for {count_text(sum(map(bool, row.awaited)), KINDS[kind].unit)}"
        lasted = _behind(group, row)
        yield Text(f"  {_who(row)}: {waits}{f', behind for {lasted}' if lasted else ''}")
        for owner, topics in _awaited(row.awaited):
            yield Text(f"    {topics} {_held(owner, by_id)}")
    if len(waiting) > _MEMBERS_SHOWN:
        yield Text(f"  and {count_text(len(waiting) - _MEMBERS_SHOWN, 'more member')}")


def _who(row: Row) -> str:
    client = client_text(row.client_id, row.client_host, row.instance_id)
    return f"{printable(row.member_id)}{f' ({client})' if client else ''}"


def _awaited(awaited: Sequence[dict[str, Any]]) -> Iterator[tuple[str | None, str]]:
    """Yield topic partitions, or tasks, by their present owner."""
    ordered = sorted(
        filter(None, awaited), key=lambda each: (each["owner"] or "", _topic(each), each["partition"] or 0)
    )
    for owner, owner_partitions in groupby(ordered, key=lambda each: each["owner"]):
        topics = groupby(owner_partitions, key=_topic)
        named = [f"{topic} {ranges_text(each['partition'] for each in group)}" for topic, group in topics]
        yield owner, printable(", ".join(named))


def _topic(awaited: dict[str, Any]) -> str:
    """Return the topic of an awaited partition; of a streams group, the role and the subtopology of the task."""
    named = awaited["topic"] or awaited["topic_id"]
    return named or f"{awaited['role']} {TASK_OF} {awaited['subtopology_id']}"


def _held(owner: str | None, members: dict[str, Row]) -> str:
    if owner is None:
        return "held by no member: free to be taken with its next heartbeat"
    return f"held by {_who(members[owner]) if owner in members else printable(owner)}"


def _epoch(group: GroupHistory, incarnation: Incarnation, epoch: int, kind: str) -> Iterator[Text]:
    epochs = group.rows("epoch", incarnation, epoch=epoch)
    if not epochs:
        return
    yield Text("\nEpoch:")
    cells = [
        (
            row.group_epoch,
            time_text(row.bumped_ms),
            _epoch_total(group, row),
            span_text(row.assign_lag_ms),
            row.members,
            row.partitions_moved,
            row.status if row.superseded_by is None else f"{row.status} by {row.superseded_by}",
            cause_text(row.cause, kind),
        )
        for row in epochs
    ]
    titles = ("epoch", "bumped at", "total", "assigned in", "members", "moved", "status", "cause")
    yield from fitted_table(*titles, rows=cells, right=("assigned in", "total", "members", "moved"))
    rows = group.rows("epoch_members", incarnation, epoch=epoch)
    if not rows:
        yield Text(f"\nNo assignment was written for epoch {epoch} alone")
        return
    cut = f", the {_MEMBERS_SHOWN} slowest" if len(rows) > _MEMBERS_SHOWN else ""
    yield Text(f"\nMembers at assignment epoch {epoch}{cut}:")
    lags = [
        (
            row.member_id,
            client_text(row.client_id, row.client_host),
            CLOCK_WENT_BACK
            if row.clock_skew and row.status != OPEN and row.lag_ms is not None
            else _until_now(row.lag_ms, row.status),
            _until_now(row.revoke_ms, row.status),
            _until_now(row.wait_ms, row.status),
            row.status,
            ids_text(row.blocked_by),
        )
        for row in rows[:_MEMBERS_SHOWN]
    ]
    named = ("member", "client", "total", "revoking", "waiting", "status", "blocked by")
    yield from fitted_table(*named, rows=lags, right=("total", "revoking", "waiting"))


def _epoch_total(group: GroupHistory, row: Row) -> str:
    """Return how long an epoch took, or has taken; if a clock went back within one that ended, that is unknown."""
    if row.status == OPEN:
        return span_text(group.ago(row.bumped_ms), is_minimum=True)
    return CLOCK_WENT_BACK if row.clock_skew and row.rebalance_lag_ms is not None else span_text(row.rebalance_lag_ms)


def _until_now(span_ms: int | None, status: str) -> str:
    """Return a time of a member, which still grows if the member is not there yet."""
    return span_text(span_ms, is_minimum=status == OPEN and bool(span_ms))
