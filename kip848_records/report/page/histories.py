"""What happened in groups, as the page draws it: the last rows of each group, and how many there were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.explain import members_behind
from kip848_records.terminal import with_ms
from kip848_records.timeline.operations import (
    AWAY_EPOCH,
    CURRENT_ASSIGNMENT,
    GROUP,
    INCARNATION,
    MEMBER,
    MEMBER_KEY,
    MEMBER_STABLE,
    TARGET_ASSIGNMENT,
    UNRELEASED_PARTITIONS,
    UNREVOKED_PARTITIONS,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kip848_records.quality.expectations import Audited

LIMITS: Final = {"epochs": 200, "states": 400, "bars": 2000, "handovers": 500, "lags": 200, "behind": 100}
"""How many rows of each kind the page has of a group: the last ones, of `behind` those that are behind for longest."""


def histories(audited: Audited, chosen: DataFrame) -> dict[str, DataFrame]:
    """Return what happened in the `chosen` groups (``group_id``), by the names of `LIMITS`.

    Every row has ``group_id``, and ``total``, how many rows its group has; times are in ms since 1970, UTC.
    """

    def of_chosen(table: str) -> DataFrame:
        return audited.table(table).join(F.broadcast(chosen.select("group_id")), "group_id", "left_semi")

    rows = {
        "epochs": (_epochs(of_chosen("epoch_timeline")), F.desc("bump_offset")),
        "states": (_states(of_chosen("group_state_timeline")), F.desc("from_offset")),
        "bars": (_bars(of_chosen("group_event")), F.desc("offset")),
        "handovers": (_handovers(of_chosen("partition_handover")), F.desc("offset")),
        "lags": (_lags(of_chosen("rebalance_lag")), F.desc_nulls_last("lag_ms")),
        "behind": (_behind(of_chosen("rebalance_lag")), F.desc_nulls_last("lag_ms")),
    }
    return {name: _first(found, order, LIMITS[name]) for name, (found, order) in rows.items()}


def _first(rows: DataFrame, order: Column, limit: int) -> DataFrame:
    of_group = Window.partitionBy("group_id")
    return (
        rows.withColumn("total", F.count("*").over(of_group))
        .withColumn("nth", F.row_number().over(of_group.orderBy(order)))
        .where(F.col("nth") <= limit)
    )


def _epochs(epochs: DataFrame) -> DataFrame:
    return with_ms(epochs, "bumped_at", "assigned_at", "converged_at").select(
        *("group_id", "incarnation", "group_epoch", "partition", "bump_offset", "cause", "status", "superseded_by"),
        *("bumped_at_ms", "assigned_at_ms", "converged_at_ms", "assign_lag_ms", "rebalance_lag_ms", "members"),
        *("partitions_moved", "history", "clock_skew"),
    )


def _states(states: DataFrame) -> DataFrame:
    return with_ms(states, "from_at", "to_at").select(
        *("group_id", "incarnation", "partition", "state", "from_offset", "from_at_ms", "to_at_ms", "history")
    )


def _bars(events: DataFrame) -> DataFrame:
    """Return what each member was, from one of its types 8 to the next or to its end: ``kind`` and ``until_ms``.

    A member that has reconciled is ``behind`` from the next assignment on, until it writes its next type 8.
    """
    own = Window.partitionBy(*MEMBER_KEY).orderBy("offset")
    # Backwards, for a window that looks ahead to its end costs the square of its rows.
    later = Window.partitionBy(*INCARNATION).orderBy(F.desc("offset")).rowsBetween(Window.unboundedPreceding, -1)
    key_type, epoch = F.col("key_type"), F.col("member_epoch")
    so_far = Window.partitionBy(*INCARNATION).orderBy("offset")
    known = F.when((key_type == MEMBER) & ~F.col("is_tombstone"), F.struct("instance_id", "client_id", "client_host"))
    assigned = F.when(
        (key_type == TARGET_ASSIGNMENT) & ~F.col("is_tombstone"),
        F.struct(F.unix_millis("timestamp").alias("at_ms"), "offset", "assignment_epoch"),
    )
    kind = (
        F.when(epoch == AWAY_EPOCH, "away")
        .when(F.col("member_state") == UNREVOKED_PARTITIONS, "revoking")
        .when(F.col("member_state") == UNRELEASED_PARTITIONS, "waiting")
        .when((F.col("member_state") == MEMBER_STABLE) & (epoch < F.col("assigned_epoch")), "behind")
        .when(F.col("member_state") == MEMBER_STABLE, "reconciled")
        .otherwise("unknown")
    )
    spells = (
        events.withColumn("assigned_epoch", F.last("assignment_epoch", ignorenulls=True).over(so_far))
        .withColumn("next", F.last(assigned, ignorenulls=True).over(later))
        .where(F.col("member_id").isNotNull() & key_type.isin(MEMBER, CURRENT_ASSIGNMENT))
        .withColumn("known", F.last(known, ignorenulls=True).over(own))
        .where((key_type == CURRENT_ASSIGNMENT) | F.col("is_tombstone"))
        .withColumn("from_ms", F.unix_millis("timestamp"))
        .withColumns({"until_ms": F.lead("from_ms").over(own), "until_offset": F.lead("offset").over(own)})
        .where((key_type == CURRENT_ASSIGNMENT) & ~F.col("is_tombstone"))
        .where("until_ms IS NULL OR until_ms > from_ms")
        .withColumn("kind", kind)
    )
    comes_first = F.col("next.offset") < F.coalesce("until_offset", F.lit(2**63 - 1))
    falls_behind = (F.col("kind") == "reconciled") & comes_first & (F.col("next.assignment_epoch") > epoch)
    columns = (
        *("group_id", "incarnation", "member_id", "partition", "offset", "from_ms", "until_ms", "kind"),
        *("member_epoch", "is_complete", "known.instance_id", "known.client_id", "known.client_host"),
    )
    first = spells.withColumn("until_ms", F.when(falls_behind, F.col("next.at_ms")).otherwise(F.col("until_ms")))
    rest = spells.where(falls_behind).withColumns(
        {"from_ms": F.col("next.at_ms"), "offset": F.col("next.offset"), "kind": F.lit("behind")}
    )
    return first.select(*columns).unionByName(rest.select(*columns))


def _handovers(handovers: DataFrame) -> DataFrame:
    """Return one row for all partitions that changed hands alike with one record: ``partitions`` by topic."""
    place = {"partition": F.col("offsets_partition"), "offset": F.col("acquired_offset")}
    alike = ("group_id", "incarnation", "from_member", "to_member", "released_at_ms", "acquired_at_ms", "wanted")
    return (
        with_ms(handovers.withColumn("number", F.col("partition")), "released_at", "acquired_at")
        .withColumns(place)
        .groupBy(*alike, "partition", "offset", "group_epoch", "history", "clock_skew", "topic")
        .agg(
            F.array_sort(F.collect_list("number")).alias("numbers"),
            F.max("unowned_ms").alias("unowned_ms"),
            F.max("wanted_ms").alias("wanted_ms"),
        )
    )


def _lags(lags: DataFrame) -> DataFrame:
    """Return the members at the last assignment of each group, as `rebalance_lag` has them."""
    of_group = Window.partitionBy(*GROUP)
    number = F.struct("incarnation", "group_epoch")
    last = lags.withColumn("last", F.max(number).over(of_group)).where(number == F.col("last"))
    return with_ms(last, "target_at").select(
        *("group_id", "group_epoch", "member_id", "partition", "target_at_ms", "status", "lag_ms", "revoke_ms"),
        *("wait_ms", "blocked_by", "instance_id", "client_id", "client_host", "history", "clock_skew"),
    )


def _behind(lags: DataFrame) -> DataFrame:
    """Add to `explain.members_behind` ``free``: partitions that nobody holds, each ``since_ms`` (null: not seen)."""
    nobodys = F.filter("awaited", lambda each: each["owner"].isNull())
    since = F.transform(
        nobodys,
        lambda each: F.struct(each["topic"], each["partition"], F.unix_millis(each["released_at"]).alias("since_ms")),
    )
    return members_behind(lags, "group_id").withColumn("free", since)
