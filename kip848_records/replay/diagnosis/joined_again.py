"""Why the members of a group form one generation or epoch after another, and what to do, if none of them left.

Advice about processes that restart needs members that left: here is what to say of the others, by the causes that the
log shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONNECT, KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

STRATEGY: Final = "partition.assignment.strategy"
_BY_CAUSE: Final[Mapping[str, str]] = {
    "assignor_changed": f"Give all members the same {STRATEGY}.",
    "protocol_changed": "Give all workers the same connect.protocol.",
    "subscription_changed": "Find out why the topics change to which its members subscribe: a pattern that matches "
    "topics that come and go, or code that subscribes again.",
    "regex_resolved": "Find out which topics come and go that match the expression of its members.",
    "topic_metadata_changed": "Find out who creates, deletes or extends the topics that its members read, or moves "
    "their replicas.",
    "config_changed": "Find out who changes connectors again and again, by the REST interface or a tool.",
    "member_changed": "Find out which settings its members change: client.tag, rack, or an endpoint that moves.",
    "assignment_configs_changed": "Find out who changes the configuration of the group.",
    "topology_invalidated": "Find out which topics of its topology come and go.",
    "partitions_initialized": "Wait until all topics of the group are initialized.",
}
"""What to do about a cause, the one first that explains most."""
_REASON: Final = 'for why it joins again; Java clients log "Request joining group due to"'


def again_step(causes: Collection[str], kind: str) -> str:
    """Return what to do if members join again and again and none left. `causes`: those of the generations or epochs."""
    for cause, step in _BY_CAUSE.items():
        if cause in causes:
            return step
    if not KINDS[kind].has_epochs:
        return _rejoined(kind)
    if not set(causes) - {"member_joined"}:
        return "Nothing, if all of them are there soon: its members join one after the other."
    return "Find out what happens at the times of its rebalances, which this answer lists below."


def _rejoined(kind: str) -> str:
    member = KINDS[kind].member
    step = f"Read the log of each {member} {_REASON}."
    return step if kind == CONNECT else f"{step} Does its code call enforceRebalance()?"


def unchanged_text(causes: Collection[str], kind: str) -> str:
    """Return what did not change from one generation to the next, by the only cause that is left; empty if unknown."""
    if set(causes) != {"unknown"}:
        return ""
    if kind == CONNECT:
        return "No configuration was changed, and nothing was revoked."
    return "Their topics, the partitions of these and the assignor stayed the same."
