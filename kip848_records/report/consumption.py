"""What `kip848 explain` says of a group's offset commits: how far its members have come, and where offsets jumped."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.machine.paths import with_page_paths
from kip848_records.report.sql import query
from kip848_records.report.terminal import wrapped, wrapped_lines
from kip848_records.tables.location import query_command
from kip848_records.text import (
    WIDTH,
    count_text,
    duration_text,
    lasting_text,
    names_text,
    printable,
    ranges_text,
    span_text,
)
from kip848_records.times import time_text
from kip848_records.wording import LOSSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kip848_records.queries.tables import Row, Tables
    from kip848_records.report.group_history import GroupHistory, Incarnation

_PAGE: Final = "docs/consumption.md"
_BY_MEMBER: Final = frozenset({"same_owner", "owner_change", "first_owner"})
_STATES: Final = {
    "negative_offset": "; a negative offset is none, so nothing is committed",
    "progress": "; goes on",
    "too_short": "; too early to say",
    "never_commits": "; the group commits nothing",
    "caught_up": "; all is read",
    "committed_beyond_end": "; that is beyond the end of the partition",
    "messages_wait": "; messages wait, not known since when",
    "stopped_alone": "; stopped, or no messages: the end offset tells (--end-offsets)",
    "all_stopped": "; no messages, or not consumed: the end offset tells (--end-offsets)",
    "idle_or_not_consumed": "; no messages, or not consumed: the end offset tells (--end-offsets)",
}
_TOPICS_NAMED: Final = 2
_NOT_SUBSCRIBED: Final = "SELECT * FROM not_subscribed"
_NOTHING_FOLLOWS: Final = "nothing follows from it"


def committed_by_members(group: GroupHistory, incarnation: Incarnation, clients: Mapping[str, str]) -> Iterator[Text]:
    """Yield what each present member owns, with the committed offsets that stand still longest, if commits were read.

    `clients`: the names of members, by member id.
    """
    rows = group.rows("progress_now", incarnation)
    if not rows:
        return
    yield Text("\nCommitted offsets of what members own, the worst first:")
    shown = 0
    for member_id, of_member in groupby(rows, key=lambda row: row.member_id):
        alike = [*of_member]
        shown += 1
        yield Text(f"  {clients.get(member_id) or printable(member_id)}: {count_text(alike[0].has, 'partition')}")
        for row in alike:
            place = f"{printable(row.topic)} {ranges_text(map(int, row.numbers.split()))}"
            said = f"{place}: {_committed(row)}{_lasts(group, row, incarnation)}{_state(row)}"
            yield Text("\n".join(wrapped_lines(said, WIDTH, "    ", "      ")))
        if more := alike[0].has - sum(row.partitions for row in alike):
            yield Text(f"    and {count_text(more, 'more partition')}")
    if rows[0].owners > shown:
        yield Text(f"  and {count_text(rows[0].owners - shown, 'more member')}")


def not_subscribed(group: GroupHistory) -> Iterator[Text]:
    """Yield the committed offsets of topics to which no member subscribes, the latest commit first; nothing if none."""
    rows = group.rows("not_subscribed_of_group")
    if not rows:
        return
    yield Text("\nCommitted offsets of topics to which no member subscribes (no fault by itself):")
    for row in rows:
        most = "" if row.most_committed == row.least_committed else f" to {row.most_committed}"
        ago = span_text(group.ago(row.committed_ms, row.in_partition))
        said = (
            f"{printable(row.topic)} {ranges_text(map(int, row.numbers.split()))}: committed {row.least_committed}"
            f"{most}, last at {time_text(row.committed_ms)}{f', {ago} before the capture' if ago else ''}"
            f"{_committed_by(row)}"
        )
        yield Text("\n".join(wrapped_lines(said, WIDTH, "  ", "    ")))
    if rows[0].total > len(rows):
        more = count_text(rows[0].total - len(rows), "more topic")
        yield Text(f"  and {more}: {query_command(group.shown, _NOT_SUBSCRIBED)}")


def set_while_empty(group: GroupHistory) -> Iterator[Text]:
    """Yield which committed offsets were set lately while the group had no members: information, at the top."""
    rows = group.rows("set_while_empty_of_group")
    for row in rows:
        where = f"{printable(row.topic)} {row.first_partition}"
        if row.partitions > 1:
            where = f"{count_text(row.partitions, 'partition')} of {printable(row.topic)}"
        one = "" if row.partitions == 1 else "s"
        moved = f"from {row.before_offset} to {row.after_offset}" if row.partitions == 1 else f"by up to {row.amount:,}"
        then = "reads at most {} again" if row.kind == "back" else "skips at most {}"
        yield Text("")
        yield wrapped(
            f"For information: at {time_text(row.jumped_ms)}, while the group had no members, a tool or a client "
            f"without a member id set the committed offset{one} of {where} {row.kind}, {moved}. "
            f"Who began there {then.format(count_text(row.amount, 'offset'))}."
        )
    if rows and rows[0].total > len(rows):
        yield Text(f"  and {count_text(rows[0].total - len(rows), 'more time')}: see the jumps below")


def groups_set_while_empty(tables: Tables, cluster: str) -> Iterator[Text]:
    """Yield a line for each group whose committed offsets were set lately while it had no members."""
    rows = tables.rows(query("set_while_empty"), cluster)
    for row in rows:
        ways = " and ".join(way for way, has in (("back", row.has_back), ("ahead", row.has_ahead)) if has)
        topics = names_text([*map(printable, row.topics.split())], _TOPICS_NAMED)
        yield wrapped(
            f"For information: offsets of {printable(row.group_id)} ({topics}) were set {ways} by up to {row.amount:,} "
            f"while it had no members, the last at {time_text(row.jumped_ms)}"
        )
    if rows and rows[0].total > len(rows):
        yield Text(f"  and of {count_text(rows[0].total - len(rows), 'more group')}: kip848 query DIR jumps")


def _committed_by(row: Row) -> str:
    if row.owner == "member":
        return ", by a member"
    return ", by a client without a member id, or a tool" if row.owner in {"simple", "no_members"} else ""


def handovers(group: GroupHistory, clients: Mapping[str, str]) -> Iterator[Text]:
    """Yield a sentence for each handover after which much was read again, the most first; nothing without one."""
    rows = group.rows("handovers_of_group")
    if not rows:
        return
    yield Text("\nHandovers after which the new owner read again, the most first (an estimate):")
    for row in rows:
        at = f"{time_text(row.acquired_ms)}, " if row.acquired_ms is not None else ""
        old = (
            ""
            if row.committed_age_ms is None
            else f" after a commit that was {duration_text(row.committed_age_ms)} old"
        )
        from_, to = (clients.get(each) or printable(each) for each in (row.from_member, row.member_id))
        crash = "; the owner before ended without a commit" if row.ended_uncommitted else ""
        most = count_text(round(row.repeat_at_most), "offset")
        place = f"{printable(row.topic)} {ranges_text(map(int, row.numbers.split()))}"
        yield wrapped(f"{at}{place} from {from_} to {to}: at most {most} again{old}{crash}", "  ")
    if rows[0].total > len(rows):
        yield Text(f"  and {rows[0].total - len(rows):,} more: see the relation handover_progress")


def jumps(group: GroupHistory) -> Iterator[Text]:
    """Yield a sentence for each of the latest breaks in the committed offsets of a group; nothing if there is none.

    Partitions of a topic have one if the same happened to all of them at once.
    """
    rows = group.rows("jumps_of_group")
    if not rows:
        return
    yield Text("\nJumps of committed offsets, the latest first:")
    for (jumped_ms, topic, said), alike in groupby(rows, key=lambda row: (row.jumped_ms, row.topic, _jump(row))):
        at = f"{time_text(jumped_ms)}, " if jumped_ms is not None else ""
        partitions = [row.topic_partition for row in alike]
        each = " each" if len(partitions) > 1 else ""
        yield wrapped(f"{at}{printable(topic)} {ranges_text(partitions)}{each}: {said}", "  ")
    if rows[0].total > len(rows):
        yield Text(f"  and {rows[0].total - len(rows):,} more: see commit_jump")
    yield Text(f"  What they prove: {with_page_paths(_PAGE)}")


def _committed(row: Row) -> str:
    if row.state == "unnamed_topic":
        return "its name is not in this log, and commits name topics: pass --topics"
    if row.least_committed is None:
        return "no commit in this log" if row.is_unknown else "nothing committed"
    most = "" if row.most_committed == row.least_committed else f" to {row.most_committed}"
    return f"committed {row.least_committed}{most}{' was removed' if row.is_removed else ''}"


def _lasts(group: GroupHistory, row: Row, incarnation: Incarnation) -> str:
    if row.state == "unnamed_topic":
        return ""
    lasts = lasting_text(group.ago(row.since_ms, incarnation.partition), is_minimum=row.is_minimum)
    longest = " the longest" if row.since_ms != row.last_ms else ""
    return f",{longest}{lasts}" if lasts else ""


def _state(row: Row) -> str:
    """Return what the commits show of owned partitions that are alike; nothing if that is not known."""
    if row.state == "blocked_by_transaction":
        return f"; blocked: the transaction of producer {row.producer_id} is open"
    if row.evidence == "member_stopped":
        return "; suspected: all partitions of this member stopped, others go on"
    waits = ahead_text(row.ahead_group, row.ahead_by, row.partitions)
    if row.state == "suspected":
        return f"; suspected: {waits or 'messages wait'}"
    return f"; {waits}" if waits else _STATES.get(row.state, "")


def ahead_text(group_id: str | None, offsets: int, partitions: int) -> str:
    """Return which group has read further than the owner of partitions, and by how much; empty without a group."""
    if group_id is None:
        return ""
    return f"{printable(group_id)} has read {'up to ' if partitions > 1 else ''}{count_text(offsets, 'offset')} more"


def _jump(row: Row) -> str:
    """Return what happened to a committed offset, and what may be claimed of it."""
    before, after = row.before_offset, row.after_offset
    if row.kind == "lost":
        old = "" if row.age_ms is None else f", {duration_text(row.age_ms)} old"
        return f"{before} was lost{old}: {_why_lost(row)}"
    if row.kind == "recreated":
        return f"{before} was of a topic that was created anew, {after} is of the new one: {_NOTHING_FOLLOWS}"
    if row.kind == "first_commit":
        return f"the first commit is {after}: it skipped at most {_offsets(row)}"
    if row.kind == "restart_after_loss":
        return f"{before} was lost, then came {after}: {_after_loss(row)}"
    if row.kind == "restart_after_negative":
        return f"{before} was replaced by a negative offset, then another owner committed {after}: {_after_loss(row)}"
    alone = ", while the group had no members" if row.context == "no_members" else ""
    way, claim = ("back", _back(row)) if row.kind == "back" else ("ahead", _ahead(row))
    return f"{way} from {before} to {after}{alone}: {claim}"


def _why_lost(row: Row) -> str:
    if row.cause in {"expired", "group_expired"} and row.retention_ms is not None:
        return f"its client had asked the broker to keep it for {duration_text(row.retention_ms)}"
    assumed_ms = row.assumed_retention_ms
    assumed = "" if assumed_ms is None else f" (assumed: brokers keep offsets for {duration_text(assumed_ms)})"
    return f"presumably {LOSSES.get(row.cause, 'for another reason')}{assumed}"


def _back(row: Row) -> str:
    if row.context == "no_members":
        if row.is_changed_again:
            return f"at most {_read_again(row)}, since it was changed again"
        going_on = "" if row.is_recovered else f" if members go on past {row.before_offset}"
        return f"exactly {_read_again(row)}{going_on}"
    if row.is_late:
        return f"the owner before committed late; {_NOTHING_FOLLOWS}"
    if row.context in _BY_MEMBER:
        return f"at least {_read_again(row)}"
    return f"no member owned the partition; {_NOTHING_FOLLOWS}"


def _ahead(row: Row) -> str:
    return f"its members skip {'at most' if row.is_changed_again else 'exactly'} {_offsets(row)}"


def _after_loss(row: Row) -> str:
    if row.context not in _BY_MEMBER:
        return f"no member committed it; {_NOTHING_FOLLOWS}"
    if row.after_offset is None or row.before_offset is None:
        return _NOTHING_FOLLOWS
    if row.after_offset < row.before_offset:
        return f"it reads at most {count_text(row.before_offset, 'offset')} again"
    return (
        f"it skipped at most {_offsets(row)} (reset to latest), or reads at most {row.before_offset:,} again (earliest)"
    )


def _offsets(row: Row) -> str:
    return "an unknown number of offsets" if row.amount is None else count_text(row.amount, "offset")


def _read_again(row: Row) -> str:
    return f"{_offsets(row)} {'is' if row.amount == 1 else 'are'} read again"
