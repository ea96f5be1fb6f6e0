"""Topic names for the ids in assignments, from the sources that say them, the surest first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.decode.schemas import OFFSET_COMMIT_TABLE
from kip848_records.errors import InputError
from kip848_records.protocol.schema import NO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

TOPICS_FILE = "topics_file"
LIVE = "cluster"
"""Sources of names that no record says: the user's file, and the metadata of the live cluster."""

_COLUMNS = "topic_id string, topic string, source string, rank int, partition int, offset bigint"


def read_topics_file(path: str) -> dict[str, str]:
    """Return topic names by id from a JSON object of them; raises InputError where the file is not one."""
    try:
        topics = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError.bad_topics_file(path, str(error.strerror)) from None
    except ValueError as error:
        raise InputError.bad_topics_file(path, str(error)) from None
    if not isinstance(topics, dict) or not all(isinstance(name, str) for name in topics.values()):
        raise InputError.bad_topics_file(path, "it is not an object of names by id")
    return topics


def topic_names(
    spark: SparkSession,
    tables: Mapping[str, DataFrame],
    topics: Mapping[str, str],
    *,
    live: Mapping[str, str] | None = None,
    known: DataFrame | None = None,
) -> DataFrame:
    """Return the topics whose names are known, one row each: `topic_id`, `topic`, `source`.

    In this order: `topics`, which the user gave; `live`, which the cluster says; the records of type 4; those of type
    15; offset commits; each if `tables` has them. Of several records the last one counts, for a topic keeps its id and
    a new topic of the same name gets another. `known` are rows of before, of which the newer ones take the place.
    """
    given = [(topic_id, name, TOPICS_FILE, 0, 0, 0) for topic_id, name in topics.items()]
    given += [(topic_id, name, LIVE, 1, 0, 0) for topic_id, name in (live or {}).items()]
    names = spark.createDataFrame(given, _COLUMNS)
    ranks = {TOPICS_FILE: 0, LIVE: 1}
    fields = {
        "consumer_group_partition_metadata": ["topics"],
        "share_group_state_partition_metadata": ["initializing_topics", "initialized_topics", "deleting_topics"],
        OFFSET_COMMIT_TABLE: [],
    }
    for rank, (table, columns) in enumerate(fields.items(), start=2):
        ranks[table] = rank
        for column in columns if table in tables else ():
            topic = tables[table].select("partition", "offset", F.explode(column).alias("topic"))
            found = topic.select("topic.topic_id", "topic.topic_name", F.lit(table), F.lit(rank), "partition", "offset")
            names = names.union(found)
    if (commits := tables.get(OFFSET_COMMIT_TABLE)) is not None:
        named = commits.filter(F.col("topic_id").isNotNull() & (F.col("topic_id") != NO_UUID))
        place = (F.lit(OFFSET_COMMIT_TABLE), F.lit(ranks[OFFSET_COMMIT_TABLE]), "partition", "offset")
        names = names.union(named.select("topic_id", "topic", *place))
    if known is not None:
        rank_of = F.create_map(*(F.lit(item) for pair in ranks.items() for item in pair))[F.col("source")]
        names = names.union(known.select("topic_id", "topic", "source", rank_of, F.lit(0), F.lit(-1)))
    names = names.filter(F.col("topic").isNotNull())  # before Kafka 3.6, type 4 had none
    # An aggregation, not a window: offset commits come by the million, and few topics.
    surest = F.min_by(F.struct("topic", "source"), F.struct("rank", -F.col("offset"), "partition")).alias("surest")
    return names.groupBy("topic_id").agg(surest).select("topic_id", "surest.*")
