"""The table `latest_state`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import KEY_TYPE, POSITION, POSITION_KEY, STRING, Column, TableSpec

TRANSACTION: Final = Column(
    "transaction",
    STRING,
    "none; committed; pending: no marker yet; unknown: the source does not show markers. Aborted records are skipped",
)


LATEST_STATE: Final = TableSpec(
    "latest_state",
    "The last value of every live key that could be read: a coordinator's state after it has loaded the log",
    POSITION_KEY,
    (
        *POSITION,
        KEY_TYPE,
        Column("record", STRING, "Name of the record type", required=True),
        Column("group_id", STRING, "Group id, in full"),
        Column("member_id", STRING, "Member id, in full; null for records about a whole group"),
        Column("key", STRING, "The key as JSON, in the names and forms of Kafka's own tools"),
        Column("value", STRING, "The value as JSON, in the same form"),
        TRANSACTION,
    ),
)
