"""The rows that the pass over offset commits takes: commits, and marks of what the replay found between them.

All rows of a group come in the order of `at_offset`, `what` and `offset`. A commit is at the offset from which on it
counts: its own, or that of the marker of its transaction.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

NO_GROUP, PHASE, RELEASE, STOP, ACQUIRE, COMMIT = range(6)
"""What a row is: the group id ends to exist; a state of the group begins; a member gives up a partition; a rebalance
stopped one; a member acquires one; a commit or its tombstone."""

EMPTY, WITH_MEMBERS, NOT_SHOWN = range(3)
"""Values of `phase`: what a state of the group shows of its members."""

KEY: Final = ("partition", "group_id")
ORDER: Final = ("at_offset", "what", "offset")

_TIME: Final = pa.timestamp("us", "UTC")

COMMIT_ROWS: Final = pa.schema(
    [
        pa.field("partition", pa.int32()),
        pa.field("group_id", pa.string()),
        pa.field("at_offset", pa.int64()),
        pa.field("what", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", _TIME),
        pa.field("topic", pa.string()),
        pa.field("topic_partition", pa.int32()),
        # Of commits; `committed` is null for a tombstone.
        pa.field("committed", pa.int64()),
        pa.field("topic_id", pa.string()),
        pa.field("expires_ms", pa.int64()),
        pa.field("retention_ms", pa.int64()),
        # Of marks. `acquired_offset`: of the stay; of a stop: where its rebalance began. `until_offset`, `until`: when
        # the stay ended; null: it did not.
        pa.field("incarnation", pa.int32()),
        pa.field("phase", pa.int32()),
        pa.field("group_type", pa.string()),
        pa.field("member_id", pa.string()),
        pa.field("acquired_offset", pa.int64()),
        pa.field("until_offset", pa.int64()),
        pa.field("until", _TIME),
        pa.field("history", pa.string()),
        pa.field("instance_id", pa.string()),
        pa.field("client_id", pa.string()),
        pa.field("rebalance_timeout_ms", pa.int64()),
        # Of stays: `topic` is the id, because its name is not known. So their commits are not, which name topics.
        pa.field("is_unnamed", pa.bool_()),
    ]
)
