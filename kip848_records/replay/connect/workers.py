"""The payloads of Connect workers in a type 2: `ConnectProtocol`, `IncrementalCooperativeConnectProtocol` in Kafka.

Version 0 is the protocol `default` (eager), 1 is `compatible`, 2 is `sessioned`. Lengths of strings are int16, those of
arrays and bytes int32; fields at the end may be missing.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from kip848_records.replay.numbers import PartitionNumbers

EAGER_VERSION: Final = 0


class WorkerSubscription(NamedTuple):
    """A worker's subscription. `owned`: the connectors (task -1) and tasks that it runs when it joins.

    Units are numbers of `PartitionNumbers.of_names`: the connector's name and the task.
    """

    version: int
    url: str
    config_offset: int
    owned: frozenset[int]

    @property
    def topics(self) -> None:
        """A worker subscribes to no topics."""

    @property
    def may_lack_assignment(self) -> bool:
        """Whether the leader may leave the worker without an assignment."""
        return True


class WorkerAssignment(NamedTuple):
    """The leader's assignment for a worker. From version 1 on, `assigned` contains new connectors and tasks only.

    `error` 1: the leader had not read the configuration far enough. `delay_ms`: how long it waits for workers that
    left.
    """

    version: int
    error: int
    leader: str
    leader_url: str
    config_offset: int
    assigned: frozenset[int]
    revoked: frozenset[int]
    delay_ms: int

    def units(self, subscription: WorkerSubscription | None) -> frozenset[int] | None:
        """Return the connectors and tasks that the worker runs from this generation on; None if unknown.

        From version 1 on, a worker continues what it runs, unless the leader asks it to stop.
        """
        if self.version == EAGER_VERSION:
            return self.assigned
        return None if subscription is None else (subscription.owned - self.revoked) | self.assigned


_NOTHING: Final[frozenset[int]] = frozenset()
_TASK_MASK: Final = 0xFFFFFFFF


def read_subscription(payload: bytes, numbers: PartitionNumbers) -> WorkerSubscription:
    """Return a worker's subscription; raises ValueError if the bytes are not one."""
    reader = _Reader(payload)
    version, url, config_offset = reader.int16(), reader.text(), reader.int64()
    owned = _NOTHING
    if version > EAGER_VERSION and not reader.is_at_end:
        size = reader.int32()
        if size > 0:
            owned = _read_assignment(reader, numbers).assigned
    reader.end()
    return WorkerSubscription(version, url, config_offset, owned)


def read_assignment(payload: bytes, numbers: PartitionNumbers) -> WorkerAssignment:
    """Return a worker's assignment; raises ValueError if the bytes are not one."""
    reader = _Reader(payload)
    assignment = _read_assignment(reader, numbers)
    reader.end()
    return assignment


def _read_assignment(reader: _Reader, numbers: PartitionNumbers) -> WorkerAssignment:
    version, error, leader, leader_url = reader.int16(), reader.int16(), reader.text(), reader.text()
    config_offset, assigned = reader.int64(), reader.units(numbers)
    revoked, delay_ms = _NOTHING, 0
    if version > EAGER_VERSION:
        revoked = _NOTHING if reader.is_at_end else reader.units(numbers)
        delay_ms = 0 if reader.is_at_end else reader.int32()
    return WorkerAssignment(version, error, leader, leader_url, config_offset, assigned, revoked, delay_ms)


class _Reader:
    """Reads big-endian fields one after the other; raises ValueError beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        return self._position == len(self._data)

    def end(self) -> None:
        if not self.is_at_end:
            raise ValueError(f"{len(self._data) - self._position} bytes follow the last field")

    def int16(self) -> int:
        return self._number(">h", 2)

    def int32(self) -> int:
        return self._number(">i", 4)

    def int64(self) -> int:
        return self._number(">q", 8)

    def text(self) -> str:
        size = self.int16()
        if size < 0:
            return ""
        return self._take(size).decode()

    def units(self, numbers: PartitionNumbers) -> frozenset[int]:
        units: set[int] = set()
        for _ in range(max(self.int32(), 0)):
            connector = numbers.topic(self.text())
            units.update(connector + (self.int32() & _TASK_MASK) for _ in range(max(self.int32(), 0)))
        return frozenset(units)

    def _number(self, form: str, size: int) -> int:
        number: int = struct.unpack(form, self._take(size))[0]
        return number

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise ValueError(f"the bytes end within a field at byte {self._position}")
        self._position += size
        return taken
