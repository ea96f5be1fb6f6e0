"""The words for values of columns: one table each for causes, states of members, and the health of groups.

All reports share them: Python calls the functions, SQL calls those of `functions.sql`, such as `causes_text`, and
the page has the states and healths in its data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CAUSES: Final = {
    "created": "group created",
    "emptied": "last member left",
    "upgraded": "upgraded from the classic protocol",
    "downgraded": "downgraded to the classic protocol",
    "member_joined": "member joined",
    "member_left": "member left or expired",
    "members_changed": "members joined and left",
    "member_changed": "member restarted or configured differently",
    "static_member_replaced": "static member replaced",
    "subscription_changed": "subscription changed",
    "topic_metadata_changed": "topics changed",
    "regex_resolved": "regular expression resolved",
    "partitions_initialized": "partitions initialized",
    "topology_initialized": "topology initialized",
    "topology_validated": "topology validated",
    "topology_invalidated": "topology not valid any more",
    "assignment_configs_changed": "assignment configuration changed",
    "assignor_changed": "assignor changed",
    "protocol_changed": "protocol changed",
    "follow_up": "follow-up",
    "config_changed": "configuration changed",
    "delay_expired": "delay for lost members expired",
    "config_mismatch": "configurations differ",
    "probing": "probing rebalance",
    "unknown": "cause not in the log",
}
"""The causes of epochs, generations and rebalances. A member that was fenced counts as expired."""

LOSSES: Final = {
    "group_expired": "it expired, and the group with it",
    "group_deleted": "the group was removed with it",
    "topic_deleted": "the topic was deleted",
    "expired": "it expired",
    "deleted": "a tool removed it",
    "expired_or_topic_deleted": "it expired, or the topic was deleted",
    "deleted_or_topic_deleted": "a tool removed it, or the topic was deleted",
}
"""Why a committed offset was removed, by `commit_jump.cause`: presumptions all."""

OTHER_LOSS: Final = "for another reason"

DOWNGRADES: Final = {
    True: "a classic member took the place of a static one",
    False: "the last consumer member left",
    None: "the log does not show why",
}
"""Why a group went back to the classic protocol, by `by_replacement` of the relation `downgrades`."""

HEALTH: Final = {
    "stuck": "stuck",
    "failing": "failing over time",
    "healthy": "healthy",
    "empty": "empty",
    "away": "waiting for absent static members",
    "unknown": "insufficient data",
    "deleted": "deleted",
}
"""The health of a group, by `health_now.health`; deleted: it has no row there."""

HEALTHY: Final = "healthy"

TASK_OF: Final = "task of subtopology"

_REVOCATION: Final = {"revoking": "revoking", "waiting": "waiting for {units}"}
_ABSENCE: Final = {"away": "absent static member"}


def cause_text(cause: str | None, kind: str) -> str:
    """Return a cause in words; the members of a kind have its name. Empty for None."""
    return CAUSES.get(cause, cause.replace("_", " ")).replace("member", KINDS[kind].member) if cause else ""


def causes_text(causes: Iterable[str | None] | None, kind: str) -> str:
    """Return the causes of a rebalance in words, with commas."""
    return ", ".join(cause_text(cause, kind) for cause in causes or () if cause)


def member_states(kind: str) -> Mapping[str, str]:
    """Return the words of the states that members of a kind of groups can have, in the order of a rebalance."""
    traits = KINDS[kind]
    states = {"reconciled": "reconciled", "behind": "assignment not yet applied"}
    states |= {} if traits.shares_units else _REVOCATION
    states |= _ABSENCE if traits.keeps_absent_members else {}
    return {state: text.format(units=traits.units) for state, text in (states | {"unknown": HEALTH["unknown"]}).items()}


def member_state_text(state: str, kind: str) -> str:
    """Return the state of a member in words."""
    return member_states(kind).get(state, state)
