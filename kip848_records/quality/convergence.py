"""Whether groups converge, and how fast: what an operator is woken for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kip848_records.quality.beginnings import beginnings
from kip848_records.quality.expectations import clients, judged, number, seconds, sentence, sliding_hour
from kip848_records.timeline.censoring import CENSORED, OBSERVED, RIGHT_CENSORED
from kip848_records.timeline.lags import OPEN
from kip848_records.timeline.lags import UNKNOWN as UNKNOWN_LAG
from kip848_records.timeline.operations import GROUP, holds
from kip848_records.timeline.states import ASSIGNING, RECONCILING, UNKNOWN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kip848_records.quality.expectations import Audited, Limits


def rebalance_lag(audited: Audited, limits: Limits) -> DataFrame:
    """A group epoch converges within max_seconds of its bump, unless the group empties or is deleted first."""
    limit = limits("max_seconds")
    lasts = F.col("converged_at").isNull() & F.col("status").isin("open", "superseded")
    lag = F.when(lasts, audited.ms_since("bumped_at")).otherwise(F.coalesce("rebalance_lag_ms", F.lit(0)))
    seen = F.when(F.col("lasts"), "has not converged for").otherwise("took")
    behind = blockers(audited).withColumn("lasts", F.lit(True))  # noqa: FBT003
    epochs = _epochs(audited).withColumns({"lasts": lasts, "lag": lag})
    what = sentence("expected to converge within {} s, {} {} s ({})", number(limit), seen, seconds("lag"), "cause")
    return judged(
        epochs.join(behind, [*GROUP, "lasts"], "left"),
        violated=F.col("lag") > limit * 1000,
        known=_is_told() & ~F.col("clock_skew"),
        message=F.concat_ws(": ", what, holds_up()),
        offset="bump_offset",
    )


def rebalance_lag_p95(audited: Audited, limits: Limits) -> DataFrame:
    """Of a group's epochs that were observed from bump to convergence, 95 % converge within max_seconds."""
    lag = F.when((F.col("history") == OBSERVED) & ~F.col("clock_skew"), F.col("rebalance_lag_ms"))
    limit = limits("max_seconds")
    groups = (
        _epochs(audited)
        .where(F.col("rebalance_lag_ms").isNotNull() | ~_is_told())
        .groupBy(*GROUP)
        .agg(F.percentile(lag, 0.95).alias("p95"), F.count(lag).alias("epochs"))
    )
    return judged(
        groups,
        violated=F.col("p95") > limit * 1000,
        message=sentence(
            "expected 95 % of epochs to converge within {} s, took up to {} s (95th percentile of {} observed epochs)",
            *(number(limit), seconds("p95"), "epochs"),
        ),
    )


def group_stable(audited: Audited, limits: Limits) -> DataFrame:
    """A group is not without convergence (Assigning, Reconciling) for longer than max_seconds.

    One that waits only for static members that are away is left to `static_member_away`.
    """
    limit = limits("max_seconds")
    states = audited.table("group_state").withColumn("age", audited.ms_since("since"))
    is_behind = F.col("state").isin(ASSIGNING, RECONCILING) & ~F.col("waits_for_away_only")
    is_late = holds(is_behind & (F.col("age") > limit * 1000))
    what = F.when(
        F.col("state") == UNKNOWN, sentence("expected Stable within {} s, the log does not tell", number(limit))
    ).otherwise(sentence("expected Stable within {} s, {} for {} s", number(limit), "state", seconds("age")))
    return judged(
        states.join(blockers(audited), [*GROUP], "left"),
        violated=F.when(is_behind, F.col("age") > limit * 1000).otherwise(F.lit(False)),  # noqa: FBT003
        # What compaction hides can only have made it longer.
        known=(F.col("state") != UNKNOWN) & (is_late | ~is_behind | (F.col("history") != CENSORED)),
        message=F.concat_ws(": ", what, holds_up()),
    )


def awaited_partition_free(audited: Audited, limits: Limits) -> DataFrame:
    """A partition that a member waits for is not without any owner for longer than max_seconds.

    A member takes what is free with its next heartbeat.
    """
    limit = limits("max_seconds")
    waiting = audited.table("rebalance_lag").where(
        F.col("status").isin(OPEN, UNKNOWN_LAG) & ~F.col("superseded") & (F.col("awaited").isNotNull() | _is_untold())
    )
    # Where no owner was ever seen, nobody has held it since the assignment, at least, if no record is missing. Where
    # it was free before, somebody has wanted it since the bump that the assignment answers, at most.
    unseen_since = F.when((F.col("history") != CENSORED) & F.col("has_head"), F.col("target_at"))
    wanted_since = F.coalesce("first_bumped_at", "target_at")
    free = F.filter("awaited", lambda each: each["owner"].isNull())
    dated = F.transform(
        free,
        lambda each: F.struct(
            F.coalesce(
                F.greatest(each["released_at"], F.when(each["released_at"].isNotNull(), wanted_since)), unseen_since
            ).alias("since"),
            each["topic"],
            each["partition"],
        ),
    )
    told = F.filter(dated, lambda each: each["since"].isNotNull())
    members = waiting.join(beginnings(audited), [*GROUP], "left").withColumns(
        {
            "free": F.size(F.coalesce(free, F.array())),
            "told": F.size(F.coalesce(told, F.array())),
            "first": F.array_min(told),
            "free_for": F.when(F.size(free) == 0, F.lit(0)).otherwise(audited.ms_since(F.array_min(told)["since"])),
        }
    )
    what = sentence(
        "expected an owner within {} s, {} {} has had none for {} s: {} it waits for are free",
        *(number(limit), "first.topic", "first.partition", seconds("free_for"), _count("free", "partition")),
    )
    is_late = F.col("free_for") > limit * 1000
    return judged(
        members,
        violated=is_late,
        known=~_is_untold() & (is_late | (F.col("told") == F.col("free"))),
        message=F.when(_is_untold(), "the log does not tell what the member waits for")
        .when(
            F.col("told") == 0,
            sentence("the log does not tell since when {} it waits for are free", _count("free", "partition")),
        )
        .otherwise(what),
    )


def epochs_per_hour(audited: Audited, limits: Limits) -> DataFrame:
    """A group has no more than max_epochs new epochs in any hour.

    Epochs are counted, in a window that slides, and never extrapolated from a shorter log.
    """
    limit = limits("max_epochs")
    groups = (
        with_epochs_in_hour(audited.table("epoch_timeline"))
        .groupBy(*GROUP)
        .agg(F.max(F.struct("in_hour", "group_epoch", F.col("bump_offset").alias("offset"))).alias("most"))
        .join(beginnings(audited), [*GROUP], "left")
        .select(*GROUP, "most.*", "is_whole")
    )
    is_storm = F.col("in_hour") > limit
    return judged(
        groups,
        violated=is_storm,
        known=F.col("is_whole") | is_storm,
        message=sentence("expected at most {} epochs in an hour, seen {}", number(limit), "in_hour"),
    )


def with_epochs_in_hour(epochs: DataFrame) -> DataFrame:
    """Add to rows of `epoch_timeline` ``second`` of the bump, since 1970, and ``in_hour``: the group's in its hour."""
    return epochs.withColumn("second", F.unix_seconds("bumped_at")).withColumn(
        "in_hour", F.count("*").over(sliding_hour(*GROUP))
    )


def superseded_epochs(audited: Audited, limits: Limits) -> DataFrame:
    """Of a group's epochs no more than max_percent are superseded before they converge, of min_epochs at least."""
    limit = limits("max_percent")
    groups = (
        _epochs(audited)
        .where("status != 'open'")
        .groupBy(*GROUP)
        .agg(
            F.count_if(_is_told()).alias("epochs"),
            F.count_if(_is_told() & (F.col("status") == "superseded")).alias("superseded"),
            F.bool_and(_is_told()).alias("is_told"),
        )
        .where((F.col("epochs") >= limits("min_epochs")) | ~F.col("is_told"))
    )
    percent = F.when(F.col("epochs") > 0, 100 * F.col("superseded") / F.col("epochs"))
    return judged(
        groups,
        violated=percent > limit,
        known=F.col("epochs") >= limits("min_epochs"),
        message=sentence(
            "expected at most {} % of epochs to be superseded, seen {} of {}",
            *(number(limit), "superseded", "epochs"),
        ),
    )


def unowned_time(audited: Audited, limits: Limits) -> DataFrame:
    """A partition that some member is to have is not without an owner for longer than max_seconds.

    Only the time counts in which it was in some member's target: a group that is stopped at night misses nothing. How
    long a member was dead before its session expired is invisible: the time is a lower bound. A partition that nobody
    owns yet is judged when somebody does; until then see `group_stable` and `awaited_partition_free`.
    """
    limit = limits("max_seconds")
    return judged(
        audited.table("partition_handover").where("released_at IS NOT NULL AND wanted"),
        violated=F.col("wanted_ms") > limit * 1000,
        known=(F.col("history") == OBSERVED) & ~F.col("clock_skew"),
        message=sentence(
            "expected {} {} to have an owner again within {} s, took at least {} s (from {} to {})",
            *("topic", "partition", number(limit), seconds("wanted_ms"), "from_member", "to_member"),
        ),
        member_id="to_member",
        partition="offsets_partition",
        offset="acquired_offset",
    )


def blockers(audited: Audited) -> DataFrame:
    """Return of each group the member that holds up most others, else the one that is behind for longest.

    ``partition, group_id, member_id, client_id, client_host, held_up``, one row per group with members that are behind.
    """
    behind = audited.table("rebalance_lag").where((F.col("status") == OPEN) & ~F.col("superseded"))
    own = behind.select(*GROUP, "member_id", "lag_ms", "client_id", "client_host")
    holding = (
        behind.select(*GROUP, F.explode("blocked_by").alias("member_id"))
        .groupBy(*GROUP, "member_id")
        .agg(F.count("*").alias("held_up"))
    )
    named = own.join(holding, [*GROUP, "member_id"], "full")
    first = F.struct(
        F.coalesce("held_up", F.lit(0)).alias("held_up"), "lag_ms", "member_id", "client_id", "client_host"
    )
    return named.groupBy(*GROUP).agg(F.max(first).alias("first")).select(*GROUP, "first.*")


def holds_up() -> Column:
    """Return what is to be said of a group's blocker (`blockers`); null where nobody is behind."""
    member = ("member_id", clients("client_id", "client_host"))
    by = sentence("member {}{} holds up {}", *member, _count("held_up", "other"))
    return F.when(F.col("held_up") > 0, by).when(
        F.col("member_id").isNotNull(), sentence("member {}{} is behind", *member)
    )


def _epochs(audited: Audited) -> DataFrame:
    """Return `epoch_timeline` with ``is_untold``: the log does not tell the present state of the epoch's group."""
    states = audited.table("group_state").select(*GROUP, (F.col("state") == UNKNOWN).alias("is_untold"))
    return audited.table("epoch_timeline").join(states, [*GROUP], "left")


def _is_told() -> Column:
    """Return whether the log shows an epoch from its bump to its end, or that it has none yet."""
    return (F.col("history") == OBSERVED) | ((F.col("history") == RIGHT_CENSORED) & ~holds(F.col("is_untold")))


def _is_untold() -> Column:
    return F.col("status") == UNKNOWN_LAG


def _count(column: str, what: str) -> Column:
    return F.concat(F.col(column).cast("string"), F.when(F.col(column) == 1, f" {what}").otherwise(f" {what}s"))
