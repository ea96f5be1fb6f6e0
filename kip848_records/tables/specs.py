"""What every table holds: the tables of records, and of what is not a group's story (see `timelines`)."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, StructField, StructType

from kip848_records.decode.schemas import (
    key_columns,
    record_schema,
    records_of,
    spark_type,
    value_columns,
)
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.tables.columns import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CLUSTER,
    INT,
    LOGGED_AT,
    OFFSET,
    PARTITION,
    STRING,
    TIMESTAMP,
    Column,
    TableSpec,
)
from kip848_records.tables.timelines import TIMELINES

TRANSACTION = Column(
    "transaction",
    STRING,
    "none; committed; pending: no marker yet; unknown: the source does not show markers. Aborted ones are left out",
)
IS_INFERRED = Column(
    "is_inferred",
    BOOLEAN,
    "Whether the log no longer has the record: a key was gone when it was read again, so this deletion was. It stands "
    "at the first free offset behind what had been read before, with the time of that reading",
    required=True,
)
RUN = Column("run", BIGINT, "Number of the run, from 1", required=True)

PARTITION_READ = StructType(
    [
        StructField("partition", INT),
        StructField("from_offset", BIGINT),
        StructField("until_offset", BIGINT),
        StructField("note", STRING),
    ]
)
"""What one run read of a partition: the offsets, the second not included, and what was out of the ordinary."""

READ_SCHEMA = StructType(
    [
        StructField("source", STRING),
        StructField("topic_id", STRING),
        StructField("version", STRING),
        StructField("dialect", STRING),
        StructField("offset_commits", BOOLEAN),
        StructField("read_ms", BIGINT),
        StructField("captured_ms", BIGINT),
        StructField("from_offset", BIGINT),
        StructField("until_offset", BIGINT),
        StructField("last_ms", BIGINT),
        StructField("note", STRING),
        StructField("first_offset", BIGINT),
        StructField("stretch_from", BIGINT),
        StructField("is_gapless", BOOLEAN),
        StructField("first_pair", BIGINT),
        StructField("witness", BIGINT),
        StructField("kept_from", BIGINT),
        StructField("kept_since_ms", BIGINT),
        StructField("is_pruning", BOOLEAN),
        StructField("is_break", BOOLEAN),
    ]
)
"""A row `read` of the log: see `kept_log.Read`."""

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
    columns.insert(columns.index(known["is_tombstone"]) + 1, IS_INFERRED)
    types = " and ".join(str(record.key_type) for record in KAFKA.of_table(table) or records)
    return TableSpec(
        table, f"Every {name} record of the log (key type {types}), history included", _PLACE_KEY, (CLUSTER, *columns)
    )


LATEST_STATE = TableSpec(
    "latest_state",
    "The last value of every live key that could be read: what a coordinator holds after it has loaded the log",
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

TOPIC_NAME = TableSpec(
    "topic_name",
    "Names of the topics that assignments name by id",
    ("cluster", "topic_id"),
    (
        CLUSTER,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64)", required=True),
        Column("topic", STRING, "Topic name", required=True),
        Column(
            "source",
            STRING,
            "What says so: topics_file, cluster (a live one), or the table of the records that do",
            required=True,
        ),
    ),
)


LOG = TableSpec(
    "log",
    "Every row that was read from a live topic, as it was: what the other tables of its cluster are made of. And for "
    "each run and partition a row `read`, that says what was read",
    ("cluster", "partition", "offset", "run"),
    (
        CLUSTER,
        RUN,
        PARTITION,
        Column("offset", BIGINT, "Offset of the record; of a row `read`, the first that was not read", required=True),
        Column("timestamp", TIMESTAMP, "When the record was appended, by the coordinator's clock (UTC)"),
        Column("timestampType", INT, "0: when it was created; 1: when it was appended"),
        Column("key", BINARY, "The key's bytes"),
        Column("value", BINARY, "The value's bytes; null for a tombstone"),
        Column("transaction", STRING, "none; unknown: an offset commit, for the source does not show markers"),
        Column("group_id", STRING, "Group id, in full; null where the key does not tell"),
        Column("error", STRING, "Why the row does not count as a record; null for all others"),
        IS_INFERRED,
        Column("read", READ_SCHEMA, "What a run read of the partition; null for records"),
    ),
)

AUDIT_RUNS = TableSpec(
    "audit_runs",
    "What was audited, when and how: the last run of a live topic's, and those before it, or the audit of a copy",
    ("cluster", "run"),
    (
        CLUSTER,
        RUN,
        Column("captured_at", TIMESTAMP, "When the log was copied: how old what is still open is counts to it (UTC)"),
        Column("sources", ArrayType(STRING), "What was read, as named to the audit", required=True),
        Column("dialect", STRING, "Who wrote the records, as they were decoded", required=True),
        Column("version", STRING, "The version of kip848-records that wrote the tables", required=True),
        Column("offset_commits", BOOLEAN, "Whether offset commits were decoded too", required=True),
        Column(
            "is_set_aside", BOOLEAN, "Whether it tells of partitions that were cut short or made anew", required=True
        ),
        Column("partitions", ArrayType(PARTITION_READ), "What was read of each partition of a live topic; else null"),
    ),
)


RECORD_TABLES = tuple(dict.fromkeys(record.table for dialect in DIALECTS.values() for record in dialect.records))
"""Names of the tables of record types."""

TABLES = {
    spec.name: spec
    for spec in (
        *(record_spec(table) for table in RECORD_TABLES),
        *(LOG, AUDIT_RUNS, LATEST_STATE, PARTITION_HISTORY, QUARANTINE, UNKNOWN_RECORD, TOPIC_NAME, *TIMELINES),
    )
}
"""Every table, by name."""
