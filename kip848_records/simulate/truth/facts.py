"""The facts about groups that commit: no tables of an audit, but what the tables are compared with."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from kip848_records.specs.columns import TIMESTAMP

_PARTITION: Final = [
    *(("offsets_partition", pa.int32()), ("group_id", pa.string()), ("topic", pa.string()), ("topic_id", pa.string())),
    *(("partition", pa.int32()), ("member_id", pa.string())),
]
_SPAN: Final = [
    ("client_id", pa.string()),
    ("from_at", TIMESTAMP),
    ("to_at", TIMESTAMP),
    ("first_position", pa.int64()),
]

READING: Final = pa.schema([*_PARTITION, *_SPAN, ("next_position", pa.int64())])
"""A client read a partition in one way, without a seek: the messages from one position up to before another.

`to_at` is null where it still reads at the end. Offsets are those of the topic.
"""
STALL: Final = pa.schema(
    [*_PARTITION, *_SPAN, ("why", pa.string()), ("waits_since", TIMESTAMP), ("waiting", pa.int64())]
)
"""A client owned a partition and did not read it: `paused`, `worker_dead`, `transaction_open`, or `hangs`.

`waits_since`: when the first message came, or the stall began, if that was later; null: none waited. `waiting`: how
many did at the end of the stall, or of the simulation.
"""
OFFSET_CHANGE: Final = pa.schema(
    [*_PARTITION, ("at", TIMESTAMP), ("kind", pa.string()), ("before_offset", pa.int64()), ("after_offset", pa.int64())]
)
"""A committed offset, or a client's position, changed otherwise than by reading; null afterwards: it was removed.

`seek_back`, `seek_ahead`: of a position, by the member. `reset_back`, `reset_ahead`: by a tool. `expired`, `deleted`
(by a tool), `topic_deleted`, `group_expired` and `group_deleted` removed committed offsets.
"""
TRANSACTION: Final = pa.schema(
    [
        *(("offsets_partition", pa.int32()), ("group_id", pa.string()), ("member_id", pa.string())),
        *(("producer_id", pa.int64()), ("producer_epoch", pa.int16()), ("first_at", TIMESTAMP)),
        *(("ended_at", TIMESTAMP), ("records", pa.int64())),
        ("topic_partitions", pa.list_(pa.struct([("topic", pa.string()), ("partition", pa.int32())]))),
    ]
)
"""A transaction that its client left open; `ended_at`: when the coordinator aborted it, null: not yet."""

END_OFFSET: Final = pa.schema([*_PARTITION[:-1], ("end_offset", pa.int64())])
"""How many messages a partition has had at the end of the simulation; each group has rows of what it reads."""

FACTS: Final = {
    "reading": READING,
    "stall": STALL,
    "offset_change": OFFSET_CHANGE,
    "transaction": TRANSACTION,
    "end_offset": END_OFFSET,
}
"""By the names of their files."""
