"""How committed offsets move while a member owns a partition, and where they jump or stop.

Commits are up to 95 % of a log, so none becomes a Python object: a chunk of rows is a set of arrays. The engine sorts
the rows of each group by their place in the log. What goes on behind a chunk is the state of its last group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kip848_records.replay.commits.arrays import FAR, NONE, cast_to, ints, known, times
from kip848_records.replay.commits.chunk import (
    CARRIED_LOSS,
    CARRIED_NEGATIVE,
    CARRIED_PROGRESS,
    CARRIED_VALUE,
    CHUNK_ROWS,
    MEMBER,
    OWNERS,
    Chunk,
)
from kip848_records.replay.commits.jumps import Jumps
from kip848_records.replay.commits.lanes import Lanes, Members
from kip848_records.replay.commits.lanes_of import LanesOf
from kip848_records.replay.commits.members_of import MembersOf
from kip848_records.replay.commits.rows import COMMIT, COMMIT_ROWS
from kip848_records.replay.commits.stops import Stops
from kip848_records.replay.rows import FoundJump, FoundProgress, FoundStop, row_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from kip848_records.replay.inputs import ReplayInputs

    Ints = NDArray[np.int64]
    Output = tuple[type[Any], pa.RecordBatch]

ROWS_OF_A_CHUNK: Final = 200_000
FEWEST_ADVANCES: Final = 3
FEWEST_STEPS: Final = 2
"""Fewer steps show no rhythm."""


def commit_batches(
    inputs: ReplayInputs, min_silence: Callable[[str], int | None], batches: Iterable[pa.RecordBatch]
) -> Iterator[Output]:
    """Yield rows of `FoundProgress`, `FoundJump` and `FoundStop` for rows of `COMMIT_ROWS`.

    All rows of a group follow each other, in the order of `replay.commits.rows.ORDER`. Memory holds a chunk, and the
    state of one group: its partitions, stays and members, however many commits there are.

    `min_silence`: what is set for a group as the column of that name, in ms.
    """
    progress = _Progress(inputs, min_silence)
    waiting, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        waiting.append(pa.RecordBatch.from_arrays([batch[name] for name in COMMIT_ROWS.names], COMMIT_ROWS.names))
        rows += batch.num_rows
        if rows >= ROWS_OF_A_CHUNK:
            yield from progress.take(pa.Table.from_batches(waiting).cast(COMMIT_ROWS))
            waiting, rows = [], 0
    rest = pa.Table.from_batches(waiting).cast(COMMIT_ROWS) if waiting else COMMIT_ROWS.empty_table()
    yield from progress.take(rest, is_last=True)


class _Progress:
    """The state of the group that the last chunk ended with, and the rows that name what it consists of."""

    def __init__(self, inputs: ReplayInputs, min_silence: Callable[[str], int | None]) -> None:
        self._inputs = inputs
        self._min_silence = min_silence
        self._carried = CHUNK_ROWS.empty_table()
        self._lanes = Lanes()
        self._members = Members()
        self._jumps = Jumps()
        self._stops = Stops()

    def take(self, rows: pa.Table, *, is_last: bool = False) -> Iterator[Output]:
        """Add the next rows; yield those of the groups that end, which are all if `is_last`."""
        rows = rows.append_column("number", pa.nulls(rows.num_rows, pa.int64()))
        table = pa.concat_tables([self._carried, rows])
        if not table.num_rows:
            return
        chunk = Chunk(table, self._inputs.partitions)
        lanes = LanesOf(chunk, self._lanes)
        lanes.add()
        members = MembersOf(chunk, self._members, lanes)
        ends = np.ones(chunk.group[-1] + 1, bool)
        ends[-1] = is_last
        ended = np.flatnonzero(ends[chunk.group[lanes.row_of_lane]])
        if len(ended):
            yield FoundProgress, self._rows(chunk, lanes, members, ended)
        jumps, open_jumps = self._jumps.add(chunk, lanes, ends)
        stops, open_stops = self._stops.add(chunk, ends)
        for kind, found in ((FoundJump, jumps), (FoundStop, stops)):
            if found.num_rows:
                yield kind, found.combine_chunks().to_batches()[0]
        if not is_last:
            self._carry(chunk, lanes, members, [open_jumps, open_stops])

    def _rows(self, chunk: Chunk, lanes: LanesOf, members: MembersOf, ended: Ints) -> pa.RecordBatch:
        of = {name: values[ended] for name, values in lanes.lanes.of.items()}
        row = lanes.row_of_lane[ended]
        owner = lanes.owner[ended]
        is_member = owner == MEMBER
        until, acquired_ms = chunk.until_ms[row], np.where(is_member, chunk.ms[row], NONE)
        is_open = chunk.until_offset[row] == FAR
        captured = self._captured(chunk, row)
        end = np.where(is_open, captured, np.where(until == FAR, NONE, until))
        since = np.where(of["last_advance_ms"] == NONE, acquired_ms, of["last_advance_ms"])
        last_gap = np.where((end == NONE) | (since == NONE), NONE, np.maximum(0, end - since))
        late_ms = np.where(is_open | (of["late_commits"] == 0), FAR, np.maximum(0, until - of["last_ms"]))
        quiet = np.where(of["quiet_ms"] == NONE, NONE, np.minimum(of["quiet_ms"], late_ms))
        member = members.of_lane[ended]
        has_member, has_commits = member >= 0, of["commits"] > 0
        has_start, usual = of["start_offset"] >= 0, lanes.lanes.steps.medians(lanes.lanes.size, FEWEST_ADVANCES - 1)
        rhythm = members.members.steps.medians(len(members.members.last_ms), FEWEST_STEPS)
        last_commit = members.members.last_ms
        text = chunk.table
        columns = {
            "group_id": text["group_id"].take(row),
            "incarnation": lanes.incarnation[ended],
            "group_type": lanes.group_type(ended),
            "offsets_partition": chunk.partition[row],
            "topic": text["topic"].take(row),
            "partition": chunk.topic_partition[row],
            "topic_id": chunk.texts("topic_id", of["last_topic_row"]),
            "is_unnamed": chunk.is_unnamed[row],
            "owner": pa.array(np.array(OWNERS, object)[owner]),
            "member_id": text["member_id"].take(row),
            **{name: text[name].take(row) for name in ("instance_id", "client_id", "rebalance_timeout_ms")},
            "min_silence_ms": self._silences(text["group_id"].take(row)),
            "acquired_at": times(acquired_ms, is_member),
            "acquired_offset": ints(chunk.acquired[row], is_member),
            "released_at": times(until, is_member & (until != FAR)),
            "released_offset": ints(chunk.until_offset[row], ~is_open),
            "start_offset": ints(of["start_offset"], has_start),
            "start_age_ms": ints(np.maximum(0, acquired_ms - of["start_ms"]), has_start),
            "first_commit_at": times(of["first_ms"], has_commits),
            "first_offset": ints(of["first_offset"], has_commits),
            "last_commit_at": times(of["last_ms"], has_commits),
            "last_offset": ints(of["last_offset"], has_commits),
            "retention_ms": known(of["retention_ms"]),
            "min_offset": ints(of["min_offset"], has_commits),
            "max_offset": ints(of["max_offset"], has_commits),
            "negative_commits": of["negative_commits"],
            "negative_from": times(of["negative_first_ms"], of["negative_first_ms"] != NONE),
            "negative_until": times(of["negative_until_ms"], of["negative_until_ms"] != NONE),
            "negative_offset": ints(of["negative_offset"], of["negative_commits"] > 0),
            "before_negative": known(of["before_negative"]),
            **{name: of[name] for name in ("commits", "unchanged", "backs", "late_commits", "removed")},
            **{name: of[name] for name in ("advances", "advanced")},
            "last_advance_at": times(of["last_advance_ms"], of["last_advance_ms"] != NONE),
            "longest_gap_ms": known(np.maximum(of["longest_step_ms"], last_gap)),
            "longest_step_ms": known(of["longest_step_ms"]),
            "usual_ms": known(np.where(of["advances"] >= FEWEST_ADVANCES, usual[ended], NONE)),
            "member_rhythm_ms": known(np.where(has_member, np.append(rhythm, NONE)[member], NONE)),
            "member_last_commit_at": times(
                np.append(last_commit, NONE)[member], has_member & (np.append(last_commit, NONE)[member] != NONE)
            ),
            "quiet_ms": known(quiet),
            "recent_advanced": ints(of["recent_advanced"], of["recent_ms"] != NONE),
            "recent_ms": known(of["recent_ms"]),
            "history": lanes.history(ended, of["is_start_unknown"] > 0),
        }
        return _batch(FoundProgress, columns)

    def _captured(self, chunk: Chunk, rows: Ints) -> Ints:
        partitions, numbers = np.unique(chunk.partition[rows], return_inverse=True)
        found = [self._inputs.captured_at_of(int(each)) for each in partitions]
        return np.array([NONE if each is None else each for each in found], np.int64)[numbers]

    def _silences(self, groups: pa.ChunkedArray) -> pa.Array:
        found = groups.combine_chunks().dictionary_encode()
        values = [self._min_silence(each) for each in found.dictionary.to_pylist()]
        return pa.array(values, pa.int64()).take(found.indices)

    def _carry(self, chunk: Chunk, lanes: LanesOf, members: MembersOf, waiting: list[pa.Table]) -> None:
        """Keep the state of the last group, and the rows that name it."""
        last = chunk.group[-1]
        kept_lanes = lanes.of_group(last)
        kept_members = np.flatnonzero(members.group == last)
        rows = [_phase_row(chunk), members.carried(kept_members), lanes.carried(kept_lanes)]
        numbers = np.full(lanes.lanes.size + 1, NONE)
        numbers[kept_lanes] = np.arange(len(kept_lanes))
        rows += _values(chunk, last, numbers, lanes.k_lane)
        self._lanes = lanes.lanes.only(kept_lanes)
        self._members = members.members.only(kept_members)
        self._carried = pa.concat_tables([*rows, *waiting])


def _phase_row(chunk: Chunk) -> pa.Table:
    """Return the row that says in what state the last group is."""
    row = chunk.phase_row[-1]
    return chunk.table.slice(row, 1) if row >= 0 else chunk.table.slice(0, 0)


def _values(chunk: Chunk, group: int, numbers: Ints, k_lane: Ints) -> list[pa.Table]:
    """Return the rows that name the committed offsets of the group, and those that were removed, or are negative.

    `number` of such a row is the lane of the commit.
    """
    order = chunk.order
    last = np.flatnonzero(chunk.k_is_last & (chunk.group[order] == group))
    value, event = chunk.k_last_value[last], chunk.k_last_event[last]
    values, losses = value[value >= 0], event[(event >= 0) & (event != value)]
    negative = chunk.k_last_negative[last]
    progress = chunk.k_progress[last]
    found = [chunk.rows_as(order[progress[progress >= 0]], CARRIED_PROGRESS)]
    named = (values, CARRIED_VALUE), (losses, CARRIED_LOSS), (negative[negative >= 0], CARRIED_NEGATIVE)
    for places, what in named:
        is_old = chunk.what[order[places]] != COMMIT
        lane = np.where(is_old, chunk.number[order[places]], k_lane[places])
        rows = order[places]
        first = chunk.k_first_of_topic[places]
        carried = {"number": numbers[lane], "at_offset": chunk.offset[rows], "until": times(first, first != FAR)}
        found.append(chunk.rows_as(rows, what, **carried))
    return found


def _batch(row_class: type[Any], columns: dict[str, Any]) -> pa.RecordBatch:
    """Return rows of a class: its times are in UTC."""
    schema = pa.schema(list(row_type(row_class)))
    return pa.RecordBatch.from_arrays([cast_to(columns[each.name], each.type) for each in schema], schema=schema)
