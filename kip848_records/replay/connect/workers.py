"""The payloads of Connect workers in a type 2: `ConnectProtocol`, `IncrementalCooperativeConnectProtocol` in Kafka.

Version 0 is the protocol `default` (eager), 1 is `compatible`, 2 is `sessioned`. Lengths of strings are int16, those of
arrays and bytes int32; fields at the end may be missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.group.payload_reader import PayloadReader
from kip848_records.replay.records import Assignment, Subscription

if TYPE_CHECKING:
    from kip848_records.replay.numbers import PartitionNumbers

EAGER_VERSION: Final = 0


_NOTHING: Final[frozenset[int]] = frozenset()
_TASK_MASK: Final = 0xFFFFFFFF


def read_subscription(payload: bytes, numbers: PartitionNumbers) -> Subscription:
    """Return a worker's subscription, with the connectors (task -1) and tasks that it runs when it joins.

    Units are numbers of `PartitionNumbers.of_names`: the connector's name and the task. Raises ValueError if the bytes
    are not one.
    """
    reader = _Reader(payload)
    version, url, config_offset = reader.int16(), reader.text(), reader.int64()
    owned = _NOTHING
    if version > EAGER_VERSION and not reader.is_at_end:
        size = reader.int32()
        if size > 0:
            owned = _read_assignment(reader, numbers).assigned
    reader.end()
    return Subscription(None, owned, url, config_offset)


def read_assignment(payload: bytes, numbers: PartitionNumbers) -> Assignment:
    """Return a worker's assignment; raises ValueError if the bytes are not one."""
    reader = _Reader(payload)
    assignment = _read_assignment(reader, numbers)
    reader.end()
    return assignment


def _read_assignment(reader: _Reader, numbers: PartitionNumbers) -> Assignment:
    version, error, _, _ = reader.int16(), reader.int16(), reader.text(), reader.text()
    config_offset, assigned = reader.int64(), reader.units(numbers)
    revoked, delay_ms = _NOTHING, 0
    if version > EAGER_VERSION:
        revoked = _NOTHING if reader.is_at_end else reader.units(numbers)
        delay_ms = 0 if reader.is_at_end else reader.int32()
    return Assignment(assigned, None, version, error, config_offset, revoked, delay_ms)


class _Reader(PayloadReader):
    """Reads the fields of Connect's payloads."""

    def units(self, numbers: PartitionNumbers) -> frozenset[int]:
        """Return the next connectors and tasks."""
        units: set[int] = set()
        for _ in range(max(self.int32(), 0)):
            connector = numbers.topic(self.text())
            units.update(connector + (self.int32() & _TASK_MASK) for _ in range(max(self.int32(), 0)))
        return frozenset(units)
