"""The state of a modern group by its records up to now, in one of its incarnations."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kip848_records.kinds import KINDS
from kip848_records.replay.group.vocabulary import ASSIGNING, EMPTY, RECONCILING, STABLE, UNKNOWN
from kip848_records.replay.modern.anomalies import Anomalies
from kip848_records.replay.modern.causes import Causes
from kip848_records.replay.modern.member import AWAY_EPOCH, GONE, NO_EPOCH, STATELESS
from kip848_records.replay.modern.member import STABLE as MEMBER_STABLE
from kip848_records.replay.modern.ownership import Ownership
from kip848_records.replay.modern.targets import Targets
from kip848_records.replay.numbers import Units

if TYPE_CHECKING:
    from collections.abc import Callable

    from kip848_records.replay.group.context import Context
    from kip848_records.replay.modern.member import Member


class ModernState:
    """One incarnation of a modern group, after its last record.

    `group_epoch`, `assignment_epoch`: of the last types 3 and 6, None without one. `start_epoch`: the highest member
    epoch so far. `touched`: members with a record in the operation. `jump`: the offset of a type 3 of this operation
    whose epoch does not follow the previous one.

    At the end of the last operation: `effective_assignment_epoch`: the assignment epoch or its start value, None if
    unknown. `away`, `stateless`: how many members are away, or have no known state. `phase`: the state by epochs and
    members alone; None if the group's state says the same.

    A kind of group replaces the parts in which it behaves otherwise.
    """

    kind: str
    new_ownership: Callable[..., Ownership] = Ownership
    new_targets = Targets
    new_causes = Causes
    new_anomalies = Anomalies
    phase: str | None = None
    topology_epoch: int | None = None
    validated_topology_epoch: int | None = None
    standby_replicas: int | None = None

    def __init__(self, context: Context, *, is_complete: bool) -> None:
        self.context = context
        self.members: dict[str, Member] = {}
        self.member_count = 0
        self.group_epoch: int | None = None
        self.assignment_epoch: int | None = None
        self.start_epoch = NO_EPOCH
        self.units = Units(KINDS[self.kind], context.numbers)
        self.targets = self.new_targets(self.units)
        self.causes = self.new_causes(is_complete=is_complete)
        self.anomalies = self.new_anomalies(context, self.units)
        self.jump: int | None = None
        self.touched: list[Member] = []
        self.effective_assignment_epoch: int | None = None
        self.away = self.stateless = 0
        self._stable_at: Counter[int] = Counter()

    @property
    def epoch(self) -> int | None:
        """The group epoch; before the first type 3 its start value (1 from Kafka 4.3, else 0), if a type 8 shows it."""
        if self.group_epoch is None and self.start_epoch != NO_EPOCH:
            return self.start_epoch
        return self.group_epoch

    @property
    def converged(self) -> int:
        """How many members are STABLE at the assignment epoch."""
        epoch = self.effective_assignment_epoch
        return 0 if epoch is None else self._stable_at[epoch]

    def change(self, member: Member, state: int, epoch: int) -> None:
        """Change a member's state and epoch at the end of the operation."""
        self._count(member, -1)
        if state != member.state:
            member.enter(state, self.context.operation.elapsed)
        member.epoch = epoch
        self._count(member, 1)

    def evaluate(self, *, is_complete: bool) -> str:
        """Return the group's state, by the rules of `ConsumerGroup.maybeUpdateGroupState`.

        Before the first types 3 and 6 both epochs have their start value: 0, or 1 from Kafka 4.3. The log does not
        contain it, but members that join then receive it, so their highest epoch is the start value.
        """
        bumped, assigned = self.group_epoch, self.assignment_epoch
        self.effective_assignment_epoch = assigned
        if assigned is None and is_complete and self.start_epoch != NO_EPOCH:
            self.effective_assignment_epoch = self.start_epoch
        if not is_complete if assigned is None else bumped is None:
            return UNKNOWN
        if not self.member_count:
            return EMPTY
        if bumped is not None and (assigned is None or bumped > assigned):
            return ASSIGNING
        if self.stateless:
            return UNKNOWN
        return STABLE if self.converged == self.member_count else RECONCILING

    def _count(self, member: Member, step: int) -> None:
        if member.state == GONE:
            return
        epoch = member.epoch
        if member.state == MEMBER_STABLE:
            self._stable_at[epoch] += step
            if not self._stable_at[epoch]:
                del self._stable_at[epoch]
        elif member.state == STATELESS:
            self.stateless += step
        if epoch == AWAY_EPOCH:
            self.away += step
