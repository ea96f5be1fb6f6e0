"""The columns of tables that the replay does not know, such as the names of topics: added to batches of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kip848_records.engines.delta_rs import with_column
from kip848_records.specs.tables import (
    AWAITED_PARTITION,
    MEMBER_ASSIGNMENT,
    OWNERSHIP,
    PARTITION_HANDOVER,
    REBALANCE_LAG,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def named(ids: pa.Array, topics: pa.Table) -> pa.Array:
    """Return the name of each topic id, by ``topic_id, topic``; the id itself if no name is known."""
    known, names = (topics[column].combine_chunks() for column in ("topic_id", "topic"))
    return pc.coalesce(names.take(pc.index_in(ids, value_set=known)), ids)


def with_topics(topics: pa.Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with the names of topics where `topic` is null; a topic without a known name gets its id."""
    return with_column(rows, "topic", pc.coalesce(rows["topic"], named(rows["topic_id"], topics)))


def with_awaited_topics(topics: pa.Table, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows with names of topics in `awaited`, which is null if the member awaits nothing."""
    lists = rows["awaited"]
    lengths = pc.fill_null(pc.list_value_length(lists), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    awaited = pa.RecordBatch.from_struct_array(lists.flatten())
    awaited = with_column(awaited, "topic", named(awaited["topic_id"], topics))
    fields = list(AWAITED_PARTITION)
    elements = pa.StructArray.from_arrays([awaited[each.name].cast(each.type) for each in fields], fields=fields)
    return with_column(rows, "awaited", pa.ListArray.from_arrays(offsets, elements, mask=pc.equal(lengths, 0)))


COMPLETIONS: Final[Mapping[str, Callable[[pa.Table, pa.RecordBatch], pa.RecordBatch]]] = {
    REBALANCE_LAG.name: with_awaited_topics,
    **{spec.name: with_topics for spec in (PARTITION_HANDOVER, OWNERSHIP, MEMBER_ASSIGNMENT)},
}
"""What adds the columns that the rows of the replay lack, by table: of the topics' names by id, and a batch."""
