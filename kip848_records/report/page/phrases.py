"""Texts of the page for times and blockers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, KINDS
from kip848_records.replay.blocker.advice import (
    JOIN_LEAVE_STORM,
    NEXT_ROUND,
    NOT_READY,
    WAITING_FOR_ASSIGNMENT,
    WORKER_DELAY,
)
from kip848_records.report.consumption import ahead_text
from kip848_records.report.diagnosis import counted_text, pattern_text, subject_text
from kip848_records.text import count_text, lasting_text
from kip848_records.times import time_text

if TYPE_CHECKING:
    from kip848_records.report.page.alike import Alike
    from kip848_records.report.page.contents import Fields

_WITHOUT_MEMBER: Final = {
    JOIN_LEAVE_STORM: "no single member: one rebalance follows another",
    WAITING_FOR_ASSIGNMENT: "no member: the group waits for an assignment",
    NOT_READY: "no member: the topology is not validated",
    WORKER_DELAY: "a worker that left",
    NEXT_ROUND: "members that have not joined the next generation; the log does not show which",
    "storm": "no single member: members leave or join again all the time",
    "assignor_flip": "no member: the assignor changes back and forth",
    "flapping_topics": "no member: topics come and go",
}
_UNKNOWN_MEMBER: Final = "the log does not show which member"


def clock(millis: int | None) -> str:
    """Return a time without its zone: the column title names the zone."""
    return time_text(millis).removesuffix(" UTC")


def blocker_text(blocker: Fields, *, lasting: bool = True) -> str:
    """Return the blocker of a group, its state and for how long: client @ host, revoking for ≥ 23 min 52 s."""
    if blocker["who"] is None:
        over_time = blocker["doing"]
        return _WITHOUT_MEMBER.get(blocker["pattern"]) or (f"no member: {over_time}" if over_time else _UNKNOWN_MEMBER)
    if blocker["doing"] is None:
        return f"{blocker['who']}, left {blocker['lost_units']:,} {KINDS[CONNECT].units}"
    lasts = lasting_text(blocker["state_ms"], is_minimum=True) if lasting else ""
    return f"{blocker['who']}, {blocker['doing']}{lasts}"


def silent_text(partition: int) -> str:
    """Return what groups wait for whose coordinator does nothing; a copy that is too old looks the same."""
    return f"the coordinator of partition {partition}, which is silent, or its copy is old"


def failing_text(group: Fields) -> str:
    """Return the worst trouble over time of a group: restart loop, 84 times: app @ host."""
    what, subject = pattern_text(group["pattern"]), subject_text(group["subject"])
    times = f", {counted_text(group['pattern'], group['count'])}" if group["count"] > 1 else ""
    return f"{what}{times}" + (f": {subject}" if subject else "")


def not_consumed_text(row: Fields) -> str:
    """Return what shows that nobody consumes a partition: orders has read 556 offsets more."""
    if row["state"] == "blocked_by_transaction":
        return f"a transaction of producer {row['producer_id']} is open"
    if row["evidence"] == "member_stopped":
        return "all partitions of its owner stopped, other members go on"
    return ahead_text(row["ahead_group"], row["ahead_by"], row["partitions"]) or "messages wait"


def alike_text(cluster: Alike) -> str:
    """Return the one blocker of a cluster of groups: client @ 2 hosts, revoking; all wait for orders."""
    if cluster.silent is not None:
        return silent_text(cluster.silent)
    blockers = [group["blocker"] for group in cluster.groups]
    hosts = {(blocker["client_host"] or "").removeprefix("/") for blocker in blockers} - {""}
    where = count_text(len(hosts), "host") if len(hosts) > 1 else "".join(hosts)
    topics = cluster.shared("topics") or ()
    return (
        " @ ".join(filter(None, (blockers[0]["client_id"], where)))
        + (f", {doing}" if (doing := cluster.shared("doing")) else "")
        + (f"; all wait for {', '.join(topics)}" if topics else "")
    )
