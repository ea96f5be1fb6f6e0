"""Words for a group's offset commits: how far its members have come, and where offsets jumped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.report.sql import query
from kip848_records.report.terminal import wrapped
from kip848_records.text import count_text, duration_text, names_text, printable, span_text
from kip848_records.times import time_text
from kip848_records.wording import LOSSES, OTHER_LOSS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.queries.tables import Tables
    from kip848_records.report.group_history import GroupHistory

    Fields = dict[str, Any]

_BY_MEMBER: Final = frozenset({"same_owner", "owner_change", "first_owner"})
_STATES: Final = {
    "negative_offset": "a negative offset is none, so nothing is committed",
    "progress": "goes on",
    "too_short": "too early to say",
    "never_commits": "the group commits nothing",
    "caught_up": "all is read",
    "committed_beyond_end": "that is beyond the end of the partition",
    "messages_wait": "messages wait, not known since when",
    "stopped_alone": "stopped, or no messages: the end offset shows it (--end-offsets)",
    "all_stopped": "no messages, or not consumed: the end offset shows it (--end-offsets)",
    "idle_or_not_consumed": "no messages, or not consumed: the end offset shows it (--end-offsets)",
    "unnamed_topic": "its name is not in this log, and commits name topics: pass --topics",
}
_TOPICS_NAMED: Final = 2
_NOTHING_FOLLOWS: Final = "nothing follows from it"


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


def committed_by_text(row: Fields) -> str:
    """Return who commits the offsets of a topic to which no member subscribes; empty if that is not known."""
    others = dict.fromkeys(("simple", "no_members"), "a client without a member id, or a tool")
    return ({"member": "a member"} | others).get(row["owner"], "")


def committed_text(row: Fields) -> str:
    """Return the committed offsets of owned partitions that are alike."""
    if row["state"] == "unnamed_topic":
        return ""
    if row["least_committed"] is None:
        return "not in this log" if row["is_unknown"] else "nothing"
    return f"{between(row, 'committed')}{', removed' if row['is_removed'] else ''}"


def stillness_text(row: Fields) -> str:
    """Return for how long their committed offsets have not moved, at least or at most."""
    if row["state"] == "unnamed_topic":
        return ""
    most = "up to " if row["silent_ms"] != row["least_ms"] else ""
    return f"{most}{span_text(row['silent_ms'], is_minimum=row['is_minimum'])}"


def progress_text(row: Fields) -> str:
    """Return what the commits show of owned partitions that are alike; nothing if that is not known."""
    if row["state"] == "blocked_by_transaction":
        return f"blocked: the transaction of producer {row['producer_id']} is open"
    if row["evidence"] == "member_stopped":
        return "suspected: all partitions of this member stopped, others go on"
    waits = ahead_text(row["ahead_group"], row["ahead_by"], row["partitions"])
    if row["state"] == "suspected":
        return f"suspected: {waits or 'messages wait'}"
    return waits or _STATES.get(row["state"], "")


def ahead_text(group_id: str | None, offsets: int, partitions: int) -> str:
    """Return which group has read further than the owner of partitions, and by how much; empty without a group."""
    if group_id is None:
        return ""
    return f"{printable(group_id)} has read {'up to ' if partitions > 1 else ''}{count_text(offsets, 'offset')} more"


def jump_text(row: Fields) -> str:
    """Return what happened to committed offsets, and what may be claimed of it."""
    before, after = between(row, "before", "…"), between(row, "after", "…")
    was, now = ("was", "is") if row["least_before"] == row["most_before"] else ("were", "are")
    if row["jump"] == "lost":
        old = (
            ""
            if row["age_ms"] is None
            else f", {'up to ' if row['least_age_ms'] != row['age_ms'] else ''}{duration_text(row['age_ms'])} old"
        )
        return f"{before} {was} lost{old}: {_why_lost(row)}"
    if row["jump"] == "recreated":
        return f"{before} {was} of a topic that was created anew, {after} {now} of the new one: {_NOTHING_FOLLOWS}"
    if row["jump"] == "first_commit":
        return f"the first commit is {after}: it skipped at most {_offsets(row)}"
    if row["jump"] == "restart_after_loss":
        return f"{before} {was} lost, then came {after}: {_after_loss(row)}"
    if row["jump"] == "restart_after_negative":
        return f"{before} {was} replaced by a negative offset, then another owner committed {after}: {_after_loss(row)}"
    alone = ", while the group had no members" if row["context"] == "no_members" else ""
    way, claim = ("back", _back(row)) if row["jump"] == "back" else ("ahead", _ahead(row))
    return f"{way} from {before} to {after}{alone}: {claim}"


def between(row: Fields, name: str, to: str = " to ") -> str:
    """Return the least and the most of something, if they differ: it is that of several partitions."""
    least, most = row[f"least_{name}"], row[f"most_{name}"]
    return f"{least}" if least == most else f"{least}{to}{most}"


def _why_lost(row: Fields) -> str:
    if row["cause"] in {"expired", "group_expired"} and row["retention_ms"] is not None:
        return f"its client had asked the broker to keep it for {duration_text(row['retention_ms'])}"
    assumed_ms = row["assumed_retention_ms"]
    assumed = "" if assumed_ms is None else f" (assumed: brokers keep offsets for {duration_text(assumed_ms)})"
    return f"presumably {LOSSES.get(row['cause'], OTHER_LOSS)}{assumed}"


def _back(row: Fields) -> str:
    if row["context"] == "no_members":
        if row["is_changed_again"]:
            return f"at most {_read_again(row)}, since it was changed again"
        going_on = "" if row["is_recovered"] else f" if members go on past {between(row, 'before', '…')}"
        return f"exactly {_read_again(row)}{going_on}"
    if row["is_late"]:
        return f"the owner before committed late; {_NOTHING_FOLLOWS}"
    if row["context"] in _BY_MEMBER:
        return f"at least {_read_again(row)}"
    return f"no member owned the partition; {_NOTHING_FOLLOWS}"


def _ahead(row: Fields) -> str:
    return f"its members skip {'at most' if row['is_changed_again'] else 'exactly'} {_offsets(row)}"


def _after_loss(row: Fields) -> str:
    if row["context"] not in _BY_MEMBER:
        return f"no member committed it; {_NOTHING_FOLLOWS}"
    if row["goes_back"] is None:
        return _NOTHING_FOLLOWS
    if row["goes_back"]:
        return f"it reads at most {count_text(int(row['whole']), 'offset')} again"
    return (
        f"it skipped at most {_offsets(row)} (reset to latest), or reads at most {int(row['whole']):,} again (earliest)"
    )


def _offsets(row: Fields) -> str:
    if row["amount"] is None:
        return "an unknown number of offsets"
    return f"{count_text(int(row['amount']), 'offset')}{' in all' if ' ' in row['numbers'] else ''}"


def _read_again(row: Fields) -> str:
    return f"{_offsets(row)} {'is' if row['amount'] == 1 else 'are'} read again"
