"""The tables of record types, written on request: every decoded record of the log."""

from __future__ import annotations

from typing import Final

from kip848_records.protocol.columns import embedded_columns, key_columns, record_columns, records_of, value_columns
from kip848_records.protocol.messages import DIALECTS, KAFKA
from kip848_records.specs.columns import BOOLEAN, STRINGS, Column, TableSpec
from kip848_records.specs.loading import shared_columns

POSITION_KEY: Final = ("cluster", "partition", "offset")

RECORD_TABLES: Final = tuple(dict.fromkeys(record.table for dialect in DIALECTS.values() for record in dialect.records))
"""Names of the tables of record types."""


def record_spec(table: str) -> TableSpec:
    """Return the spec of a record type's table."""
    records = records_of(table)
    fields = {
        column: (f"{side} field {field.name} ({field.type.arrow})", field.type.arrow)
        for side, columns in (("Key", key_columns(table)), ("Value", value_columns(table)))
        for column, field in columns.items()
    }
    known = {each.name: each for each in (*shared_columns("position"), *shared_columns("transaction"))}
    known |= {
        column: Column(
            column,
            STRINGS,
            f"Value field {outer.name}[].{inner.name} of groups with the consumer protocol as JSON, in the order of "
            f"{outer.name}. endsBefore: it lacks this field of its version, and those behind it",
        )
        for column, (outer, inner) in embedded_columns(table).items()
    }
    known["is_tombstone"] = Column("is_tombstone", BOOLEAN, "Whether the record deletes its key", required=True)
    columns = [known.get(c) or Column(c, fields[c][1], fields[c][0]) for c in record_columns(table).names]
    types = " and ".join(str(record.key_type) for record in KAFKA.of_table(table) or records)
    comment = f"Every {records[0].name} record of the log (key type {types}), history included"
    return TableSpec(table, comment, POSITION_KEY, (*shared_columns("cluster"), *columns))
