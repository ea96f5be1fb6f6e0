"""Texts of the page for times and blockers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, KINDS
from kip848_records.report.advice import JOIN_LEAVE_STORM, NEXT_ROUND, NOT_READY, WAITING_FOR_ASSIGNMENT, WORKER_DELAY
from kip848_records.report.diagnosis import pattern_text, subject_text
from kip848_records.report.terminal import CLOCK_WENT_BACK_SHORT, count_text, lasting_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.report.page.alike import Alike
    from kip848_records.report.page.contents import Fields

_WITHOUT_MEMBER: Final = {
    JOIN_LEAVE_STORM: "no single member: members join and leave",
    WAITING_FOR_ASSIGNMENT: "no member: the group waits for an assignment",
    NOT_READY: "no member: the topology is not validated",
    WORKER_DELAY: "a worker that left",
    NEXT_ROUND: "members that have not joined the next generation; the log does not show which",
    "storm": "no single member: many members do not stay",
    "assignor_flip": "no member: the assignor changes to and fro",
    "flapping_topics": "no member: topics come and go",
}
_UNKNOWN_MEMBER: Final = "the log does not show which member"
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


def spans(values: Sequence[int | None]) -> list[str]:
    """Return the texts of a column of time spans, "" for unknown ones. They align: one smallest unit is used for all.

    The unit is a minute or a second if all spans are whole minutes or seconds, a second if one span is an hour or
    longer, else a millisecond.
    """
    known = [value for value in values if value and value > 0]
    fractions = {unit for unit in (_SECOND, _MINUTE) if any(value % unit for value in known)}
    unit = 1
    if _SECOND not in fractions or max(known) >= _HOUR:
        unit = _SECOND if _MINUTE in fractions or not known else _MINUTE
    return [_in_units(value, unit) for value in values]


def _in_units(millis: int | None, unit: int) -> str:
    """Return a time span in days, hours and so on, down to a unit of ms."""
    if millis is None or millis < 0:
        return "" if millis is None else CLOCK_WENT_BACK_SHORT
    if 0 < millis < unit:
        return "< 1 s"
    counts = [(millis // _DAY, "d"), (millis // _HOUR % 24, "h"), (millis // _MINUTE % 60, "min")]
    while len(counts) > (unit == _MINUTE) and not counts[0][0]:
        del counts[0]
    said = [f"{count:02} {name}" for count, name in counts]
    if unit < _MINUTE:
        said.append(f"{millis // _SECOND % 60:02} s" if unit == _SECOND else f"{millis % _MINUTE / _SECOND:06.3f} s")
    return " ".join([said[0].removeprefix("0"), *said[1:]])


def clock(millis: int | None) -> str:
    """Return a time without its zone: the column title names the zone."""
    return time_text(millis).removesuffix(" UTC")


def blocker_text(blocker: Fields, *, lasting: bool = True) -> str:
    """Return the blocker of a group, its state and for how long: client @ host, revoking for ≥ 23 min 52 s."""
    if blocker["who"] is None:
        return _WITHOUT_MEMBER.get(blocker["pattern"], _UNKNOWN_MEMBER)
    if blocker["doing"] is None:
        return f"{blocker['who']}, left {blocker['lost']:,} {KINDS[CONNECT].units}"
    lasts = lasting_text(blocker["state_ms"], is_minimum=True) if lasting else ""
    return f"{blocker['who']}, {blocker['doing']}{lasts}"


def silent_text(partition: int) -> str:
    """Return what groups wait for whose coordinator does nothing; a copy that is too old looks the same."""
    return f"the coordinator of partition {partition}, which is silent, or its copy is old"


def failing_text(group: Fields) -> str:
    """Return the worst trouble over time of a group: restart loop, 84 times: app @ host."""
    what, subject = pattern_text(group["pattern"]), subject_text(group["subject"])
    times = f", {count_text(group['count'], 'time')}" if group["count"] > 1 else ""
    return f"{what}{times}" + (f": {subject}" if subject else "")


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
