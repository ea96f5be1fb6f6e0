"""The rules of generations of Connect workers, whose groups have the protocol type `connect`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.replay.connect.generation import (
    config_offset,
    delay_ms,
    error,
    needs_follow_up,
    revoked_units,
    stays_behind,
    version,
)
from kip848_records.replay.connect.tasks import ConnectTasks
from kip848_records.replay.connect.workers import EAGER_VERSION
from kip848_records.replay.generations.generation import FOLLOW_UP, Cause
from kip848_records.replay.generations.rules import GenerationColumns, ProtocolRules, has_other_protocol
from kip848_records.replay.group.context import ms_between
from kip848_records.replay.group.vocabulary import CONFIG_MISMATCH, COOPERATIVE, EAGER, UNKNOWN
from kip848_records.replay.rows import row_writer
from kip848_records.specs.tables import CONNECT_ASSIGNMENT

if TYPE_CHECKING:
    from kip848_records.replay.generations.generation import Generation
    from kip848_records.replay.generations.round import Round
    from kip848_records.replay.group.context import Context
    from kip848_records.replay.records import ClassicMemberValue

_write: Final = row_writer(CONNECT_ASSIGNMENT)

PROTOCOL_CHANGED: Final = "protocol_changed"
DELAY_EXPIRED: Final = "delay_expired"
CONFIG_CHANGED: Final = "config_changed"


class ConnectRules(ProtocolRules):
    """The rules of generations of Connect workers."""

    one_owner = "one worker for each connector and task"
    units_may_wait = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._tasks = ConnectTasks(context)

    def protocol_cause(self, now: Generation, before: Generation) -> None:
        """Return None: members that come and go are the cause first."""

    def cause_of_same_members(self, now: Generation, before: Generation) -> Cause:
        """Return the cause of a generation of the same workers."""
        return Cause(_cause(now, before))

    def mode(self, now: Generation, _: Generation | None) -> str | None:
        """Return the rebalance protocol by the version of the leader's assignment."""
        its_version = version(now)
        return UNKNOWN if its_version is None else EAGER if its_version == EAGER_VERSION else COOPERATIVE

    def needs_follow_up(self, now: Generation) -> bool:
        """Return whether another generation has to follow: workers give something up, the leader waits, or an error."""
        return needs_follow_up(now)

    def generation_columns(self, now: Generation) -> GenerationColumns:
        """Return the error of the leader."""
        return GenerationColumns(error=error(now))

    def assign(self, round_: Round) -> None:
        """Let a generation run its connectors and tasks."""
        self._tasks.add(round_.now)

    def to_give_up(self, now: Generation) -> list[ClassicMemberValue]:
        """Return the workers that the leader asked to give connectors and tasks up; none while it waits for others."""
        if delay_ms(now):
            return []
        return [each for each in now.value.members if each.assignment is not None and each.assignment.revoked]

    def emit_member(self, now: Generation, member: ClassicMemberValue) -> None:
        """Write the row of `connect_assignment` of a worker."""
        subscription, assignment = member.subscription, member.assignment
        failed = ("subscription", member.subscription_bytes), ("assignment", member.assignment_bytes)
        reasons = [f"the {name} is not one of a Connect worker" for name, payload in failed if payload is not None]
        running = None if assignment is None else member.units
        _write(
            self._context,
            now.offset,
            generation=now.value.generation,
            member_id=member.member_id,
            worker_url=None if subscription is None else subscription.url,
            version=None if assignment is None else assignment.version,
            error=None if assignment is None else assignment.error,
            config_offset=None if assignment is None else assignment.config_offset,
            worker_config_offset=None if subscription is None else subscription.config_offset,
            owned=None if member.owned is None else self.named(member.owned),
            assigned=None if assignment is None else self.named(assignment.assigned),
            revoked=None if assignment is None else self.named(assignment.revoked),
            running=None if running is None else self.named(running),
            delay_ms=None if assignment is None else assignment.delay_ms,
            quarantine_reason="; ".join(reasons) or None,
        )

    def rebalance_columns(self, rounds: list[Round]) -> tuple[int | None, int | None, int | None]:
        """Return the longest delay of a rebalance, until when its leader waits, and how many units it revoked."""
        last = rounds[-1].now
        delay = delay_ms(last)
        expected_at = last.at + delay if delay and last.at is not None else None
        delays = max(delay_ms(round_.now) for round_ in rounds)
        return delays, expected_at, sum(len(revoked_units(round_.now)) for round_ in rounds)

    def end(self) -> None:
        """End what is open with the operation: the group was deleted, or another type took its place."""
        self._tasks.end()

    def lose(self) -> None:
        """End what is open: records are missing that may have ended it."""
        self._tasks.lose()

    def finish(self) -> None:
        """Write the connectors and tasks that run nowhere at the end of the log."""
        self._tasks.finish()


def _cause(now: Generation, before: Generation) -> str:
    if has_other_protocol(now, before):
        return PROTOCOL_CHANGED
    if revoked_units(before):
        return FOLLOW_UP
    delay, waited = delay_ms(before), ms_between(before.first_value.state_at, now.first_value.state_at)
    if delay and waited is not None and waited >= delay:
        return DELAY_EXPIRED
    offsets = config_offset(now), config_offset(before)
    if offsets[0] is not None and offsets[1] is not None and offsets[0] > offsets[1]:
        return CONFIG_CHANGED
    if error(before) or stays_behind(now, before):
        return CONFIG_MISMATCH
    return UNKNOWN


RULES = ConnectRules
