"""The table `topic_name`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kip848_records.specs.columns import CLUSTER, OFFSET, PARTITION, STRING, Column, TableSpec

TOPIC_NAME: Final = TableSpec(
    "topic_name",
    "Names of the topics that assignments identify by id",
    ("cluster", "topic_id"),
    (
        CLUSTER,
        Column("topic_id", STRING, "Topic id as Kafka prints it (URL-safe base64)", required=True),
        Column("topic", STRING, "Topic name", required=True),
        Column(
            "source",
            STRING,
            "The origin of the name: topics_file, cluster (a live one), or the type of the records that contain it",
            required=True,
        ),
    ),
)

RECORDED_TOPIC_NAME: Final = replace(
    TOPIC_NAME,
    comment="Not a table: names of topics in records. Of several names of one topic, that of the highest offset counts",
    columns=(*TOPIC_NAME.columns, PARTITION, OFFSET),
)
