"""The groups of a cluster, a row each: what the page lists, the worst first."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from kip848_records.quality.convergence import blockers, holds_up, with_epochs_in_hour
from kip848_records.summary import NOT_CONVERGED, convergence, slowest_epochs, unowned_times
from kip848_records.terminal import with_ms
from kip848_records.timeline.operations import CURRENT_ASSIGNMENT, GROUP

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kip848_records.quality.expectations import Audited

DELETED: Final = "deleted"
"""Stands for the state of a group that is there no more, and for its convergence."""

_NOW: Final = (
    *("state", "convergence", "since_ms", "history", "offset", "group_epoch", "assignment_epoch", "generation"),
    *("members", "converged_members", "members_away"),
)


def groups(audited: Audited) -> DataFrame:
    """Return a row for each group that ever was: those that have not converged first, then the slowest.

    ``partition, group_id, lives`` (how often it was created, as far as the log tells), ``group_type``; of `group_state`
    the columns `_NOW` (``convergence`` as the summary has it, ``since_ms`` since 1970; null but for `DELETED` where the
    group is gone); ``epochs``, how many; ``records``, how many types 8; ``slowest``, of the rebalances that were seen
    in full: ``rebalance_lag_ms, group_epoch, bump_offset``; ``most``, of the hour with most epochs: ``in_hour, second,
    group_epoch, bump_offset``; ``unowned_ms`` and ``longest``, of `unowned_times`; ``blocker``, a sentence.
    """
    epochs = audited.table("epoch_timeline")
    joined = reduce(
        lambda left, right: left.join(right, [*GROUP], "left"),
        [
            epochs.groupBy(*GROUP).agg(F.count("*").alias("epochs")),
            _members_records(audited),
            _greatest(slowest_epochs(epochs), "slowest", "rebalance_lag_ms", "group_epoch", "bump_offset"),
            _greatest(with_epochs_in_hour(epochs), "most", "in_hour", "second", "group_epoch", "bump_offset"),
            _unowned(audited),
            blockers(audited).select(*GROUP, holds_up().alias("blocker")),
        ],
        _every(audited),
    )
    is_converged = F.col("convergence") != NOT_CONVERGED
    since = F.when(~is_converged, F.col("since_ms"))
    slowest_first = F.desc_nulls_last("slowest.rebalance_lag_ms")
    return joined.orderBy(is_converged, since, slowest_first, "group_id")


def counts(audited: Audited) -> DataFrame:
    """Return how many groups there are, ``groups``, by ``state, group_type, convergence``."""
    return _every(audited).groupBy("state", "group_type", "convergence").agg(F.count("*").alias("groups"))


def _every(audited: Audited) -> DataFrame:
    last = F.max_by("group_type", F.struct("incarnation", "from_offset")).alias("group_type")
    lives = (F.max("incarnation") + 1).alias("lives")
    states = with_ms(audited.table("group_state"), "since").withColumn("convergence", convergence())
    every = audited.table("group_state_timeline").groupBy(*GROUP).agg(lives, last)
    gone = {name: F.coalesce(name, F.lit(DELETED)) for name in ("state", "convergence")}
    return every.join(states.select(*GROUP, *_NOW), [*GROUP], "left").withColumns(gone)


def _members_records(audited: Audited) -> DataFrame:
    records = audited.table("group_event").where(F.col("key_type") == CURRENT_ASSIGNMENT)
    return records.groupBy(*GROUP).agg(F.count("*").alias("records"))


def _greatest(rows: DataFrame, name: str, *columns: str) -> DataFrame:
    return rows.groupBy(*GROUP).agg(F.max(F.struct(*columns)).alias(name))


def _unowned(audited: Audited) -> DataFrame:
    times = unowned_times(audited.table("partition_handover"), "offsets_partition", "group_id")
    return times.withColumnsRenamed({"offsets_partition": "partition", "total": "unowned_ms"})
