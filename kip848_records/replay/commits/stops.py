"""For how long a rebalance stopped the consumption of a partition: `found_stop`, from which `consumption_stop` is made.

A commit of a higher offset proves that the partition was consumed. Other commits do not: clients also commit the
position that they were given. So the stop lasted at most from the last commit of a higher offset before the rebalance
to the first one behind it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from kip848_records.replay.commits.arrays import FAR, NONE, cast_to, factorized_in_order, ints, times
from kip848_records.replay.commits.chunk import CARRIED_STOP
from kip848_records.replay.commits.rows import STOP
from kip848_records.replay.commits.waiting import Waiting, ends_of_keys, reached
from kip848_records.replay.rows import FoundStop, row_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.replay.commits.chunk import Chunk

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_SCHEMA: Final = pa.schema(list(row_type(FoundStop)))


class Stops:
    """The stops of the last group without progress behind them: they wait for the next chunk."""

    def __init__(self) -> None:
        self._waiting = Waiting(_SCHEMA, CARRIED_STOP)

    def add(self, chunk: Chunk, ends: Bools) -> tuple[pa.Table, pa.Table]:
        """Return the stops of a chunk that are complete, and the rows that name the others in the next chunk.

        `ends`: of each group of the chunk, whether it ends with it. A removed offset ends what can be known of a stop.
        """
        order = chunk.order
        carried, rows = self._waiting.taken(chunk)
        begun = np.flatnonzero((chunk.what[order] == STOP) & (chunk.k_progress >= 0))
        places = np.concatenate([carried, begun])
        rows = pa.concat_tables([rows, _rows(chunk, begun)])
        committed = rows["committed_offset"].to_numpy()
        higher = reached(chunk, places, places, np.minimum(committed, FAR - 1) + 1)
        first = np.where(committed < FAR, higher, NONE)  # no offset is higher than the largest one
        losses = np.append(np.flatnonzero(chunk.k_is_loss), FAR)
        loss = losses[np.searchsorted(losses, places)]
        is_known = (first >= 0) & (first < loss)
        row = order[np.where(is_known, first, places)]
        is_complete = rows["last_progress_offset"].to_numpy() >= chunk.range_begin[row]
        for name, values in (("first_progress_at", times(chunk.ms[row], is_known)), ("is_complete", is_complete)):
            field = _SCHEMA.field(name)
            rows = rows.set_column(_SCHEMA.get_field_index(name), field, cast_to(values, field.type))
        is_lost = loss < ends_of_keys(chunk, places)
        is_open = ~is_known & ~is_lost & ~ends[chunk.group[order[places]]]
        return self._waiting.keep(chunk, places, rows, is_open)


def _rows(chunk: Chunk, places: Ints) -> pa.Table:
    """Return stops as rows of `FoundStop`, without `first_progress_at`."""
    if not len(places):
        return _SCHEMA.empty_table()
    order, table = chunk.order, chunk.table
    row, last, value = order[places], order[chunk.k_progress[places]], order[chunk.k_value[places]]
    stay = _stays_before(chunk, places)
    columns = {
        "group_id": table["group_id"].take(row),
        "offsets_partition": chunk.partition[row],
        "topic": table["topic"].take(row),
        "partition": chunk.topic_partition[row],
        "offset": chunk.offset[row],
        "committed_offset": chunk.committed[value],
        "member_id": chunk.texts("member_id", stay),
        "acquired_offset": ints(chunk.acquired[stay], stay >= 0),
        "last_progress_at": times(chunk.ms[last]),
        "last_progress_offset": chunk.offset[last],
        "first_progress_at": pa.nulls(len(row), pa.timestamp("us", "UTC")),
        "idle_before_ms": np.maximum(0, chunk.ms[value] - chunk.ms[last]),
        "is_complete": np.ones(len(row), bool),
    }
    return pa.table([cast_to(columns[each.name], each.type) for each in _SCHEMA], schema=_SCHEMA)


def _stays_before(chunk: Chunk, places: Ints) -> Ints:
    """Return the row of the stay in which each stopped partition was when the rebalance began; `NONE` without one."""
    order = chunk.order
    stays = np.flatnonzero(chunk.k_stay == np.arange(len(order)))
    named = order[np.concatenate([stays, places])]
    rank = chunk.key[named] * len(named) + factorized_in_order(chunk.acquired[named])
    found = np.searchsorted(rank[: len(stays)], rank[len(stays) :]) - 1
    row = np.append(order[stays], 0)[found]
    is_owner = (found >= 0) & (chunk.key[row] == chunk.key[order[places]])
    return np.where(is_owner & (chunk.until_offset[row] >= chunk.acquired[order[places]]), row, NONE)
