"""Tasks of streams groups as integers: a number of `PartitionNumbers` (subtopology and partition), and the role.

The role is in the bits above it. So the active task 0_3 and the standby of 0_3 are two units of one task.
"""

from __future__ import annotations

from typing import Final

ACQUIRED: Final = "acquired"
REMOVED: Final = "removed"
OPEN: Final = "open"
UNKNOWN: Final = "unknown"
"""The values of `status` in `task_handover`, for tasks of streams groups and of Connect."""

_ROLE_SHIFT: Final = 60
ACTIVE: Final = 0
STANDBY: Final = 1 << _ROLE_SHIFT
WARMUP: Final = 2 << _ROLE_SHIFT
ROLES: Final = (ACTIVE, STANDBY, WARMUP)
"""The number to add to a task, by role. Active tasks have one owner, the others any number of them."""
_ROLE_NAMES: Final = ("active", "standby", "warmup")
_TASK_BITS: Final = (1 << _ROLE_SHIFT) - 1


def is_active(unit: int) -> bool:
    """Return whether a unit is an active task."""
    return unit < STANDBY


def task_of(unit: int) -> int:
    """Return the task of a unit, without its role."""
    return unit & _TASK_BITS


def role_name(unit: int) -> str:
    """Return the role of a unit: active, standby or warmup."""
    return _ROLE_NAMES[unit >> _ROLE_SHIFT]
