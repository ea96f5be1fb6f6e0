"""The state of a group id at the end of its operations: whichever group has it then is evaluated.

Where the history is not complete, the state is unknown until it is: the records that survived compaction are evaluated
together then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.kinds import CLASSIC, CONSUMER
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.states import StateTimeline
from kip848_records.replay.group.vocabulary import DEAD, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.group.known_history import GroupCoverage
    from kip848_records.replay.incarnations.migrations import DeletedGroup, Migrations
    from kip848_records.replay.modern.group import ModernGroup


class Evaluation:
    """The states of a group id. `modern` is its group of another type than classic, None without one.

    `is_pending`: the state was not evaluated at the end of the last operation.
    """

    def __init__(self, context: Context, coverage: GroupCoverage, migrations: Migrations) -> None:
        self._context = context
        self._coverage = coverage
        self._migrations = migrations
        self.states = StateTimeline(context)
        self.is_pending = False

    def end_operation(self, modern: ModernGroup | None) -> None:
        """Evaluate the group's state at the end of an operation."""
        classic, states = self._migrations.classic, self.states
        if self._migrations.ends_classic:
            states.enter(CLASSIC, DEAD)
        elif classic.value is not None or classic.is_lost:
            self._enter_classic()
            if modern is not None and modern.touched:
                is_complete = not self._coverage.has_lost_prefix
                modern.anomalies.end_operation(is_evaluated=is_complete, is_in_range=is_complete)
                modern.end.end_survivors()
        elif self._coverage.has_lost_prefix:
            if modern is not None:
                modern.end.lose()
            states.enter(CONSUMER if modern is None else modern.kind, UNKNOWN, is_end_seen=False)
        elif modern is not None:
            states.enter(modern.kind, modern.end.end_operation())

    def end_unevaluated(self, modern: ModernGroup | None, *, is_jump: bool) -> None:
        """End an operation whose final state is unknown, or consists of surviving records only.

        `is_jump`: the epochs jump in it, so that the history is complete from here on.
        """
        if modern is not None:
            modern.end.end_survivors(is_in_range=is_jump)
        if self._coverage.has_lost_prefix:
            self.end_operation(modern)
        elif is_jump:
            self.evaluate_survivors(modern, is_complete=True)
        else:
            self.is_pending = True

    def evaluate_survivors(self, modern: ModernGroup | None, *, is_complete: bool) -> None:
        """Evaluate the state of the records that survived from before the history is complete."""
        self.is_pending = False
        classic, operation = self._migrations.classic, self._context.operation
        if classic.value is not None:
            self.states.enter(CLASSIC, classic.state)
        elif modern is None or (modern.is_untouched and classic.offset != NEVER):
            # No record survived, or only the tombstone of a classic group.
            self.states.enter(CLASSIC, DEAD)
        else:
            self.states.enter(modern.kind, modern.end.evaluate_survivors(is_complete=is_complete))
        self.states.restart(operation.at, operation.last)

    def end_deleted(self, deleted: Iterable[DeletedGroup]) -> None:
        """End the incarnations that the operation deleted."""
        context, classic = self._context, self._migrations.classic
        now = context.incarnation
        classic_ids = classic.value.member_ids if classic.value is not None and classic.is_written else None
        for modern, incarnation, is_evaluated, _ in deleted:
            context.incarnation = incarnation
            if is_evaluated:
                modern.end.end_operation(is_deleted=True, classic_ids=classic_ids)
            else:
                modern.end.delete_survivors()
            self.states.enter(modern.kind, DEAD, is_end_seen=is_evaluated)
        context.incarnation = now
        self.is_pending = False

    def end_unseen(self, modern: ModernGroup) -> None:
        """End an incarnation whose tombstone is missing: a group of another kind follows it."""
        modern.end.delete_survivors()
        self.states.enter(modern.kind, DEAD, is_end_seen=False)

    def end_classic(self, *, is_end_seen: bool) -> None:
        """End the incarnation of a classic group, which was deleted."""
        self.states.enter(CLASSIC, DEAD, is_end_seen=is_end_seen)
        self.is_pending = False

    def _enter_classic(self) -> None:
        classic, states = self._migrations.classic, self.states
        is_known = not classic.is_lost and classic.offset > self._coverage.last_loss
        is_begin_seen = states.state != UNKNOWN
        states.enter(CLASSIC, classic.state if is_known else UNKNOWN, is_begin_seen=is_begin_seen, is_end_seen=is_known)
