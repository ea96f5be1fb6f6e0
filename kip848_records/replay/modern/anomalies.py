"""Facts that contradict the protocol, independent of any limits: `anomaly`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.replay.group.vocabulary import (
    ASSIGNMENT_AHEAD,
    EPOCH_WENT_BACK,
    MEMBER_EPOCH_AHEAD,
    TARGET_OVERLAP,
    TWO_OWNERS,
)
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import ANOMALY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sized

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Claims, Member
    from kip848_records.replay.modern.targets import Targets
    from kip848_records.replay.numbers import Units
    from kip848_records.replay.records import AnyMemberValue, Record

_write: Final = row_writer(ANOMALY)


class _Anomaly(NamedTuple):
    """Columns of a row of `anomaly`."""

    kind: str
    offset: int
    at: int | None
    member_id: str | None
    epoch: int | None
    expected: str
    seen: str


class Anomalies:
    """The anomalies of an operation, written at its end. `wrote_assignment`: the offset of its last type 6."""

    def __init__(self, context: Context, units: Units) -> None:
        self._context = context
        self._units = units
        self._anomalies: list[_Anomaly] = []
        self._jumps: list[_Anomaly] = []
        self.wrote_assignment: int | None = None

    def went_back(self, record: Record, before: int, epoch: int) -> None:
        """Note an assignment or member epoch that is below the previous one."""
        self._add(EPOCH_WENT_BACK, record, epoch, f"an epoch of at least {before}", str(epoch))

    def group_went_back(self, record: Record, before: int, epoch: int) -> None:
        """Note a group epoch that is below the previous one: the history is complete from it on."""
        expected = f"an epoch of at least {before}"
        anomaly = _Anomaly(EPOCH_WENT_BACK, record.offset, record.timestamp, None, epoch, expected, str(epoch))
        self._jumps.append(anomaly)

    def member(self, record: Record, value: AnyMemberValue) -> None:
        """Check a member's metadata. Share and streams groups have nothing to check."""

    def check(
        self,
        touched: Iterable[Member],
        group_epoch: int | None,
        assignment_epoch: int | None,
        targets: Targets,
        holders: Claims,
    ) -> None:
        """Check the members that an operation wrote, and the targets if it wrote an assignment."""
        for member in touched:
            if member.wrote_current:
                if holders.contested:
                    self._check_owners(member, holders)
                if assignment_epoch is not None and member.epoch > assignment_epoch:
                    expected = f"a member epoch of at most {assignment_epoch}"
                    self._add_for_member(MEMBER_EPOCH_AHEAD, member, expected, str(member.epoch))
        offset, at, epoch = self.wrote_assignment, self._context.operation.at, assignment_epoch
        if offset is None:
            return
        doubled = list(self._units.owned(targets.claims.contested))
        if doubled:
            partition = min(doubled)
            members = sorted(member.member_id for member in targets.claims[partition])
            seen = f"{self._name(partition)} in the targets of {', '.join(members)}{_more(doubled)}"
            expected = "each partition in one target"
            self._anomalies.append(_Anomaly(TARGET_OVERLAP, offset, at, None, epoch, expected, seen))
        if epoch is not None and group_epoch is not None and epoch > group_epoch:
            expected = f"an assignment epoch of at most {group_epoch}"
            self._anomalies.append(_Anomaly(ASSIGNMENT_AHEAD, offset, at, None, epoch, expected, str(epoch)))

    def end_operation(self, *, is_evaluated: bool, is_in_range: bool) -> None:
        """Write the anomalies, unless the operation lies before the history is complete."""
        self.wrote_assignment = None
        if not self._anomalies and not self._jumps:
            return
        anomalies = (*(self._anomalies if is_evaluated else ()), *(self._jumps if is_in_range else ()))
        for anomaly in anomalies:
            _write(self._context, anomaly.offset, **anomaly._asdict())
        self._anomalies.clear()
        self._jumps.clear()

    def _check_owners(self, member: Member, holders: Claims) -> None:
        """Check that no other member holds a partition of a member whose type 8 was written."""
        shared = sorted(unit for unit in self._units.owned(member.held) if len(holders.get(unit, ())) > 1)
        if shared:
            others = sorted(holder.member_id for holder in holders[shared[0]] if holder is not member)
            seen = f"{self._name(shared[0])} also of {', '.join(others)}{_more(shared)}"
            self._add_for_member(TWO_OWNERS, member, "one owner of each partition", seen)

    def _add_for_member(self, kind: str, member: Member, expected: str, seen: str) -> None:
        at = self._context.operation.at
        self._anomalies.append(
            _Anomaly(kind, member.current_offset, at, member.member_id, member.epoch, expected, seen)
        )

    def _add(self, kind: str, record: Record, epoch: int | None, expected: str, seen: str) -> None:
        anomaly = _Anomaly(kind, record.offset, record.timestamp, record.member_id, epoch, expected, seen)
        self._anomalies.append(anomaly)

    def _name(self, unit: int) -> str:
        topic_id, number, subtopology_id, _ = self._units.name(unit)
        return f"{topic_id}-{number}" if subtopology_id is None else f"task {subtopology_id}_{number}"


def _more(partitions: Sized) -> str:
    return f", and {len(partitions) - 1} more" if len(partitions) > 1 else ""
