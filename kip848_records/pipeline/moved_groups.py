"""Groups whose records are in two partitions: the topic got more of them, or logs of two clusters are mixed.

Kafka divides the hash of a group's id by the number of partitions: the remainder is the group's partition. When the
topic gets more partitions, most groups get another one, and begin there without their committed offsets.
"""

from __future__ import annotations

from itertools import groupby
from math import gcd
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from kip848_records.engines.engine import union_of
from kip848_records.protocol.group_partition import group_id_hash
from kip848_records.queries.texts import read, rendered
from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.diagnosis.moved_groups import Expansion, moved_groups
from kip848_records.replay.inputs import GroupMove
from kip848_records.replay.rows import Diagnosis
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.predicates import IS_RECORD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kip848_records.engines.engine import Engine, Relation, Rows
    from kip848_records.queries.tables import Row
    from kip848_records.replay.inputs import ReplayInputs

_COLUMNS: Final = (
    "partition",
    "offset",
    "group_id",
    "timestamp",
    "value",
    "transaction",
    "control",
    "error_code",
    "file",
)
_MOVED: Final = pa.schema([("partition", pa.int32()), ("group_id", pa.string()), ("moved_to", pa.int32())])
_CONFLICTS: Final = (
    "SELECT count(*) AS conflicts FROM (SELECT DISTINCT log.partition, log.offset FROM {records} AS log "  # noqa: S608
    f"WHERE log.error_code = '{ErrorCode.CONFLICT.value}') AS offsets"
)
_TWO: Final = 2
_USUAL_PARTITIONS: Final = 50
"""Kafka's default of `offsets.topic.num.partitions`."""
_MOST_PARTITIONS: Final = 10_000
_OVERLAP_MS: Final = 60 * 60 * 1000
"""For so long the old partition may be written too: brokers hear of the new number one after the other, and remove
members that they hear nothing of only after their session timeouts."""


class SeveralPartitions(NamedTuple):
    """Groups whose records are in several partitions.

    `moves`: as in `ReplayInputs`; none if no `expansion` explains them. `mixed`: the partitions of all other groups, by
    group id, the one with the newest record last. `conflicts`: the number of offsets at which copies differ, if there
    are any such groups.
    """

    moves: Mapping[str, GroupMove]
    mixed: Mapping[str, Sequence[int]]
    expansion: Expansion | None
    conflicts: int = 0


def groups_in_several_partitions(engine: Engine, records: Sequence[Relation]) -> SeveralPartitions:
    """Return the groups of a log whose records are in several partitions. `records`: all of its log rows."""
    rows_of_all = union_of(engine, records, _COLUMNS)
    found = engine.sql(
        rendered("pipeline/sql/groups_in_several_partitions.sql", is_record=IS_RECORD), records=rows_of_all
    )
    places = {group_id: list(rows) for group_id, rows in groupby(engine.iterate(found), key=lambda row: row.group_id)}
    pairs = {group_id: rows for group_id, rows in places.items() if len(rows) == _TWO and _is_successor(*rows)}
    conflicts = 0
    if places:
        ((conflicts,),) = engine.collect(engine.sql(_CONFLICTS, records=rows_of_all))
    # Where two clusters are mixed, a few groups look as if they had moved. Copies that contradict each other are of two
    # logs: of two clusters, or of a topic that was made anew.
    sizes = _sizes(pairs) if not conflicts and 2 * len(pairs) >= len(places) else None
    moved = pairs if sizes is not None else {}
    mixed = {group: [row.partition for row in rows] for group, rows in places.items() if group not in moved}
    return SeveralPartitions(
        moves={group: GroupMove(old.partition, new.partition, new.first_ms) for group, (old, new) in moved.items()},
        mixed=mixed,
        expansion=Expansion(*sizes, min(new.first_ms for _, new in moved.values())) if sizes and moved else None,
        conflicts=conflicts,
    )


def _is_successor(old: Row, new: Row) -> bool:
    """Return whether a group began in one partition when it ended in the other."""
    if old.last_ms is None or new.last_ms is None:
        return False
    return bool(old.first_ms < new.first_ms and old.last_ms <= new.first_ms + _OVERLAP_MS)


def _sizes(moved: Mapping[str, Sequence[Row]]) -> tuple[int | None, int | None] | None:
    """Return two numbers of partitions that explain all moves, the second one larger; None if no numbers do."""
    if not moved:
        return None
    pairs = [(group_id_hash(group), old.partition, new.partition) for group, (old, new) in moved.items()]
    before = set(_sizes_of((code, old) for code, old, _ in pairs))
    after = [each for each in _sizes_of((code, new) for code, _, new in pairs) if any(size < each for size in before)]
    if not before or not after:
        return None
    likely = {_USUAL_PARTITIONS} & before or before
    after = [each for each in after if each > min(likely)]
    if not after:
        return None
    return min(likely) if len(likely) == 1 else None, after[0] if len(after) == 1 else None


def _sizes_of(places: Iterable[tuple[int, int]]) -> Iterator[int]:
    """Yield the numbers of partitions for which each hash has its partition."""
    found = list(places)
    common = gcd(*(code - partition for code, partition in found))
    least = max(partition for _, partition in found) + 1
    yield from (size for size in range(least, _MOST_PARTITIONS + 1) if common % size == 0)


def troubles_of_moves(
    engine: Engine, several: SeveralPartitions, inputs: ReplayInputs, progress: Rows | None
) -> pa.Table:
    """Return the rows of `diagnosis` about groups in several partitions. `progress`: of offset commits, if any."""
    places = [(move.old, group, move.new) for group, move in several.moves.items()]
    offsets: list[Row] = []
    if places and progress is not None:
        columns = dict(zip(("partition", "group_id", "moved_to"), map(list, zip(*places, strict=True)), strict=True))
        moved = pa.table(columns, _MOVED)
        text = read("pipeline/sql/offsets_left_behind.sql")
        offsets = engine.collect(engine.sql(text, moved=engine.relation(moved), progress=engine.relation(progress)))
    rows = moved_groups(several.moves, several.mixed, several.expansion, offsets, inputs, conflicts=several.conflicts)
    return pa.Table.from_batches([to_batch(Diagnosis, [*rows])])
