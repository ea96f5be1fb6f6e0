"""Which trouble of a group over time explains its ongoing rebalance: then no client is blamed for what is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kip848_records.replay.diagnosis.storm import LOOPS
from kip848_records.replay.diagnosis.storm import PATTERN as STORM
from kip848_records.report.advice import NOT_READY, SLOW_REVOCATION, Advice, client_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.queries.tables import Row

_LOOPS: Final = frozenset(LOOPS)
_SLOW: Final = "slow_by_habit"
_OF_THE_GROUP: Final = frozenset({STORM.name, *STORM.explained_by})


def explained(
    advice: Advice, worst: Mapping[str, Any] | None, troubles: Sequence[Row], triggers: Sequence[Row]
) -> Advice:
    """Return the advice about a trouble over time that explains an ongoing rebalance; `advice` if none does.

    `worst`: the blocker that `advice` names. `troubles`: the group's rows of ``present_troubles.sql``; `triggers`:
    those of ``open_triggers.sql``.
    """
    for row in troubles:
        if _explains(row, advice, worst, triggers):
            return Advice(
                row.pattern,
                advice.member_id if _is_blocker(row, worst) else None,
                _who(row.subject) if _is_there(row, worst, triggers) else None,
                row.sentence.removesuffix("."),
                row.next_step.removesuffix("."),
            )
    return advice


def _explains(row: Row, advice: Advice, worst: Mapping[str, Any] | None, triggers: Sequence[Row]) -> bool:
    """Return whether a trouble explains what is open.

    A coordinator that does not act removes no member and asks none. A member that is late for less than a turn of a
    loop only follows it.
    """
    if row.pattern == "coordinator_silent":
        return advice.pattern != NOT_READY
    is_blocker = _is_blocker(row, worst)
    if row.pattern == _SLOW:
        return is_blocker and advice.pattern == SLOW_REVOCATION
    follows = worst is None or (worst["late_ms"] or 0) <= (row.median_interval_ms or 0)
    if row.pattern in _LOOPS:
        if is_blocker:
            return follows or (row.subject["members_of_that_name"] or 1) == 1
        follows = follows and any(_is_about(row.subject, each._asdict()) for each in triggers)
    elif row.pattern not in _OF_THE_GROUP:
        return False
    return follows and advice.pattern != NOT_READY


def _is_there(row: Row, worst: Mapping[str, Any] | None, triggers: Sequence[Row]) -> bool:
    """Return whether a trouble is that of a client with a member now: one that has left blocks nobody."""
    members = (each._asdict() for each in triggers if each.is_member)
    return _is_blocker(row, worst) or any(_is_about(row.subject, each) for each in members)


def _is_blocker(row: Row, worst: Mapping[str, Any] | None) -> bool:
    """Return whether a trouble is that of one client, the worst blocker."""
    return worst is not None and row.pattern in _LOOPS | {_SLOW} and _is_about(row.subject, worst)


def _is_about(subject: Mapping[str, Any], member: Mapping[str, Any]) -> bool:
    """Return whether a subject is a member: by member id or instance id, else by name."""
    for name in ("member_id", "instance_id"):
        if subject[name] is not None:
            return bool(subject[name] == member[name])
    if subject["client_id"] is None:  # names that are new each time
        return member["client_id"] in (subject["clients"] or ())
    return (subject["client_id"], subject["client_host"]) == (member["client_id"], member["client_host"])


def _who(subject: Mapping[str, Any]) -> str | None:
    """Return the client that a trouble is about; None if it is none."""
    return client_text(subject["client_id"], subject["client_host"], subject["instance_id"]) or None
