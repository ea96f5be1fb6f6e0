"""Rows of offset commits as arrays, in the order of their keys: what each one follows, and to whom it belongs.

A chunk holds whole groups, but for the first and the last: that of the first goes on from the chunk before, whose
state comes as rows before its own (`CARRIED_LANE` …).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.commits.arrays import (
    FAR,
    NONE,
    before,
    cast_to,
    factorized_in_order,
    first_of_runs,
    last_place,
    numbered,
    taken,
)
from kip848_records.replay.commits.rows import (
    ACQUIRE,
    COMMIT,
    COMMIT_ROWS,
    EMPTY,
    NO_GROUP,
    NOT_SHOWN,
    PHASE,
    WITH_MEMBERS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from kip848_records.replay.inputs import PartitionCoverage

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CARRIED_MEMBER, CARRIED_LANE, CARRIED_PROGRESS, CARRIED_VALUE = range(-8, -4)
CARRIED_LOSS, CARRIED_NEGATIVE, CARRIED_JUMP, CARRIED_STOP = range(-4, 0)
"""What more a row is, at the start of a chunk: a member, with its last commit; a lane; the last commit of a higher
offset of a partition; its committed offset; that it was removed, or that a negative one was committed behind both; a
jump that has not recovered; a stop without progress behind it. `number`: its place in the state of the chunk before."""

MEMBER, NO_MEMBERS, SIMPLE, UNOWNED, UNKNOWN = range(5)
OWNERS: Final = ("member", "no_members", "simple", "unowned", "unknown")
"""Whose a commit is, as `commit_progress.owner`."""

CHUNK_ROWS: Final = COMMIT_ROWS.append(pa.field("number", pa.int64()))

_US_PER_MS: Final = 1000
_UNSIGNED: Final = 0xFFFF_FFFF


class Chunk:
    """The rows of a chunk. Arrays without `k_` are in the order of rows; those with it are in the order of `order`.

    `order`: the rows that name a partition, by group and partition, those of one in the order of the log; a
    transactional commit is missing that a later one has overtaken.
    """

    def __init__(self, table: pa.Table, coverage: Mapping[int, PartitionCoverage]) -> None:
        self.table = table
        self.size = table.num_rows
        self.what, self.at_offset, self.offset = (self.ints(name) for name in ("what", "at_offset", "offset"))
        self.ms = self.times("timestamp")
        self.committed = self.ints("committed")
        self.is_value = pc.is_valid(table["committed"]).to_numpy() & (self.committed >= 0)
        # Clients take a negative offset for none. It removes nothing from the log, so it is no loss either.
        self.is_negative = pc.is_valid(table["committed"]).to_numpy() & (self.committed < 0)
        self.expires_ms, self.retention_ms = self.ints("expires_ms"), self.ints("retention_ms")
        self.is_unnamed = self.table["is_unnamed"].fill_null(pa.scalar(value=False)).to_numpy()
        self.acquired, self.number = self.ints("acquired_offset"), self.ints("number")
        self.until_offset, self.until_ms = self.ints("until_offset", FAR), self.times("until", FAR)
        self.topic, self.member, self.topic_id = (self.codes(name) for name in ("topic", "member_id", "topic_id"))
        self.partition, self.topic_partition = self.ints("partition"), self.ints("topic_partition")
        self._number_groups()
        self._fill_phases()
        self.range_begin = self._range_begins(coverage)
        self.key = np.full(self.size, NONE)
        named = np.flatnonzero(self.topic >= 0)
        partitions = self.topic_partition[named] & _UNSIGNED  # a record may name a negative one
        self.key[named] = numbered(self.group[named], self.topic[named], partitions)
        order = named[np.argsort(self.key[named], kind="stable")]
        self.order = order[self._is_effective(order)]
        self._fill_order()

    def ints(self, name: str, missing: int = NONE) -> Ints:
        """Return a column of numbers."""
        column = self.table[name].cast(pa.int64())
        found: Ints = column.fill_null(missing).to_numpy()
        return found

    def times(self, name: str, missing: int = NONE) -> Ints:
        """Return a column of times in ms since 1970."""
        micros = self.table[name].cast(pa.int64())
        ms = micros.fill_null(0).to_numpy() // _US_PER_MS
        return np.where(micros.is_valid().to_numpy(), ms, missing)

    def codes(self, name: str) -> Ints:
        """Return a column of texts as numbers; `NONE` for null."""
        encoded = cast_to(self.table[name], pa.string()).dictionary_encode()
        found: Ints = encoded.indices.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
        return found

    def _number_groups(self) -> None:
        is_new = first_of_runs(self.codes("group_id"), self.partition)
        self.group = np.cumsum(is_new) - 1
        self.group_begin = np.flatnonzero(is_new)[self.group]

    def _fill_phases(self) -> None:
        """Note the incarnation at each row, what it shows of members, and the row that says so (`phase_row`)."""
        is_phase = (self.what == PHASE) | (self.what == NO_GROUP)
        last = last_place(is_phase)
        is_known = last >= self.group_begin
        self.phase_row = np.where(is_known, last, NONE)
        says = np.where(self.what == NO_GROUP, NONE, self.ints("phase"))
        self.phase = np.where(is_known, says[last], NONE)
        incarnation = self.ints("incarnation")
        ended = self.what == NO_GROUP
        self.incarnation = np.where(is_known, np.maximum(incarnation, 0)[last] + ended[last], 0)
        self.stay_incarnation = incarnation

    def _range_begins(self, coverage: Mapping[int, PartitionCoverage]) -> Ints:
        """Return of each row where the complete range of the log begins in which it is; `FAR`: in none."""
        begins = np.full(self.size, FAR)
        for number in np.unique(self.partition):
            ranges = coverage[number].complete_ranges if number in coverage else ()
            is_here = self.partition == number
            for begin, end in ranges:
                begins[is_here & (self.offset >= begin) & (self.at_offset < end)] = begin
        return begins

    def _is_effective(self, order: Ints) -> Bools:
        """Return which rows are not a transactional commit that a record of a higher offset has overtaken.

        The rule: `OffsetMetadataManager.replayEndTransactionMarker`.
        """
        if np.array_equal(self.offset[order], self.at_offset[order]):
            return np.ones(len(order), bool)
        what = self.what[order]
        counts = np.isin(what, (COMMIT, CARRIED_VALUE, CARRIED_LOSS, CARRIED_NEGATIVE))
        rank = np.where(counts, factorized_in_order(self.offset[order]) + 1, 0)
        reached = self.key[order] * (len(order) + 2) + rank
        highest = np.maximum.accumulate(reached)
        is_late = np.zeros(len(order), bool)
        is_late[1:] = reached[1:] <= highest[:-1]
        is_overtaken: Bools = is_late & (what == COMMIT)
        return ~is_overtaken

    def _fill_order(self) -> None:
        order = self.order
        what, is_first = self.what[order], first_of_runs(self.key[order])
        self.k_begin = last_place(is_first)
        self.k_is_last = np.append(is_first[1:], True)[: len(order)]
        is_commit, of_value, of_negative = what == COMMIT, self.is_value[order], self.is_negative[order]
        is_value = (what == CARRIED_VALUE) | (is_commit & of_value)
        is_loss = (what == CARRIED_LOSS) | (is_commit & ~of_value & ~of_negative)
        is_negative = (what == CARRIED_NEGATIVE) | (is_commit & of_negative)
        self.k_is_commit = is_commit
        self.k_is_value, self.k_is_loss, self.k_is_negative = is_value, is_loss, is_negative
        is_stay = (what == ACQUIRE) | ((what == CARRIED_LANE) & (self.member[order] >= 0))
        self.k_stay = self._within(last_place(is_stay))
        self.k_stay_before = self._within(before(last_place(is_stay)))
        self.k_value, self.k_event = (self._within(before(last_place(each))) for each in (is_value, is_value | is_loss))
        self.k_last_value, self.k_last_event = (
            self._within(last_place(each)) for each in (is_value, is_value | is_loss)
        )
        # The last negative offset before each place, and up to it; `NONE` where an offset or a tombstone is behind it.
        negative, last_negative = self._within(before(last_place(is_negative))), self._within(last_place(is_negative))
        self.k_negative = np.where(negative > self.k_event, negative, NONE)
        self.k_last_negative = np.where(last_negative > self.k_last_event, last_negative, NONE)
        self._attribute()

    def _within(self, places: Ints) -> Ints:
        """Return places of the same partition; `NONE` for those of another one."""
        return np.where(places >= self.k_begin, places, NONE)

    def _attribute(self) -> None:
        """Note whose each row is: `k_owner`, and whether it comes after the owner gave the partition up, `k_is_late`.

        A transactional commit counts at its marker.
        """
        order, stay = self.order, self.k_stay
        stay_row = order[stay]
        incarnation, phase = self.incarnation[order], self.phase[order]
        is_stay = (stay >= 0) & (self.stay_incarnation[stay_row] == incarnation)
        is_owned = is_stay & (self.at_offset[order] < self.until_offset[stay_row])
        self.k_is_late = is_stay & ~is_owned & (phase == WITH_MEMBERS)
        is_first_phase = (phase == NOT_SHOWN) & (self.at_offset[self.phase_row[order]] < 0)
        is_simple = (phase == NONE) | (is_first_phase & (self.range_begin[order] == 0))
        owner = np.full(len(order), UNKNOWN)
        # A group with a topic of which only the id is known may own what it commits under the name.
        may_own = last_place(self.is_unnamed) >= self.group_begin
        owner[(phase == WITH_MEMBERS) & ~may_own[order]] = UNOWNED
        owner[phase == EMPTY] = NO_MEMBERS
        owner[is_simple] = SIMPLE
        owner[is_owned | self.k_is_late] = MEMBER
        self.k_owner = owner

    @cached_property
    def k_progress(self) -> Ints:
        """The last commit up to each place that shows progress: of a higher offset, or the first one; `NONE`: none.

        A removed offset says nothing of what is committed behind it.
        """
        order, event = self.order, self.k_event
        if not len(order):
            return order
        is_first = (event < 0) | ~self.k_is_value[event]
        is_higher = is_first | (self.committed[order] > self.committed[order[event]])
        is_progress = (self.what[order] == CARRIED_PROGRESS) | (self.k_is_commit & self.k_is_value & is_higher)
        last = self._within(last_place(is_progress))
        return np.where(last > last_place(self.k_is_loss), last, NONE)

    @cached_property
    def k_first_of_topic(self) -> Ints:
        """When the group first committed any partition of the topic, in ms since 1970; `FAR`: it did not yet."""
        order = self.order
        if not len(order):
            return order
        of_topic = numbered(self.group[order], self.topic[order])
        first = np.full(int(of_topic.max()) + 1, FAR)
        # A carried offset says in `until` what is asked here.
        ms = np.where(self.what[order] == CARRIED_VALUE, self.until_ms[order], self.ms[order])
        np.minimum.at(first, of_topic[self.k_is_value], ms[self.k_is_value])
        return first[of_topic]

    def is_same_topic(self, rows: Ints, others: Ints) -> Bools:
        """Return which rows may be of the same topic as others of its name: not if both have ids that differ."""
        ids, other_ids = self.topic_id[rows], self.topic_id[others]
        found: Bools = (ids == other_ids) | (ids < 0) | (other_ids < 0)
        return found

    def texts(self, name: str, rows: Ints) -> pa.Array:
        """Return the texts of a column in some rows; null for `NONE`."""
        return taken(self.table[name], rows)

    def rows_as(self, rows: Ints, what: int, **columns: Ints | pa.Array) -> pa.Table:
        """Return rows with another `what`, and other values in some columns."""
        table = self.table.take(pa.array(rows))
        for name, values in {"what": np.full(len(rows), what), **columns}.items():
            field = CHUNK_ROWS.field(name)
            table = table.set_column(CHUNK_ROWS.get_field_index(name), field, cast_to(values, field.type))
        return table.cast(CHUNK_ROWS)
