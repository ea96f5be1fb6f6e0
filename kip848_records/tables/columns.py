"""What a table is, and a column: name, type, meaning, whether it may be null. And the columns that many tables have."""

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


@dataclass(frozen=True)
class Column:
    """A column; `required` ones are NOT NULL in the table."""

    name: str
    type: DataType
    comment: str
    required: bool = False


@dataclass(frozen=True)
class TableSpec:
    """A table: one row for each value of `key`, a list of columns.

    It is partitioned by cluster; and by `also_partitioned_by`, a column that tells rows which later runs change from
    all others, so that to change them rewrites no file of history.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    also_partitioned_by: str | None = None

    @property
    def partitioned_by(self) -> list[str]:
        """The columns that the table is partitioned by."""
        return ["cluster"] if self.also_partitioned_by is None else ["cluster", self.also_partitioned_by]

    @property
    def schema(self) -> StructType:
        """The table's columns as Spark has them, comments included."""
        fields = (StructField(c.name, c.type, not c.required, {"comment": c.comment}) for c in self.columns)
        return StructType(list(fields))

    def schema_without(self, name: str) -> StructType:
        """The same without one of the columns."""
        return StructType([field for field in self.schema if field.name != name])


STRING, INT, BIGINT, BOOLEAN = StringType(), IntegerType(), LongType(), BooleanType()
TIMESTAMP, BINARY = TimestampType(), BinaryType()

CLUSTER = Column("cluster", STRING, "Name of the Kafka cluster, as given to the audit", required=True)
PARTITION = Column("partition", INT, "Partition of __consumer_offsets", required=True)
OFFSET = Column("offset", BIGINT, "Offset of the record in its partition", required=True)
LOGGED_AT = Column("timestamp", TIMESTAMP, "When the record was appended, by the coordinator's clock (UTC)")
GROUP_ID = Column("group_id", STRING, "Group id, in full", required=True)
