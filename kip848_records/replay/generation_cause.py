"""The cause of a generation of a classic group, and its mode, by its record and the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.protocol.messages.classic import CONSUMER_PROTOCOL_TYPE
from kip848_records.replay.causes import (
    MEMBER_JOINED,
    MEMBER_LEFT,
    STATIC_MEMBER_REPLACED,
    SUBSCRIPTION_CHANGED,
    TOPIC_METADATA_CHANGED,
    UNKNOWN,
)
from kip848_records.replay.connect import config_offset, delay_ms, is_connect, revoked_units, version
from kip848_records.replay.connect_records import EAGER_VERSION
from kip848_records.replay.context import ms_between
from kip848_records.replay.generation import CREATED, DOWNGRADED, EMPTIED, Cause

if TYPE_CHECKING:
    from kip848_records.replay.generation import Generation

FOLLOW_UP: Final = "follow_up"
ASSIGNOR_CHANGED: Final = "assignor_changed"
MEMBERS_CHANGED: Final = "members_changed"
PROTOCOL_CHANGED: Final = "protocol_changed"
DELAY_EXPIRED: Final = "delay_expired"
CONFIG_CHANGED: Final = "config_changed"

COOPERATIVE: Final = "cooperative"
EAGER: Final = "eager"
UNKNOWN_MODE: Final = "unknown"

FIRST_GENERATION: Final = 1


def cause_of(now: Generation, before: Generation | None, *, is_downgrade: bool) -> Cause:
    """Return the first cause that fits; `is_downgrade`: its operation deleted the consumer group.

    The members of the generation before are those of its last record.
    """
    value = now.value
    if not value.member_ids:
        return Cause(EMPTIED if value.generation or value.protocol_type else CREATED)
    if is_downgrade:
        return Cause(DOWNGRADED)
    if before is not None:
        return _compared(now, before)
    is_first = value.generation == FIRST_GENERATION
    return Cause(MEMBER_JOINED, tuple(sorted(value.member_ids))) if is_first else Cause(UNKNOWN)


def _compared(now: Generation, before: Generation) -> Cause:
    value = now.value
    joined, left = now.joined(before), before.joined(now)
    if before.cause.name == DOWNGRADED and not joined and not left:
        return Cause(FOLLOW_UP)
    protocols = {value.protocol, before.value.protocol}
    if len(protocols) > 1 and None not in protocols and not is_connect(now):
        return Cause(ASSIGNOR_CHANGED)
    if joined or left:
        name = MEMBERS_CHANGED if joined and left else MEMBER_JOINED if joined else MEMBER_LEFT
        return Cause(name, (*now.ids_of(joined), *before.ids_of(left)))
    if is_connect(now):
        return Cause(_of_workers(now, before))
    return _of_consumers(now, before) if value.protocol_type == CONSUMER_PROTOCOL_TYPE else Cause(UNKNOWN)


def _of_consumers(now: Generation, before: Generation) -> Cause:
    """Return the cause of a generation with the same members."""
    changed = [
        identity
        for identity, member in now.members.items()
        if member.topics is not None and before.members[identity].topics not in {None, member.topics}
    ]
    if changed:
        return Cause(SUBSCRIPTION_CHANGED, now.ids_of(sorted(changed)))
    if before.unassigned:
        return Cause(FOLLOW_UP)
    is_compared = before.unassigned is not None
    if is_compared and now.units is not None and before.units is not None and now.units.keys() != before.units.keys():
        return Cause(TOPIC_METADATA_CHANGED)
    if now.replaced_in_round:
        return Cause(STATIC_MEMBER_REPLACED, tuple(new_id for _, _, new_id, _ in now.replaced))
    return Cause(UNKNOWN)


def _of_workers(now: Generation, before: Generation) -> str:
    """Return the cause of a generation of the same Connect workers."""
    protocols = {now.value.protocol, before.value.protocol}
    if len(protocols) > 1 and None not in protocols:
        return PROTOCOL_CHANGED
    if revoked_units(before):
        return FOLLOW_UP
    delay, waited = delay_ms(before), ms_between(before.first_value.state_at, now.first_value.state_at)
    if delay and waited is not None and waited >= delay:
        return DELAY_EXPIRED
    offsets = config_offset(now), config_offset(before)
    if offsets[0] is not None and offsets[1] is not None and offsets[0] > offsets[1]:
        return CONFIG_CHANGED
    return UNKNOWN


def mode_of(now: Generation, before: Generation | None) -> str | None:
    """Return the rebalance protocol by evidence: an assignor may support both, and the client decides.

    None if the record shows no round of members, or if payloads do not parse.
    """
    if now.is_shown or now.units is None:
        return None
    if is_connect(now):
        found = version(now)
        return UNKNOWN_MODE if found is None else EAGER if found == EAGER_VERSION else COOPERATIVE
    if now.has_owned:
        return COOPERATIVE
    if now.has_owned is None:
        return UNKNOWN_MODE
    ids = set(now.value.member_ids)
    members = () if before is None else before.members.values()
    return EAGER if any(member.units and member.member_id in ids for member in members) else UNKNOWN_MODE
