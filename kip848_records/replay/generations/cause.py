"""The cause of a generation of a classic group, and its mode, by its record and the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.generations.generation import FOLLOW_UP, MEMBERS_CHANGED, Cause
from kip848_records.replay.group.vocabulary import (
    CREATED,
    DOWNGRADED,
    EMPTIED,
    FIRST_GENERATION,
    MEMBER_JOINED,
    MEMBER_LEFT,
    UNKNOWN,
)

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.generations.rules import ProtocolRules


def cause_of(now: Generation, before: Generation | None, rules: ProtocolRules, *, is_downgrade: bool) -> Cause:
    """Return the first cause that fits; `is_downgrade`: its operation deleted the consumer group.

    The members of the generation before are those of its last record.
    """
    value = now.value
    if not value.member_ids:
        return Cause(EMPTIED if value.generation or value.protocol_type else CREATED)
    if is_downgrade:
        return Cause(DOWNGRADED)
    if before is not None:
        return _compared(now, before, rules)
    is_first = value.generation == FIRST_GENERATION
    return Cause(MEMBER_JOINED, tuple(sorted(value.member_ids))) if is_first else Cause(UNKNOWN)


def _compared(now: Generation, before: Generation, rules: ProtocolRules) -> Cause:
    joined, left = now.joined(before), before.joined(now)
    if before.cause.name == DOWNGRADED and not joined and not left:
        return Cause(FOLLOW_UP)
    protocol_cause = rules.protocol_cause(now, before)
    if protocol_cause is not None:
        return protocol_cause
    if joined or left:
        name = MEMBERS_CHANGED if joined and left else MEMBER_JOINED if joined else MEMBER_LEFT
        return Cause(name, (*now.ids_of(joined), *before.ids_of(left)))
    return rules.cause_of_same_members(now, before)


def mode_of(now: Generation, before: Generation | None, rules: ProtocolRules) -> str | None:
    """Return the rebalance protocol by evidence: an assignor may support both, and the client decides.

    None if the record shows no round of members, or if payloads do not parse.
    """
    return None if now.is_shown or now.units is None else rules.mode(now, before)
