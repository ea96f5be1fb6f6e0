"""The lanes of a chunk, and what its rows add to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.commits.arrays import NONE, numbered
from kip848_records.replay.commits.chunk import CARRIED_LANE, CARRIED_NEGATIVE, MEMBER, OWNERS
from kip848_records.replay.commits.rows import ACQUIRE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.replay.commits.chunk import Chunk
    from kip848_records.replay.commits.lanes import Lanes

    Ints = NDArray[np.int64]


class LanesOf:
    """The lanes of a chunk: those that it began with, the stays that begin in it, and what nobody owned.

    `row_of_lane`: the row that names a lane. `k_lane`: the lane of each row in the order of `Chunk.order`.
    """

    def __init__(self, chunk: Chunk, lanes: Lanes) -> None:
        self.chunk, self.lanes = chunk, lanes
        order = chunk.order
        what = chunk.what
        self._carried = np.flatnonzero(what == CARRIED_LANE)
        begun = np.flatnonzero(what == ACQUIRE)
        lane_of_row = np.full(chunk.size, NONE)
        lane_of_row[self._carried] = chunk.number[self._carried]
        lane_of_row[begun] = lanes.size + np.arange(len(begun))
        carried = self._carried[np.argsort(chunk.number[self._carried])]
        lanes.of["last_topic_row"] = np.where(chunk.topic_id[carried] >= 0, carried, NONE)
        self.row_of_lane = np.concatenate([carried, begun])
        is_member = chunk.k_owner == MEMBER
        self.k_lane = np.where(is_member, lane_of_row[order[chunk.k_stay]], NONE)
        self.k_stay_lane = np.where(chunk.k_stay >= 0, lane_of_row[order[chunk.k_stay]], NONE)
        self._without_owner(lane_of_row)
        lanes.grow(len(self.row_of_lane))
        self._find_negative()

    def _without_owner(self, lane_of_row: Ints) -> None:
        """Give the commits that no member's stay has a lane for each partition, incarnation and kind of owner.

        A tombstone that removes nothing gets none.
        """
        chunk, order = self.chunk, self.chunk.order
        is_carried = (chunk.what[order] == CARRIED_LANE) & (chunk.member[order] < 0)
        removes = (chunk.k_event >= 0) & chunk.k_is_value[chunk.k_event] if len(order) else chunk.k_is_value
        is_commit = chunk.k_is_commit & (~chunk.k_is_loss | removes) & (chunk.k_owner != MEMBER)
        places = np.flatnonzero(is_carried | is_commit)
        rows = order[places]
        # A carried lane has its own incarnation and owner; `phase` has the owner.
        phase, incarnation = chunk.ints("phase"), chunk.stay_incarnation
        owner = np.where(is_carried[places], phase[rows], chunk.k_owner[places])
        of_row = np.where(is_carried[places], incarnation[rows], chunk.incarnation[rows])
        kind = numbered(chunk.key[rows], of_row, owner)
        count = int(kind.max(initial=-1)) + 1
        lane = np.full(count, NONE)
        lane[kind[is_carried[places]]] = lane_of_row[rows[is_carried[places]]]
        first = np.full(count, NONE)
        first[kind[::-1]] = np.arange(len(rows))[::-1]
        new = np.flatnonzero(lane == NONE)
        lane[new] = len(self.row_of_lane) + np.arange(len(new))
        self.k_lane[places] = lane[kind]
        self.row_of_lane = np.concatenate([self.row_of_lane, rows[first[new]]])
        row = self.row_of_lane
        self._is_named = is_named = (chunk.what[row] == ACQUIRE) | (chunk.what[row] == CARRIED_LANE)
        owner_of_row = np.full(chunk.size, NONE)
        owner_of_row[order] = chunk.k_owner
        self.owner = np.where(is_named, np.where(chunk.member[row] >= 0, MEMBER, phase[row]), owner_of_row[row])
        self.incarnation = np.where(is_named, incarnation[row], chunk.incarnation[row])

    def _find_negative(self) -> None:
        """Note the lane of the negative offset just before each place, `k_negative_lane`, and which restart behind it.

        A member goes on where it is, whatever it committed. Who takes over has to begin where auto.offset.reset says.
        """
        chunk, negative = self.chunk, self.chunk.k_negative
        is_carried = chunk.what[chunk.order] == CARRIED_NEGATIVE
        lane = np.where(is_carried, chunk.number[chunk.order], self.k_lane)
        self.k_negative_lane = np.where(negative >= 0, lane[negative], NONE) if len(lane) else lane
        is_value = chunk.k_is_commit & chunk.k_is_value & (chunk.k_owner == MEMBER)
        self.k_is_restart = is_value & (negative >= 0) & (self.k_negative_lane != self.k_lane)

    def add(self) -> None:
        """Add the chunk's rows to the lanes."""
        chunk, lanes, order = self.chunk, self.lanes, self.chunk.order
        self._begin()
        self._add_negative()
        event = chunk.k_event
        has_before = (event >= 0) & chunk.k_is_value[event]
        removed = np.flatnonzero(chunk.k_is_commit & chunk.k_is_loss & has_before & (chunk.k_negative < 0))
        lanes.count("removed", self.k_lane[removed])
        commits = np.flatnonzero(chunk.k_is_commit & chunk.k_is_value)
        lane, row = self.k_lane[commits], order[commits]
        ms, offsets = chunk.ms[row], chunk.committed[row]
        lanes.commit(lane, ms, offsets, chunk.retention_ms[row], np.where(chunk.topic_id[row] >= 0, row, NONE))
        lanes.count("late_commits", lane[chunk.k_is_late[commits]])
        before_row = order[event[commits]]
        is_same = (has_before & ~self.k_is_restart)[commits] & chunk.is_same_topic(row, before_row)
        moved = np.where(is_same, offsets - chunk.committed[before_row], 0)
        lanes.count("unchanged", lane[is_same & (moved == 0)])
        lanes.count("backs", lane[moved < 0])
        is_advance = moved > 0
        acquired = np.where(self.owner == MEMBER, chunk.ms[self.row_of_lane], NONE)
        lanes.advance(lane[is_advance], ms[is_advance], moved[is_advance], acquired)

    def _add_negative(self) -> None:
        """Add what lanes committed that is no offset."""
        chunk, order, event = self.chunk, self.chunk.order, self.chunk.k_event
        added = np.flatnonzero(chunk.k_is_commit & chunk.k_is_negative)
        has_before = (event >= 0) & chunk.k_is_value[event] if len(order) else chunk.k_is_value
        before = np.where(has_before, chunk.committed[order[event]], NONE) if len(order) else event
        row = order[added]
        self.lanes.negative(self.k_lane[added], chunk.ms[row], chunk.committed[row], before[added])
        last = np.full(self.lanes.size, NONE)
        np.maximum.at(last, self.k_lane[added], added)
        ended = np.flatnonzero(chunk.k_is_commit & ~chunk.k_is_negative & (self.k_negative_lane >= 0))
        ended = ended[chunk.k_negative[ended] >= last[self.k_negative_lane[ended]]]
        self.lanes.of["negative_until_ms"][self.k_negative_lane[ended]] = chunk.ms[order[ended]]

    def _begin(self) -> None:
        """Note the committed offset at the begin of each stay."""
        chunk, order = self.chunk, self.chunk.order
        begun = np.flatnonzero(chunk.what[order] == ACQUIRE)
        lane, event = self.k_stay_lane[begun], chunk.k_event[begun]
        has_value = (event >= 0) & chunk.k_is_value[event] & (chunk.k_negative[begun] < 0)
        value_row = order[event]
        self.lanes.of["start_offset"][lane[has_value]] = chunk.committed[value_row[has_value]]
        self.lanes.of["start_ms"][lane[has_value]] = chunk.ms[value_row[has_value]]
        is_unknown = (event < 0) & (chunk.k_negative[begun] < 0) & (chunk.range_begin[order[begun]] != 0)
        self.lanes.of["is_start_unknown"][lane] = is_unknown

    def group_type(self, lanes: Ints) -> pa.Array:
        """Return the type of the group of each lane; `simple` where no member ever was."""
        chunk = self.chunk
        row = self.row_of_lane[lanes]
        found = chunk.texts("group_type", np.where(self._is_named[lanes], row, chunk.phase_row[row]))
        is_simple = pa.array(self.owner[lanes] == OWNERS.index("simple"))
        return pc.if_else(is_simple, "simple", found)

    def history(self, lanes: Ints, is_start_unknown: NDArray[np.bool_]) -> pa.Array:
        """Return what is known of each lane: that of the stay, or of what nobody owned, which may go on."""
        chunk = self.chunk
        row = self.row_of_lane[lanes]
        is_member = self.owner[lanes] == MEMBER
        stays = chunk.table["history"].take(row).to_numpy().astype(object)
        is_complete = chunk.range_begin[row] == 0
        others = np.where(is_complete, "right_censored", "censored").astype(object)
        found = np.where(is_member, stays, others)
        weaker = {"observed": "left_censored", "right_censored": "censored"}
        unknown = np.array([weaker.get(each, each) for each in found], object)
        return pa.array(np.where(is_start_unknown, unknown, found), pa.string())

    def of_group(self, group: int) -> Ints:
        """Return the lanes of a group, stays in their order."""
        lanes = np.flatnonzero(self.chunk.group[self.row_of_lane] == group)
        return lanes[np.argsort(self.chunk.acquired[self.row_of_lane[lanes]], kind="stable")]

    def carried(self, lanes: Ints) -> pa.Table:
        """Return the rows that name lanes in the next chunk."""
        return self.chunk.rows_as(
            self.row_of_lane[lanes],
            CARRIED_LANE,
            number=np.arange(len(lanes)),
            phase=self.owner[lanes],
            incarnation=self.incarnation[lanes],
            group_type=self.group_type(lanes),
            topic_id=self.chunk.texts("topic_id", self.lanes.of["last_topic_row"][lanes]),
        )

    def lane_of_carried(self, rows: Ints) -> Ints:
        """Return the lanes of the commits that carried offsets and losses name."""
        return self.chunk.number[rows]
