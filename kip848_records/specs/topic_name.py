"""The table `topic_name`."""

from __future__ import annotations

from typing import Final

from kip848_records.specs.columns import CLUSTER, STRING, Column, TableSpec

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
