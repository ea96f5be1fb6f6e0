"""Topic partitions, and tasks in their roles, as integers.

A task of a streams group is a number of `PartitionNumbers` (subtopology and partition), and the role in the bits above
it. So the active task 0_3 and the standby of 0_3 are two units of one task.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.kinds import Kind

_ROLE_SHIFT: Final = 60
ACTIVE: Final = 0
STANDBY: Final = 1 << _ROLE_SHIFT
WARMUP: Final = 2 << _ROLE_SHIFT
ROLES: Final = (ACTIVE, STANDBY, WARMUP)
"""The number to add to a task, by role."""
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


class PartitionNumbers:
    """Topic partitions as single integers: the topic's index times 2^32 plus the partition.

    Indexes are assigned in the order of first use, and are valid within one Python worker.
    """

    def __init__(self) -> None:
        self.index_of: dict[str, int] = {}
        self.topic_ids: list[str] = []

    @cached_property
    def of_names(self) -> PartitionNumbers:
        """The numbers of partitions whose topic is known by its name only, as in classic groups."""
        return PartitionNumbers()

    def topic(self, topic_id: str) -> int:
        """Return the number to add to a partition of the topic."""
        index = self.index_of.get(topic_id)
        if index is None:
            index = self.index_of[topic_id] = len(self.topic_ids)
            self.topic_ids.append(topic_id)
        return index << 32

    def name(self, number: int) -> tuple[str, int]:
        """Return topic id and partition of a number. A connector is the partition -1, with its tasks beside it."""
        partition = number & 0xFFFFFFFF
        return self.topic_ids[number >> 32], partition if partition >> 31 == 0 else partition - (1 << 32)


def owned(kind: Kind, units: Iterable[int]) -> Iterable[int]:
    """Return those units that have one owner at most: partitions, unless members share them, and active tasks."""
    if kind.shares_units:
        return ()
    return filter(is_active, units) if kind.has_tasks else units


class Units:
    """The units of a kind of group: topic partitions, or tasks in roles."""

    def __init__(self, kind: Kind, numbers: PartitionNumbers) -> None:
        self._kind = kind
        self.has_tasks = kind.has_tasks
        self._numbers = numbers

    def owned(self, units: Iterable[int]) -> Iterable[int]:
        """Return those units that have one owner at most."""
        return owned(self._kind, units)

    def rivals(self, units: Iterable[int]) -> Iterable[int]:
        """Return the units that may block a member which awaits some: of a task, the task in every role."""
        return [task + role for task in set(map(task_of, units)) for role in ROLES] if self.has_tasks else units

    def name(self, unit: int) -> tuple[str | None, int, str | None, str | None]:
        """Return a partition's topic id and number; of a task, its number, subtopology id and role."""
        first, number = self._numbers.name(task_of(unit))
        return (None, number, first, role_name(unit)) if self.has_tasks else (first, number, None, None)
