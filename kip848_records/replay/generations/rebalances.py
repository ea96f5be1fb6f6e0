"""The rebalances of a classic group: a generation and its follow-ups, one row of `rebalance` each.

The join phase before the first generation is not in the log, so that every duration is a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import CLASSIC
from kip848_records.replay.generations.stopped_partitions import emit_stopped
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.vocabulary import (
    CONVERGED,
    CREATED,
    EMPTIED,
    FIRST_GENERATION,
    OPEN,
    REVOKING,
    SHOWN,
    UNKNOWN,
)
from kip848_records.replay.rows import new_struct, row_writer
from kip848_records.specs.tables import BLOCKER, REBALANCE

if TYPE_CHECKING:
    from kip848_records.replay.generations.round import Round
    from kip848_records.replay.generations.rules import ProtocolRules
    from kip848_records.replay.group.context import Context

_write: Final = row_writer(REBALANCE, "members_waited", "assigning_ms", "late_ms", "not_ready_ms")
_new_blocker: Final = new_struct(BLOCKER)

_BLOCKERS: Final = 20
_SLACK_MS: Final = 10_000
"""How late a coordinator's timer may fire, and its leader may sync."""


@dataclass(slots=True)
class _Open:
    first: Round
    rules: ProtocolRules
    causes: dict[str, None] = field(default_factory=dict)
    triggers: dict[str, None] = field(default_factory=dict)
    all: list[Round] = field(default_factory=list)
    unowned: list[int | None] = field(default_factory=list)
    """For how long each unit had no owner that has none at the end, in ms."""


class ClassicRebalances:
    """The rebalances of a classic group; the last one is open while a generation leaves something to follow-ups."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._open: _Open | None = None

    @property
    def first_offset(self) -> int | None:
        """The offset of the open rebalance; None if none is open."""
        return None if self._open is None else self._open.first.now.offset

    def note_unowned(self, unowned: list[int | None]) -> None:
        """Note for how long units have had no owner that the open rebalance left to no member."""
        if self._open is not None:
            self._open.unowned = unowned

    def add(self, round_: Round, rules: ProtocolRules) -> None:
        """Add a generation at the end of its operation: it goes on with the open rebalance, or begins another."""
        now = round_.now
        if now.cause.name == CREATED:
            return
        rebalance = self._open
        if rebalance is None:
            rebalance = self._open = _Open(round_, rules)
        rebalance.all.append(round_)
        rebalance.causes[now.cause.name] = None
        rebalance.triggers.update(dict.fromkeys(now.cause.member_ids))
        if now.cause.name == EMPTIED or not rules.needs_follow_up(now):
            self._emit(rebalance, EMPTIED if now.cause.name == EMPTIED else CONVERGED, now.at, now.offset)
            self._open = None

    def end(self, ended_by: str) -> None:
        """End the open rebalance with the operation that ended the classic group."""
        if self._open is not None:
            operation = self._context.operation
            self._emit(self._open, ended_by, operation.at, operation.last)
        self._open = None

    def lose(self) -> None:
        """End the open rebalance with an unknown outcome: its time is that up to the last record before the loss."""
        if self._open is not None:
            self._emit(self._open, UNKNOWN, self._context.operation.at, None)
        self._open = None

    def finish(self) -> None:
        """Write the rebalance that is open at the end of the log."""
        if self._open is not None:
            self._emit(self._open, OPEN, self._context.captured_at, None)

    def _emit(self, rebalance: _Open, outcome: str, ended_at: int | None, ended_offset: int | None) -> None:
        """Write a rebalance; without an `ended_offset`, it lasted at least until `ended_at`."""
        context, first, rounds = self._context, rebalance.first, rebalance.all
        if context.reads_commits and outcome != EMPTIED and rebalance.rules.stops_partitions:
            emit_stopped(context, rounds, is_open=ended_offset is None)
        last, members_before = rounds[-1].now, first.members_before
        has_end, began_at = ended_offset is not None, first.now.first_value.state_at
        duration_ms = None if outcome == EMPTIED else ms_between(began_at, ended_at)
        members = members_before if outcome == EMPTIED else len(last.value.member_ids)
        if outcome == UNKNOWN:
            members = None
        moved = _total([None if round_.moves is None else len(round_.moves) for round_ in rounds])
        unowned = [*(round_.unowned_ms for round_ in rounds), *((ms, ms) for ms in rebalance.unowned)]
        longest = [ms for _, ms in unowned if ms is not None]
        has_unowned = len(longest) == len(unowned)
        cause = first.now.cause.name
        if cause not in SHOWN and first.now.value.generation != FIRST_GENERATION:
            cause = UNKNOWN
        causes_before = tuple(dict.fromkeys((cause, *(round_.now.cause.name for round_ in rounds[1:]))))
        is_replacement = first.now.has_static_members
        extra = (min(round_.compared_from for round_ in rounds), last.offset, causes_before, (), is_replacement)
        operation = context.operation
        delay_ms, expected_at, revoked = rebalance.rules.rebalance_columns(rounds)
        blockers = self._blockers(rebalance) if outcome == OPEN else None
        _write(
            context,
            first.begin,
            group_type=CLASSIC,
            began_offset=first.now.offset,
            began_at=began_at,
            first_epoch=first.now.value.generation,
            last_epoch=last.value.generation,
            epochs=len(rounds),
            causes=tuple(rebalance.causes),
            trigger_member_ids=tuple(rebalance.triggers),
            ended_at=ended_at if has_end else None,
            ended_offset=ended_offset,
            outcome=outcome,
            duration_ms=duration_ms,
            started_empty=None if members_before is None else members_before == 0,
            members_before=members_before,
            members=members,
            partitions_moved=moved,
            unowned_ms=_total([ms for ms, _ in unowned]) if has_unowned else None,
            longest_unowned_ms=max(longest) if has_unowned else None,
            blockers=blockers,
            blockers_count=None if blockers is None else len(blockers),
            clock_skew=operation.is_skewed(first.begin, duration_ms),
            leader_changed=operation.is_led_by_another(first.now.leader_epoch),
            rounds=_total([round_.rounds for round_ in rounds]),
            duration_is_minimum=True,
            delay_ms=delay_ms,
            expected_at=expected_at,
            revoked=revoked,
            partitions_stopped=_total([round_.stopped for round_ in rounds]),
            is_measured=False,
            end=ended_offset,
            has_end=has_end,
            extra=extra,
        )

    def _blockers(self, rebalance: _Open) -> tuple[tuple[Any, ...], ...] | None:
        """Return the members that had to give units up and did not ask for the next generation.

        None as long as a join phase may be under way: it lasts for the longest rebalance timeout of its members. Then
        `GroupMetadataManager` completes it without those that are missing, and writes a generation.
        """
        now = rebalance.all[-1].now
        timeouts = [member.rebalance_timeout_ms for member in now.value.members]
        waits = ms_between(now.at, self._context.captured_at)
        known = [timeout for timeout in timeouts if timeout is not None]
        if waits is None or len(known) < len(timeouts) or waits <= max(known, default=waits) + _SLACK_MS:
            return None
        return tuple(
            _new_blocker(
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                instance_id=member.instance_id,
                late_ms=waits,
                blocked_ms=None,
                held_up=None,
                revoke_ms=None,
                away_ms=None,
                last_state=REVOKING,
                late_now=True,
                waiting_now=None,
            )
            for member in rebalance.rules.to_give_up(now)[:_BLOCKERS]
        )


def _total(numbers: list[Any]) -> int | None:
    return None if None in numbers else sum(numbers)
