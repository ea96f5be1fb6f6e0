"""Rows of `rebalance`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kip848_records.kinds import CONSUMER
from kip848_records.simulate.broker.classic import ClassicGroup
from kip848_records.simulate.broker.group import ConsumerGroup
from kip848_records.simulate.broker.operation import EpochBumped, MemberJoined, MemberUpdated
from tests.simulator.truth.blockers import blockers_of
from tests.simulator.truth.causes import Trigger, triggered_bumps
from tests.simulator.truth.rows import OBSERVED, RIGHT_CENSORED, At, Row

if TYPE_CHECKING:
    from kip848_records.simulate.broker.coordinator import Group
    from kip848_records.simulate.broker.operation import Operation
    from tests.simulator.truth.gaps import Gap
    from tests.simulator.truth.rows import Moment
    from tests.simulator.truth.trackers import Trackers

_WORST: Final = 20


@dataclass
class _OpenRebalance:
    begin: Moment
    row: Row
    epochs: list[tuple[int, Trigger]]
    moved: list[int | None] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    """Gaps that ended in it."""


class RebalanceTruth:
    """A rebalance lasts from the first bump until the group is Stable, Empty or deleted."""

    name = "rebalance"

    def __init__(self, partition: int, group_id: str, trackers: Trackers) -> None:
        self.rows: list[Row] = []
        self._key = {"partition": partition, "group_id": group_id}
        self._clock = trackers.clock
        self._assignments = trackers.assignments
        self._gaps = trackers.gaps
        self._standing = trackers.standing
        self._open: _OpenRebalance | None = None
        self._last_epoch: tuple[int, Trigger] | None = None
        self._members = 0
        self._was_empty = False
        """The consumer group was Empty before the operation, neither deleted nor classic."""
        self._without_bump: dict[str, None] = {}
        """Members with a type 5 since the last bump."""

    def operation(self, operation: Operation, group: Group | None, incarnation: int) -> None:
        """Begin, continue or end a rebalance."""
        if self._open is not None:
            self._open.gaps += self._gaps.ended
        if operation.ends_incarnation:
            self._end(operation, "downgraded" if isinstance(group, ClassicGroup) else "deleted", self._members)
            self._last_epoch, self._without_bump = None, {}
        if isinstance(group, ConsumerGroup):
            self._follow(operation, group, incarnation)
        self._members = 0 if group is None else len(group.members)
        self._was_empty = isinstance(group, ConsumerGroup) and not group.members

    def close(self) -> None:
        """End the row of a rebalance that has not ended."""
        self._end(None, "open", self._members)

    def _follow(self, operation: Operation, group: ConsumerGroup, incarnation: int) -> None:
        epochs = self._epochs(operation)
        if self._open is None:
            if epochs:
                place = next(event.place for event in operation.events if isinstance(event, EpochBumped))
                self._begin(At(operation, place), incarnation)
            elif self._was_empty and group.members and group.state != "Stable" and self._last_epoch is not None:
                epochs = [self._last_epoch]
                self._begin(At(operation, 0), incarnation)
        if self._open is None:
            return
        self._open.epochs += epochs
        self._open.moved += [assignment.moved for assignment in self._assignments.latest]
        self._last_epoch = self._open.epochs[-1]
        if not group.members:
            self._end(operation, "emptied", self._members)
        elif group.state == "Stable":
            self._end(operation, "converged", len(group.members))

    def _epochs(self, operation: Operation) -> list[tuple[int, Trigger]]:
        """Return the operation's bumps; for a regular expression, with the members that joined without a bump."""
        epochs = []
        triggers = triggered_bumps(operation)
        for event in operation.events:
            if isinstance(event, (MemberJoined, MemberUpdated)):
                self._without_bump[event.member_id] = None
            elif isinstance(event, EpochBumped):
                bump, trigger = next(triggers)
                if trigger.cause == "regex_resolved":
                    trigger = Trigger(trigger.cause, tuple(self._without_bump))
                self._without_bump = {}
                epochs.append((bump.epoch, trigger))
        return epochs

    def _begin(self, offset: At, incarnation: int) -> None:
        now = self._clock.now
        self._standing.restart()
        row = {
            **self._key,
            "incarnation": incarnation,
            "group_type": CONSUMER,
            "began_offset": offset,
            "began_at": now.at,
            "started_empty": self._members == 0,
            "members_before": self._members,
        }
        self._open = _OpenRebalance(now, row, [])

    def _end(self, operation: Operation | None, outcome: str, members: int) -> None:
        rebalance, now = self._open, self._clock.now
        if rebalance is None:
            return
        self._open = None
        row = rebalance.row
        triggers = [trigger for _, trigger in rebalance.epochs]
        row["first_epoch"], row["last_epoch"] = rebalance.epochs[0][0], rebalance.epochs[-1][0]
        row["epochs"] = len(rebalance.epochs)
        row["causes"] = tuple(dict.fromkeys(trigger.cause for trigger in triggers))
        row["trigger_member_ids"] = tuple(dict.fromkeys(id_ for trigger in triggers for id_ in trigger.member_ids))
        row["ended_at"] = None if operation is None else now.at
        row["ended_offset"] = None if operation is None else At(operation)
        row["outcome"] = outcome
        row["duration_ms"] = now.at - rebalance.begin.at
        row["members"] = members
        row["members_waited"] = len(self._standing.waited)
        row["partitions_moved"] = _sum_of_known(rebalance.moved)
        row["unowned_ms"], row["longest_unowned_ms"] = self._unowned(rebalance)
        row["assigning_ms"], row["late_ms"] = self._standing.assigning_ms, self._standing.late_ms
        row["not_ready_ms"] = 0
        blockers = blockers_of(self._standing, now, is_open=operation is None)
        row["blockers"], row["blockers_count"] = blockers[:_WORST], len(blockers)
        row["history"] = RIGHT_CENSORED if operation is None else OBSERVED
        row["clock_skew"] = now.has_skew_since(rebalance.begin) or row["duration_ms"] < 0
        row["leader_changed"], row["duration_is_minimum"] = None, False
        row["is_measured"] = outcome == "converged" and row["members_before"] > 0 and not row["clock_skew"]
        self.rows.append(row)

    def _unowned(self, rebalance: _OpenRebalance) -> tuple[int, int]:
        """Return the time of all wanted gaps within the rebalance, in partition-milliseconds, and of the longest."""
        begin, now = rebalance.begin.elapsed, self._clock.now.elapsed
        gaps = [*rebalance.gaps, *self._gaps.open.values()]
        wanted = [gap for gap in gaps if gap.wanted or gap.target_since is not None]
        parts = [(now if gap.end is None else gap.end.elapsed) - max(gap.begin.elapsed, begin) for gap in wanted]
        return sum(parts), max(parts, default=0)


def _sum_of_known(moved: list[int | None]) -> int | None:
    """Return the sum of the known counts; None if all are unknown, 0 if there are none."""
    known = [count for count in moved if count is not None]
    return None if moved and not known else sum(known)
