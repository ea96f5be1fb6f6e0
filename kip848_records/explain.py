"""One group's story, for a person to read in a terminal: its epochs, its members, and who waits for whom."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from rich.text import Text

from kip848_records.errors import InputError
from kip848_records.tables.delta import location
from kip848_records.terminal import (
    count_text,
    duration_text,
    member_table,
    ms_text,
    ranges_text,
    text_table,
    time_text,
    with_ms,
)
from kip848_records.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, Row, SparkSession
    from rich.console import RenderableType

_EPOCHS_SHOWN = 20
_MEMBERS_SHOWN = 100
_GROUPS_COMPARED = 10_000


class Story:
    """The rows of one group in the tables of an audit. Raises InputError where there is no such group."""

    def __init__(self, spark: SparkSession, out: str, group_id: str, cluster: str | None) -> None:
        self.group_id = group_id
        self._spark = spark
        self._out = out
        states = self._table("group_state_timeline").filter(F.col("group_id") == group_id)
        clusters = [row.cluster for row in states.select("cluster").distinct().orderBy("cluster").collect()]
        if cluster is None and len(clusters) > 1:
            raise InputError.several_clusters(group_id, clusters)
        if not clusters or (cluster is not None and cluster not in clusters):
            raise InputError.no_such_group(group_id, out, self._similar())
        self.cluster = clusters[0] if cluster is None else cluster

    def rows(self, name: str) -> DataFrame:
        """Return the group's rows of a table."""
        of_group = (F.col("cluster") == self.cluster) & (F.col("group_id") == self.group_id)
        return self._table(name).filter(of_group)

    def _table(self, name: str) -> DataFrame:
        try:
            return self._spark.read.format("delta").load(location(self._out, name))
        except AnalysisException:
            raise InputError.not_audited(self._out, name) from None

    def _similar(self) -> list[str]:
        groups = self._table("group_state_timeline").select("group_id").distinct().limit(_GROUPS_COMPARED).collect()
        return get_close_matches(self.group_id, [row.group_id for row in groups])


def explain(story: Story, epoch: int | None = None) -> Iterator[RenderableType]:
    """Yield the parts of a group's story, in order: up to the end of the log, or up to one epoch."""
    yield from _present(story)
    yield from _epochs(story, epoch)
    yield from _members(story, epoch)
    if epoch is None:
        yield from _waiting(story)


def _present(story: Story) -> Iterator[RenderableType]:
    last = with_ms(story.rows("group_state_timeline"), "from_at").orderBy(F.desc("from_offset")).limit(1).collect()[0]
    states = story.rows("group_state").collect()
    name = f"Group {printable(story.group_id)} of cluster {printable(story.cluster)}"
    if not states:
        yield Text(f"{name} was deleted; its last state was {last.state}")
        return
    (now,) = states
    epochs = "" if now.group_epoch is None else f", group epoch {now.group_epoch}"
    epochs += "" if now.assignment_epoch is None else f", assignment epoch {now.assignment_epoch}"
    since = f" since {time_text(last.from_at_ms)}" if last.from_at_ms is not None else ""
    lasted = duration_text(last.duration_ms)
    yield Text(
        f"{name}: {now.state}{since}{f', for {lasted}' if lasted else ''}; {now.group_type} protocol{epochs}, "
        f"{count_text(now.members or 0, 'member')}"
    )


def _epochs(story: Story, epoch: int | None) -> Iterator[RenderableType]:
    epochs = with_ms(story.rows("epoch_timeline"), "bumped_at")
    if epoch is not None:
        epochs = epochs.filter(F.col("group_epoch") == epoch)
    count = epochs.count()
    if epoch is not None and not count:
        raise InputError.no_such_epoch(story.group_id, epoch)
    if not count:
        yield Text("\nIt has no epochs: classic groups have none")
        return
    latest = epochs.orderBy(F.desc("incarnation"), F.desc("group_epoch")).limit(_EPOCHS_SHOWN).collect()[::-1]
    cut = f", the last {_EPOCHS_SHOWN} of {count:,}" if count > _EPOCHS_SHOWN else ""
    yield Text(f"\nEpochs{cut}:")
    rows = [
        (
            row.group_epoch,
            time_text(row.bumped_at_ms),
            row.cause,
            ms_text(row.assign_lag_ms),
            ms_text(row.rebalance_lag_ms),
            row.members,
            row.partitions_moved,
            row.status if row.superseded_by is None else f"{row.status} by {row.superseded_by}",
            row.history,
        )
        for row in latest
    ]
    titles = ("epoch", "bumped at", "cause", "to assignment", "to Stable", "members", "moved", "status", "history")
    yield text_table(*titles, rows=rows, right=("epoch", "to assignment", "to Stable", "members", "moved"))


def _members(story: Story, epoch: int | None) -> Iterator[RenderableType]:
    lags = story.rows("rebalance_lag")
    latest = lags.agg(F.max(F.struct("incarnation", "group_epoch")).alias("latest")).collect()[0].latest
    if latest is None:
        return
    shown = latest.group_epoch if epoch is None else epoch
    of_epoch = lags.filter(F.col("group_epoch") == shown)
    if epoch is None:
        of_epoch = of_epoch.filter(F.col("incarnation") == latest.incarnation)
    rows = of_epoch.orderBy(F.desc("lag_ms"), "member_id").limit(_MEMBERS_SHOWN + 1).collect()
    if not rows:
        yield Text(f"\nNo assignment of its own was written for epoch {shown}")
        return
    cut = f", the {_MEMBERS_SHOWN} slowest" if len(rows) > _MEMBERS_SHOWN else ""
    yield Text(f"\nMembers at assignment epoch {shown}{cut}:")
    yield member_table(rows[:_MEMBERS_SHOWN])


def _waiting(story: Story) -> Iterator[RenderableType]:
    """Tell who waits for whom, the oldest first: only while something is open."""
    # A member may be behind with several assignments: it waits for what the last one gives it, since the first.
    since_first = (F.max(name).alias(name) for name in ("lag_ms", "revoke_ms"))
    of_last = ("client_id", "client_host", "rebalance_timeout_ms", "awaited")
    rows = (
        story.rows("rebalance_lag")
        .filter("status = 'open'")
        .groupBy("member_id")
        .agg(*since_first, *(F.max_by(name, F.struct("incarnation", "group_epoch")).alias(name) for name in of_last))
        .orderBy(F.desc("lag_ms"), "member_id")
        .limit(_MEMBERS_SHOWN)
        .collect()
    )
    if rows:
        yield Text("\nWho waits for whom, the oldest first:")
    behind_ids = {row.member_id: row for row in rows}
    for row in rows:
        yield Text(f"  {_who(row)}: {_doing(row)}")
        for owner, topics in _awaited(row).items():
            yield Text(f"    {topics} {_held(owner, behind_ids)}")


def _who(row: Row) -> str:
    return printable(f"{row.member_id} ({row.client_id}, {row.client_host})")


def _doing(row: Row) -> str:
    lag = duration_text(row.lag_ms)
    if row.awaited:
        return f"behind for {lag}, waits for {count_text(len(row.awaited), 'partition')}"
    if row.revoke_ms:
        limit = (
            f" of the {duration_text(row.rebalance_timeout_ms)} that it may take" if row.rebalance_timeout_ms else ""
        )
        return f"behind for {lag}, has been asked to give up partitions for {duration_text(row.revoke_ms)}{limit}"
    return f"behind for {lag}"


def _awaited(row: Row) -> dict[str | None, str]:
    """Return topic partitions by their present owner."""
    owners: dict[str | None, str] = {}
    by_owner = sorted(row.awaited or (), key=lambda awaited: (awaited.owner or "", awaited.topic, awaited.partition))
    for owner, of_owner in groupby(by_owner, key=lambda awaited: awaited.owner):
        topics = groupby(of_owner, key=lambda awaited: awaited.topic)
        named = [f"{topic} {ranges_text(each.partition for each in partitions)}" for topic, partitions in topics]
        owners[owner] = printable(", ".join(named))
    return owners


def _held(owner: str | None, behind: dict[str, Row]) -> str:
    if owner is None:
        return "held by nobody: free to be taken with its next heartbeat"
    return f"held by {_who(behind[owner])}" if owner in behind else f"held by {printable(owner)}"
