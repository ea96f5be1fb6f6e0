"""The breaks in the committed offsets of partitions: `found_jump`, from which `commit_jump` is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.replay.commits.arrays import NONE, cast_to, known, times
from kip848_records.replay.commits.chunk import CARRIED_JUMP, CARRIED_VALUE, MEMBER, NO_MEMBERS, OWNERS
from kip848_records.replay.commits.rows import EMPTY, WITH_MEMBERS
from kip848_records.replay.commits.waiting import Waiting, reached
from kip848_records.replay.rows import FoundJump, row_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kip848_records.replay.commits.chunk import Chunk
    from kip848_records.replay.commits.lanes_of import LanesOf

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

KINDS: Final = (
    *("back", "ahead", "lost", "restart_after_loss", "restart_after_negative", "recreated", "first_commit"),
)
BACK, AHEAD, LOST, RESTART, RESTART_NEGATIVE, RECREATED, FIRST = range(len(KINDS))
_RESTARTS: Final = (RESTART, RESTART_NEGATIVE)
_RECOVER: Final = (BACK, LOST, *_RESTARTS)

_CONTEXTS: Final = ("same_owner", "owner_change", "first_owner", "previous_owner", *OWNERS)
_SAME, _CHANGE, _FIRST_OWNER, _PREVIOUS, _OTHERS = range(5)

_SCHEMA: Final = pa.schema(list(row_type(FoundJump)))


class Jumps:
    """The jumps of the last group that have not recovered: they wait for the next chunk."""

    def __init__(self) -> None:
        self._waiting = Waiting(_SCHEMA, CARRIED_JUMP)

    def add(self, chunk: Chunk, lanes: LanesOf, ends: Bools) -> tuple[pa.Table, pa.Table]:
        """Return the jumps of a chunk that are complete, and the rows that name the others in the next chunk.

        `ends`: of each group of the chunk, whether it ends with it.
        """
        carried, opened = self._waiting.taken(chunk)
        places, kinds = _found(chunk, lanes.k_is_restart)
        rows = pa.concat_tables([opened, _rows(chunk, lanes, places, kinds)])
        named = np.concatenate([carried, places])
        begins = np.concatenate([carried, np.where(np.isin(kinds, _RESTARTS), places, places + 1)])
        all_kinds = np.concatenate([pc.index_in(opened["kind"], pa.array(KINDS)).to_numpy(), kinds]).astype(np.int64)
        before = rows["before_offset"].fill_null(0).to_numpy()
        asked = np.flatnonzero(np.isin(all_kinds, _RECOVER))
        recovered = np.full(len(begins), NONE)
        recovered[asked] = reached(chunk, named[asked], begins[asked], before[asked])
        row = chunk.order[recovered] if len(chunk.order) else recovered
        at = times(chunk.ms[row], recovered >= 0)
        rows = rows.set_column(_SCHEMA.get_field_index("recovered_at"), _SCHEMA.field("recovered_at"), at)
        group = chunk.group[chunk.order[named]]
        is_open = np.isin(all_kinds, _RECOVER) & (recovered < 0) & ~ends[group]
        return self._waiting.keep(chunk, named, rows, is_open)


def _found(chunk: Chunk, is_restart: Bools) -> tuple[Ints, Ints]:
    """Return the places of jumps in `Chunk.order`, and their kinds: only where no record is missing.

    `is_restart`: which commits are the first ones of another member behind a negative offset.
    """
    order, event = chunk.order, chunk.k_event
    is_commit = chunk.k_is_commit & chunk.k_is_value
    has_event = event >= 0
    has_value = has_event & chunk.k_is_value[event]
    last = np.where(has_value, event, chunk.k_value)
    before_row = order[last] if len(order) else last
    is_complete = (last >= 0) & (chunk.offset[before_row] >= chunk.range_begin[order])
    step = chunk.committed[order] - chunk.committed[before_row]
    is_same = chunk.is_same_topic(order, before_row)
    known = is_commit & has_value & is_complete & ~is_restart
    restarted = is_commit & has_event & ~has_value & is_complete
    kinds = np.full(len(order), NONE)
    kinds[known & is_same & (step < 0)] = BACK
    kinds[known & is_same & (step > 0) & (chunk.k_owner == NO_MEMBERS)] = AHEAD
    kinds[chunk.k_is_commit & chunk.k_is_loss & has_value & is_complete & (chunk.k_negative < 0)] = LOST
    kinds[restarted & is_same] = RESTART
    kinds[is_restart & has_value & is_complete & is_same] = RESTART_NEGATIVE
    kinds[(known | restarted | (is_restart & has_value & is_complete)) & ~is_same] = RECREATED
    is_first = is_commit & ~has_event & (chunk.range_begin[order] == 0) & (chunk.committed[order] > 0)
    is_first &= chunk.k_negative < 0
    # The partition is new to a group that had consumed the topic before: its owner did not get it with the first ones.
    kinds[is_first & (chunk.k_owner == MEMBER) & (chunk.k_first_of_topic < chunk.ms[order[chunk.k_stay]])] = FIRST
    places = np.flatnonzero(kinds >= 0)
    return places, kinds[places]


def _rows(chunk: Chunk, lanes: LanesOf, places: Ints, kinds: Ints) -> pa.Table:
    """Return jumps as rows of `FoundJump`, without `recovered_at` and `cause`."""
    if not len(places):
        return _SCHEMA.empty_table()
    order, table = chunk.order, chunk.table
    row = order[places]
    event = chunk.k_event[places]
    value = np.where((event >= 0) & chunk.k_is_value[event], event, chunk.k_value[places])
    has_before, value_row = value >= 0, order[value]
    has_after = chunk.is_value[row]
    owner, lane = chunk.k_owner[places], lanes.k_lane[places]
    stay_before = np.where(chunk.k_stay[places] >= 0, chunk.k_stay_before[chunk.k_stay[places]], NONE)
    context = _contexts(chunk, lanes, places, stay_before)
    previous = np.where(context == _CHANGE, stay_before, np.where(owner == MEMBER, NONE, chunk.k_stay[places]))
    amount = np.abs(np.where(has_before, chunk.committed[row] - chunk.committed[value_row], chunk.committed[row]))
    is_empty = chunk.phase[row] == EMPTY
    columns = {
        "group_id": table["group_id"].take(row),
        "incarnation": lanes.incarnation[lane],
        "group_type": lanes.group_type(lane),
        "offsets_partition": chunk.partition[row],
        "topic": table["topic"].take(row),
        "partition": chunk.topic_partition[row],
        "offset": chunk.offset[row],
        "jumped_at": times(chunk.ms[row]),
        "kind": pa.array(np.array(KINDS, object)[kinds]),
        "context": pa.array(np.array(_CONTEXTS, object)[context]),
        "before_offset": pa.array(chunk.committed[value_row], mask=~has_before),
        "after_offset": pa.array(chunk.committed[row], mask=~has_after),
        "amount": pa.array(amount, mask=np.isin(kinds, (LOST, RECREATED))),
        "member_id": chunk.texts("member_id", np.where(owner == MEMBER, lanes.row_of_lane[lane], NONE)),
        "previous_member_id": chunk.texts("member_id", np.where(previous >= 0, order[previous], NONE)),
        "is_transactional": chunk.offset[row] != chunk.at_offset[row],
        "recovered_at": pa.nulls(len(row), pa.timestamp("us", "UTC")),
        "cause": pa.nulls(len(row), pa.string()),
        "age_ms": pa.array(np.maximum(0, chunk.ms[row] - chunk.ms[value_row]), mask=kinds != LOST),
        "retention_ms": known(np.where(kinds == LOST, chunk.retention_ms[value_row], NONE)),
        "topic_id": chunk.texts("topic_id", np.where(has_before, value_row, NONE)),
        "has_expired": (chunk.expires_ms[value_row] != NONE) & (chunk.ms[row] >= chunk.expires_ms[value_row]),
        "has_members": chunk.phase[row] == WITH_MEMBERS,
        "empty_since": times(chunk.ms[np.maximum(chunk.phase_row[row], 0)], is_empty),
        "after_removal": pa.array(chunk.offset[order[event]], mask=~((event >= 0) & chunk.k_is_loss[event])),
    }
    return pa.table([cast_to(columns[each.name], each.type) for each in _SCHEMA], schema=_SCHEMA)


def _contexts(chunk: Chunk, lanes: LanesOf, places: Ints, stay_before: Ints) -> Ints:
    """Return who committed at each place, as a number among `_CONTEXTS`."""
    order, stay, owner, last = chunk.order, chunk.k_stay[places], chunk.k_owner[places], chunk.k_value[places]
    is_carried = (last >= 0) & (chunk.what[order[last]] == CARRIED_VALUE)
    is_of_stay = np.where(
        is_carried, lanes.lane_of_carried(order[last]) == lanes.k_lane[places], (last >= 0) & (last > stay)
    )
    begun = np.where(stay_before >= 0, _CHANGE, _FIRST_OWNER)
    of_member = np.where(chunk.k_is_late[places], _PREVIOUS, np.where(is_of_stay, _SAME, begun))
    return np.where(owner == MEMBER, of_member, _OTHERS + owner)
