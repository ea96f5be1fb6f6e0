"""What a coordinator refuses to load of a streams group. Only active tasks have one owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow.compute as pc

from kip848_records.kinds import Role
from kip848_records.replay import refusals
from kip848_records.replay.decode.columns import list_parts
from kip848_records.replay.decode.impossible import ASSIGNMENT_EPOCH, below, twice
from kip848_records.replay.group.loading import LoadingRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.decode.columns import Columns
    from kip848_records.replay.decode.impossible import Bools, Checks
    from kip848_records.replay.group.loading import LoadedMember
    from kip848_records.replay.refusals import Refusal

STREAMS_RECORD_ON_SIMPLE: Final = refusals.Refusal.of_bug(
    "the group is a classic one that never had a member", "KAFKA-20254"
)
TASK_HELD_TWICE: Final = refusals.Refusal(
    "an active task is assigned and to be revoked", refusals.between("4.1.1", "4.1.1")
)
TASK_TAKEN_EARLY: Final = refusals.Refusal.of_bug("another member still has the active task", "KAFKA-19862")
TASK_OF_NO_PROCESS: Final = refusals.Refusal("a member without metadata has tasks", refusals.between("4.1.1", "4.1.1"))
SUBTOPOLOGY_TWICE: Final = refusals.Refusal("a subtopology occurs twice")
HELD_SUBTOPOLOGY_TWICE: Final = refusals.Refusal("a subtopology occurs twice", refusals.between("4.1.1", "4.1.1"))
TAG_TWICE: Final = refusals.Refusal("a client tag occurs twice")
OPTION_TWICE: Final = refusals.Refusal("an option of the assignor occurs twice", refusals.FROM_4_2)
NEGATIVE_TOPOLOGY_EPOCH: Final = refusals.Refusal("the epoch of the topology is negative")
OTHER_COUNT_OF_EPOCHS: Final = refusals.Refusal(
    "the active tasks and their epochs differ in number", refusals.between("4.2.0", "4.2.1")
)

_TASKS: Final = ("active_tasks", "standby_tasks", "warmup_tasks")


class StreamsLoading(LoadingRules):
    """The rules of streams groups."""

    on_simple = STREAMS_RECORD_ON_SIMPLE
    held_undescribed = TASK_OF_NO_PROCESS  # 4.1.1 looks for the member's process
    held_twice = TASK_HELD_TWICE
    may_leave_targets = True

    def taken(self, owner: LoadedMember, _: LoadedMember) -> Refusal | None:
        """Return why a member cannot take a task: its owner is a process, which the owner's metadata names."""
        return TASK_TAKEN_EARLY if owner.is_described else None

    def writers(self, value: Any) -> frozenset[str]:  # noqa: ANN401 - of its kind
        """Return the releases that may have written the value of a group epoch."""
        return refusals.FROM_4_2 if value.assignment_configs else super().writers(value)


def _other_count_of_epochs(columns: Columns) -> Bools:
    """Return whether active tasks have epochs, and another number of them than of partitions."""
    refused = np.zeros(columns.rows, bool)
    for name in ("active_tasks", "active_tasks_pending_revocation"):
        if name in columns:
            offsets, elements = list_parts(columns[name])
            rows = np.repeat(np.arange(columns.rows), np.diff(offsets))
            partitions, epochs = (
                pc.list_value_length(elements.field(each)).fill_null(0).to_numpy(zero_copy_only=False)
                for each in ("partitions", "assignment_epochs")
            )
            refused[rows[(epochs > 0) & (epochs != partitions)]] = True
    return refused


RULES = StreamsLoading()
CHECKS: Final[Mapping[Role, Checks]] = {
    Role.GROUP_EPOCH: ((twice("key", "last_assignment_configs"), OPTION_TWICE),),
    Role.MEMBER: ((twice("key", "client_tags"), TAG_TWICE),),
    Role.ASSIGNMENT_EPOCH: ASSIGNMENT_EPOCH,
    Role.MEMBER_TARGET: ((twice("subtopology_id", *_TASKS), SUBTOPOLOGY_TWICE),),
    Role.CURRENT_ASSIGNMENT: (
        (
            twice("subtopology_id", *_TASKS, *(f"{name}_pending_revocation" for name in _TASKS)),
            HELD_SUBTOPOLOGY_TWICE,
        ),
        (_other_count_of_epochs, OTHER_COUNT_OF_EPOCHS),
    ),
    Role.TOPOLOGY: (
        (twice("subtopology_id", "subtopologies"), SUBTOPOLOGY_TWICE),
        (below("epoch", 0), NEGATIVE_TOPOLOGY_EPOCH),
    ),
}
