"""The shared parts of a group's replay: the group, its operation, and the rows that wait for the group's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kip848_records.replay.group import spill
from kip848_records.replay.group.known_history import NEVER
from kip848_records.replay.group.spill import QueueFile, SpillingQueue
from kip848_records.replay.refusals import RELEASES

if TYPE_CHECKING:
    from kip848_records.replay.inputs import ReplayInputs
    from kip848_records.replay.numbers import PartitionNumbers
    from kip848_records.replay.rows import Row


class Operation:
    """A run of contiguous offsets of one group with one timestamp: one heartbeat, one fencing, one deletion.

    `first`, `last`: offsets of its first record and of its latest one. `at`: its timestamp in ms. `leader_epoch`: the
    partition leader epoch of its first record, None if the source does not show it. `elapsed`: ms since the group's
    first operation; a timestamp below the previous one adds no time. `went_back`: the first offset of the last
    operation with a timestamp below that of the operation before it, -1 if there was none.
    """

    def __init__(self) -> None:
        self.first = self.last = self.went_back = NEVER
        self.at: int | None = None
        self.leader_epoch: int | None = None
        self.elapsed = 0
        self._highest: int | None = None

    def begin(self, offset: int, timestamp: int | None, leader_epoch: int | None) -> None:
        """Begin the operation of a record at this offset with this timestamp and partition leader epoch."""
        if timestamp is not None:
            before = self._highest
            if before is not None:
                if timestamp >= before:
                    self.elapsed += timestamp - before
                else:
                    self.went_back = offset
            self._highest = timestamp
        self.first = self.last = offset
        self.at = timestamp
        self.leader_epoch = leader_epoch

    def elapsed_at(self, captured_at: int | None) -> int | None:
        """Return `elapsed` at the time when the log was captured; None if unknown."""
        if captured_at is None or self._highest is None:
            return None
        return self.elapsed + max(0, captured_at - self._highest)

    def is_led_by_another(self, leader_epoch: int | None) -> bool | None:
        """Return whether another leader than that of this epoch wrote the operation; None if an epoch is unknown."""
        return None if leader_epoch is None or self.leader_epoch is None else leader_epoch != self.leader_epoch

    def is_skewed(self, since: int, ms: int | None) -> bool:
        """Return the value of `clock_skew`: the clock went back after an offset, or makes a time negative."""
        return self.went_back > since or (ms is not None and ms < 0)


class Stopwatch:
    """The total time, by `Operation.elapsed`, in which a condition was true. `is_running`: it is true now."""

    __slots__ = ("_since", "is_running", "ms")

    def __init__(self) -> None:
        self.ms = self._since = 0
        self.is_running = False

    def run(self, elapsed: int, *, is_running: bool) -> None:
        """Start or stop the stopwatch now."""
        if is_running != self.is_running:
            self.is_running = is_running
            if is_running:
                self._since = elapsed
            else:
                self.ms += elapsed - self._since

    def ms_until(self, elapsed: int) -> int:
        """Return the time up to this moment."""
        return self.ms + elapsed - self._since if self.is_running else self.ms


class Context:
    """A group, and the position of its replay.

    `captured_at`: ms since 1970, the age of what is open is measured to it; `is_read_to_end`: nothing that was written
    before is unread (None: the source does not show it).

    `incarnation_offset`: the offset of the incarnation's first record. `is_evaluated`: the operation lies where the
    history is complete, by the records read up to now. `reads_commits`: offset commits were read, and the rows that
    they are compared with are wanted. `returned`: incarnation, group type and id of members that joined again, with the
    offset of their last join. `writers`: the releases of Kafka that may have written the records. `rows` wait for the
    group's end (`rows.row_writer`), up to `limit` of them in memory; `queues`: the file of open rows. `ongoing`: by
    group type, the rebalance that is open at the end of the log, once the rows are finished.
    """

    def __init__(self, inputs: ReplayInputs, numbers: PartitionNumbers, partition: int, group_id: str) -> None:
        self.dialect = inputs.dialect
        self.captured_at = inputs.captured_at_of(partition)
        self.move = inputs.move_to(partition, group_id)
        covered = inputs.partitions.get(partition)
        self.is_read_to_end = None if covered is None else covered.is_read_to_end
        self.numbers = numbers
        self.partition = partition
        self.group_id = group_id
        self.incarnation = 0
        self.incarnation_offset = NEVER
        self.is_evaluated = False
        self.reads_commits = inputs.offset_commits
        self.operation = Operation()
        self.queues = QueueFile()
        self._rows_file = QueueFile()
        self.rows = SpillingQueue(self._rows_file)
        self.limit = spill.LIMIT
        self.writers = RELEASES
        self.returned: dict[tuple[int, str, str], int] = {}
        self.ongoing: dict[str, Row] = {}

    def close(self) -> None:
        """Remove the files."""
        self.queues.close()
        self._rows_file.close()


def ms_between(begin: int | None, end: int | None) -> int | None:
    """Return the ms from one timestamp to another, negative if a clock went back; None if one is unknown."""
    return None if begin is None or end is None else end - begin
