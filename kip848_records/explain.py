"""One group's story, for a person to read in a terminal: its epochs, its members, and who waits for whom."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F
from rich.text import Text

from kip848_records.tables.errors import TablesError
from kip848_records.tables.places import read_audited
from kip848_records.terminal import (
    count_text,
    duration_text,
    member_table,
    ms_text,
    ranges_text,
    since_text,
    text_table,
    time_text,
    with_ms,
)
from kip848_records.text import printable
from kip848_records.timeline.states import ASSIGNING, RECONCILING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession
    from rich.console import RenderableType

_EPOCHS_SHOWN = 20
_MEMBERS_SHOWN = 100
_GROUPS_COMPARED = 10_000


class Life(NamedTuple):
    """A group from where it begins to where it is deleted, in one partition of the log."""

    partition: int
    incarnation: int


class Story:
    """The rows of one group in the tables of an audit. Raises InputError where there is no such group.

    A group that was deleted and created again has had several lives. So has one in two partitions, as where partitions
    were added to the topic: what it wrote before stays where it was. `lives` are all of them, in the order in which
    they last changed; those that last still come last.
    """

    def __init__(self, spark: SparkSession, out: str, group_id: str, cluster: str | None) -> None:
        self.group_id = group_id
        self._spark = spark
        self._out = out
        states = self._table("group_state_timeline").filter(F.col("group_id") == group_id)
        lasts, changed_at = F.max(F.col("to_at").isNull()).alias("lasts"), F.max("from_at").alias("changed_at")
        lives = states.groupBy("cluster", *Life._fields).agg(lasts, changed_at)
        found = lives.orderBy("lasts", "changed_at", "incarnation", "partition").collect()
        clusters = sorted({row.cluster for row in found})
        if not clusters:
            raise TablesError.no_such_group(group_id, out, self._similar(cluster))
        if cluster is None and len(clusters) > 1:
            raise TablesError.several_clusters(group_id, clusters)
        if cluster is not None and cluster not in clusters:
            raise TablesError.group_of_other_cluster(group_id, cluster, clusters)
        self.cluster = clusters[0] if cluster is None else cluster
        self.lives = [Life(row.partition, row.incarnation) for row in found if row.cluster == self.cluster]

    def rows(self, name: str) -> DataFrame:
        """Return the group's rows of a table, of all its lives."""
        of_group = (F.col("cluster") == self.cluster) & (F.col("group_id") == self.group_id)
        return self._table(name).filter(of_group)

    def life(self, name: str, life: Life) -> DataFrame:
        """Return the rows of one life."""
        return self.rows(name).filter(
            (F.col("partition") == life.partition) & (F.col("incarnation") == life.incarnation)
        )

    def life_with(self, epoch: int) -> Life:
        """Return the last life with an epoch. Raises InputError where there is none."""
        epochs = self.rows("epoch_timeline").filter(F.col("group_epoch") == epoch)
        found = {Life(*row) for row in epochs.select(*Life._fields).distinct().collect()}
        lives = [life for life in self.lives if life in found]
        if not lives:
            raise TablesError.no_such_epoch(self.group_id, epoch)
        return lives[-1]

    def _table(self, name: str) -> DataFrame:
        return read_audited(self._spark, self._out, name)

    def _similar(self, cluster: str | None) -> list[str]:
        states = self._table("group_state_timeline")
        of_cluster = states if cluster is None else states.filter(F.col("cluster") == cluster)
        groups = of_cluster.select("group_id").distinct().limit(_GROUPS_COMPARED).collect()
        return get_close_matches(self.group_id, [row.group_id for row in groups])


def explain(story: Story, epoch: int | None = None) -> Iterator[RenderableType]:
    """Yield the parts of a group's story, in order: all of its last life, or one epoch of the last life that has it.

    Raises InputError, before the first part, where the log has no such epoch.
    """
    life = story.lives[-1] if epoch is None else story.life_with(epoch)
    yield from _present(story)
    yield from _lives(story, life, epoch)
    yield from _epochs(story, life, epoch)
    yield from _members(story, life, epoch)
    if epoch is None:
        yield from _waiting(story, life)


def _present(story: Story) -> Iterator[RenderableType]:
    states = with_ms(story.rows("group_state"), "since").collect()
    name = f"Group {printable(story.group_id)} of cluster {printable(story.cluster)}"
    if not states:
        yield Text(f"{name} was deleted; its last state was {_last_interval(story, story.lives[-1]).state}")
        return
    captured_ms = _captured_ms(story)
    for now in sorted(states, key=lambda now: now.partition):
        told = [f"{now.group_type} protocol"]
        told += [] if now.group_epoch is None else [f"group epoch {now.group_epoch}"]
        told += [] if now.assignment_epoch is None else [f"assignment epoch {now.assignment_epoch}"]
        told += [] if now.members is None else [count_text(now.members, "member")]
        place = f" in partition {now.partition}" if len(states) > 1 else ""
        yield Text(f"{name}{place}: {now.state}{_since(now, captured_ms)}; {', '.join(told)}")


def _since(now: Row, captured_ms: int | None) -> str:
    """Assigning and Reconciling take turns while a group has not converged: the time is that of the first of them."""
    if now.since_ms is None:
        return ""
    what = ", not converged since" if now.state in (ASSIGNING, RECONCILING) else " since"
    lasted = "" if captured_ms is None else duration_text(captured_ms - now.since_ms)
    return f"{what} {since_text(now)}{f', for {lasted}' if lasted else ''}"


def _captured_ms(story: Story) -> int | None:
    """Return when the log was captured: until then the states last that last still."""
    lasting = story.rows("group_state_timeline").filter(F.col("to_at").isNull())
    captured: int | None = lasting.agg(F.max(F.unix_millis("from_at") + F.col("duration_ms"))).collect()[0][0]
    return captured


def _last_interval(story: Story, life: Life) -> Row:
    """Return the last state of a life."""
    return story.life("group_state_timeline", life).orderBy(F.desc("from_offset")).limit(1).collect()[0]


def _lives(story: Story, life: Life, epoch: int | None) -> Iterator[RenderableType]:
    last = story.lives[-1]
    # Of a group that becomes a classic one, a coordinator writes what it writes of one that is deleted.
    ended = f"It was deleted, or became a classic group, {count_text(last.incarnation, 'time')} before"
    if life.partition == last.partition and life != last:
        yield Text(f"{ended}: epoch {epoch} is of an earlier life only")
    elif life == last and last.incarnation:
        yield Text(f"{ended}: the following is of its last life")
    if others := sorted({each.partition for each in story.lives} - {life.partition}):
        yield Text(f"The following is of partition {life.partition}; it is in {ranges_text(others)} as well")


def _epochs(story: Story, life: Life, epoch: int | None) -> Iterator[RenderableType]:
    epochs = with_ms(story.life("epoch_timeline", life), "bumped_at")
    if epoch is not None:
        epochs = epochs.filter(F.col("group_epoch") == epoch)
    count = epochs.count()
    if not count:
        is_classic = _last_interval(story, life).group_type == "classic"
        yield Text("\nIt has no epochs: classic groups have none" if is_classic else "\nThe log has no epoch of it")
        return
    latest = epochs.orderBy(F.desc("group_epoch")).limit(_EPOCHS_SHOWN).collect()[::-1]
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


def _members(story: Story, life: Life, epoch: int | None) -> Iterator[RenderableType]:
    lags = story.life("rebalance_lag", life)
    latest: int | None = lags.agg(F.max("group_epoch")).collect()[0][0]
    if latest is None:
        return
    shown = latest if epoch is None else epoch
    of_epoch = lags.filter(F.col("group_epoch") == shown)
    rows = of_epoch.orderBy(F.desc("lag_ms"), "member_id").limit(_MEMBERS_SHOWN + 1).collect()
    if not rows:
        yield Text(f"\nNo assignment of its own was written for epoch {shown}")
        return
    cut = f", the {_MEMBERS_SHOWN} slowest" if len(rows) > _MEMBERS_SHOWN else ""
    yield Text(f"\nMembers at assignment epoch {shown}{cut}:")
    yield member_table(rows[:_MEMBERS_SHOWN])


def _waiting(story: Story, life: Life) -> Iterator[RenderableType]:
    """Tell who waits for whom, the oldest first: only while something is open."""
    behind = members_behind(story.life("rebalance_lag", life))
    rows = behind.orderBy(F.desc("lag_ms"), "member_id").limit(_MEMBERS_SHOWN).collect()
    if rows:
        yield Text("\nWho waits for whom, the oldest first:")
    for member, waits_for in waiting_texts(rows):
        yield Text(f"  {member}")
        for partitions in waits_for:
            yield Text(f"    {partitions}")
    more = behind.count() - len(rows) if len(rows) == _MEMBERS_SHOWN else 0
    if more:
        yield Text(f"  and {count_text(more, 'more member')}")


def members_behind(lags: DataFrame, *group: str) -> DataFrame:
    """Return of rows of `rebalance_lag` a row per member of a `group` that is behind with any.

    ``member_id, lag_ms, revoke_ms, client_id, client_host, rebalance_timeout_ms, awaited``.
    """
    # A member may be behind with several assignments: it waits for what the last one gives it, since the first.
    since_first = (F.max(name).alias(name) for name in ("lag_ms", "revoke_ms"))
    of_last = ("client_id", "client_host", "rebalance_timeout_ms", "awaited")
    return (
        lags.filter("status = 'open'")
        .groupBy(*group, "member_id")
        .agg(*since_first, *(F.max_by(name, "group_epoch").alias(name) for name in of_last))
    )


def waiting_texts(rows: Sequence[Row]) -> Iterator[tuple[str, list[str]]]:
    """Yield for each row of `members_behind`, all of one group, what to say of the member and of what it waits for."""
    behind_ids = {row.member_id: row for row in rows}
    for row in rows:
        waits_for = [f"{topics} {_held(owner, behind_ids)}" for owner, topics in _awaited(row).items()]
        yield f"{_who(row)}: {_doing(row)}", waits_for


def _who(row: Row) -> str:
    client = ", ".join(name for name in (row.client_id, row.client_host) if name is not None)
    return printable(f"{row.member_id} ({client})" if client else row.member_id)


def _doing(row: Row) -> str:
    behind = f"behind for {duration_text(row.lag_ms) or 'an unknown time'}"
    if row.awaited:
        return f"{behind}, waits for {count_text(len(row.awaited), 'partition')}"
    revoked = duration_text(row.revoke_ms)
    if not row.revoke_ms or not revoked:
        return behind
    # Perhaps several times, each with its own time limit, and not for certain to this day.
    limit = duration_text(row.rebalance_timeout_ms)
    return f"{behind}, was asked for {revoked} to give up partitions{f' (may take {limit} each time)' if limit else ''}"


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
