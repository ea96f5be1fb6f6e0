"""What the assignor of Kafka Streams tells each member of a classic group: `AssignmentInfo` in Kafka.

It stands in the user data of the member's assignment: its active and standby tasks, an error of the leader, and when
the member asks for the next rebalance. Versions 1 to 11. Who owns what on which host is skipped.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.group.payload_reader import PayloadReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kip848_records.replay.records import ClassicGroupValue, ClassicMemberValue

STREAMS_ASSIGNOR: Final = "stream"
"""The name of the assignor in the record, and so the `protocol` of such a group."""
AT_ONCE: Final = 0
"""The time of the next rebalance if a member is to ask for it at once: tasks are given up first."""

_NEWEST: Final = 11
_WITH_COMMON_VERSION: Final = 3
_WITH_HOSTS: Final = 2
_WITH_ERROR: Final = 4
_WITH_DICTIONARY: Final = 5
_WITH_STANDBY_HOSTS: Final = 6
_WITH_NEXT_REBALANCE: Final = 7
_WITH_TOPOLOGY_NAMES: Final = 10
_LAST_TIME: Final = 253_402_300_799_999
"""The end of the year 9999 in ms; Streams writes 2^63-1 for no time."""
_PARTITION: Final = 8
"""Bytes of a partition whose topic is a number."""
_REMEMBERED: Final = 256


class TaskAssignment(NamedTuple):
    """What a member is told. Tasks have Kafka's names, such as `0_3`, in order.

    `next_rebalance_ms`: when the member asks for the next rebalance, in ms since 1970 by the leader's clock, `AT_ONCE`,
    or None: it does not.
    """

    version: int
    error: int
    active: tuple[str, ...]
    standby: tuple[str, ...]
    next_rebalance_ms: int | None


def read_task_assignment(payload: bytes) -> TaskAssignment:
    """Return what a member is told; raises ValueError if the bytes are not an `AssignmentInfo` of a known version.

    As Kafka does, it ignores bytes after the last field.
    """
    reader = PayloadReader(payload)
    version = reader.int32()
    if not 1 <= version <= _NEWEST:
        raise ValueError(f"version {version} is not one of 1 to {_NEWEST}")
    if version >= _WITH_COMMON_VERSION:
        reader.int32()
    size = 12 if version >= _WITH_TOPOLOGY_NAMES else 8
    active = [_task(reader, version) for _ in range(reader.count(size))]
    standby = []
    for _ in range(reader.count(size + 4)):
        standby.append(_task(reader, version))
        _skip_partitions(reader)
    if version >= _WITH_DICTIONARY:
        for _ in range(reader.count(6)):
            reader.int32()
            reader.skip_text()
        for _ in range(2 if version >= _WITH_STANDBY_HOSTS else 1):
            _skip_hosts(reader, has_names=False)
    elif version >= _WITH_HOSTS:
        _skip_hosts(reader, has_names=True)
    error = reader.int32() if version >= _WITH_ERROR else 0
    next_ms = reader.int64() if version >= _WITH_NEXT_REBALANCE else None
    if next_ms is not None and not 0 <= next_ms <= _LAST_TIME:
        next_ms = None
    return TaskAssignment(version, error, _named(active), _named(standby), next_ms)


def task_assignments(value: ClassicGroupValue) -> dict[str, TaskAssignment | str]:
    """Return what each member of a generation is told, or why that does not decode; those without user data lack."""
    told = ((member.member_id, task_assignment(value, member)) for member in value.members)
    return {member_id: found for member_id, found in told if found is not None}


def task_assignment(value: ClassicGroupValue, member: ClassicMemberValue) -> TaskAssignment | str | None:
    """Return what one member of a generation is told, or why that does not decode; None without user data."""
    user_data = None if member.assignment is None else member.assignment.user_data
    return _read(user_data) if user_data and value.protocol == STREAMS_ASSIGNOR else None


def next_rebalance_ms(assignments: Iterable[TaskAssignment | str]) -> int | None:
    """Return when the first member asks for the next rebalance; None if none does."""
    times = (each.next_rebalance_ms for each in assignments if isinstance(each, TaskAssignment))
    return min((at for at in times if at is not None), default=None)


class WarmUps:
    """Tells the copies of tasks that a client warms up from standby replicas: an assignment names both alike.

    Tasks of one subtopology have as many standby replicas each, so one that has more of them has a copy to warm up.
    While no member is to ask for a rebalance there are standby replicas only: they count for the generations after.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the standby replicas: the next generation may be of another application."""
        self._replicas: dict[str, int] = {}
        self._held: dict[str, frozenset[str]] = {}

    def of(self, assignments: Mapping[str, TaskAssignment]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Return the members of the next generation that warm up copies of tasks, with these."""
        copies = Counter(task for each in assignments.values() for task in each.standby)
        tasks = {task for each in assignments.values() for task in each.active} | copies.keys()
        fewest: dict[str, int] = {}
        for task in tasks:
            subtopology = _subtopology(task)
            fewest[subtopology] = min(copies[task], fewest.get(subtopology, copies[task]))
        if next_rebalance_ms(assignments.values()) is None:
            self._replicas = fewest
            self._held = {member_id: frozenset(each.standby) for member_id, each in assignments.items()}
            return ()
        usual = {name: min(count, self._replicas.get(name, count)) for name, count in fewest.items()}
        warm = {task for task, count in copies.items() if count > usual[_subtopology(task)]}
        holders = {member_id: warm.intersection(each.standby) for member_id, each in assignments.items()}
        new = {member_id: found - self._held.get(member_id, frozenset()) for member_id, found in holders.items()}
        is_new = set().union(*new.values())  # the others were held before: which copy is the replica is not known
        return tuple(
            (member_id, _named(found))
            for member_id, held in sorted(holders.items())
            if (found := new[member_id] | (held - is_new))
        )


@lru_cache(_REMEMBERED)
def _read(payload: bytes) -> TaskAssignment | str:
    """Return what a member is told, or why that does not decode; members are told the same again and again."""
    try:
        return read_task_assignment(payload)
    except ValueError as error:
        return str(error)


def _task(reader: PayloadReader, version: int) -> tuple[str, int, int]:
    subtopology, partition = reader.int32(), reader.int32()
    topology = reader.utf16() if version >= _WITH_TOPOLOGY_NAMES else ""
    return topology, subtopology, partition


def _named(tasks: Iterable[tuple[str, int, int] | str]) -> tuple[str, ...]:
    """Return Kafka's names of tasks, each once, in the order of their numbers."""
    keys = {_key(task) if isinstance(task, str) else task for task in tasks}
    return tuple(
        f"{topology}__{subtopology}_{partition}" if topology else f"{subtopology}_{partition}"
        for topology, subtopology, partition in sorted(keys)
    )


def _key(name: str) -> tuple[str, int, int]:
    topology, _, numbers = name.rpartition("__")
    subtopology, _, partition = numbers.rpartition("_")
    return topology, int(subtopology), int(partition)


def _subtopology(task: str) -> str:
    return task.rpartition("_")[0]


def _skip_partitions(reader: PayloadReader) -> None:
    for _ in range(reader.count(6)):
        reader.skip_text()
        reader.int32()


def _skip_hosts(reader: PayloadReader, *, has_names: bool) -> None:
    for _ in range(reader.count(10)):
        reader.skip_text()
        reader.int32()
        if has_names:
            _skip_partitions(reader)
        else:
            reader.skip(reader.count(_PARTITION) * _PARTITION)
