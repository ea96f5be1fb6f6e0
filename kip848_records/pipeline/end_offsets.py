"""Where the topics of groups end: from a file of kafka-get-offsets, or from the cluster of a live topic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kip848_records.errors import InputError
from kip848_records.log.runs import EndOffset
from kip848_records.replay.arrow_rows import timestamps
from kip848_records.tables.registry import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kip848_records.log.runs import RunInfo

_LINE: Final = re.compile(r"([a-zA-Z0-9._-]{1,249}):([0-9]{1,10}):([0-9]{0,19})")
_LARGEST: Final = (1 << 63) - 1
_LARGEST_PARTITION: Final = (1 << 31) - 1


def read_end_offsets(path: str) -> tuple[EndOffset, ...]:
    """Return the end offsets in a file as kafka-get-offsets prints it: a line ``topic:partition:offset`` each.

    The time of the file is that of the question. A partition without an offset, as old versions print it, is skipped.
    Raises InputError, which names the line, if the file is not one.
    """
    try:
        asked_ms = Path(path).stat().st_mtime_ns // 1_000_000
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError.bad_end_offsets(path, None, error.strerror or str(error)) from None
    except ValueError:
        raise InputError.bad_end_offsets(path, None, "it is not text") from None
    found: dict[tuple[str, int], EndOffset] = {}
    for number, line in enumerate(lines, 1):
        each = _LINE.fullmatch(line)
        if each is None or int(each[2]) > _LARGEST_PARTITION or int(each[3] or 0) > _LARGEST:
            raise InputError.bad_end_offsets(path, number, f"{line[:100]!r} is not topic:partition:offset")
        key = each[1], int(each[2])
        if key in found:
            raise InputError.bad_end_offsets(path, number, f"{each[1]}:{each[2]} is there twice")
        if each[3]:
            found[key] = EndOffset(*key, None, int(each[3]), asked_ms)
    if not found:
        raise InputError.bad_end_offsets(path, None, "it has no offset")
    return tuple(found.values())


def with_earlier(ends: Iterable[EndOffset], before: Iterable[RunInfo]) -> tuple[EndOffset, ...]:
    """Return end offsets with those of the last of the runs before that has some: what waits now may have waited then.

    One that was higher then is of a topic that was created anew.
    """
    known = next((run.end_offsets for run in reversed([*before]) if run.end_offsets), ())
    earlier = {(each.topic, each.partition): each for each in known}
    return tuple(_with_earlier(each, earlier.get((each.topic, each.partition))) for each in ends)


def _with_earlier(end: EndOffset, earlier: EndOffset | None) -> EndOffset:
    if earlier is None or earlier.asked_ms >= end.asked_ms or earlier.end_offset > end.end_offset:
        return end
    return end._replace(earlier_offset=earlier.end_offset, earlier_ms=earlier.asked_ms)


def end_offset_rows(ends: Iterable[EndOffset]) -> pa.Table:
    """Return the rows of `end_offset` but for the cluster."""
    columns: dict[str, Any] = dict(zip(EndOffset._fields, zip(*ends, strict=True), strict=True))
    columns["asked_at"], columns["earlier_at"] = (timestamps(columns.pop(name)) for name in ("asked_ms", "earlier_ms"))
    schema = TABLES["end_offset"].schema_without("cluster")
    return pa.table([pa.array(columns[name], schema.field(name).type) for name in schema.names], schema=schema)
