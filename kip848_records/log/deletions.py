"""Finds keys that were deleted between two runs and whose tombstones are already removed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records.kinds import ROLES, Role, key_types_of
from kip848_records.log.state import last_counted
from kip848_records.queries.texts import rendered
from kip848_records.sources.predicates import key_of_types
from kip848_records.sources.transactions import with_outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.engines.engine import Relation
    from kip848_records.log.runs import PartitionRead
    from kip848_records.log.table import LogTable
    from kip848_records.queries.tables import Row
    from kip848_records.sources.topic.ends import Ends

DEFAULT_DELETE_RETENTION_MS: Final = 24 * 60 * 60 * 1000
"""How long a topic keeps tombstones if its settings cannot be read: Kafka's default of `delete.retention.ms`."""

_BOUNDS: Final = pa.schema(
    [
        ("place", pa.int32()),
        ("start", pa.int64()),
        ("first", pa.int64()),
        ("until", pa.int64()),
        ("captured_ms", pa.int64()),
    ]
)


@dataclass(frozen=True)
class DeletionSearch:
    """The input of the search for deletions: the partitions `again`, with the last read of each.

    `live_rows`: all present rows of these partitions. `ends`: the topic's present starts and ends. `new_ends`: the ends
    of the offsets that this run reads.
    """

    log: LogTable
    again: Sequence[PartitionRead]
    live_rows: Relation
    ends: Ends
    new_ends: Mapping[int, int]


def without_inferred(read: PartitionRead, found: Row | None) -> PartitionRead:
    """Begin a complete range after the added tombstones, because the records before them are unknown.

    A key that was deleted and written again shows neither. `found`: the number of tombstones in the partition
    (`keys`), and their last offset (`last`); None if there are none.
    """
    if found is None:
        return replace(read, note=f"{read.note}; 0 keys are gone", is_tombstone_gap=True)
    first = max(read.range_from, found.last + 1)
    return replace(
        read,
        note=f"{read.note}; {found.keys:,} keys are gone",
        is_tombstone_gap=True,
        range_from=first,
        first_repeated_key=None if read.first_repeated_key is None else max(read.first_repeated_key, first),
    )


def inferred_tombstones(search: DeletionSearch, rows: Relation) -> Relation:
    """Return a tombstone for each key that a partition had at its last read and no longer has.

    `rows` are the new ones; so are the columns, with `is_inferred`. Each removed tombstone had an offset after the last
    read, so there are enough free offsets; the tombstones get the first of these, none after the range of this run: the
    next run will read a deletion there. A group's epoch record is deleted last, as a coordinator does it, and before
    the group returns with another type. A key whose last record lies before the log's start does not count as deleted:
    it may have been cut off.
    """
    engine = search.log.engine
    bounds = pa.Table.from_pylist(
        [
            {
                "place": read.partition,
                "start": search.ends.offsets[read.partition][0],
                "first": read.until_offset,
                "until": search.new_ends[read.partition],
                "captured_ms": read.captured_ms,
            }
            for read in search.again
        ],
        _BOUNDS,
    )
    partitions = ", ".join(str(read.partition) for read in search.again)
    known = f"SELECT * FROM {{log}} AS log WHERE log.partition IN ({partitions})"  # noqa: S608 - numbers
    # An aborted record is no key that was there: its marker may have come with a later run.
    theirs = with_outcomes(engine, engine.sql(known, log=search.log.records()))
    text = rendered(
        "log/sql/inferred_tombstones.sql",
        columns=engine.types(rows),
        is_last_of_group=key_of_types(key_types_of(Role.GROUP_EPOCH)),
        is_deleted_last=key_of_types(key_types_of(Role.CLASSIC_GROUP, Role.GROUP_EPOCH)),
        is_of_group=key_of_types(ROLES),
    )
    return engine.sql(
        text,
        known=last_counted(engine, theirs),
        live=search.live_rows,
        rows=rows,
        bounds=engine.relation(bounds),
    )
