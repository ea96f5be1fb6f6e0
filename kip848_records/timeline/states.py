"""The state of a group, judged at the end of each of its operations and never inside one.

The rules are those of `ConsumerGroup.maybeUpdateGroupState` in Kafka's group coordinator.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from kip848_records.timeline.censoring import history
from kip848_records.timeline.operations import (
    AWAY_EPOCH,
    CURRENT_ASSIGNMENT,
    GROUP,
    GROUP_EPOCH,
    GROUP_METADATA,
    INCARNATION,
    MEMBER,
    MEMBER_STABLE,
    TARGET_ASSIGNMENT,
    holds,
)

EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"
DEAD: Final = "Dead"
UNKNOWN: Final = "unknown"


def judge(events: DataFrame) -> DataFrame:
    """Tell what is known of a group at each new group epoch, each new assignment and each end of an operation.

    Args:
        events: the rows of `group_events`.

    Returns:
        One row per type 3, type 6 and last record of an operation: the event's ``partition, group_id,
        incarnation, operation, offset, timestamp, key_type, is_tombstone, ends_operation, is_complete``, and, counted
        up to and including this record:

        - ``group_type``: ``consumer`` or ``classic``;
        - ``group_epoch``, ``assignment_epoch`` (null for classic groups, and where the log does not tell);
        - ``generation`` (classic groups);
        - ``members``, ``converged_members`` (consumer groups; null if records of before Kafka 3.8 have no member
          states), ``members_away`` (static members with member epoch -2); null where records are missing that
          compaction would have kept;
        - ``state``: Empty, Assigning, Reconciling, Stable, Dead (deleted) or ``unknown``; null inside an operation.
    """
    is_counted = _is_classic() | ~F.col("is_headless")
    return (
        events.transform(_with_member_changes)
        .transform(_with_group_totals)
        .transform(_with_converged_members)
        .select(
            *INCARNATION,
            *("operation", "offset", "timestamp", "key_type", "is_tombstone", "ends_operation", "is_complete"),
            F.when(_is_classic(), "classic").otherwise("consumer").alias("group_type"),
            F.when(~_is_classic(), F.col("group_epoch")).alias("group_epoch"),
            F.when(~_is_classic(), F.col("assignment_epoch")).alias("assignment_epoch"),
            F.when(_is_classic(), F.col("classic.generation")).alias("generation"),
            F.when(_is_classic(), F.col("classic.members"))
            .when(is_counted, F.col("members"))
            .cast("int")
            .alias("members"),
            F.when(is_counted & ~_is_classic() & (F.col("members_stateless") == 0), F.col("converged_members"))
            .cast("int")
            .alias("converged_members"),
            F.when(is_counted, F.col("members_away")).cast("int").alias("members_away"),
            F.when(F.col("ends_operation"), _state()).alias("state"),
        )
    )


def last_states(judged: DataFrame) -> DataFrame:
    """Tell the present state of every group that was not deleted.

    Args:
        judged: the rows of `judge`.

    Returns:
        One row per group: ``partition, group_id, incarnation, group_type, state, group_epoch,
        assignment_epoch, generation, members, converged_members, members_away, since, offset, waits_for_away_only,
        history``. ``since`` is the timestamp from which on the group has been in this state without interruption,
        where Assigning and Reconciling count as one: a group that has not converged. ``history`` is right_censored
        if its beginning was seen, else censored: it may have begun before ``since``. ``offset`` is the last record
        that was counted. ``waits_for_away_only``: the group is Reconciling, but only for static members that are away.
    """
    in_order = Window.partitionBy(*GROUP).orderBy("offset")
    unconverged = F.col("state").isin(ASSIGNING, RECONCILING)
    run = F.struct("incarnation", "group_type", F.when(unconverged, "unconverged").otherwise(F.col("state")))
    starts_run = ~run.eqNullSafe(F.lag(run).over(in_order))
    are_there = F.col("members") - F.col("members_away")
    waits_for_away_only = (F.col("state") == RECONCILING) & (F.col("converged_members") == are_there)
    return (
        judged.where("ends_operation")
        .withColumn("start", F.when(starts_run, F.struct("timestamp", "is_complete")))
        .withColumns(
            {
                "start": F.last("start", ignorenulls=True).over(in_order),
                "is_last": F.lead("offset").over(in_order).isNull(),
            }
        )
        .where(F.col("is_last") & (F.col("state") != DEAD))
        .select(
            *INCARNATION,
            *("group_type", "state", "group_epoch", "assignment_epoch", "generation"),
            *("members", "converged_members", "members_away", "offset"),
            F.col("start.timestamp").alias("since"),
            holds(waits_for_away_only).alias("waits_for_away_only"),
            history(begin_is_complete=F.col("start.is_complete"), has_end=F.lit(False)).alias("history"),  # noqa: FBT003
        )
    )


def _with_member_changes(events: DataFrame) -> DataFrame:
    """Add by how much each event changes its group's members, those away, and the epoch its member has settled at.

    Only the tombstone of type 5 removes a member, and a type 8 may outlive its member. A member has settled at an
    epoch when it is STABLE there: at that epoch, and owning exactly its target. Of a member whose type 8 has no state,
    as before Kafka 3.8, nobody can tell.
    """
    own = Window.partitionBy(*INCARNATION, "member_id").orderBy("offset")
    is_member = F.when(F.col("key_type") == MEMBER, ~F.col("is_tombstone"))
    current = F.when(F.col("key_type") == CURRENT_ASSIGNMENT, F.struct("member_epoch", "member_state"))
    stable = F.col("current.member_state") == MEMBER_STABLE
    stateless = F.col("current.member_state").isNull() & F.col("current.member_epoch").isNotNull()
    away = F.col("is_member") & (F.col("current.member_epoch") == AWAY_EPOCH)
    return (
        events.withColumns(
            {
                "is_member": holds(F.last(is_member, ignorenulls=True).over(own)),
                "current": F.last(current, ignorenulls=True).over(own),
            }
        )
        .withColumns(
            {
                "is_away": holds(away),
                "is_stateless": F.col("is_member") & stateless,
                "settled_at": F.when(F.col("is_member") & stable, F.col("current.member_epoch")),
            }
        )
        .withColumns(
            {
                "members_change": _change(F.col("is_member"), own),
                "away_change": _change(F.col("is_away"), own),
                "stateless_change": _change(F.col("is_stateless"), own),
                "was_settled_at": F.lag("settled_at").over(own),
            }
        )
    )


def _change(flag: Column, own: WindowSpec) -> Column:
    return flag.cast("int") - F.lag(flag.cast("int"), 1, 0).over(own)


def _with_group_totals(events: DataFrame) -> DataFrame:
    """Add what is true of the whole group as of each event: its members, epochs, and whether the log tells them.

    Before the first types 3 and 6 both epochs have their start value: 0, and 1 from Kafka 4.3. The log does not say
    which, but members that join then are given it, so their highest epoch is the start.
    """
    so_far = Window.partitionBy(*INCARNATION).orderBy("offset")
    key_type = F.col("key_type")
    assignment = F.when(key_type == TARGET_ASSIGNMENT, F.struct("assignment_epoch"))
    is_live = (key_type == GROUP_METADATA) & ~F.col("is_tombstone")
    classic = F.struct(
        "generation", F.col("classic_members").alias("members"), is_live.alias("is_live"), "is_unscathed"
    )
    kind = F.when(key_type.isin(GROUP_METADATA, GROUP_EPOCH), classic)
    present = F.col("member_epoch") >= 0
    bumped, assigned = F.col("bumped"), F.col("assigned")
    start = F.when(F.col("is_complete") & assigned.isNull(), F.col("start_epoch"))
    return events.withColumns(
        {
            "members": F.sum("members_change").over(so_far),
            "members_away": F.sum("away_change").over(so_far),
            "members_stateless": F.sum("stateless_change").over(so_far),
            "classic": F.last(kind, ignorenulls=True).over(so_far),
            "bumped": F.last("group_epoch", ignorenulls=True).over(so_far),
            "assigned": F.last(assignment, ignorenulls=True).over(so_far)["assignment_epoch"],
            "start_epoch": F.max(F.when(present, F.col("member_epoch"))).over(so_far),
        }
    ).withColumns(
        {
            "group_epoch": F.coalesce(bumped, start),
            "assignment_epoch": F.coalesce(assigned, start),
            "is_unassigned": bumped.isNotNull() & (assigned.isNull() | (bumped > assigned)),
            "is_known": F.when(assigned.isNull(), F.col("is_complete")).otherwise(bumped.isNotNull())
            & ~F.col("is_headless"),
        }
    )


def _with_converged_members(events: DataFrame) -> DataFrame:
    """Keep the rows that `judge` returns and add to each its number of converged members.

    A member that settles at an epoch adds one to the epoch's count, and takes it away when it moves on; a row that
    asks for the count of the group's assignment epoch adds nothing. Ordered by offset within an epoch, the running sum
    answers each row, and nobody pairs members with epochs.
    """
    asks = F.col("ends_operation") | F.col("key_type").isin(GROUP_EPOCH, TARGET_ASSIGNMENT)
    moves = ~F.col("settled_at").eqNullSafe(F.col("was_settled_at"))
    entries = F.array(
        F.when(moves & F.col("was_settled_at").isNotNull(), _entry(F.col("was_settled_at"), -1)),
        F.when(moves & F.col("settled_at").isNotNull(), _entry(F.col("settled_at"), 1)),
        F.when(asks, _entry(F.col("assignment_epoch"), 0)),
    )
    of_epoch = Window.partitionBy(*INCARNATION, "entry.epoch").orderBy("offset")
    return (
        events.withColumn("entry", F.explode(F.array_compact(entries)))
        .withColumn("converged_members", F.sum("entry.change").over(of_epoch))
        .where("entry.change = 0")
    )


def _entry(epoch: Column, change: int) -> Column:
    return F.struct(epoch.alias("epoch"), F.lit(change).alias("change"))


def _is_classic() -> Column:
    return holds(F.col("classic.is_live"))


def _state() -> Column:
    """Take the first that fits. A type 2 or 3 is tombstoned last of all when its group is deleted.

    All that is known of a classic group is in its last type 2, so one that was lost may be told by the next.
    """
    classic_members = F.col("classic.members")
    return (
        F.when(F.col("key_type").isin(GROUP_METADATA, GROUP_EPOCH) & F.col("is_tombstone"), DEAD)
        .when(_is_classic() & F.col("is_headless") & ~F.col("classic.is_unscathed"), UNKNOWN)
        .when(_is_classic(), F.when(classic_members == 0, EMPTY).otherwise(STABLE))
        .when(~F.col("is_known"), UNKNOWN)
        .when(F.col("members") == 0, EMPTY)
        .when(F.col("is_unassigned"), ASSIGNING)
        .when(F.col("members_stateless") > 0, UNKNOWN)
        .when(F.col("converged_members") < F.col("members"), RECONCILING)
        .otherwise(STABLE)
    )
