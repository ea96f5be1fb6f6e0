"""One group as text for a terminal: what blocks it first, then who waits for whom, rebalances and members."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.kinds import CLASSIC, KINDS, SIMPLE
from kip848_records.machine.paths import with_page_paths
from kip848_records.replay.blocker.advice import runbook_link
from kip848_records.replay.group.vocabulary import NOT_READY, OPEN
from kip848_records.report.cleaning import group_not_cleaned
from kip848_records.report.columns import NUMBER, SPAN, TIME, Column
from kip848_records.report.comings import with_changes
from kip848_records.report.consumption import set_while_empty
from kip848_records.report.current_state import current_state, well
from kip848_records.report.diagnosis import TROUBLES_SHOWN, diagnosis, own_troubles, pattern_text
from kip848_records.report.explain_kind import (
    classic_members,
    kind_of_incarnation,
    limit_of_kind,
    one_generation,
    shared_urls,
)
from kip848_records.report.group_history import Incarnation
from kip848_records.report.group_section import table
from kip848_records.report.group_sections import (
    DIAGNOSIS,
    MEMBERS,
    PLACES_SHOWN,
    REBALANCES,
    SECTIONS,
    UNITS,
    WORKERS,
    client_of,
    clients_of,
    with_units,
)
from kip848_records.report.readiness import readiness, refused_records
from kip848_records.report.terminal import fitted, ids_text, wrapped
from kip848_records.report.transactions import transactions_of_group
from kip848_records.report.wrong import also_wrong, mixed, needed_topics
from kip848_records.text import (
    CLOCK_WENT_BACK,
    client_text,
    count_text,
    names_text,
    printable,
    ranges_text,
    span_text,
)
from kip848_records.times import time_text
from kip848_records.wording import TASK_OF, cause_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory

    Fields = dict[str, Any]

_MEMBERS_SHOWN: Final = 100
_REGEXES_SHOWN: Final = 20
_TOPICS_SHOWN: Final = 10
_ALL: Final = (1 << 31) - 1
"""The largest limit in SQL: what is counted is not cut."""


def explain(group: GroupHistory, epoch: int | None = None) -> Iterator[Text]:
    """Yield the parts of a group's history as texts of 80 columns, wider only if a name alone is.

    The history is that of the last incarnation; with `epoch`, that of one epoch of the last incarnation that has it.
    Raises InputError, before the first part, if the log has no such epoch.
    """
    incarnation = group.incarnations[-1] if epoch is None else group.incarnation_with(epoch)
    yield from map(fitted, _parts(group, incarnation, epoch))


def _parts(group: GroupHistory, incarnation: Incarnation, epoch: int | None) -> Iterator[Text]:
    kind = kind_of_incarnation(group, incarnation)
    everyone = group.section(MEMBERS._replace(limit=_ALL), incarnation)
    common = {"kind": kind, "clients": clients_of(everyone), "places": PLACES_SHOWN}
    yield from current_state(group)
    if epoch is not None:
        yield from refused_records(group)
        yield from group_not_cleaned(group)
        yield from _incarnations(group, incarnation, epoch, kind)
        yield from _epoch(group, incarnation, epoch, kind)
        yield from one_generation(group, incarnation, epoch, common)
        return
    troubles = own_troubles(group.section(DIAGNOSIS._replace(limit=_ALL)))
    if kind != SIMPLE:
        yield from well(group, kind, troubles[:TROUBLES_SHOWN])
    yield from refused_records(group)
    yield from group_not_cleaned(group)
    yield from set_while_empty(group)
    yield from diagnosis(group, troubles)
    units = group.section(UNITS._replace(limit=_ALL), incarnation)
    present = [row for row in everyone if row["is_present"] and row["state"] is not None]
    members = with_units([row | common | {"total": len(present)} for row in present], units)
    for now in group.states:
        if Incarnation(now.partition, now.incarnation) == incarnation and now.blocker is not None:
            yield from _answer(now.blocker)
            if now.state == NOT_READY:
                yield from needed_topics(group, incarnation)
    yield from transactions_of_group(group)
    if kind != SIMPLE:
        yield from also_wrong(group)
    yield from mixed(members)
    yield from _waiting(members, kind)
    yield from _incarnations(group, incarnation, epoch, kind)
    yield from _sections(group, incarnation, members, common)
    yield from _regexes(group, incarnation)
    yield from limit_of_kind(kind)
    if kind != SIMPLE:
        yield from readiness(group)


def _sections(
    group: GroupHistory, incarnation: Incarnation, members: Sequence[Fields], common: Fields
) -> Iterator[Text]:
    """Yield the sections that have rows. `common`: what all rows have."""
    kind = common["kind"]
    for section in group.with_rows([each for each in SECTIONS if each.columns and each.shown]):
        if section is MEMBERS:
            if KINDS[kind].has_epochs:
                yield from section.terminal(members, kind)
            elif kind == CLASSIC:
                yield from classic_members(group, incarnation, "the last generation")
            continue
        found = group.section(section, None if section.is_past else incarnation)
        rows: Sequence[Fields] = [row | common for row in found]
        if section is REBALANCES:
            if not rows and kind != SIMPLE:
                yield Text("\nThe log has no rebalance of it")
            rows = with_changes(group, incarnation, rows[: section.shown])
        yield from section.terminal(rows, kind)
        if section is WORKERS:
            yield from shared_urls(rows)


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


def _incarnations(group: GroupHistory, incarnation: Incarnation, epoch: int | None, kind: str) -> Iterator[Text]:
    last = group.incarnations[-1]
    # If a group becomes a classic one, the coordinator writes the same records as for a deletion.
    deleted = "deleted, or became a classic group," if KINDS[kind].migrates else "deleted"
    ended = f"It was {deleted} {count_text(last.incarnation, 'time')} before"
    if incarnation.partition == last.partition and incarnation != last:
        yield Text(f"\n{ended}: epoch {epoch} belongs to an earlier incarnation only")
    elif incarnation == last and last.incarnation:
        yield Text(f"\n{ended}: the following shows its last incarnation")
    if others := sorted({each.partition for each in group.incarnations} - {incarnation.partition}):
        shown = f"\nThe following shows partition {incarnation.partition}"
        moved = [row for row in group.states if row.partition == incarnation.partition and others == [row.moved_from]]
        before = f"the group was in {ranges_text(others)}"
        also = (
            f"until {time_text(moved[0].moved_ms)} {before}" if moved else f"the group is also in {ranges_text(others)}"
        )
        yield Text(f"{shown}; {also}")


def _waiting(members: Sequence[Fields], kind: str) -> Iterator[Text]:
    """Show who waits for whom, the oldest first; nothing if no member waits."""
    waiting = sorted((row for row in members if row["awaited"]), key=lambda row: -(row["behind_ms"] or 0))
    if not waiting:
        return
    by_id = {row["member_id"]: row for row in members}
    yield Text("\nWho waits for whom, the oldest first:")
    for row in waiting[:_MEMBERS_SHOWN]:
        waits = f"waits for {count_text(sum(map(bool, row['awaited'])), KINDS[kind].unit)}"
        lasted = span_text(row["behind_ms"], is_minimum=True)
        yield Text(f"  {_who(row)}: {waits}{f', behind for {lasted}' if lasted else ''}")
        for owner, topics in _awaited(row["awaited"]):
            yield Text(f"    {topics} {_held(owner, by_id)}")
    if len(waiting) > _MEMBERS_SHOWN:
        yield Text(f"  and {count_text(len(waiting) - _MEMBERS_SHOWN, 'more member')}")


def _who(row: Fields) -> str:
    client = client_of(row)
    return f"{printable(row['member_id'])}{f' ({client})' if client else ''}"


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


def _held(owner: str | None, members: dict[str, Fields]) -> str:
    if owner is None:
        return "held by no member: free to be taken with its next heartbeat"
    return f"held by {_who(members[owner]) if owner in members else printable(owner)}"


def _epoch(group: GroupHistory, incarnation: Incarnation, epoch: int, kind: str) -> Iterator[Text]:
    epochs = group.rows("epoch", incarnation, epoch=epoch)
    if not epochs:
        return
    yield Text("\nEpoch:")
    yield from table(_EPOCH, [row._asdict() | {"kind": kind} for row in epochs], kind)
    rows = group.rows("epoch_members", incarnation, epoch=epoch)
    if not rows:
        yield Text(f"\nNo assignment was written for epoch {epoch} alone")
        return
    cut = f", the {_MEMBERS_SHOWN} slowest" if len(rows) > _MEMBERS_SHOWN else ""
    yield Text(f"\nMembers at assignment epoch {epoch}{cut}:")
    yield from table(_LAGS, [row._asdict() for row in rows[:_MEMBERS_SHOWN]], kind)


def _span(name: str, *, is_total: bool = False) -> Callable[[Fields], str]:
    """Return a time of an epoch or a member, which grows while it is open; a total is unknown if a clock went back."""

    def text(row: Fields) -> str:
        if is_total and row["clock_skew"] and row["status"] != OPEN and row[name] is not None:
            return CLOCK_WENT_BACK
        return span_text(row[name], is_minimum=row["status"] == OPEN and bool(row[name]))

    return text


_EPOCH: Final = (
    Column("epoch", lambda row: str(row["group_epoch"])),
    Column("bumped at", "bumped_ms", TIME),
    Column("total", _span("total_ms", is_total=True), SPAN),
    Column("assigned in", "assign_lag_ms", SPAN),
    Column("members", "members", NUMBER),
    Column("moved", "partitions_moved", NUMBER),
    Column("status", lambda row: " by ".join(str(row[name]) for name in ("status", "superseded_by") if row[name])),
    Column("cause", lambda row: cause_text(row["cause"], row["kind"])),
)
_LAGS: Final = (
    Column("member", "member_id"),
    Column("client", lambda row: client_text(row["client_id"], row["client_host"])),
    Column("total", _span("lag_ms", is_total=True), SPAN),
    Column("revoking", _span("revoke_ms"), SPAN),
    Column("waiting", _span("wait_ms"), SPAN),
    Column("status", "status"),
    Column("blocked by", lambda row: ids_text(row["blocked_by"])),
)


def _regexes(group: GroupHistory, incarnation: Incarnation) -> Iterator[Text]:
    """Yield which topics each regular expression of a present member matches, as the log shows it."""
    rows = group.rows("regexes_now", incarnation)
    for row in rows[:_REGEXES_SHOWN]:
        members = count_text(row.members, "member")
        yield Text(f"\nExpression {printable(row.regex)} of {members}: {_resolved(row)}")
    if len(rows) > _REGEXES_SHOWN:
        yield Text("\nand other expressions: see regex_resolution and membership")


def _resolved(row: Row) -> str:
    if row.topics is None:
        return "the broker has not resolved it, or the log does not show it"
    at = f", resolved at {time_text(row.resolved_ms)}" if row.resolved_ms is not None else ""
    if not row.topics:
        return f"it matches no topic that the client may see{at}"
    named = names_text([printable(each) for each in row.topics if each is not None], _TOPICS_SHOWN)
    return f"{named} ({count_text(len(row.topics), 'topic')}){at}"
