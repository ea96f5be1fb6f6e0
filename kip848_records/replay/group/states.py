"""The states of a group, one interval each: `group_state_timeline`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CONSUMER, KINDS
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.vocabulary import CONVERGING, DEAD
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import GROUP_STATE_TIMELINE

if TYPE_CHECKING:
    from kip848_records.replay.group.context import Context

_write: Final = row_writer(GROUP_STATE_TIMELINE)

_UNCONVERGED: Final = "unconverged"

_HIDING: Final = frozenset(kind.group_type for kind in KINDS.values() if kind.hides_rebalances)
"""The types of groups that are Stable in the log while they rebalance."""


class _Run(NamedTuple):
    incarnation: int
    group_type: str
    state: str


class StateTimeline:
    """The intervals of a group's states.

    `state`: the present state, None if it has none. `since_at`, `since_offset`: the start of this state, where
    Assigning and Reconciling count as one; the offset is -1 if it may have begun before.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._run: _Run | None = None
        self._phase: _Run | None = None
        self._from_at: int | None = None
        self._from_offset = self._began = NEVER
        self.since_at: int | None = None
        self.since_offset = NEVER

    @property
    def state(self) -> str | None:
        """The state now."""
        return None if self._run is None else self._run.state

    @property
    def group_type(self) -> str:
        """The type of the group that is in this state."""
        return CONSUMER if self._run is None else self._run.group_type

    def enter(self, group_type: str, state: str, *, is_begin_seen: bool = True, is_end_seen: bool = True) -> None:
        """Note the group's state after an operation.

        Not `is_begin_seen`: it may have begun before. Not `is_end_seen`: the previous state may have ended before.
        """
        context = self._context
        operation = context.operation
        named = context.incarnation, group_type, state
        if named == self._run:
            return
        self._emit(operation.at, operation.last, operation.at, has_end=is_end_seen)
        if state == DEAD:
            self._run = self._phase = None
            return
        begin = operation.last if is_begin_seen else NEVER
        run = self._run = _Run(*named)
        self._from_at, self._from_offset, self._began = operation.at, operation.last, begin
        phase = _Run(context.incarnation, group_type, _UNCONVERGED) if state in CONVERGING else run
        if phase != self._phase:
            self._phase = phase
            self.since_at, self.since_offset = operation.at, begin

    def restart(self, at: int | None, offset: int) -> None:
        """Begin the state here: its start is unknown, but it has lasted at least since then."""
        if self._run is not None:
            self._from_at, self._from_offset, self._began = at, offset, offset
            self.since_at, self.since_offset = at, offset

    def finish(self) -> None:
        """Write the interval that is open at the end of the log."""
        self._emit(None, None, self._context.captured_at, has_end=False)

    def _emit(self, to_at: int | None, to_offset: int | None, until: int | None, *, has_end: bool) -> None:
        context = self._context
        if self._run is None:
            return
        duration_ms = ms_between(self._from_at, until)
        _write(
            context,
            self._began,
            incarnation=self._run.incarnation,
            group_type=self._run.group_type,
            state=self._run.state,
            from_at=self._from_at,
            from_offset=self._from_offset,
            to_at=to_at,
            to_offset=to_offset,
            duration_ms=duration_ms,
            hides_rebalance=self._run.group_type in _HIDING,
            clock_skew=context.operation.is_skewed(self._from_offset, duration_ms),
            has_end=has_end,
        )
