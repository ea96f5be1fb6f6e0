"""The records of a live topic as log rows, read by Spark's Kafka source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from kip848_records.protocol.keys import GROUP_TYPES
from kip848_records.protocol.messages import RECORDS
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.predicates import IS_OFFSET_COMMIT, key_of_types
from kip848_records.sources.rows import OUT_OF_RANGE, WITHOUT_GROUP, WITHOUT_TYPE
from kip848_records.sources.topic.failures import GROUP_PREFIX
from kip848_records.specs.log_columns import LOG_COLUMNS
from kip848_records.times import NO_TIMESTAMP_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

    from kip848_records.sources.topic.address import Topic

LOG_SCHEMA = from_arrow_schema(LOG_COLUMNS)
"""The columns of log rows."""

# Spark's newer offset fetching skips internal topics.
_FINDS_INTERNAL = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
_PATIENCE = "default.api.timeout.ms"
_TIMEOUTS = {_PATIENCE: "20000", "request.timeout.ms": "20000"}
"""How long Java's client waits for a cluster: below its defaults unless the user sets it."""


def read_range(
    spark: SparkSession, topic: Topic, ranges: Mapping[int, tuple[int, int]], *, isolation: str
) -> DataFrame:
    """Return the rows (`specs.log_columns.LOG_COLUMNS`) of each partition from its first offset to before its second.

    Records are read when an action runs, and again by each further action: stage them first. `failures_of(topic)`
    converts failures to errors. The read fails for records that the topic no longer has, but not for records
    that compaction removed. It joins no group and commits nothing.
    """
    asked = {partition: places for partition, places in ranges.items() if places[0] != places[1]}
    if not asked:
        return spark.createDataFrame([], LOG_SCHEMA)
    starts, ends = ({partition: places[i] for partition, places in asked.items()} for i in range(2))
    _prepare(spark)
    options = _options(topic, asked, isolation) | {
        "startingOffsets": _offsets(topic, starts),
        "endingOffsets": _offsets(topic, ends),
    }
    return _log_rows(spark.read.format("kafka").options(**options).load(), topic)


def _log_rows(rows: DataFrame, topic: Topic) -> DataFrame:
    """Return the Kafka source's rows as log rows of one copy, the topic itself, by the rules of `sources.rows`.

    The JVM does it: nearly all rows are offset commits, most of which no worker needs to see.
    """
    is_shown = F.year("timestamp").between(1, 9999)
    is_known = is_shown & (F.unix_millis("timestamp") != NO_TIMESTAMP_MS)
    keyed = rows.withColumn("key_type", key_type())
    keyed = keyed.withColumn("group_id", F.when(F.expr(key_of_types(RECORDS)), group_id()))
    lacks_group = F.expr(key_of_types(GROUP_TYPES)) & F.col("group_id").isNull()
    errors = (
        (~is_shown, ErrorCode.TIMESTAMP_OUT_OF_RANGE, OUT_OF_RANGE),
        (F.col("key_type").isNull(), ErrorCode.KEY_WITHOUT_TYPE, WITHOUT_TYPE),
        (lacks_group, ErrorCode.KEY_WITHOUT_GROUP, WITHOUT_GROUP),
    )
    known = {name: F.col(name) for name in ("partition", "offset", "key", "value", "key_type", "group_id")} | {
        "timestamp": F.when(is_known, F.col("timestamp")),
        "timestamp_type": F.col("timestampType"),
        "transaction": F.when(F.expr(IS_OFFSET_COMMIT), "unknown").otherwise("none"),
        "error_code": F.coalesce(*(F.when(is_wrong, code.value) for is_wrong, code, _ in errors)),
        "error": F.coalesce(*(F.when(is_wrong, text) for is_wrong, _, text in errors)),
        "copies": F.array(F.lit(topic.url)),
    }
    full = ((known.get(field.name, F.lit(None)), field) for field in LOG_SCHEMA)
    return keyed.select(*(column.cast(field.dataType).alias(field.name) for column, field in full))


def key_type() -> Column:
    """Return the record type in the first bytes of `key`; null without a key, or with a shorter one."""
    unsigned = _unsigned_int16(1)
    signed = F.when(unsigned >= 1 << 15, unsigned - (1 << 16)).otherwise(unsigned)
    return F.when(F.length("key") >= 2, signed)  # noqa: PLR2004 - an int16


def group_id() -> Column:
    """Return the group id of `key`, after an int16 type and an int16 length; null if it is damaged or missing."""
    size = F.when(F.length("key") >= 4, _unsigned_int16(3))  # noqa: PLR2004 - two int16
    text = F.expr("substring(key, 5)").substr(F.lit(1), size)
    return F.when(F.octet_length(text) == size, F.try_validate_utf8(text.cast("string")))


def _unsigned_int16(position: int) -> Column:
    """Return two bytes of `key` as an unsigned number; positions count from 1."""
    return F.conv(F.hex(F.substring("key", position, 2)), 16, 10).cast("int")


def _options(topic: Topic, partitions: Iterable[int], isolation: str) -> dict[str, str]:
    client = {**_TIMEOUTS, **topic.settings.values} | {
        "bootstrap.servers": topic.bootstrap_servers,
        "isolation.level": isolation,
        "allow.auto.create.topics": "false",
    }
    return {f"kafka.{name}": value for name, value in client.items()} | {
        # Assign partitions by name: a subscription joins a group, which is written into the topic that is read.
        "assign": json.dumps({topic.name: sorted(partitions)}),
        "groupIdPrefix": GROUP_PREFIX,
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": client[_PATIENCE],
    }


def _offsets(topic: Topic, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic.name: {str(partition): offset for partition, offset in sorted(offsets.items())}})


def _prepare(spark: SparkSession) -> None:
    """Set the options that the session needs when an action runs, possibly much later: they stay set."""
    if spark.conf.get(_FINDS_INTERNAL, "false") != "true":
        spark.conf.set(_FINDS_INTERNAL, "true")
