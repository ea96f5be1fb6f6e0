"""A generation of a Connect cluster: its revocations, its delay, and the offset of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.connect.workers import WorkerAssignment, WorkerSubscription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.replay.generations.generation import Generation


def revoked_units(generation: Generation) -> set[int]:
    """Return the connectors and tasks that the leader asks workers to give up."""
    return set().union(*(assignment.revoked for assignment in _assignments(generation)))


def delay_ms(generation: Generation) -> int:
    """Return how long the leader waits for workers that left before it gives their tasks to others; 0 for no delay."""
    return max((assignment.delay_ms for assignment in _assignments(generation)), default=0)


def config_offset(generation: Generation) -> int | None:
    """Return the highest offset of the configuration that a worker or the leader had read."""
    subscriptions = (member.subscription for member in generation.first_value.members)
    workers = (
        subscription.config_offset for subscription in subscriptions if isinstance(subscription, WorkerSubscription)
    )
    return max((*workers, *(subscription.config_offset for subscription in _assignments(generation))), default=None)


def version(generation: Generation) -> int | None:
    """Return the version of the protocol; None if no worker has an assignment."""
    return next((assignment.version for assignment in _assignments(generation)), None)


def needs_follow_up(generation: Generation) -> bool:
    """Return whether another generation has to follow.

    Workers give something up, the leader waits, or it had not read the configuration far enough (an error).
    """
    has_error = any(assignment.error for assignment in _assignments(generation))
    return has_error or delay_ms(generation) > 0 or bool(revoked_units(generation))


def _assignments(generation: Generation) -> Iterator[WorkerAssignment]:
    for member in generation.first_value.members:
        if isinstance(member.assignment, WorkerAssignment):
            yield member.assignment
