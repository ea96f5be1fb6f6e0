"""A generation of a Connect cluster: its revocations, its delay, and the offset of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.records import Assignment


def revoked_units(generation: Generation) -> set[int]:
    """Return the connectors and tasks that the leader asks workers to give up."""
    return set().union(*(assignment.revoked for assignment in _assignments(generation)))


def delay_ms(generation: Generation) -> int:
    """Return how long the leader waits for workers that left before it gives their tasks to others; 0 for no delay."""
    return max((assignment.delay_ms for assignment in _assignments(generation)), default=0)


def config_offset(generation: Generation) -> int | None:
    """Return the highest offset of the configuration that a worker or the leader had read."""
    offsets = (*_read_offsets(generation).values(), *(each.config_offset for each in _assignments(generation)))
    return max((offset for offset in offsets if offset is not None), default=None)


def version(generation: Generation) -> int | None:
    """Return the version of the protocol; None if no worker has an assignment."""
    return next((assignment.version for assignment in _assignments(generation)), None)


def error(generation: Generation) -> int | None:
    """Return the error of the leader, 0 for none; None if no worker has an assignment."""
    return max((assignment.error for assignment in _assignments(generation)), default=None)


def stays_behind(now: Generation, before: Generation) -> bool:
    """Return whether a worker that was behind the leader's configuration joined again without reading any of it."""
    wanted = config_offset(before)
    read = _read_offsets(before)
    return wanted is not None and any(
        offset < wanted and read.get(member_id) == offset for member_id, offset in _read_offsets(now).items()
    )


def _read_offsets(generation: Generation) -> dict[str, int]:
    read = ((member.member_id, member.subscription) for member in generation.first_value.members)
    return {member_id: each.config_offset for member_id, each in read if each and each.config_offset is not None}


def needs_follow_up(generation: Generation) -> bool:
    """Return whether another generation has to follow.

    Workers give something up, the leader waits, or it had not read the configuration far enough (an error).
    """
    return bool(error(generation)) or delay_ms(generation) > 0 or bool(revoked_units(generation))


def _assignments(generation: Generation) -> Iterator[Assignment]:
    return (member.assignment for member in generation.first_value.members if member.assignment is not None)
