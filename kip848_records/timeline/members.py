"""What each member was at the end of every operation that wrote of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.timeline.operations import CURRENT_ASSIGNMENT, MEMBER, MEMBER_KEY, MEMBER_TARGET, holds
from kip848_records.timeline.settlements import with_settled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_IDENTITY: Final = ("instance_id", "client_id", "client_host", "rebalance_timeout_ms")


def member_states(events: DataFrame) -> DataFrame:
    """Tell what each member was, owned and was meant to own at the end of every operation that wrote of it.

    Args:
        events: the rows of `group_events`.

    Returns:
        One row per member and operation with types 5, 7 or 8 of it: ``partition, group_id, incarnation,
        member_id, operation, timestamp``, and as of the operation's end

        - ``is_member``: its type 5 is there, and its group; ``life int``, how often its type 5 had been tombstoned;
        - ``identity``: a struct ``instance_id, client_id, client_host, rebalance_timeout_ms`` of its last type 5;
        - ``current``: null, or of its last type 8 ``offset, is_complete, is_whole, member_epoch, member_state,
          assigned, pending, assignments_reached``; of a tombstone offset and history alone;
        - ``target``: the partitions of its last type 7;
        - ``assignments_before, assignments_after, assignments_total, deletion, ends_headless``, as in
          `with_assignments`;
        - the columns of `with_settled`.
    """
    own = Window.partitionBy(*MEMBER_KEY).orderBy("offset")
    key_type = F.col("key_type")
    is_member = F.when(key_type == MEMBER, ~F.col("is_tombstone"))
    leaves = (key_type == MEMBER) & F.col("is_tombstone")
    identity = F.when(is_member, F.struct(*_IDENTITY))
    history = ("offset", "is_complete", "is_whole")
    owned = ("member_epoch", "member_state", "assigned", "pending", "assignments_reached")
    current = F.when(key_type == CURRENT_ASSIGNMENT, F.struct(*history, *owned))
    target = F.when(key_type == MEMBER_TARGET, F.struct("target"))
    is_last = ~holds(F.lead("operation").over(own) == F.col("operation"))
    is_deleted = holds(F.col("operation") == F.col("deletion.operation"))
    return (
        events.where(key_type.isin(MEMBER, MEMBER_TARGET, CURRENT_ASSIGNMENT))
        .select(
            *(*MEMBER_KEY, "operation", "timestamp"),
            (holds(_last(is_member).over(own)) & ~is_deleted).alias("is_member"),
            F.sum(leaves.cast("int")).over(own).cast("int").alias("life"),
            _last(identity).over(own).alias("identity"),
            _last(current).over(own).alias("current"),
            _last(target).over(own)["target"].alias("target"),
            *("assignments_before", "assignments_after", "assignments_total", "deletion", "ends_headless"),
            is_last.alias("is_last"),
        )
        .where("is_last")
        .drop("is_last")
        .transform(with_settled)
    )


def _last(column: Column) -> Column:
    return F.last(column, ignorenulls=True)
