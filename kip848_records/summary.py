"""What an audit found, for a person to read in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from rich import box
from rich.table import Table
from rich.text import Text

from kip848_records.decode.dialects import AUTO, DISPUTED_TYPES
from kip848_records.protocol.messages import CONSUMER_MEMBER_STATES, DIALECTS, KAFKA, OFFSET_COMMIT_TYPES, RECORDS
from kip848_records.protocol.messages.early import GROUP_CONFIGURATION
from kip848_records.sources.log import key_of_types
from kip848_records.tables.delta import read_table
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from rich.console import RenderableType

    from kip848_records.audit import Audit

    Tables = Callable[[str], DataFrame]

_SHOWN = 10
_MEMBERS_SHOWN = 100

_UNCONVERGED = ("Assigning", "Reconciling")


def summary(spark: SparkSession, audit: Audit) -> Iterator[RenderableType]:
    """Yield the parts of the summary, in order. Ids are printed in full, times are UTC."""
    options = audit.options

    def table(name: str) -> DataFrame:
        return read_table(spark, options.out, name, options.cluster)

    captured = utc_text(audit.captured_at) if audit.captured_at else "an unknown time"
    yield Text(f"\nCluster {options.cluster}: {', '.join(options.sources)}, captured at {captured}")
    yield from _records(audit, table("quarantine"))
    states = table("group_state")
    yield from _groups(states)
    yield from _unconverged(audit, states, table)
    yield from _slowest(table("epoch_timeline"))
    yield Text(f"\nDelta tables are in {options.out.rstrip('/')}/")


def _records(audit: Audit, quarantine: DataFrame) -> Iterator[RenderableType]:
    is_disputed = key_of_types(DISPUTED_TYPES) & F.col("position").isNotNull()
    quarantined, disputed = quarantine.agg(F.count("*"), F.count_if(is_disputed)).collect()[0]
    unknown = sum(count for kind, count in audit.records.items() if kind is not None and kind not in RECORDS)
    yield Text(
        f"\n{sum(audit.records.values()):,} records read, {quarantined:,} rows quarantined, "
        f"{unknown:,} of unknown type, {audit.aborted:,} of aborted transactions left out"
    )
    yield _table("type", "record", "records", "table", rows=_counts(audit), right=("type", "records"))
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
    counted = states.groupBy("state", "group_type").count().orderBy("state", "group_type").collect()
    yield Text(f"\n{_groups_text(sum(row['count'] for row in counted))} of consumers")
    rows = [(row.state, row.group_type, f"{row['count']:,}") for row in counted]
    yield _table("state", "protocol", "groups", rows=rows, right=("groups",))


def _unconverged(audit: Audit, states: DataFrame, table: Tables) -> Iterator[RenderableType]:
    waiting = states.filter(F.col("state").isin(*_UNCONVERGED))
    only_away = F.col("converged_members") + F.col("members_away") == F.col("members")
    is_away = (F.col("state") == "Reconciling") & (F.col("members_away") > 0) & only_away
    count, away = waiting.filter(~is_away).count(), waiting.filter(is_away).count()
    if count:
        yield from _list_groups(audit, f"{_groups_text(count)} not converged", waiting.filter(~is_away))
        yield from _waiting_members(waiting.filter(~is_away), table)
    else:
        yield Text("\nEvery group has converged")
    if away:
        what = f"{_groups_text(away)} waiting only for a static member that went away"
        yield from _list_groups(audit, what, waiting.filter(is_away))


def _list_groups(audit: Audit, what: str, groups: DataFrame) -> Iterator[RenderableType]:
    oldest = _with_ms(groups, "since").orderBy("since_ms", "group_id").limit(_SHOWN).collect()
    yield Text(f"\n{what}, the oldest first:")
    rows = []
    for row in oldest:
        since = utc(row.since_ms)
        age = _duration(audit.captured_at - since) if audit.captured_at else ""
        converged = f"{row.converged_members} of {row.members}"
        rows.append((row.group_id, row.state, utc_text(since), age, row.group_epoch, row.assignment_epoch, converged))
    titles = ("group", "state", "since", "for", "epoch", "assignment epoch", "members converged")
    yield _table(*titles, rows=rows, right=("for", "epoch", "assignment epoch"))


def _groups_text(count: int) -> str:
    return "1 group" if count == 1 else f"{count:,} groups"


def _waiting_members(groups: DataFrame, table: Tables) -> Iterator[RenderableType]:
    oldest = groups.orderBy("since", "group_id").limit(_SHOWN).select("group_id", "since", "assignment_epoch")
    live = table("latest_state").select("partition", "offset")
    members = _of_members(table("consumer_group_member_metadata"), live, oldest, "client_id", "client_host")
    current = _of_members(table("consumer_group_current_member_assignment"), live, oldest, "member_epoch", "state")
    behind = (
        members.join(current.drop("assignment_epoch", "since"), ["group_id", "member_id"], "left")
        .filter(~F.coalesce((F.col("state") == 0) & (F.col("member_epoch") == F.col("assignment_epoch")), F.lit(False)))  # noqa: FBT003
        .orderBy("since", "group_id", "member_id")
        .limit(_MEMBERS_SHOWN + 1)
        .collect()
    )
    if behind:
        cut = f", the first {_MEMBERS_SHOWN}" if len(behind) > _MEMBERS_SHOWN else ""
        yield Text(f"\nTheir members that have not reconciled{cut}:")
        rows = [
            (
                row.group_id,
                row.member_id,
                row.client_id,
                row.client_host,
                row.member_epoch,
                CONSUMER_MEMBER_STATES.get(row.state, row.state),
            )
            for row in behind[:_MEMBERS_SHOWN]
        ]
        yield _table(
            "group", "member", "client id", "host", "member epoch", "state", rows=rows, right=("member epoch",)
        )


def _of_members(records: DataFrame, live: DataFrame, groups: DataFrame, *columns: str) -> DataFrame:
    """Return the live record of each member of `groups`."""
    of_groups = records.join(F.broadcast(groups), "group_id").join(live, ["partition", "offset"], "left_semi")
    return of_groups.select("group_id", "member_id", "assignment_epoch", "since", *columns)


def _slowest(epochs: DataFrame) -> Iterator[RenderableType]:
    slowest = (
        _with_ms(epochs, "bumped_at")
        .filter(F.col("rebalance_lag_ms").isNotNull() & ~F.col("clock_skew"))
        .orderBy(F.desc("rebalance_lag_ms"), "group_id", "group_epoch")
        .limit(_SHOWN)
        .collect()
    )
    if slowest:
        yield Text("\nSlowest rebalances, from epoch bump to Stable:")
        rows = [
            (
                row.group_id,
                row.group_epoch,
                utc_text(utc(row.bumped_at_ms)),
                f"{row.rebalance_lag_ms:,} ms",
                "" if row.assign_lag_ms is None else f"{row.assign_lag_ms:,} ms",
                row.members,
                row.status,
            )
            for row in slowest
        ]
        titles = ("group", "epoch", "bumped at", "to Stable", "to assignment", "members", "status")
        yield _table(*titles, rows=rows, right=("epoch", "to Stable", "to assignment", "members"))


def _table(*titles: str, rows: Iterable[tuple[object, ...]], right: tuple[str, ...] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="")
    for title in titles:
        table.add_column(title, justify="right" if title in right else "left", no_wrap=True)
    for row in rows:
        # Text, not str: a group id may look like markup.
        table.add_row(*(Text("" if cell is None else _printable(str(cell))) for cell in row))
    return table


def _printable(text: str) -> str:
    """Escape what would move the cursor or break the line: a group id may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _with_ms(rows: DataFrame, column: str) -> DataFrame:
    """Add a time in ms since 1970: PySpark hands times to Python in the driver's own time zone."""
    return rows.withColumn(f"{column}_ms", F.unix_millis(column))


def _duration(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < 0:  # clocks differ, or the log was copied before the time that was given
        return ""
    days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds % 60, "s")]
    shown = [f"{count} {unit}" for count, unit in parts if count][:2]
    return " ".join(shown) or "0 s"
