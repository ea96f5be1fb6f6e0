"""What every table holds. The one place that knows a column: its name, type, meaning, and whether it may be null."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kip848_records.decode.schemas import (
    key_columns,
    record_schema,
    records_of,
    spark_type,
    value_columns,
)
from kip848_records.protocol.messages import DIALECTS, KAFKA


@dataclass(frozen=True)
class Column:
    """A column; `required` ones are NOT NULL in the table."""

    name: str
    type: DataType
    comment: str
    required: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table: one row for each value of `key`, a list of columns."""

    name: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def schema(self) -> StructType:
        """The table's columns as Spark has them, comments included."""
        fields = (StructField(c.name, c.type, not c.required, {"comment": c.comment}) for c in self.columns)
        return StructType(list(fields))


STRING, INT, BIGINT, BOOLEAN = StringType(), IntegerType(), LongType(), BooleanType()
TIMESTAMP, BINARY = TimestampType(), BinaryType()

CLUSTER = Column("cluster", STRING, "Name of the Kafka cluster, as given to the audit", required=True)
PARTITION = Column("partition", INT, "Partition of __consumer_offsets", required=True)
OFFSET = Column("offset", BIGINT, "Offset of the record in its partition", required=True)
LOGGED_AT = Column("timestamp", TIMESTAMP, "When the record was appended, by the coordinator's clock (UTC)")
GROUP_ID = Column("group_id", STRING, "Group id, in full", required=True)
TRANSACTION = Column(
    "transaction",
    STRING,
    "none; committed; pending: no marker yet; unknown: the source does not show markers. Aborted ones are left out",
)
_PLACE = (CLUSTER, PARTITION, OFFSET, LOGGED_AT)
_PLACE_KEY = ("cluster", "partition", "offset")


def record_spec(table: str) -> TableSpec:
    """Return the spec of a record type's table."""
    records = records_of(table)
    name = records[0].name
    fields = {
        column: (f"{side} field {field.name} ({field.type.arrow})", spark_type(field.type))
        for side, columns in (("Key", key_columns(table)), ("Value", value_columns(table)))
        for column, field in columns.items()
    }
    known = {"partition": PARTITION, "offset": OFFSET, "timestamp": LOGGED_AT, "transaction": TRANSACTION}
    known["is_tombstone"] = Column("is_tombstone", BOOLEAN, "Whether the record deletes its key", required=True)
    columns = [known.get(c) or Column(c, fields[c][1], fields[c][0]) for c in record_schema(table).names]
    types = " and ".join(str(record.key_type) for record in KAFKA.of_table(table) or records)
    return TableSpec(
        table, f"Every {name} record of the log (key type {types}), history included", _PLACE_KEY, (CLUSTER, *columns)
    )


LATEST_STATE = TableSpec(
    "latest_state",
    "The last value of every live key: what a coordinator holds after it has loaded the log",
    _PLACE_KEY,
    (
        *_PLACE,
        Column("key_type", INT, "Record type: the first two bytes of the key", required=True),
        Column("record", STRING, "Name of the record type", required=True),
        Column("group_id", STRING, "Group id, in full"),
        Column("member_id", STRING, "Member id, in full; null for records about a whole group"),
        Column("key", STRING, "The key as JSON, in the names and forms of Kafka's own tools"),
        Column("value", STRING, "The value as JSON, likewise"),
        TRANSACTION,
    ),
)

QUARANTINE = TableSpec(
    "quarantine",
    "Rows that could not be read or decoded, with their bytes: nothing is dropped in silence",
    _PLACE_KEY,
    (
        CLUSTER,
        Column("partition", INT, "Partition of __consumer_offsets; null if the row does not say"),
        Column("offset", BIGINT, "Offset, or base offset of an unreadable batch; null if the row does not say"),
        LOGGED_AT,
        Column("key", BINARY, "The key's bytes"),
        Column("value", BINARY, "The value's bytes, or those of what could not be read"),
        Column("reason", STRING, "Why it did not decode; begins with the side, key or value", required=True),
        Column("position", INT, "The byte of that side at which it showed; null if the source could not be read"),
    ),
)

PARTITION_HISTORY = TableSpec(
    "partition_history",
    "What each copy of the log holds of each partition, and from where on the story of its groups is told in full",
    ("cluster", "partition", "copy"),
    (
        CLUSTER,
        PARTITION,
        Column("copy", STRING, "The path it was read from, down to one broker's data folder", required=True),
        Column("first_offset", BIGINT, "Where the copy starts; for rows of the Kafka source, at the first one landed"),
        Column("last_offset", BIGINT, "Last offset covered; for rows of the Kafka source, of the last one landed"),
        Column("complete_from", BIGINT, "From here to last_offset no record is missing; null: nobody can tell"),
        Column("head_missing", BOOLEAN, "Whether the log's start is missing, not compacted; null: nobody can tell"),
        Column(
            "stale_from", BIGINT, "Of the base: records from here on that it lacks do not count; null: not the base"
        ),
        Column(
            "is_base",
            BOOLEAN,
            "Whether history starts with this copy: rows that only others hold, from stale_from to its complete_from, "
            "do not count for states and timelines",
            required=True,
        ),
    ),
)

UNKNOWN_RECORD = TableSpec(
    "unknown_record",
    "Records of types that this version does not know, with their bytes",
    _PLACE_KEY,
    (
        *_PLACE,
        Column("key_type", INT, "Record type: the first two bytes of the key", required=True),
        Column("key", BINARY, "The key's bytes"),
        Column("value", BINARY, "The value's bytes; null for a tombstone"),
    ),
)

EPOCH_TIMELINE = TableSpec(
    "epoch_timeline",
    "The life of every group epoch: bumped, assigned, converged, or what ended it before",
    ("cluster", "group_id", "incarnation", "group_epoch"),
    (
        CLUSTER,
        GROUP_ID,
        Column("incarnation", INT, "How often the group id had been deleted before", required=True),
        Column("group_epoch", INT, "Group epoch", required=True),
        Column("group_type", STRING, "consumer", required=True),
        PARTITION,
        Column("bumped_at", TIMESTAMP, "When the first record with this group epoch was written (UTC)"),
        Column("bump_offset", BIGINT, "Offset of that record", required=True),
        Column("assigned_at", TIMESTAMP, "When an assignment for this epoch or a later one was written (UTC)"),
        Column("converged_at", TIMESTAMP, "When the group was Stable for the first time since the bump (UTC)"),
        Column(
            "status",
            STRING,
            "converged; superseded: Stable or still open at a later epoch; emptied; deleted; open",
            required=True,
        ),
        Column("superseded_by", INT, "The group's epoch when it became Stable without this one, or at the end"),
        Column("members", INT, "Members of the group at the bump"),
        Column("assign_lag_ms", BIGINT, "From bump to assignment, in ms"),
        Column("reconcile_lag_ms", BIGINT, "From assignment to convergence, in ms"),
        Column("rebalance_lag_ms", BIGINT, "From bump to convergence, in ms"),
        Column("clock_skew", BOOLEAN, "Whether a lag came out negative, as brokers' clocks differ", required=True),
    ),
)

GROUP_STATE = TableSpec(
    "group_state",
    "The present state of every consumer and classic group that was not deleted",
    ("cluster", "group_id"),
    (
        CLUSTER,
        GROUP_ID,
        Column("incarnation", INT, "How often the group id had been deleted before", required=True),
        Column("group_type", STRING, "consumer or classic", required=True),
        PARTITION,
        Column("offset", BIGINT, "Offset of the last record that was counted", required=True),
        Column("state", STRING, "Empty, Assigning, Reconciling, Stable; unknown: the log does not tell", required=True),
        Column("since", TIMESTAMP, "Since when; Assigning and Reconciling count as one, not converged (UTC)"),
        Column("group_epoch", INT, "Group epoch; null for classic groups, or where the log does not tell"),
        Column("assignment_epoch", INT, "Epoch of the target assignment, likewise"),
        Column("generation", INT, "Generation of a classic group"),
        Column("members", INT, "Members"),
        Column("converged_members", INT, "Members that own exactly their target at the assignment epoch"),
        Column("members_away", INT, "Static members that went away and may come back (member epoch -2)"),
    ),
)

TOPIC_NAME = TableSpec(
    "topic_name",
    "Names of the topics that assignments name by id",
    ("cluster", "topic_id"),
    (
        CLUSTER,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64)", required=True),
        Column("topic", STRING, "Topic name", required=True),
        Column("source", STRING, "What says so: topics_file, or the table of the records that do", required=True),
    ),
)


RECORD_TABLES = tuple(dict.fromkeys(record.table for dialect in DIALECTS.values() for record in dialect.records))
"""Names of the tables of record types."""

TABLES = {
    spec.name: spec
    for spec in (
        *(record_spec(table) for table in RECORD_TABLES),
        *(LATEST_STATE, PARTITION_HISTORY, QUARANTINE, UNKNOWN_RECORD, TOPIC_NAME, EPOCH_TIMELINE, GROUP_STATE),
    )
}
"""Every table, by name."""
