"""The table `anomaly`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import BOOLEAN, GROUP, INT, OFFSET, PARTITION, STRING, TIMESTAMP, Column, TableSpec

ANOMALY: Final = TableSpec(
    "anomaly",
    "Every fact in the log that contradicts the protocol",
    ("cluster", "partition", "offset", "kind", "member_id"),
    (
        *GROUP,
        Column(
            "kind",
            STRING,
            "two_owners, epoch_went_back, member_epoch_ahead, assignment_ahead, target_overlap, names_and_regex, "
            "assignor_versions, record_not_loadable",
            required=True,
        ),
        PARTITION,
        OFFSET,
        Column("at", TIMESTAMP, "When (UTC)"),
        Column("member_id", STRING, "Member id, in full; null if the whole group is affected"),
        Column("epoch", INT, "The epoch concerned"),
        Column("expected", STRING, "What the protocol requires"),
        Column("seen", STRING, "What the log contains"),
        Column(
            "releases",
            STRING,
            "record_not_loadable: releases of Kafka that refuse the record, of those from 4.0.0 to 4.4.0 that may have "
            "written the log, such as '4.0.0 to 4.1.1'; if none of those does, all later ones",
        ),
        Column("known_bug", STRING, "record_not_loadable: the bug of Kafka by its id, such as KAFKA-21117"),
        Column(
            "is_proven",
            BOOLEAN,
            "Whether no record of the group is missing there; and, for record_not_loadable, all releases that may have "
            "written the log refuse it",
            required=True,
        ),
    ),
    ended_at="anomaly.at",  # a keyword of DuckDB, unless it is qualified
)
