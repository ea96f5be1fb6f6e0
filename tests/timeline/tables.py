"""Record tables made of the dicts of `tests.dump_log`, and rows compared as plain Python values."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kip848_records.timeline import PartitionHistory
from tests.timeline.plain_members import TOPICS

END = 1 << 40
"""Behind every offset."""

_TOPIC_PARTITIONS = pa.list_(pa.struct({"topic_id": pa.string(), "partitions": pa.list_(pa.int32())}))
_OWNED = pa.list_(
    pa.struct(
        {
            "topic_id": pa.string(),
            "partitions": pa.list_(pa.int32()),
            "assignment_epochs": pa.list_(pa.int32()),
        }
    )
)
_SCHEMA = pa.schema(
    {
        "partition": pa.int32(),
        "offset": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        "size": pa.int32(),
        "is_tombstone": pa.bool_(),
        "table": pa.string(),
        "group": pa.string(),
        "group_id": pa.string(),
        "member_id": pa.string(),
        "epoch": pa.int32(),
        "assignment_epoch": pa.int32(),
        "member_epoch": pa.int32(),
        "state": pa.int8(),
        "generation": pa.int32(),
        "members": pa.list_(pa.struct({"member_id": pa.string()})),
        "metadata_hash": pa.int64(),
        "instance_id": pa.string(),
        "client_id": pa.string(),
        "client_host": pa.string(),
        "rebalance_timeout_ms": pa.int32(),
        "subscribed_topic_names": pa.list_(pa.string()),
        "subscribed_topic_regex": pa.string(),
        "previous_member_epoch": pa.int32(),
        "topic_partitions": _TOPIC_PARTITIONS,
        "assigned_partitions": _OWNED,
        "partitions_pending_revocation": _OWNED,
    }
)
_TABLES = {
    2: "group_metadata",
    3: "consumer_group_metadata",
    4: "consumer_group_partition_metadata",
    5: "consumer_group_member_metadata",
    6: "consumer_group_target_assignment_metadata",
    7: "consumer_group_target_assignment_member",
    8: "consumer_group_current_member_assignment",
    16: "consumer_group_regular_expression",
}


def record_table(spark: SparkSession, records: Iterable[Mapping[str, Any]]) -> DataFrame:
    """The records in one frame, with the columns that the timelines read."""
    rows = [_row(record) for record in records if record["type"] in _TABLES]
    return spark.createDataFrame(pa.Table.from_pylist(rows, _SCHEMA))


def complete_from(offsets: Mapping[int, int]) -> dict[int, PartitionHistory]:
    return {
        partition: PartitionHistory(((first, END),), head_missing=False, last_offset=END - 1)
        for partition, first in offsets.items()
    }


def topic_table(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(TOPICS.items()), "topic_id string, topic string")


def plain_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame with timestamps in ms, as the plain replay has them."""
    in_ms = {name: F.unix_millis(name) for name, kind in frame.dtypes if kind == "timestamp"}
    if "awaited" in frame.columns:
        in_ms["awaited"] = F.transform(
            "awaited", lambda each: each.withField("released_at", F.unix_millis(each["released_at"]))
        )
    if "settled" in frame.columns:
        in_ms["settled"] = F.col("settled").withField("from_at", F.unix_millis("settled.from_at"))
    return [row.asDict() for row in frame.withColumns(in_ms).collect()]


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    key, value = record["key"], record["value"] or {}
    if record["type"] == 3 and value:
        value = {"metadataHash": 0} | value  # tagged: Kafka leaves it out if it is 0
    members = value.get("members")
    return {
        "partition": record["partition"],
        "offset": record["offset"],
        "timestamp": record["timestamp"] * 1000,
        "size": None,
        "is_tombstone": record["value"] is None,
        "table": _TABLES[record["type"]],
        "group": key.get("group"),
        "group_id": key.get("groupId"),
        "member_id": key.get("memberId"),
        "epoch": value.get("epoch"),
        "assignment_epoch": value.get("assignmentEpoch"),
        "member_epoch": value.get("memberEpoch"),
        "state": value.get("state"),
        "generation": value.get("generation"),
        "members": None if members is None else [{"member_id": member.get("memberId")} for member in members],
        **{name: value.get(_camel(name)) for name in _SCHEMA.names[_SCHEMA.names.index("metadata_hash") : -3]},
        **{name: _partitions(value.get(_camel(name))) for name in _SCHEMA.names[-3:]},
    }


def _partitions(topics: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    return None if topics is None else [{_snake(name): topic[name] for name in topic} for topic in topics]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
