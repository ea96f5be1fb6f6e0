"""Simple groups: those that exist because of committed offsets alone, which Kafka's tools list as Empty.

The replay sees no offset commits, so it knows none of them. A group id is simple while the replay has no state of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kip848_records.engines.rows import ArrowRows
from kip848_records.kinds import SIMPLE
from kip848_records.protocol.group_partition import group_id_hash
from kip848_records.queries.texts import rendered
from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.group.known_history import CENSORED
from kip848_records.replay.group.vocabulary import EMPTY, UNKNOWN
from kip848_records.replay.rows import GroupState, GroupStateInterval
from kip848_records.sources.predicates import IS_OFFSET_COMMIT, IS_READABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.queries.tables import Row
    from kip848_records.replay.inputs import ReplayInputs


def groups_with_commits(engine: Engine, last: Relation, pending: Relation | None) -> Iterator[Row]:
    """Yield the groups that have committed offsets, or may have some when an open transaction ends.

    `last`: the last log row of each key of offset commits that counts. `pending`: those of open transactions.
    """
    text = rendered(
        "pipeline/sql/simple_groups.sql",
        is_commit=IS_OFFSET_COMMIT,
        is_readable=IS_READABLE,
        pending=pending is not None,
    )
    return engine.iterate(engine.sql(text, last=last, **({} if pending is None else {"pending": pending})))


def simple_groups(
    found: Iterable[Row], replayed: Mapping[str, Rows], inputs: ReplayInputs, only: str | None
) -> dict[str, Rows]:
    """Return the rows of simple groups in `group_state` and `group_state_timeline`.

    `found`: of `groups_with_commits`. `replayed`: the rows of the replay, by table. `only`: the group that was
    replayed; None: all were.
    """
    present, deleted = _incarnations(replayed, "group_state"), _incarnations(replayed, "group_state_timeline")
    states, intervals = [], []
    for row in found:
        group = row.partition, row.group_id
        if group not in present and inputs.move_from(*group) is None and only in {None, row.group_id}:
            state = _state(row, deleted.get(group, -1) + 1, inputs)
            states.append(GroupState(**dict.fromkeys(GroupState._fields) | state))
            intervals.append(_interval(row, state))
    if not states:
        return {}
    batches = {"group_state": to_batch(GroupState, states)}
    batches["group_state_timeline"] = to_batch(GroupStateInterval, intervals)
    return {name: ArrowRows(pa.Table.from_batches([batch])) for name, batch in batches.items()}


def _incarnations(replayed: Mapping[str, Rows], table: str) -> dict[tuple[int, str], int]:
    """Return the last incarnation of each group in a table, by the partition of the log and the group id."""
    found: dict[tuple[int, str], int] = {}
    for group, incarnation in _rows(replayed, table):
        found[group] = max(incarnation, found.get(group, 0))
    return found


def _rows(replayed: Mapping[str, Rows], table: str) -> Iterator[tuple[tuple[int, str], int]]:
    if table in replayed:
        for batch in replayed[table].batches():
            columns = (batch[name].to_pylist() for name in ("partition", "group_id", "incarnation"))
            yield from (((partition, group_id), number) for partition, group_id, number in zip(*columns, strict=True))


def _state(row: Row, incarnation: int, inputs: ReplayInputs) -> dict[str, Any]:
    """Return what is known of a simple group; if records were lost, it may be a group of any type.

    The log does not show since when: each commit takes the place of an earlier one.
    """
    covered = inputs.partitions.get(row.partition)
    move = inputs.move_to(row.partition, row.group_id)
    is_known = covered is not None and not covered.log_start_missing and covered.first_loss is None
    return {
        "partition": row.partition,
        "group_id": row.group_id,
        "incarnation": incarnation,
        "group_type": SIMPLE,
        "offset": row.last_offset,
        "state": EMPTY if is_known else UNKNOWN,
        "since": None,
        "members": 0 if is_known else None,
        "waits_for_away_only": False,
        "group_id_hash": group_id_hash(row.group_id),
        "records": 0,
        "operations": 0,
        "largest_operation_bytes": 0,
        "has_full_history": False,
        "has_lost_prefix": not is_known,
        "captured_at": inputs.captured_at_of(row.partition),
        "is_read_to_end": None if covered is None else covered.is_read_to_end,
        "moved_from": None if move is None else move.old,
        "moved_at": None if move is None else move.at,
        "history": CENSORED,
    }


def _interval(row: Row, state: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a row of the replay
    captured_at, since = state["captured_at"], row.first_ms
    lasted = None if captured_at is None or since is None else captured_at - since
    known = {name: state[name] for name in ("partition", "group_id", "incarnation", "group_type", "state", "history")}
    known |= {"from_at": since, "from_offset": row.first_offset, "hides_rebalance": False, "clock_skew": False}
    return GroupStateInterval(**dict.fromkeys(GroupStateInterval._fields) | known | {"duration_ms": lasted})
