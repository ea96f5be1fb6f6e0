"""Groups of Schema Registry instances, of the protocol type `sr`: they elect one of them, and share no partitions.

An instance announces its URL as JSON, `SchemaRegistryIdentity` in Schema Registry; the group's leader answers with an
error and the elected instance, `SchemaRegistryProtocol.Assignment`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kip848_records.replay.generations.rules import GenerationColumns, MemberColumns, ProtocolRules

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.records import ClassicMemberValue

_LONGEST: Final = 65_536
"""Bytes of JSON that are read: what instances write has some hundred."""
_DEEPEST: Final = 8
_LARGEST_ERROR: Final = 32_767
_REMEMBERED: Final = 256


class _Read(NamedTuple):
    """What some bytes contain, and why they do not decode; one of both is None."""

    value: Any
    reason: str | None


class SchemaRegistryRules(ProtocolRules):
    """The rules of generations of Schema Registry instances."""

    def generation_columns(self, now: Generation) -> GenerationColumns:
        """Return the error of the group's leader."""
        errors = (_error(member).value for member in now.first_value.members)
        return GenerationColumns(error=max((error for error in errors if error is not None), default=None))

    def member_columns(self, now: Generation, member: ClassicMemberValue) -> MemberColumns:  # noqa: ARG002 - of itself
        """Return the URL that an instance announces, and what does not decode."""
        url, error = _url(member), _error(member)
        reasons = "; ".join(reason for reason in (url.reason, error.reason) if reason is not None)
        return MemberColumns(url=url.value, undecoded=reasons or None)


def _url(member: ClassicMemberValue) -> _Read:
    found = _object(member.subscription_bytes)
    if found.value is None:
        return _Read(None, f"the subscription {found.reason}")
    host, port, scheme = (found.value.get(name) for name in ("host", "port", "scheme"))
    if not isinstance(host, str) or not isinstance(port, int):
        return _Read(None, "the subscription has no host and port")
    return _Read(f"{scheme if isinstance(scheme, str) else 'http'}://{host}:{port}", None)


def _error(member: ClassicMemberValue) -> _Read:
    found = _object(member.assignment_bytes)
    if found.value is None:
        return _Read(None, f"the assignment {found.reason}")
    error = found.value.get("error", 0)  # absent as a value that is empty may be
    if not isinstance(error, int) or not 0 <= error <= _LARGEST_ERROR:
        return _Read(None, "the assignment has an error that is no number of 16 bits")
    return _Read(int(error), None)


@lru_cache(_REMEMBERED)
def _object(payload: bytes | None) -> _Read:
    """Return the JSON object of some bytes."""
    if payload is None:
        return _Read(None, "is empty")
    if len(payload) > _LONGEST:
        return _Read(None, f"has {len(payload):,} bytes, more than {_LONGEST:,}")
    if payload.count(b"{") + payload.count(b"[") > _DEEPEST:
        return _Read(None, "is not the JSON of a Schema Registry instance")
    try:
        found = json.loads(payload)
    except ValueError:
        return _Read(None, "is not JSON")
    return _Read(found, None) if isinstance(found, dict) else _Read(None, "is not a JSON object")


RULES = SchemaRegistryRules
