"""Rows of `partition_handover`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CONSUMER
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, Row

if TYPE_CHECKING:
    from kip848_records.simulate.broker.cluster import TopicPartition
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.gaps import Acquisition, Gap
    from tests.simulator.truth.trackers import Trackers


class HandoverTruth:
    """One row per acquisition, and per gap that ended without one or has not ended."""

    name = "partition_handover"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"offsets_partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._gaps = trackers.gaps
        self._incarnation = 0

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:  # noqa: ARG002
        """Write the rows of acquired partitions, and of gaps that ended."""
        self._incarnation = incarnation - operation.ends_incarnation
        acquired = {acquisition.tp for acquisition in self._gaps.acquired}
        for acquisition in self._gaps.acquired:
            self._write(acquisition.tp, acquisition.gap, acquisition)
        for gap in self._gaps.ended:
            if gap.from_member is not None and gap.tp not in acquired:
                self._write(gap.tp, gap, None)

    def close(self) -> None:
        """Write the rows of gaps that are open."""
        for gap in self._gaps.open.values():
            if gap.from_member is not None:
                self._write(gap.tp, gap, None)

    def _write(self, tp: TopicPartition, gap: Gap | None, acquisition: Acquisition | None) -> None:
        now = self._clock.now
        row = {
            **self._key,
            "incarnation": self._incarnation,
            "topic_id": tp[0],
            "partition": tp[1],
            "history": OBSERVED,
            "clock_skew": False,
            "group_type": CONSUMER,
        }
        if acquisition is not None:
            row["acquired_at"], row["acquired_offset"] = now.at, acquisition.offset
            row["to_member"], row["group_epoch"] = acquisition.to_member, acquisition.epoch
        if gap is not None:
            row["from_member"] = gap.from_member
            row["released_at"], row["released_offset"] = gap.begin.at, gap.begin_offset
            row["unowned_ms"] = unowned_ms = now.at - gap.begin.at
            row["wanted"], row["wanted_ms"] = gap.wanted, gap.wanted_ms
            row["history"] = RIGHT_CENSORED if gap.end is None else OBSERVED
            row["clock_skew"] = now.has_skew_since(gap.begin) or unowned_ms < 0
        self.rows.append(row)
