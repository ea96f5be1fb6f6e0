"""Whether members, and what they subscribe to, come to rest: told from the records, for timelines keep no spells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.quality.beginnings import beginnings
from kip848_records.quality.expectations import judged, number, seconds, sentence, sliding_hour
from kip848_records.timeline.durations import ms_between
from kip848_records.timeline.operations import (
    AWAY_EPOCH,
    CURRENT_ASSIGNMENT,
    GROUP,
    INCARNATION,
    MEMBER,
    MEMBER_KEY,
    UNREVOKED_PARTITIONS,
    holds,
)
from kip848_records.timeline.states import UNKNOWN

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kip848_records.quality.expectations import Audited, Limits

_UNTIL: Final = {"until": "timestamp", "until_headless": "is_headless"}


def revocation_time(audited: Audited, limits: Limits) -> DataFrame:
    """A member gives up partitions within its own rebalance timeout, and max_seconds_over for the broker's clock.

    The coordinator fences a member that does not; one that moved to another broker starts the timer anew, and then the
    member may take longer without a fault (`GroupMetadataManager.onLoaded` in Kafka).
    """
    over = limits("max_seconds_over")
    has_no_state = F.col("member_state").isNull() & ~F.col("is_tombstone")  # before Kafka 3.8
    is_here = F.col("member_epoch") != AWAY_EPOCH  # one that went away keeps its state, with nothing to give up
    asked = _current(audited).where(((F.col("member_state") == UNREVOKED_PARTITIONS) | has_no_state) & is_here)
    is_late = F.col("lasted") > F.col("timeout") + over * 1000
    return judged(
        asked,
        violated=is_late,
        known=~has_no_state & _is_told(is_late),
        message=sentence(
            "expected to give up partitions within its rebalance timeout of {} s, {} {} s",
            *(seconds("timeout"), _verb("has been asked to for", "took"), seconds("lasted")),
        ),
        group_epoch="member_epoch",
    )


def static_member_away(audited: Audited, limits: Limits) -> DataFrame:
    """A static member that went away is back, or removed, within max_seconds."""
    limit = limits("max_seconds")
    away = _current(audited).where(F.col("member_epoch") == AWAY_EPOCH)
    return judged(
        away,
        violated=F.col("lasted") > limit * 1000,
        known=_is_told(F.col("lasted") > limit * 1000),
        message=sentence(
            "expected static member {} to be away for at most {} s, {} away for {} s",
            *("instance", number(limit), _verb("has been", "was"), seconds("lasted")),
        ),
    )


def mixed_protocols(audited: Audited, limits: Limits) -> DataFrame:
    """A group does not have members of the classic and of the consumer protocol at once for longer than max_seconds.

    An upgrade is done when its last member has been restarted.
    """
    limit = limits("max_seconds")
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    starts = ~F.col("is_mixed").eqNullSafe(F.lag("is_mixed").over(in_order))
    spells = (
        _with_member_counts(audited)
        .withColumn("is_mixed", (F.col("classic") > 0) & (F.col("native") > 0))
        .withColumn("starts", starts)
        .where("starts")
        .withColumns({name: F.lead(column).over(in_order) for name, column in _UNTIL.items()})
        .where("is_mixed")
        .transform(_with_present, audited)
        .withColumn("lasted", _lasted(audited))
    )
    # What compaction removed can only have made it longer; what was lost may have ended it.
    lasted_on = F.when(F.col("until").isNull(), F.col("is_present_known")).otherwise(~F.col("until_headless"))
    is_long = F.col("lasted") > limit * 1000
    return judged(
        spells,
        violated=is_long,
        known=F.col("is_complete") | (is_long & lasted_on),
        message=sentence(
            "expected one protocol after {} s, {} both for {} s ({} classic and {} consumer members at first)",
            *(number(limit), _verb("has had", "had"), seconds("lasted"), "classic", "native"),
        ),
    )


def regex_flaps(audited: Audited, limits: Limits) -> DataFrame:
    """A regular expression does not come back to topics that it had just left more than max_flaps times in any hour.

    Flaps are counted, in a window that slides, and never extrapolated from a shorter log.
    """
    limit = limits("max_flaps")
    regex = (*GROUP, "regular_expression")
    every = Window.partitionBy(*regex).orderBy("offset")
    # A regular expression is deleted with the last member that has it; whoever comes then finds its topics anew.
    own = Window.partitionBy(*regex, "life").orderBy("offset")
    resolved = (
        audited.table("consumer_group_regular_expression")
        .withColumn("life", F.count_if("is_tombstone").over(every))
        .where("NOT is_tombstone")
        .withColumns({"found": F.array_sort("topics"), "second": F.unix_seconds("timestamp")})
        .withColumn("is_news", ~F.col("found").eqNullSafe(F.lag("found").over(own)))
        .where("is_news")
        .withColumn("is_back", holds(F.col("found") == F.lag("found", 2).over(own)))
        .withColumn("flaps", F.count_if("is_back").over(sliding_hour(*regex)))
        .groupBy(*regex)
        .agg(F.max(F.struct("flaps", "offset")).alias("most"))
        .select(*regex, "most.*")
    )
    return judged(
        resolved.join(beginnings(audited), [*GROUP], "left"),
        violated=F.col("flaps") > limit,
        known=F.col("is_whole") | (F.col("flaps") > limit),
        message=sentence(
            "expected {} to come back to earlier topics at most {} times in an hour, seen {} times",
            *("regular_expression", number(limit), "flaps"),
        ),
    )


def _current(audited: Audited) -> DataFrame:
    """Return the types 8, with ``timeout`` and ``instance`` of the member's type 5 then, ``until`` and ``lasted``.

    ``until`` is the time of the member's next type 8, or of its tombstone; null while there is none, and ``seen_from``
    that of the next. And ``is_present_known``, as in `_with_present`.
    """
    own = Window.partitionBy(*MEMBER_KEY).orderBy("offset")
    is_member = (F.col("key_type") == MEMBER) & ~F.col("is_tombstone")
    last_known = F.last(F.when(is_member, F.struct("rebalance_timeout_ms", "instance_id")), ignorenulls=True).over(own)
    return (
        audited.table("group_event")
        .where(F.col("key_type").isin(MEMBER, CURRENT_ASSIGNMENT))
        .withColumn("known", last_known)
        .where(F.col("key_type") == CURRENT_ASSIGNMENT)
        .withColumns(
            {
                "timeout": F.col("known.rebalance_timeout_ms"),
                "instance": F.col("known.instance_id"),
                "until": F.lead("timestamp").over(own),
                "seen_from": F.lead("seen_from", default=0).over(own),
            }
        )
        .transform(_with_present, audited)
        .withColumn("lasted", _lasted(audited))
    )


def _with_present(spells: DataFrame, audited: Audited) -> DataFrame:
    """Add ``is_present_known``: no record was lost that may tell of the group as it is now."""
    groups = audited.table("group_state").select(*INCARNATION, (F.col("state") != UNKNOWN).alias("is_present_known"))
    return spells.join(groups, [*INCARNATION], "left")


def _with_member_counts(audited: Audited) -> DataFrame:
    """Return the last type 5 of each operation, with how many members of each protocol there were then."""
    own = Window.partitionBy(*MEMBER_KEY).orderBy("offset")
    in_order = Window.partitionBy(*INCARNATION).orderBy("offset")
    metadata = audited.table("consumer_group_member_metadata").select(
        "partition", "offset", F.col("classic_member_metadata").isNotNull().alias("is_classic")
    )
    members = audited.table("group_event").where(F.col("key_type") == MEMBER).join(metadata, ["partition", "offset"])
    counts = {}
    for name, is_one in {"classic": F.col("is_classic"), "native": ~F.col("is_classic")}.items():
        now = (is_one & ~F.col("is_tombstone")).cast("int")
        members = members.withColumn(f"{name}_change", now - F.lag(now, 1, 0).over(own))
        counts[name] = F.sum(f"{name}_change").over(in_order)
    is_last = ~holds(F.lead("operation").over(in_order) == F.col("operation"))
    return members.withColumns(counts | {"is_last": is_last}).where("is_last")


def _lasted(audited: Audited) -> Column:
    """Return the ms from a row's time to ``until``, or to when the log was copied; null where a clock went back."""
    between = ms_between("timestamp", "until")
    return F.when(F.col("until").isNull(), audited.ms_since("timestamp")).when(between >= 0, between)


def _is_told(is_long: Column) -> Column:
    """Return whether a spell is known: records in between that are missing can only have made it shorter.

    One without an end lasts still, for compaction keeps the last record, unless that was lost.
    """
    lasts = F.col("until").isNull() & F.col("is_present_known")
    is_seen = F.col("is_complete") & holds(F.col("offset") >= F.col("seen_from"))
    return ~F.col("is_headless") & (is_seen | lasts | ~is_long)


def _verb(lasts: str, lasted: str) -> Column:
    return F.when(F.col("until").isNull(), lasts).otherwise(lasted)
