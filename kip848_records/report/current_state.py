"""The present of a group, as text for a terminal: its state, since when, and its epochs and members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from kip848_records.kinds import CONNECT, KINDS, SIMPLE, kind_of
from kip848_records.replay.diagnosis.severity import INFO
from kip848_records.replay.group.known_history import CENSORED
from kip848_records.replay.group.vocabulary import EMPTY, UNKNOWN
from kip848_records.report.diagnosis import pattern_text
from kip848_records.report.group_history import Incarnation
from kip848_records.report.group_sections import UNITS, numbers_of
from kip848_records.report.terminal import wrapped
from kip848_records.report.words import limits_of
from kip848_records.text import count_text, lasting_text, printable
from kip848_records.times import time_text
from kip848_records.wording import HEALTH, HEALTHY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.queries.tables import Row
    from kip848_records.report.group_history import GroupHistory

_NOT_LOOKED_AT: Final = " Whether they consume was not looked at (--offset-commits)."


def current_state(group: GroupHistory) -> Iterator[Text]:
    """Yield the state of a group, and a line of facts; of each partition that has it."""
    name = f"Group {printable(group.group_id)} of cluster {printable(group.cluster)}"
    if not group.states:
        (last,) = group.rows("last_state", group.incarnations[-1])
        yield Text(f"{name} was deleted; its last state was {last.state}")
        return
    for now in group.states:
        place = f" in partition {now.partition}" if len(group.states) > 1 else ""
        captured = "" if now.captured_ms is None else f", captured at {time_text(now.captured_ms)}"
        yield Text(f"{name}{place}{captured}: {_state(now)}")
        yield Text(f"  {', '.join(_of_simple(group, now) if now.group_type == SIMPLE else _facts(now))}")
        for limit in limits_of(group.limits, now.partition, is_open=now.is_stuck or now.waits_for_away_only):
            yield Text(f"  {limit}")


def well(group: GroupHistory, kind: str, troubles: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Yield one sentence for a group with which nothing is wrong: what its members own.

    It says since when only for a classic group: the state of another one is above with its time. An empty group is well
    too. Only offset commits show whether members consume what they own. `troubles`: those that are shown below.
    """
    for now in group.states:
        lasts = "" if now.generation is None else _lasting((_since_text(now.completed_ms, now.history), now.stands_ms))
        if now.health == EMPTY.lower():
            has = "has had" if lasts else "has"
            yield wrapped(f"Nothing is wrong now: it {has} no {KINDS[kind].member}{lasts}.")
        elif now.health == HEALTHY:
            owned = "" if KINDS[kind].shares_units else _owned(group, now, kind)
            members = count_text(now.members or 0, KINDS[kind].member)
            said = f"{members}{owned}"
            if now.generation is not None:
                said = f"as far as the log shows, generation {now.generation} stands{lasts}; {said}"
            over = _over(troubles)
            said = f"{said}{over}"
            not_looked_at = _NOT_LOOKED_AT if owned and KINDS[kind].commits and not group.has_commits else ""
            yield wrapped(f"Healthy{' now' if over else ''}: {said}.{not_looked_at}")


def _over(troubles: Sequence[Mapping[str, Any]]) -> str:
    """Return which alarms that are shown below are over; empty without one."""
    over = [row for row in troubles if row["severity"] != INFO and not row["is_present"]]
    if not over:
        return ""
    named = " and ".join(dict.fromkeys(f"the {pattern_text(row['pattern'])}" for row in over))
    return f"; {named} below {'is' if len(over) == 1 else 'are'} over"


def _owned(group: GroupHistory, now: Row, kind: str) -> str:
    rows = group.section(UNITS, Incarnation(now.partition, now.incarnation))
    if rows and rows[0]["total"] > len(rows):
        return ""
    units = sum(len(numbers_of(row["numbers"])) for row in rows)
    return f" with {units:,} {KINDS[kind].unit if units == 1 else KINDS[kind].units}"


def _of_simple(group: GroupHistory, now: Row) -> Iterator[str]:
    """Yield what is known of a group that has committed offsets only."""
    yield "no member, committed offsets only" if now.state == EMPTY else "only its committed offsets are in this log"
    for row in group.rows("committed_of_group"):
        if row.in_partition == now.partition:
            yield f"{count_text(row.committed, 'partition')}, last commit at {time_text(row.last_ms)}"


def _facts(now: Row) -> Iterator[str]:
    kind = kind_of(now.group_type, now.protocol_type)
    yield f"{now.group_type} protocol{' of a Connect cluster' if kind == CONNECT else ''}"
    if now.group_epoch is not None:
        yield f"group epoch {now.group_epoch}"
    if now.assignment_epoch is not None:
        yield f"assignment epoch {now.assignment_epoch}"
    if now.topology_epoch is not None:
        yield f"topology epoch {now.topology_epoch}{_validated(now)}"
    if now.members is not None:
        members = count_text(now.members, KINDS[kind].member)
        yield members if now.converged_members is None else f"{now.converged_members} of {members} converged"


def _validated(now: Row) -> str:
    if now.validated_topology_epoch is None:
        return ""
    return " (validated)" if now.validated_topology_epoch == now.topology_epoch else " (not validated)"


def _state(now: Row) -> str:
    """Return the state of a group, and since when; for a classic group, which generation was completed."""
    if now.state == UNKNOWN:
        return f"{now.state}{_since(now)}"
    began, lasted = _stuck_since(now)
    lasts = lasting_text(lasted, is_minimum=True)
    rebalance = f"a rebalance is ongoing{f' {began}' if began else ''}{f',{lasts}' if lasts else ''}"
    if now.generation is None:
        hidden = f" (its state does not show rebalances); {rebalance}" if now.is_hidden else ""
        return f"{now.state}{_since(now)}{hidden}"
    empty = "Empty, " if now.state == EMPTY else ""
    at = f" at {time_text(now.completed_ms)}" if now.completed_ms is not None else ""
    hidden = f"whether {'members join' if empty else 'it rebalances'} now is not in the log"
    return f"{empty}generation {now.generation} was completed{at}; {rebalance if now.is_hidden else hidden}"


def _since(now: Row) -> str:
    """Return since when a group is in its state, and since when it is stuck: the states of one rebalance alternate."""
    since = _since_text(now.since_ms, now.history), now.lasts_ms
    if now.is_hidden:
        return _lasting(since)
    if now.waits_for_away_only:
        return f", {HEALTH['away']}{_at_least(since)}"
    if not now.is_stuck:
        return _lasting(since)
    return f", stuck{_at_least(_stuck_since(now))}, ongoing at capture"


def _stuck_since(now: Row) -> tuple[str, int | None]:
    return _since_text(now.stuck_since_ms, now.stuck_history), now.stuck_ms


def _since_text(since_ms: int | None, history: str | None) -> str:
    return "" if since_ms is None else f"since {time_text(since_ms)}{' or before' if history == CENSORED else ''}"


def _lasting(since: tuple[str, int | None]) -> str:
    time, lasted = since
    lasts = lasting_text(lasted)
    return f"{f' {time}' if time else ''}{f',{lasts}' if lasts else ''}"


def _at_least(since: tuple[str, int | None]) -> str:
    time, lasted = since
    return f"{lasting_text(lasted, is_minimum=True)}{f', {time}' if time else ''}"
