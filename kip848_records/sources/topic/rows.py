"""The records of a live topic as log rows, read by Spark's Kafka source."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.protocol.keys import GROUP_TYPES
from kip848_records.protocol.messages import RECORDS
from kip848_records.sources.error_codes import ErrorCode
from kip848_records.sources.rows import OUT_OF_RANGE, WITHOUT_GROUP, WITHOUT_TYPE
from kip848_records.sources.topic.failures import GROUP_PREFIX
from kip848_records.sources.topic.log_rows import LOG_SCHEMA, group_id, is_offset_commit, key_of_types, key_type
from kip848_records.sources.topic.timeouts import patience_ms, with_timeouts
from kip848_records.times import NO_TIMESTAMP_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from kip848_records.sources.topic.address import Topic

# Spark's newer offset fetching skips internal topics.
_FINDS_INTERNAL = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
# The plan of a stream that has not started shows its options, and Spark hides only half of the secrets. This pattern
# hides the rest of such a line and the lines up to the next one of the plan, because a PEM key has several lines.
_HIDDEN = "spark.sql.redaction.string.regex"
_SECRETS = r"kafka\.(sasl|ssl)\..*(\n(?![ :]*[:+]- |==|\n).*)*"


def read_range(
    spark: SparkSession, topic: Topic, ranges: Mapping[int, tuple[int, int]], *, isolation: str
) -> DataFrame:
    """Return the rows (`specs.log_columns.LOG_COLUMNS`) of each partition from its first offset to before its second.

    Records are read when an action runs, and again by each further action: stage them first. `failures_of(topic,
    "read")` converts failures to errors. The read fails for records that the topic no longer has, but not for records
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


def stream(
    spark: SparkSession, topic: Topic, partitions: Iterable[int], starting: Mapping[int, int], *, isolation: str
) -> DataFrame:
    """Return the same rows as a stream for Structured Streaming, each partition from the given offset on.

    `starting` names all partitions; a query with a checkpoint continues from there.
    """
    _prepare(spark)
    options = _options(topic, partitions, isolation) | {"startingOffsets": _offsets(topic, starting)}
    return _log_rows(spark.readStream.format("kafka").options(**options).load(), topic)


def _log_rows(rows: DataFrame, topic: Topic) -> DataFrame:
    """Return the Kafka source's rows as log rows of one copy, the topic itself, by the rules of `sources.rows`.

    The JVM does it: nearly all rows are offset commits, most of which no worker needs to see.
    """
    is_shown = F.year("timestamp").between(1, 9999)
    is_known = is_shown & (F.unix_millis("timestamp") != NO_TIMESTAMP_MS)
    keyed = rows.withColumns({"key_type": key_type(), "group_id": F.when(key_of_types(RECORDS), group_id())})
    lacks_group = key_of_types(GROUP_TYPES) & F.col("group_id").isNull()
    errors = (
        (~is_shown, ErrorCode.TIMESTAMP_OUT_OF_RANGE, OUT_OF_RANGE),
        (F.col("key_type").isNull(), ErrorCode.KEY_WITHOUT_TYPE, WITHOUT_TYPE),
        (lacks_group, ErrorCode.KEY_WITHOUT_GROUP, WITHOUT_GROUP),
    )
    known = {name: F.col(name) for name in ("partition", "offset", "key", "value", "key_type", "group_id")} | {
        "timestamp": F.when(is_known, F.col("timestamp")),
        "timestamp_type": F.col("timestampType"),
        "transaction": F.when(is_offset_commit(), "unknown").otherwise("none"),
        "error_code": F.coalesce(*(F.when(is_wrong, code.value) for is_wrong, code, _ in errors)),
        "error": F.coalesce(*(F.when(is_wrong, text) for is_wrong, _, text in errors)),
        "copies": F.array(F.lit(topic.url)),
    }
    full = ((known.get(field.name, F.lit(None)), field) for field in LOG_SCHEMA)
    return keyed.select(*(column.cast(field.dataType).alias(field.name) for column, field in full))


def _options(topic: Topic, partitions: Iterable[int], isolation: str) -> dict[str, str]:
    client = with_timeouts(topic.settings.values) | {
        "bootstrap.servers": topic.bootstrap_servers,
        "isolation.level": isolation,
        "allow.auto.create.topics": "false",
    }
    patience = str(patience_ms(topic.settings.values))
    return {f"kafka.{name}": value for name, value in client.items()} | {
        # Assign partitions by name: a subscription joins a group, which is written into the topic that is read.
        "assign": json.dumps({topic.name: sorted(partitions)}),
        "groupIdPrefix": GROUP_PREFIX,
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": patience,
    }


def _offsets(topic: Topic, offsets: Mapping[int, int]) -> str:
    return json.dumps({topic.name: {str(partition): offset for partition, offset in sorted(offsets.items())}})


def _prepare(spark: SparkSession) -> None:
    """Set the options that the session needs when an action runs, possibly much later: they stay set."""
    if spark.conf.get(_FINDS_INTERNAL, "false") != "true":
        spark.conf.set(_FINDS_INTERNAL, "true")
    if not spark.conf.get(_HIDDEN, ""):
        spark.conf.set(_HIDDEN, _SECRETS)
