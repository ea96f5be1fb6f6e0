"""What an audit found, for a person to read in a terminal."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from rich.text import Text

from kip848_records.decode.dialects import AUTO, DISPUTED_TYPES
from kip848_records.protocol.messages import DIALECTS, KAFKA, OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.quality.convergence import with_epochs_in_hour
from kip848_records.sources.log import key_of_types
from kip848_records.tables.delta import read_table
from kip848_records.tables.places import place_text
from kip848_records.terminal import (
    count_text,
    duration_text,
    member_table,
    ms_text,
    since_text,
    text_table,
    time_text,
    with_ms,
)
from kip848_records.text import printable
from kip848_records.threads import in_order
from kip848_records.timeline.censoring import OBSERVED
from kip848_records.timeline.states import ASSIGNING, RECONCILING, UNKNOWN
from kip848_records.times import utc_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from pyspark.sql import Column, DataFrame, Row, SparkSession
    from rich.console import RenderableType

    from kip848_records.audit import Audit

    Tables = Callable[[str], DataFrame]

_SHOWN = 10
_MEMBERS_SHOWN = 100

_CONVERGED = "converged"
NOT_CONVERGED = "not converged"
"""What `convergence` says of a group that is Assigning or Reconciling, and not only for members that are away."""
_ONLY_AWAY = "waiting only for static members that are away"
_UNTOLD = "of which the log does not tell"
_CONVERGENCE = (_CONVERGED, NOT_CONVERGED, _ONLY_AWAY, _UNTOLD)


def summary(spark: SparkSession, audit: Audit) -> Iterator[RenderableType]:
    """Yield the parts of the summary, in order. Ids are printed in full, times are UTC."""
    options = audit.options

    def table(name: str) -> DataFrame:
        return read_table(spark, options.out, name, options.cluster)

    captured = utc_text(audit.captured_at) if audit.captured_at else "an unknown time"
    sources = ", ".join(options.sources)
    run = f", run {audit.reads[0].run}" if audit.reads else ""
    yield Text(f"\nCluster {printable(options.cluster)}: {printable(sources)}{run}, captured at {captured}")
    yield from _notes(audit)
    states = table("group_state").withColumn("convergence", convergence())
    parts = (
        _records(audit, table("quarantine")),
        _groups(states),
        _unconverged(audit, states, table),
        _slowest(table("epoch_timeline")),
        _slowest_members(table("rebalance_lag")),
        _busiest(table("epoch_timeline")),
        _unowned(table("partition_handover")),
    )
    yield from chain.from_iterable(in_order(list, parts))
    yield Text(f"\nDelta tables are in {printable(place_text(options.out))}")


def _notes(audit: Audit) -> Iterator[RenderableType]:
    """Say what was out of the ordinary in the partitions of a live topic."""
    for read in audit.reads:
        if read.note:
            yield Text(f"Partition {read.partition}: {read.note}")
    if audit.left_out:
        yield Text(f"{audit.left_out:,} records of groups that Spark's own readers leave behind are left out")


def _records(audit: Audit, quarantine: DataFrame) -> Iterator[RenderableType]:
    is_disputed = key_of_types(DISPUTED_TYPES) & F.col("position").isNotNull()
    # Of a copy the table holds this audit's rows alone; of a live topic those of earlier runs too.
    disputed = quarantine.where(is_disputed).count() if audit.quarantined or audit.reads else 0
    unknown = sum(count for kind, count in audit.records.items() if kind is not None and kind not in RECORDS)
    yield Text(
        f"\n{count_text(sum(audit.records.values()), 'record')} read, "
        f"{count_text(audit.quarantined, 'row')} quarantined, "
        f"{unknown:,} of unknown type, {audit.aborted:,} of aborted transactions left out"
    )
    yield text_table("type", "record", "records", "table", rows=_counts(audit), right=("type", "records"))
    if audit.copies > 1:
        yield Text(
            f"\nOf {audit.copies} copies: offset commits and aborted records are counted in each that holds them"
        )
    if audit.dialect != KAFKA.name:
        yield Text(f"\nRead in the dialect {audit.dialect}")
    if disputed and audit.options.dialect != AUTO:
        yield Text(f"\n{disputed:,} rows do not decode in the dialect {audit.dialect}: try --dialect auto")


def _counts(audit: Audit) -> Iterator[tuple[object, ...]]:
    """Yield key type, record, count and where to find it, for each record that the log has."""
    for key_type, records in sorted(DIALECTS[audit.dialect].by_type.items()):
        configurations = audit.group_configurations if GROUP_CONFIGURATION in records else 0
        for record in records:
            others = audit.records.get(key_type, 0) - configurations
            count = configurations if record is GROUP_CONFIGURATION else others
            skipped = key_type in OFFSET_COMMIT_TYPES and not audit.options.offset_commits
            where = "counted only: see --offset-commits" if skipped else record.table
            if count:
                yield key_type, record.name, f"{count:,}", where


def _groups(states: DataFrame) -> Iterator[RenderableType]:
    counted = states.groupBy("state", "group_type", "convergence").count().collect()
    groups, convergence = Counter[tuple[str, str]](), Counter[str]()
    for row in counted:
        groups[row.state, row.group_type] += row["count"]
        convergence[row.convergence] += row["count"]
    yield Text(f"\n{verdict(convergence)}")
    if groups:
        rows = [(*kind, f"{count:,}") for kind, count in sorted(groups.items())]
        yield text_table("state", "protocol", "groups", rows=rows, right=("groups",))


def verdict(convergence: Mapping[str, int]) -> str:
    """Say in one sentence how many groups there are, and how many of each kind of `convergence`."""
    told = [f"{convergence[kind]:,} {kind}" for kind in _CONVERGENCE if convergence.get(kind)]
    return f"{count_text(sum(convergence.values()), 'group')} of consumers{': ' if told else ''}{', '.join(told)}"


def convergence() -> Column:
    """Return what a row of `group_state` tells of its group: one of `_CONVERGENCE`."""
    state = F.col("state")
    return (
        F.when(state == UNKNOWN, _UNTOLD)
        .when(F.col("waits_for_away_only"), _ONLY_AWAY)
        .when(state.isin(ASSIGNING, RECONCILING), NOT_CONVERGED)
        .otherwise(_CONVERGED)
    )


def _unconverged(audit: Audit, states: DataFrame, table: Tables) -> Iterator[RenderableType]:
    of_kind = Window.partitionBy("convergence")
    oldest = (
        with_ms(states.filter(F.col("convergence").isin(NOT_CONVERGED, _ONLY_AWAY)), "since")
        .withColumn("groups", F.count("*").over(of_kind))
        .withColumn("place", F.row_number().over(of_kind.orderBy("since_ms", "group_id")))
        .filter(F.col("place") <= _SHOWN)
        .orderBy("place")
        .collect()
    )
    yield from _list_groups(audit, oldest, NOT_CONVERGED)
    if behind := [row.group_id for row in oldest if row.convergence == NOT_CONVERGED]:
        yield from _waiting_members(table("rebalance_lag"), behind)
    yield from _list_groups(audit, oldest, _ONLY_AWAY)


def _list_groups(audit: Audit, groups: list[Row], what: str) -> Iterator[RenderableType]:
    oldest = [row for row in groups if row.convergence == what]
    if not oldest:
        return
    yield Text(f"\n{count_text(oldest[0].groups, 'group')} {what}, the oldest first:")
    rows = []
    for row in oldest:
        age = "" if audit.captured_at is None else duration_text(_millis(audit.captured_at) - row.since_ms)
        is_known = row.converged_members is not None and row.members is not None
        converged = f"{row.converged_members} of {row.members}" if is_known else ""
        rows.append((row.group_id, row.state, since_text(row), age, row.group_epoch, row.assignment_epoch, converged))
    titles = ("group", "state", "since", "for", "epoch", "assignment epoch", "members converged")
    yield text_table(*titles, rows=rows, right=("for", "epoch", "assignment epoch"))


def _millis(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _waiting_members(lags: DataFrame, groups: list[str]) -> Iterator[RenderableType]:
    place = F.array_position(F.array(*map(F.lit, groups)), F.col("group_id"))
    behind = (
        lags.filter("status = 'open' AND NOT superseded")
        .filter(F.col("group_id").isin(groups))
        .orderBy(place, F.desc("lag_ms"), "member_id")
        .limit(_MEMBERS_SHOWN + 1)
        .collect()
    )
    if behind:
        cut = f", the first {_MEMBERS_SHOWN}" if len(behind) > _MEMBERS_SHOWN else ""
        yield Text(f"\nTheir members that have not reconciled{cut}:")
        yield member_table(behind[:_MEMBERS_SHOWN], "group_id", "group_epoch")


def _slowest(epochs: DataFrame) -> Iterator[RenderableType]:
    slowest = with_ms(slowest_epochs(epochs), "bumped_at").limit(_SHOWN).collect()
    if slowest:
        yield Text("\nSlowest rebalances, from epoch bump to Stable:")
        rows = [
            (
                row.group_id,
                row.group_epoch,
                row.cause,
                time_text(row.bumped_at_ms),
                ms_text(row.rebalance_lag_ms),
                ms_text(row.assign_lag_ms),
                row.members,
                row.status,
            )
            for row in slowest
        ]
        titles = ("group", "epoch", "cause", "bumped at", "to Stable", "to assignment", "members", "status")
        yield text_table(*titles, rows=rows, right=("epoch", "to Stable", "to assignment", "members"))


def slowest_epochs(epochs: DataFrame) -> DataFrame:
    """Return the rows of `epoch_timeline` that were seen from bump to convergence, the slowest first."""
    seen = epochs.filter(F.col("rebalance_lag_ms").isNotNull() & (F.col("history") == OBSERVED) & ~F.col("clock_skew"))
    return seen.orderBy(F.desc("rebalance_lag_ms"), "group_id", "group_epoch")


def _slowest_members(lags: DataFrame) -> Iterator[RenderableType]:
    slowest = (
        lags.filter("status = 'reconciled' AND history = 'observed' AND NOT clock_skew")
        .orderBy(F.desc("lag_ms"), "group_id", "group_epoch", "member_id")
        .limit(_SHOWN)
        .collect()
    )
    if slowest:
        yield Text("\nSlowest members, from the bump that their assignment answers until they had reconciled it:")
        yield member_table(slowest, "group_id", "group_epoch")


def _busiest(epochs: DataFrame) -> Iterator[RenderableType]:
    """Count the epochs of each group in the hour that has most of them, wherever that begins."""
    busiest = (
        with_epochs_in_hour(epochs)
        .groupBy("group_id")
        .agg(F.count("*").alias("epochs"), F.max(F.struct("in_hour", "second")).alias("most"))
        .orderBy(F.desc("most.in_hour"), "group_id")
        .limit(_SHOWN)
        .collect()
    )
    if busiest:
        yield Text("\nMost rebalances in an hour:")
        rows = [
            (row.group_id, row.most.in_hour, time_text(row.most.second * 1000), f"{row.epochs:,}") for row in busiest
        ]
        titles = ("group", "epochs in the hour", "up to", "epochs in all")
        yield text_table(*titles, rows=rows, right=("epochs in the hour", "epochs in all"))


def _unowned(handovers: DataFrame) -> Iterator[RenderableType]:
    """Sum up how long partitions that somebody was to have had no owner."""
    longest = unowned_times(handovers, "group_id").orderBy(F.desc("total"), "group_id").limit(_SHOWN).collect()
    if longest:
        yield Text(
            "\nPartitions without an owner, at least (how long a member was dead before its session expired is unseen):"
        )
        rows = [
            (row.group_id, ms_text(row.total), ms_text(row.longest.ms), f"{row.longest.topic} {row.longest.partition}")
            for row in longest
        ]
        titles = ("group", "partitions' time in all", "longest", "of")
        yield text_table(*titles, rows=rows, right=("partitions' time in all", "longest"))


def unowned_times(handovers: DataFrame, *group: str) -> DataFrame:
    """Return of each group how long partitions that somebody was to have had no owner.

    ``total``, in ms of all partitions, and ``longest``, a struct ``ms, topic, partition, acquired_offset``: both are
    lower bounds, for how long a member was dead before its session expired is unseen. Where the log does not show all
    that happened, somebody else may have had a partition in between: that time does not count.
    """
    lost = F.when((F.col("history") == OBSERVED) & ~F.col("clock_skew"), F.col("wanted_ms"))
    longest = F.struct(lost.alias("ms"), "topic", "partition", "acquired_offset")
    found = handovers.filter(lost > 0).groupBy(*group)
    return found.agg(F.sum(lost).alias("total"), F.max(longest).alias("longest"))
