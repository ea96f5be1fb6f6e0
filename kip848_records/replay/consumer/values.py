"""Columns of decoded records of consumer groups (KIP-848) -> the values of `records`, a whole column at a time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from kip848_records.kinds import Role
from kip848_records.replay.decode import values
from kip848_records.replay.decode.columns import list_parts, texts, tuples
from kip848_records.replay.records import RegularExpressionValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kip848_records.replay.decode.columns import Columns


def _topic_names(columns: Columns) -> list[dict[str, str]]:
    if "topics" not in columns:
        return [{} for _ in range(columns.rows)]
    offsets, topics = list_parts(columns["topics"])
    pairs = list(zip(texts(topics.field("topic_id")), texts(topics.field("topic_name")), strict=True))
    bounds = pairwise(offsets.tolist())
    return [{topic_id: name for topic_id, name in pairs[first:end] if topic_id and name} for first, end in bounds]


READERS: Final[Mapping[Role, Callable[[Columns], Iterable[Any]]]] = {
    **values.READERS,
    Role.PARTITION_METADATA: _topic_names,
    Role.REGULAR_EXPRESSION: lambda columns: tuples(
        RegularExpressionValue, columns.sorted_texts("topics"), columns.ints("version"), columns.ints("timestamp")
    ),
}
