"""Records that were lost, not compacted, and whose group is not known: they may be of any group in the partition.

Compaction keeps the last value of every key. A lost record may have been the last one of its key. So the state of every
group is unknown behind it, until the group is deleted and begins anew. A record in error whose group is known is lost
to that group alone: the replay gets its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.log.extents import is_held_by_others
from kip848_records.protocol.keys import GROUP_TYPES
from kip848_records.protocol.segments.faults import Fault
from kip848_records.queries.texts import rendered
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.predicates import IS_READABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kip848_records.engines.engine import Engine, Relation
    from kip848_records.log.extents import Extent

# Unread batches of segment files are in the rows that say what the files cover.
_OF_NO_RECORD: Final = ", ".join(f"'{code.value}'" for code in (ErrorCode.OTHER_TOPIC, *Fault))

IS_LOST_RECORD: Final = (
    f"(error_code IS NOT NULL AND error_code NOT IN ({_OF_NO_RECORD}) AND group_id IS NULL AND control IS NULL "
    f"AND (key_type IS NULL OR key_type IN ({', '.join(map(str, sorted(GROUP_TYPES)))})) "
    "AND log.partition IS NOT NULL AND log.offset IS NOT NULL)"
)
"""SQL: whether a row of `log` is a record in error that may be of any group of its partition.

Offset commits, records of unknown types and rows of other topics are not.
"""


class LostRecord(NamedTuple):
    """A record in error whose group is not known, and the copies in which it is in error."""

    partition: int
    offset: int
    copies: frozenset[str]


def records_of_other_copies(engine: Engine, log: Relation) -> Relation:
    """Return ``partition, offset`` of each record that a copy could not read, and that another copy holds.

    `log`: log rows (`specs.log_columns.LOG_COLUMNS`). Rows of unknown groups are skipped: `losses` handles them.
    """
    return engine.sql(rendered("log/sql/held_elsewhere.sql", is_readable=IS_READABLE), log=log)


def losses(extents: Sequence[Extent], base: Extent, lost: Sequence[LostRecord]) -> list[tuple[int, int]]:
    """Return first and last offset of each part of a partition in which records may have been lost to any group.

    There are three exceptions. A copy of a log that is being written to may end within a batch: no record behind the
    last offset is lost with it. Where the partition's history is complete, another copy may have the records; a dump
    with gaps does not prove that it has those of a loss inside another copy. If the base could be read there, it has
    the last values of all keys; in such a dump compaction explains missing records only before its complete part.

    Args:
        extents: what each copy holds of one partition.
        base: the copy with which history starts (`log.bases`).
        lost: the partition's records in error.
    """
    end = max(extent.last_offset for extent in extents)
    found = []
    for extent in extents:
        for first, next_offset, code in extent.unread:
            is_end, behind = next_offset is None, next_offset or first + 1
            is_cut_off = code == Fault.CUT_OFF.value and first > end
            is_in_base = extent is not base and base.first_offset <= first <= base.last_offset
            if base.gaps is None and not is_end:
                is_in_base = is_in_base and behind <= base.complete_from
            is_held = is_end or is_held_by_others(first, behind, extent, extents)
            is_complete = base.complete_from <= first <= end and is_held
            if not (is_cut_off or is_in_base or is_complete):
                found.append((first, max(first, behind - 1)))
    return found + [(each.offset, each.offset) for each in lost if not _is_elsewhere(each, extents, base)]


def _is_elsewhere(lost: LostRecord, extents: Sequence[Extent], base: Extent) -> bool:
    """Return whether another copy, in which the record is not in error, has it or what compaction left of it."""
    return any(
        extent.copy not in lost.copies
        and (extent.first_offset if extent is base else extent.continues_from) <= lost.offset <= extent.last_offset
        for extent in extents
    )
