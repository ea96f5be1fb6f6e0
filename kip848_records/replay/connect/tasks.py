"""The connectors and tasks of a Connect cluster that change their worker, or run on none: `task_handover`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CLASSIC
from kip848_records.replay.connect.generation import config_offset, delay_ms, needs_follow_up, revoked_units
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.vocabulary import ACQUIRED, OPEN, REMOVED, REVOKED, UNKNOWN, WORKER_LEFT
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import TASK_HANDOVER

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import ClassicMemberValue

_write: Final = row_writer(TASK_HANDOVER, "subtopology_id", "wanted", "wanted_ms", "was_warm", "has_changelogs")

UNASSIGNED: Final = "unassigned"
DIRECT: Final = "direct"
_BEFORE_JOIN: Final = (WORKER_LEFT, UNASSIGNED)
"""The reasons of units that had stopped at the end of the join phase: their worker was gone, or had stopped them."""


class _Owner(NamedTuple):
    url: str
    member_id: str
    offset: int


class _Gap(NamedTuple):
    """A unit without a worker since a generation: that generation's times, number and offset."""

    owner: _Owner
    reason: str
    joined_at: int | None
    completed_at: int | None
    generation: int
    offset: int
    expected_at: int | None


class ConnectTasks:
    """The last worker of each connector (task -1) and task."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._owners: dict[int, _Owner] = {}
        self._gaps: dict[int, _Gap] = {}
        self._config_offset: int | None = None

    def add(self, now: Generation) -> None:
        """Let a generation run its units."""
        if now.units is None:
            self.lose()
            return
        before, offset = self._owners, now.last_offset
        owners = self._owners = {
            unit: _Owner(now.owner_of(member), member.member_id, offset) for unit, member in now.units.items()
        }
        for unit, member in now.units.items():
            last, gap = before.get(unit), self._gaps.pop(unit, None)
            if gap is not None:
                self._emit_acquired(now, unit, gap, member)
            elif last is not None and last.url != owners[unit].url and last.member_id != member.member_id:
                self._emit_acquired(now, unit, self._gap(now, last, DIRECT), member)
        revoked = revoked_units(now)
        for unit in sorted(before.keys() - owners.keys()):
            owner = before[unit]
            reason = REVOKED if unit in revoked else UNASSIGNED
            if owner.member_id not in now.members:
                reason = WORKER_LEFT
            self._gaps[unit] = self._gap(now, owner, reason)
        self._expect(now)
        has_other = self._has_other_configuration(now)
        if not needs_follow_up(now) and not has_other:
            self.end()

    def _has_other_configuration(self, now: Generation) -> bool:
        """Return whether a leader reads another configuration than one before: it removed nothing of that one.

        The offsets of one config topic do not go back. Where all workers had left, they may have another one.
        """
        offset, highest = config_offset(now), self._config_offset
        if not now.members or offset is None:
            self._config_offset = None
            return False
        self._config_offset = offset if highest is None else max(offset, highest)
        return offset < self._config_offset

    def end(self) -> None:
        """End the gaps with the operation: what runs nowhere after the last round was removed."""
        for unit, gap in self._gaps.items():
            self._emit(unit, gap, REMOVED, self._times(gap, None), ended_at=self._context.operation.at)
        self._gaps = {}

    def lose(self) -> None:
        """Forget the owners, and end the gaps: an assignment is missing, so it is unknown where the units run."""
        for unit, gap in self._gaps.items():
            self._emit(unit, gap, UNKNOWN, (self._times(gap, self._context.operation.at)[0], None))
        self._owners, self._gaps = {}, {}
        self._config_offset = None

    def finish(self) -> None:
        """Write the gaps that are open at the end of the log."""
        for unit, gap in self._gaps.items():
            self._emit(unit, gap, OPEN, self._times(gap, self._context.captured_at))

    def _expect(self, now: Generation) -> None:
        """Note until when the leader waits: the latest delay counts."""
        delay = delay_ms(now)
        if delay and now.at is not None:
            self._gaps = {unit: gap._replace(expected_at=now.at + delay) for unit, gap in self._gaps.items()}

    @staticmethod
    def _gap(now: Generation, owner: _Owner, reason: str) -> _Gap:
        return _Gap(owner, reason, now.first_value.state_at, now.at, now.value.generation, now.offset, None)

    @staticmethod
    def _times(gap: _Gap, until: int | None) -> tuple[int | None, int | None]:
        """Return `unowned_ms` and `unowned_max_ms` of a unit that no worker has taken up to a time."""
        if gap.reason in _BEFORE_JOIN:
            return ms_between(gap.joined_at, until), None
        return None, ms_between(gap.completed_at, until)

    def _emit_acquired(self, now: Generation, unit: int, gap: _Gap, member: ClassicMemberValue) -> None:
        sync_ms = ms_between(now.first_value.state_at, now.at)
        times = self._times(gap, now.at)
        if gap.reason == DIRECT:
            times = sync_ms, None
        elif gap.reason == REVOKED:
            times = sync_ms, times[1]
        acquired = now.offset, now.at, now.value.generation, now.first_value.state_at
        self._emit(unit, gap, ACQUIRED, times, acquired, member.member_id, ended_at=now.at)

    def _emit(  # noqa: PLR0913, PLR0917 - how it ends
        self,
        unit: int,
        gap: _Gap,
        status: str,
        unowned: tuple[int | None, int | None],
        acquired: tuple[int | None, int | None, int | None, int | None] | None = None,
        to_member: str | None = None,
        *,
        ended_at: int | None = None,
    ) -> None:
        """Write a handover. `acquired`: offset, time and number of the generation that ends it, and its `state_at`."""
        context = self._context
        connector, task = context.numbers.of_names.name(unit)
        unowned_ms, unowned_max_ms = unowned
        acquired_offset, acquired_at, epoch, released_at = acquired or (None, None, gap.generation, None)
        if gap.reason in _BEFORE_JOIN:
            released_at = gap.joined_at
        _write(
            context,
            gap.owner.offset,
            group_type=CLASSIC,
            connector=connector,
            task=task,
            acquired_offset=acquired_offset,
            from_member=gap.owner.member_id,
            reason=gap.reason,
            released_at=released_at,
            released_offset=None if gap.reason == DIRECT else gap.offset,
            to_member=to_member,
            acquired_at=acquired_at,
            unowned_ms=unowned_ms,
            unowned_max_ms=unowned_max_ms,
            epoch=epoch,
            status=status,
            ended_at=ended_at,
            expected_at=gap.expected_at,
            clock_skew=context.operation.is_skewed(gap.owner.offset, unowned_ms),
            has_end=status not in {OPEN, UNKNOWN},
        )
