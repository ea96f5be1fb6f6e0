"""Whether single records, and what is written at once, are such as a coordinator writes and a broker can load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.decode.dialects import DISPUTED_TYPES
from kip848_records.protocol.columnar import Error
from kip848_records.quality.expectations import WARN, judged, number, sentence
from kip848_records.sources.log import key_of_types
from kip848_records.timeline.losses import lost_records
from kip848_records.timeline.operations import (
    CURRENT_ASSIGNMENT,
    GROUP,
    GROUP_EPOCH,
    GROUP_METADATA,
    MEMBER,
    MEMBER_TARGET,
    TARGET_ASSIGNMENT,
    holds,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

    from kip848_records.quality.expectations import Audited, Limits

_BATCH_HEADER: Final = 61
_RECORD_FRAME: Final = 7
"""Bytes around key and value of a record in a batch, at least."""

_DRAFTS: Final = ("kip-848", "kip-848-draft")

_DEFAULT_PARTITIONS: Final = 50
"""Kafka's `offsets.topic.num.partitions`."""

_SURE_FROM: Final = 10
_SURE_SHARE: Final = 0.9
"""So many groups, and so many of all, must be where a number of partitions puts them before it is believed."""


def names_or_regex(audited: Audited, _: Limits) -> DataFrame:
    """A member subscribes by topic names or by a regular expression, not by both, in the dialects of the drafts.

    Since Kafka 4.0 it may use both.
    """
    members = audited.table("consumer_group_member_metadata").where(
        ~F.col("is_tombstone") & F.lit(audited.dialect in _DRAFTS)
    )
    by_name, by_regex = F.size("subscribed_topic_names") > 0, F.length("subscribed_topic_regex") > 0
    return judged(
        members,
        violated=holds(by_name & by_regex),
        message=sentence(
            "expected names or a regular expression, seen {} and {}",
            *(F.to_json("subscribed_topic_names"), "subscribed_topic_regex"),
        ),
    ).unionByName(_undecoded(audited, MEMBER, is_asked=audited.dialect in _DRAFTS))


def assignor_versions(audited: Audited, _: Limits) -> DataFrame:
    """An assignor has a name, and versions such that minimum >= -1, maximum >= 0 and minimum <= version <= maximum."""
    low, high, own = (F.col(f"assignor.{name}") for name in ("minimum_version", "maximum_version", "version"))
    is_range_bad = (low < -1) | (high < 0) | ~own.between(low, high)
    members = (
        audited.table("consumer_group_member_metadata")
        .where("NOT is_tombstone")
        # Of the broker's assignors a member names one, or none.
        .withColumn("assignor", F.explode_outer("assignors"))
        .where("assignor IS NOT NULL OR server_assignor IS NOT NULL")
    )
    return judged(
        members,
        violated=holds(is_range_bad)
        | holds(F.col("assignor.name") == "")
        | holds(F.col("server_assignor") == "")
        | holds(F.col("assignor").isNotNull() & F.col("assignor.name").isNull()),
        message=sentence(
            "expected an assignor with a name and minimum >= -1, maximum >= 0, minimum <= version <= maximum, seen {}",
            F.coalesce(F.to_json("assignor"), F.concat(F.lit("server assignor '"), "server_assignor", F.lit("'"))),
        ),
    ).unionByName(_undecoded(audited, MEMBER))


def group_in_its_partition(audited: Audited, limits: Limits) -> DataFrame:
    """A group's records are in the partition of __consumer_offsets that the hash of its id says.

    The number of partitions is offsets_partitions; if that is 0, the one of two that most groups agree with: how many
    partitions were read, or Kafka's default. (`GroupCoordinatorService.partitionFor` in Kafka.)
    """
    groups = _groups(audited).withColumns(
        {"hash": _java_hash(F.col("group_id")), "set": limits("offsets_partitions").cast("bigint")}
    )
    read = audited.table("partition_history").agg((F.max("partition") + 1).alias("read"))
    candidates = (
        groups.where("set = 0")
        .crossJoin(F.broadcast(read))
        .withColumn("partitions", F.explode(F.array_distinct(F.array("read", F.lit(_DEFAULT_PARTITIONS)))))
        # There are as many as were read, at least.
        .where("partitions >= read")
    )
    fits = F.col("partition") == F.col("hash") % F.col("partitions")
    best = (
        candidates.groupBy("partitions")
        .agg(F.count_if(fits).alias("fitting"), F.count("*").alias("of"))
        .agg(F.max(F.struct("fitting", "of", "partitions")).alias("best"))
        .select("best.*")
    )
    # All of them, or all but a few of many; in a single partition every group is in its place.
    agrees = (F.col("fitting") == F.col("of")) | (
        (F.col("fitting") >= _SURE_FROM) & (F.col("fitting") >= _SURE_SHARE * F.col("of"))
    )
    placed = groups.crossJoin(F.broadcast(best)).withColumns(
        {
            "partitions": F.when(F.col("set") > 0, F.col("set")).otherwise(F.col("partitions")),
            "is_told": (F.col("set") > 0) | (agrees & (F.col("partitions") > 1)),
        }
    )
    return judged(
        placed,
        violated=F.col("partition") != F.col("hash") % F.col("partitions"),
        known=F.col("is_told"),
        message=F.when(
            F.col("is_told"),
            sentence(
                "expected partition {} of {}, seen in {}",
                F.col("hash") % F.col("partitions"),
                "partitions",
                "partition",
            ),
        ).otherwise("how many partitions __consumer_offsets has is not known: set offsets_partitions"),
    )


def operation_size(audited: Audited, limits: Limits) -> DataFrame:
    """The records of one operation fit into a batch of max_bytes; from warn_percent of that on it is a warning.

    The coordinator writes them in one batch, and fails the operation if they do not fit: nobody can join a group whose
    assignment has outgrown it. Bytes are those before compression, and a few less than there are.
    """
    limit = limits("max_bytes")
    operations = (
        audited.table("group_event")
        .groupBy("partition", "group_id", "operation")
        .agg(
            (F.sum(F.col("size") + _RECORD_FRAME) + _BATCH_HEADER).alias("bytes"),
            F.count("*").alias("records"),
            F.max("group_epoch").alias("group_epoch"),
            F.bool_and("is_complete").alias("is_complete"),
        )
    )
    is_large = (F.col("bytes") * 100 > limit * limits("warn_percent")) | (F.col("bytes") > limit)
    return judged(
        operations,
        violated=is_large,
        known=F.col("is_complete") | is_large,
        message=sentence(
            "expected an operation of at most {} bytes, seen {} records of {} bytes", number(limit), "records", "bytes"
        ),
        severity=F.when(F.col("bytes") <= limit, WARN),
        offset="operation",
    )


def loadable_records(audited: Audited, _: Limits) -> DataFrame:
    """A broker can load every record: it decodes, and nothing is deleted before what depends on it.

    A coordinator that finds such a record may fail to load its partition, and with it every group in there
    (`CoordinatorLoaderImpl` and `GroupMetadataManager.replay` in Kafka; releases differ in what they forgive).
    """
    return _undecodable(audited).unionByName(_replayable(audited))


def _undecodable(audited: Audited) -> DataFrame:
    """Judge the quarantine: what the source could not read may be damaged in the copy only."""
    forgiven = F.col("reason").endswith(Error.TRAILING_BYTES.reason)
    # What a newer broker wrote it can load.
    is_newer = F.col("reason").endswith(Error.UNKNOWN_VERSION.reason)
    rows = _quarantined(audited).crossJoin(F.broadcast(_dialects(audited)))
    is_foreign = key_of_types(DISPUTED_TYPES) & F.col("is_of_other_dialect")
    seen = sentence("expected a record that decodes, seen: {}", "reason")
    return judged(
        rows,
        violated=~forgiven,
        known=F.col("position").isNotNull() & ~is_newer & ~is_foreign,
        message=F.when(is_foreign, F.concat(seen, F.lit("; perhaps of another dialect: see --dialect auto"))).otherwise(
            seen
        ),
    )


def _dialects(audited: Audited) -> DataFrame:
    """Return one row, ``is_of_other_dialect``: of the types whose layouts dialects dispute, most did not decode."""
    is_disputed = key_of_types(DISPUTED_TYPES) & F.col("position").isNotNull()
    failed = audited.table("quarantine").agg(F.count_if(is_disputed).alias("failed"))
    decoded = audited.table("group_event").agg(F.count_if(F.col("key_type").isin(*DISPUTED_TYPES)).alias("decoded"))
    return failed.crossJoin(decoded).select((F.col("failed") > F.col("decoded")).alias("is_of_other_dialect"))


def _replayable(audited: Audited) -> DataFrame:
    """Judge every record by what is there when a broker gets to it, as it goes through the log in order."""
    of_group = Window.partitionBy(*GROUP).orderBy("offset")
    of_member = Window.partitionBy(*GROUP, "member_id").orderBy("offset")

    def lives(key_type: int, window: WindowSpec) -> Column:
        last = F.last(F.when(F.col("key_type") == key_type, ~F.col("is_tombstone")), ignorenulls=True)
        return holds(last.over(window))

    def changes(flag: str) -> Column:
        return F.col(flag).cast("int") - F.lag(F.col(flag).cast("int"), 1, 0).over(of_member)

    own = {"is_member": MEMBER, "is_current": CURRENT_ASSIGNMENT, "is_target": MEMBER_TARGET}
    whole = {"is_assigned": TARGET_ASSIGNMENT, "is_classic": GROUP_METADATA}
    events = (
        audited.table("group_event")
        .withColumns({name: lives(key_type, of_member) for name, key_type in own.items()})
        .withColumns({"members": changes("is_member"), "targets": changes("is_target")})
        .withColumns({name: F.sum(name).over(of_group) for name in ("members", "targets")})
        .withColumns({name: lives(key_type, of_group) for name, key_type in whole.items()})
        .withColumn("refused", _refused())
    )
    return judged(
        events,
        violated=F.col("refused").isNotNull(),
        known=~F.col("is_headless"),
        message=sentence(
            "expected a record that can be replayed, but {}",
            F.coalesce("refused", F.lit("records before it are missing")),
        ),
    )


def _refused() -> Column:
    """Return why a coordinator does not take a record; null where it does."""
    is_live = ~F.col("is_tombstone")

    def deletes(key_type: int) -> Column:
        return (F.col("key_type") == key_type) & ~is_live

    return (
        F.when(deletes(MEMBER) & F.col("is_current"), "the member is deleted before its current assignment")
        .when(deletes(MEMBER) & F.col("is_target"), "the member is deleted before its target assignment")
        .when(
            deletes(TARGET_ASSIGNMENT) & (F.col("targets") > 0), "the assignment is deleted while members have targets"
        )
        .when(deletes(GROUP_EPOCH) & (F.col("members") > 0), "the group is deleted while it has members")
        .when(deletes(GROUP_EPOCH) & F.col("is_assigned"), "the group is deleted before its assignment")
        .when((F.col("key_type") != GROUP_METADATA) & is_live & F.col("is_classic"), "the group is a classic one")
    )


def _undecoded(audited: Audited, key_type: int, *, is_asked: bool = True) -> DataFrame:
    """Return the records of a type that did not decode: of them nobody can tell."""
    rows = _quarantined(audited).where(key_of_types([key_type]) & F.lit(is_asked))
    unknown = F.lit(None).cast("boolean")
    return judged(rows, violated=unknown, message=sentence("the record does not decode: {}", "reason"))


def _quarantined(audited: Audited) -> DataFrame:
    """Return the rows of the quarantine with their group id, null where nobody can tell."""
    rows = audited.table("quarantine")
    # Several may have claimed one place.
    groups = lost_records(rows).groupBy("partition", "offset").agg(F.min("group_id").alias("group_id"))
    return rows.join(groups, ["partition", "offset"], "left")


def _groups(audited: Audited) -> DataFrame:
    """Return ``partition, group_id`` of every group that has records."""
    of_events = audited.table("group_event").select("partition", "group_id")
    of_others = audited.table("latest_state").where("group_id IS NOT NULL").select("partition", "group_id")
    return of_events.union(of_others).distinct()


def _java_hash(text: Column) -> Column:
    """Return the absolute value of Java's `String.hashCode`, which goes over UTF-16 code units."""
    units = F.hex(F.encode(text, "UTF-16BE"))
    places = F.sequence(F.lit(1), F.length(units), F.lit(4))
    unit = F.transform(places, lambda place: F.conv(F.substring(units, place, 4), 16, 10).cast("bigint"))
    wrapped = F.when(F.length(units) == 0, F.lit(0).cast("bigint")).otherwise(
        F.aggregate(unit, F.lit(0).cast("bigint"), lambda code, each: (code * 31 + each) % (1 << 32))
    )
    signed = F.when(wrapped >= 1 << 31, wrapped - (1 << 32)).otherwise(wrapped)
    return F.when(signed == -(1 << 31), F.lit(0)).otherwise(F.abs(signed))
