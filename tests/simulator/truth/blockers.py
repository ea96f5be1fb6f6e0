"""The members that blocked a rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.simulator.truth.standing import AWAY, REVOKING

if TYPE_CHECKING:
    from tests.simulator.truth.rows import Moment, Row
    from tests.simulator.truth.standing import StandingTracker


def blockers_of(standing: StandingTracker, now: Moment, *, is_open: bool) -> list[Row]:
    """Return the members that were late or blocked others since the last restart, the worst first.

    While the rebalance is open, those that block it now come before all others.
    """
    blockers = [_blocker(standing, member_id, now, is_open=is_open) for member_id in standing.members]
    found = [row for row in blockers if row["late_ms"] > 0 or row["blocked_ms"] > 0]
    found.sort(key=lambda row: (-row["late_ms"], -row["blocked_ms"], row["member_id"]))
    return sorted(found, key=lambda row: 0 if row["late_now"] or row["waiting_now"] else 1)


def _blocker(standing: StandingTracker, member_id: str, now: Moment, *, is_open: bool) -> Row:
    member = standing.members[member_id]
    is_on = member_id in standing.late.running or member_id in standing.holding.running
    last_state = standing.states[member_id] if is_on else standing.last_state.get(member_id)
    return {
        "member_id": member_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "instance_id": member.instance_id,
        "late_ms": standing.late.total(member_id, now),
        "blocked_ms": standing.holding.total(member_id, now),
        "held_up": len(standing.holders.held_up.get(member_id, ())),
        "revoke_ms": standing.in_state[REVOKING].total(member_id, now),
        "away_ms": standing.in_state[AWAY].total(member_id, now),
        "last_state": last_state,
        "late_now": standing.could_go_on(member_id) if is_open else None,
        "waiting_now": standing.holders.waiting_for(member_id) if is_open else None,
    }
