"""What a replay knows of the log besides its records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class PartitionCoverage:
    """How much of the history of a partition of `__consumer_offsets` is known.

    `complete_ranges`: the parts of the log without missing records, in order, each by its first offset and the offset
    after its last. A topic that was compacted between two reads has several. `tombstone_gaps`: the first offsets of
    reads before which tombstones may have been removed too, unseen. `log_start_missing`: the start of the log is
    missing, though compaction would have kept it. `last_offset`: of any record that was read; None if none was.
    `first_loss`, `last_loss`: offsets of the first and last lost record that may belong to any group.

    `captured_at`: ms since 1970; up to then all that happened in the partition is known. None: up to the time of the
    whole log. `is_read_to_end`: false if records behind `captured_at` could not be read; None for a copy, which does
    not show it.
    """

    complete_ranges: tuple[tuple[int, int], ...] = ()
    log_start_missing: bool = False
    last_offset: int | None = None
    tombstone_gaps: tuple[int, ...] = ()
    first_loss: int | None = None
    last_loss: int | None = None
    captured_at: int | None = None
    is_read_to_end: bool | None = None


class GroupMove(NamedTuple):
    """The partition in which a group was, the one in which it is, and since when, in ms since 1970."""

    old: int
    new: int
    at: int


class ChangedLimit(NamedTuple):
    """A limit of the diagnosis that is not the default.

    `groups`: for the groups whose ids match this pattern; None: for all others. `name`: of
    `diagnosis.patterns.SETTINGS[pattern]`, or `diagnosis.limits.ENABLED` with 0 or 1. `value`: in the unit of the
    setting.
    """

    pattern: str
    groups: str | None
    name: str
    value: float


@dataclass(frozen=True)
class ReplayInputs:
    """The inputs of a replay besides the records.

    `dialect`: a name in `protocol.messages.DIALECTS`. `captured_at`: ms since 1970; the age of open rows is measured to
    it, if their partition has no time of its own. `partitions`: the coverage of each; the history of a missing one
    never counts as complete. `newest`: of each partition, the time of its newest record of any group, in ms since 1970.
    `offset_commits`: the log has offset commits, which rebalances are compared with. `limits`: those of the diagnosis
    that are not the defaults. `offsets_retention_ms`: how long brokers keep an offset after its last commit; None: not
    known. `moves`: by group id, the groups that got another partition when the topic got more of them.
    """

    dialect: str
    captured_at: int | None
    partitions: Mapping[int, PartitionCoverage]
    offset_commits: bool = False
    newest: Mapping[int, int] = field(default_factory=dict)
    limits: Sequence[ChangedLimit] = ()
    offsets_retention_ms: int | None = None
    moves: Mapping[str, GroupMove] = field(default_factory=dict)

    def move_from(self, partition: int, group_id: str) -> GroupMove | None:
        """Return the move of a group out of this partition, if there was one."""
        move = self.moves.get(group_id)
        return move if move is not None and move.old == partition else None

    def move_to(self, partition: int, group_id: str) -> GroupMove | None:
        """Return the move of a group into this partition, if there was one."""
        move = self.moves.get(group_id)
        return move if move is not None and move.new == partition else None

    def captured_at_of(self, partition: int) -> int | None:
        """Return the time to which the age of what is open in a partition is measured, in ms since 1970.

        None if it is unknown: no record of a partition that was not read to its end was read yet.
        """
        covered = self.partitions.get(partition)
        if covered is None or (covered.captured_at is None and covered.is_read_to_end is not False):
            return self.captured_at
        return covered.captured_at
