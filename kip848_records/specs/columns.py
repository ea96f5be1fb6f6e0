"""The specs of tables and columns (name, type, meaning, nullability), and columns that many tables share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from kip848_records.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Column:
    """A column; `required` ones are NOT NULL in the table."""

    name: str
    type: pa.DataType
    comment: str
    required: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table, partitioned by cluster: one row for each value of `key`, a list of columns.

    `complete`: adds the columns that these rows do not have. Its arguments are the topics' names by id and a batch of
    the replay's rows. `ended_at`: SQL for the time at which a row's subject had ended, as far as the row shows it; null
    for rows about something open. Retention removes old rows by it, and keeps all rows without it.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    complete: Callable[[pa.Table, pa.RecordBatch], pa.RecordBatch] | None = None
    ended_at: str | None = None

    @property
    def schema(self) -> pa.Schema:
        """The table's columns as an Arrow schema. `tables.spark_types` derives Spark's, with the comments."""
        return pa.schema([pa.field(each.name, each.type, nullable=not each.required) for each in self.columns])

    def schema_without(self, name: str) -> pa.Schema:
        """The schema without one of the columns."""
        return pa.schema([field for field in self.schema if field.name != name])


def list_of(element: pa.DataType) -> pa.ListType:
    """Return the type of lists; Spark calls an element so."""
    return pa.list_(pa.field("element", element))


def map_of(key: pa.DataType, value: pa.DataType) -> pa.MapType:
    """Return the type of maps."""
    return pa.map_(key, value)


def struct_of(**fields: pa.DataType) -> pa.StructType:
    """Return the type of structs with these fields."""
    return pa.struct(fields)


STRING, INT, BIGINT, BOOLEAN = pa.string(), pa.int32(), pa.int64(), pa.bool_()
BINARY, DOUBLE = pa.binary(), pa.float64()
TIMESTAMP = pa.timestamp("us", "UTC")
STRINGS, INTS = list_of(STRING), list_of(INT)

CLUSTER = Column("cluster", STRING, "Name of the Kafka cluster, as given to the audit", required=True)
PARTITION = Column("partition", INT, "Partition of __consumer_offsets", required=True)
OFFSETS_PARTITION = replace(PARTITION, name="offsets_partition")
TOPIC_PARTITION = (
    Column("topic", STRING, "Topic name", required=True),
    Column("partition", INT, "Partition of the topic", required=True),
)
"""Beside `partition`, where that is one of a topic or a task."""
OFFSET = Column("offset", BIGINT, "Offset of the record in its partition", required=True)
LOGGED_AT = Column("timestamp", TIMESTAMP, "When the record was appended, by the coordinator's clock (UTC)")
CAPTURED_AT = Column(
    "captured_at",
    TIMESTAMP,
    "Up to when the partition of __consumer_offsets is known; the ages of what is open there are measured to it. A "
    "copy has the time in audit_runs. A live topic has the time when the run asked where it ends; a partition that was "
    "not read to its end has the time of the last record that was read. Never before the "
    "partition's newest record (UTC)",
)
IS_READ_TO_END = Column(
    "is_read_to_end",
    BOOLEAN,
    "Whether a live topic's partition was read to its end; false: what was written since captured_at is behind an open "
    "transaction, or the run did not read it. Null for a copy, which does not show it",
)
POSITION = (CLUSTER, PARTITION, OFFSET, LOGGED_AT)
POSITION_KEY = ("cluster", "partition", "offset")
KEY_TYPE = Column("key_type", INT, "Record type: the first two bytes of the key", required=True)

GROUP_ID = Column("group_id", STRING, "Group id, in full", required=True)
_GROUP_TYPES = [kind.name for kind in KINDS.values() if kind.name == kind.group_type and kind.roles]
GROUP_TYPE = Column("group_type", STRING, f"{', '.join(_GROUP_TYPES[:-1])} or {_GROUP_TYPES[-1]}", required=True)
MEMBER_ID = Column("member_id", STRING, "Member id, in full", required=True)
INCARNATION = Column("incarnation", INT, "How often the group id had been deleted before", required=True)
GROUP = (CLUSTER, GROUP_ID, INCARNATION)
CLIENT = (
    Column("instance_id", STRING, "Static members: group.instance.id"),
    Column("client_id", STRING, "client.id"),
    Column("client_host", STRING, "Host of the client"),
)
REBALANCE_TIMEOUT = Column(
    "rebalance_timeout_ms", BIGINT, "The member's rebalance timeout: how long it may take to revoke partitions, in ms"
)
STATE = Column(
    "state",
    STRING,
    "Empty, Assigning, Reconciling, Stable; NotReady: a streams group without a topology whose topics all exist; "
    "unknown: not shown by the log",
    required=True,
)
HISTORY = Column(
    "history",
    STRING,
    "observed: both ends seen and no record missing between; left_censored: began, or may have lost records, before "
    "the history is complete; right_censored: open at the end of the log, or until records were lost, or a later "
    "record may still change it; censored: both. Use only observed rows for measurements",
    required=True,
)
HAS_ENDED = "coalesce(status, '') NOT IN ('open', 'unknown') AND history NOT IN ('right_censored', 'censored')"
"""SQL: whether the subject of a row has ended. A row without a status ended before the history is complete."""
WANTED = (
    Column(
        "wanted",
        BOOLEAN,
        "Whether it was in some member's target when it was released or when the gap ended; otherwise unowned_ms "
        "is no loss. Null for a first acquisition",
    ),
    Column("wanted_ms", BIGINT, "The part of unowned_ms in which it was in some member's target, in ms"),
)
HAS_CHANGELOGS = Column(
    "has_changelogs",
    BOOLEAN,
    "Streams: whether the subtopology has changelog topics, from which a new owner restores state. Null: its topology "
    "is not in the log",
)
CLOCK_SKEW = Column(
    "clock_skew",
    BOOLEAN,
    "Whether an operation of the group within the row has an earlier timestamp than the one before it, or a time comes "
    "out negative",
    required=True,
)
