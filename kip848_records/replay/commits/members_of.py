"""The members of a chunk: the rhythm of their commits, and how long they were quiet before they gave something up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kip848_records.replay.commits.arrays import NONE, before, first_of_runs, last_place, numbered, times
from kip848_records.replay.commits.chunk import CARRIED_MEMBER, MEMBER
from kip848_records.replay.commits.lanes import Members
from kip848_records.replay.commits.rows import RELEASE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.replay.commits.chunk import Chunk
    from kip848_records.replay.commits.lanes_of import LanesOf

    Ints = NDArray[np.int64]

_ONE_REQUEST_MS: Final = 50


class MembersOf:
    """The members of a chunk. `of_lane`: the member of each lane, `NONE` without one. `group`: the group of each."""

    def __init__(self, chunk: Chunk, members: Members, lanes: LanesOf) -> None:
        self._chunk = chunk
        rows, member_rows, is_commit = self._events(chunk, lanes)
        of_lanes = np.flatnonzero((lanes.owner == MEMBER) & (chunk.member[lanes.row_of_lane] >= 0))
        lane_rows = lanes.row_of_lane[of_lanes]
        named = np.concatenate([member_rows, lane_rows])
        number = numbered(chunk.group[named], chunk.member[named])
        count = int(number.max(initial=-1)) + 1
        self.of_lane = np.full(lanes.lanes.size, NONE)
        self.of_lane[of_lanes] = number[len(member_rows) :]
        self.row = np.full(count, NONE)
        self.row[number[::-1]] = named[::-1]
        self.group = chunk.group[self.row]
        number = number[: len(member_rows)]
        order = np.lexsort((rows, number))
        self._add(members, rows[order], number[order], is_commit[order], count, lanes)

    def _events(self, chunk: Chunk, lanes: LanesOf) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Return the rows of members' commits and releases, the rows that name their members, and which are commits."""
        places = np.flatnonzero(chunk.k_is_commit & ~chunk.k_is_loss & (chunk.k_owner == MEMBER))
        commits, owners = chunk.order[places], lanes.row_of_lane[lanes.k_lane[places]]
        others = np.flatnonzero((chunk.what == RELEASE) | (chunk.what == CARRIED_MEMBER))
        is_commit = np.concatenate([np.ones(len(commits), bool), chunk.what[others] == CARRIED_MEMBER])
        return np.concatenate([commits, others]), np.concatenate([owners, others]), is_commit

    def _add(  # noqa: PLR0913, PLR0917 - arrays
        self,
        members: Members,
        rows: Ints,
        number: Ints,
        is_commit: NDArray[np.bool_],
        count: int,
        lanes: LanesOf,
    ) -> None:
        chunk = self._chunk
        carried = chunk.what == CARRIED_MEMBER
        begin = last_place(first_of_runs(number))
        ms = chunk.ms[rows]
        last = last_place(is_commit)
        previous = before(last)
        has_previous = previous >= begin
        # A request begins where the commit before is longer ago than one lasts.
        is_request = is_commit & (~has_previous | (ms - ms[previous] > _ONE_REQUEST_MS))
        since = np.where(carried[rows], chunk.at_offset[rows], ms)  # `carried` says when the last request began
        request = before(last_place(is_request))
        is_step = is_request & (request >= begin)
        numbers = np.full(len(members.last_ms), NONE)
        numbers[chunk.number[rows[carried[rows]]]] = number[carried[rows]]
        steps = members.steps.of_keys(numbers)
        members = Members()
        members.steps = steps
        members.steps.add(number[is_step], (since - since[request])[is_step])
        members.last_ms, members.cluster_ms = (np.full(count, NONE) for _ in range(2))
        members.last_ms[number[is_commit]] = ms[is_commit]
        members.cluster_ms[number[is_request]] = since[is_request]
        self.members = members
        self._release(rows, is_commit, last, begin, lanes)

    def _release(self, rows: Ints, is_commit: NDArray[np.bool_], last: Ints, begin: Ints, lanes: LanesOf) -> None:
        """Note how long each member had been quiet when it gave up a partition."""
        chunk = self._chunk
        place_of_row = np.full(chunk.size, NONE)
        place_of_row[chunk.order] = np.arange(len(chunk.order))
        released = np.flatnonzero(~is_commit & (last >= begin))
        row, commit = rows[released], rows[last[released]]
        lane = lanes.k_stay_lane[place_of_row[row]]
        is_of_lane = (lane >= 0) & (chunk.acquired[lanes.row_of_lane[lane]] == chunk.acquired[row])
        quiet = np.maximum(0, chunk.ms[row] - chunk.ms[commit])
        lanes.lanes.of["quiet_ms"][lane[is_of_lane]] = quiet[is_of_lane]

    def carried(self, members: Ints) -> pa.Table:
        """Return the rows that name members in the next chunk, with the times of their last commits."""
        found = self.members
        has_commits = members[found.last_ms[members] != NONE]
        places = np.searchsorted(members, has_commits)
        return self._chunk.rows_as(
            self.row[has_commits],
            CARRIED_MEMBER,
            number=places,
            at_offset=found.cluster_ms[has_commits],
            timestamp=times(found.last_ms[has_commits]),
            topic=pa.nulls(len(has_commits), pa.string()),
        )
