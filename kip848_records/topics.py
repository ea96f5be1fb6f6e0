"""Topic names for the ids in assignments, from the sources that say them, the surest first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.errors import InputError
from kip848_records.protocol.schema import NO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

_TOPICS_FILE = "topics_file"
_COLUMNS = "topic_id string, topic string, source string, rank int, partition int, offset bigint"


def read_topics_file(path: str) -> dict[str, str]:
    """Return topic names by id from a JSON object of them; raises InputError where the file is not one."""
    try:
        topics = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError.bad_topics_file(path, str(error)) from None
    if not isinstance(topics, dict) or not all(isinstance(name, str) for name in topics.values()):
        raise InputError.bad_topics_file(path, "it is not an object of names by id")
    return topics


def topic_names(spark: SparkSession, tables: Mapping[str, DataFrame], topics: Mapping[str, str]) -> DataFrame:
    """Return the topics whose names are known, one row each: `topic_id`, `topic`, `source`.

    In this order: `topics`, which the user gave; the records of type 4; those of type 15; offset commits; each if
    `tables` has them. Of several records the last one counts, for a topic keeps its id and a new topic of the same name
    gets another.
    """
    given = [(topic_id, name, _TOPICS_FILE, 0, 0, 0) for topic_id, name in topics.items()]
    names = spark.createDataFrame(given, _COLUMNS)
    fields = {
        "consumer_group_partition_metadata": ["topics"],
        "share_group_state_partition_metadata": ["initializing_topics", "initialized_topics", "deleting_topics"],
    }
    for rank, (table, columns) in enumerate(fields.items(), start=1):
        for column in columns if table in tables else ():
            topic = tables[table].select("partition", "offset", F.explode(column).alias("topic"))
            found = topic.select("topic.topic_id", "topic.topic_name", F.lit(table), F.lit(rank), "partition", "offset")
            names = names.union(found)
    if (commits := tables.get("offset_commit")) is not None:
        named = commits.filter(F.col("topic_id").isNotNull() & (F.col("topic_id") != NO_UUID))
        names = names.union(named.select("topic_id", "topic", F.lit("offset_commit"), F.lit(3), "partition", "offset"))
    names = names.filter(F.col("topic").isNotNull())  # before Kafka 3.6, type 4 had none
    # An aggregation, not a window: offset commits come by the million, and few topics.
    surest = F.min_by(F.struct("topic", "source"), F.struct("rank", -F.col("offset"), "partition")).alias("surest")
    return names.groupBy("topic_id").agg(surest).select("topic_id", "surest.*")
