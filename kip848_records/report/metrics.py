"""The results of a check as metrics of Prometheus: a file for the node exporter's textfile collector.

Labels are bounded: no member, client or host is one, and only stuck and failing groups have a series of their own. The
collector reads Prometheus' text format; it refuses OpenMetrics' types, and samples with a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from kip848_records.queries.needs import lacking
from kip848_records.replay.blocker.advice import NO_EVIDENCE
from kip848_records.report.sql import query

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kip848_records.expectations.results import Verdict
    from kip848_records.queries.tables import Run, Tables
    from kip848_records.report.changes import Changes

GROUPS_SHOWN: Final = 500
"""How many stuck groups of a cluster have a series: those that have been stuck for longest; and how many troubles over
time: those that cost most."""

_LAST_RUN: Final = "SELECT * FROM audit_runs ORDER BY run DESC LIMIT 1"
_COUNTED: Final = ("new_rebalances", "new_durations", "total_rebalances", "total_durations")
_QUANTILES: Final = {"0.5": "p50_ms", "0.95": "p95_ms", "0.99": "p99_ms", "1": "max_ms"}


class MetricSpec(NamedTuple):
    """A metric: its type in Prometheus' text format, its labels, and its help text.

    `needs`: names in `queries.needs`; without one of them the metric is absent, for zero would say that all is well.
    """

    type: str
    labels: tuple[str, ...]
    help: str
    needs: tuple[str, ...]


METRICS: Final[Mapping[str, MetricSpec]] = {
    "kip848_audit_captured_timestamp_seconds": MetricSpec(
        "gauge",
        ("cluster",),
        "When the log was copied, or read, that the last audit replayed, in seconds since 1970; absent: not known.",
        (),
    ),
    "kip848_partitions_not_read_to_end": MetricSpec(
        "gauge",
        ("cluster",),
        "Partitions of the live topic that the last audit did not read to their end, for example because of an open "
        "transaction: their groups are known only to an earlier time.",
        ("live_topic",),
    ),
    "kip848_groups": MetricSpec("gauge", ("cluster", "group_type", "state"), "Groups by type and state.", ()),
    "kip848_stuck_groups": MetricSpec(
        "gauge",
        ("cluster",),
        "Groups that do not converge, without those that only wait for absent static members; absent: there is no "
        "group.",
        (),
    ),
    "kip848_stuck_group_seconds": MetricSpec(
        "gauge",
        ("cluster", "group"),
        "For how long a group has been stuck at the capture, at least, since its rebalance began; "
        f"for the {GROUPS_SHOWN} stuck for longest; absent: not known.",
        (),
    ),
    "kip848_stuck_groups_of_unknown_age": MetricSpec(
        "gauge",
        ("cluster",),
        "Stuck groups of which the log does not show since when: they have no kip848_stuck_group_seconds.",
        (),
    ),
    "kip848_stuck_group_blocker": MetricSpec(
        "gauge",
        ("cluster", "group", "pattern", "client"),
        "1 for each of the groups in kip848_stuck_group_seconds of which the log shows what blocks it. pattern: as in "
        "group_state.blocker; client: the client or worker, empty if no single one blocks the group.",
        (),
    ),
    "kip848_groups_by_health": MetricSpec(
        "gauge",
        ("cluster", "health"),
        "Groups, each once: stuck; failing over time; unknown; away, which wait for static members; empty; healthy.",
        (),
    ),
    "kip848_trouble_seconds": MetricSpec(
        "gauge",
        ("cluster", "group", "pattern", "severity"),
        "For how long a trouble over time of a group has lasted at the capture, by its pattern: for the "
        f"{GROUPS_SHOWN} of which errors come first, and then what costs most; absent: not known.",
        (),
    ),
    "kip848_troubles_of_unknown_age": MetricSpec(
        "gauge",
        ("cluster", "severity"),
        "Troubles over time of which it is not known since when they last: they have no kip848_trouble_seconds.",
        (),
    ),
    "kip848_newly_overdue_groups": MetricSpec(
        "gauge",
        ("cluster",),
        "Overdue groups, which violate group_stable or streams_ready, that were not overdue at the audit before.",
        ("earlier_run",),
    ),
    "kip848_overdue_groups_unknown_before": MetricSpec(
        "gauge",
        ("cluster",),
        "Overdue groups of which the log does not show whether they were overdue at the audit before.",
        ("earlier_run",),
    ),
    "kip848_recovered_groups": MetricSpec(
        "gauge", ("cluster",), "Groups that were overdue at the audit before, and are not any more.", ("earlier_run",)
    ),
    "kip848_open_transactions": MetricSpec(
        "gauge",
        ("cluster", "status"),
        "Transactions with offset commits that were open at the capture. status: open; unknown, if the marker may be "
        "among lost records; unnamed: a live topic was not read beyond one. Only with --offset-commits.",
        ("offset_commits",),
    ),
    "kip848_open_transaction_seconds": MetricSpec(
        "gauge",
        ("cluster",),
        "For how long the oldest of these transactions had been open at the capture, at least; absent: none is open, "
        "or it is not known.",
        ("offset_commits",),
    ),
    "kip848_open_transactions_of_unknown_age": MetricSpec(
        "gauge",
        ("cluster",),
        "Open transactions of which the log does not show since when.",
        ("offset_commits",),
    ),
    "kip848_owned_partitions": MetricSpec(
        "gauge",
        ("cluster", "state"),
        "Partitions with an owner, by the state of consumption_now: progress, suspected, blocked_by_transaction and "
        "others. Only with --offset-commits.",
        ("offset_commits",),
    ),
    "kip848_expectation_results": MetricSpec(
        "gauge",
        ("cluster", "expectation", "result"),
        "Checked items of an expectation by result: pass, error, warning; unknown: the log does not show it; absent: "
        "nothing was checked.",
        (),
    ),
    "kip848_expectation_not_applicable": MetricSpec(
        "gauge",
        ("cluster", "expectation", "reason"),
        "1 for an expectation that checked nothing. reason: what the audit lacks, such as offset_commits; "
        "nothing_to_check: the log has nothing of the kind.",
        (),
    ),
    "kip848_new_rebalances": MetricSpec(
        "gauge", ("cluster", "outcome"), "Rebalances that ended between the last audit and the one before.", ()
    ),
    "kip848_rebalances": MetricSpec(
        "counter", ("cluster", "outcome"), "Rebalances that ended, over all audits of the cluster.", ()
    ),
    "kip848_rebalance_duration_seconds": MetricSpec(
        "summary",
        ("cluster",),
        "Durations of rebalances that the log shows whole. Quantiles: between the last audit and the one before; "
        "sum and count: over all audits.",
        (),
    ),
}
"""Every metric by its name; that of a counter's samples ends in `_total`."""


def metrics(tables: Tables, verdict: Verdict, changes: Mapping[str, Changes]) -> str:
    """Return the metrics of a check in Prometheus' text format. `changes`: since the run before, by cluster."""
    registry = CollectorRegistry()
    registry.register(_Collected(list(_metrics(tables, verdict, changes))))
    return generate_latest(registry).decode()


class _Collected:
    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics


def _metrics(tables: Tables, verdict: Verdict, changes: Mapping[str, Changes]) -> Iterator[Metric]:
    """Yield the metrics that have samples."""
    metrics = {name: Metric(name, spec.help, spec.type) for name, spec in METRICS.items()}

    def add(name: str, labels: tuple[str, ...], value: float, suffix: str = "", **more: str) -> None:
        named = dict(zip(METRICS[name].labels, labels, strict=True))
        metrics[name].add_sample(f"{name}{suffix}", named | more, value)

    runs = [run for run in tables.runs() if run.cluster in verdict.captured_at]
    for run in runs:
        _add_groups(add, tables, run, changes.get(run.cluster))
        if run.offset_commits:
            _add_commits(add, tables, run.cluster)
        add("kip848_partitions_not_read_to_end", (run.cluster,), len(verdict.limits[run.cluster].known_to))
        _add_rebalances(add, tables, run.cluster)
    for result in verdict.results:
        for cluster, counts in result.by_cluster.items():
            for name, count in zip(("pass", "error", "warning", "unknown"), counts, strict=True):
                add("kip848_expectation_results", (cluster, result.name, name), count)
        for cluster, nothing in result.not_applicable.items():
            add("kip848_expectation_not_applicable", (cluster, result.name, nothing.need or "nothing_to_check"), 1)
    lacks = {run.cluster: lacking(run) for run in runs}
    for name, metric in metrics.items():
        needs = METRICS[name].needs
        metric.samples = [each for each in metric.samples if lacks[each.labels["cluster"]].keys().isdisjoint(needs)]
        if metric.samples:
            yield metric


def _add_groups(add: Any, tables: Tables, run: Run, changes: Changes | None) -> None:  # noqa: ANN401 - the function above
    cluster = run.cluster
    captured = None if run.captured_at is None else run.captured_at.timestamp()
    groups = tables.rows(query("groups_by_state"), cluster)
    for row in groups:
        add("kip848_groups", (cluster, row.group_type, row.state), row.groups)
    _add_stuck(add, tables, cluster, has_groups=bool(groups))
    for row in tables.rows(query("summary_counts"), cluster):
        add("kip848_groups_by_health", (cluster, row.health), row.groups)
    for row in tables.rows(query("present_patterns"), cluster, shown=GROUPS_SHOWN):
        labels = (cluster, row.group_id, row.pattern, row.severity)
        add("kip848_trouble_seconds", labels, round(row.longest_ms / 1000, 3))
    for row in tables.rows(query("troubles_of_unknown_age"), cluster) if groups else ():
        add("kip848_troubles_of_unknown_age", (cluster, row.severity), row.troubles)
    if captured is not None:
        add("kip848_audit_captured_timestamp_seconds", (cluster,), captured)
    if changes is not None and not changes.is_first:
        add("kip848_newly_overdue_groups", (cluster,), len(changes.newly_overdue))
        add("kip848_overdue_groups_unknown_before", (cluster,), len(changes.unknown))
        add("kip848_recovered_groups", (cluster,), len(changes.recovered))


def _add_stuck(add: Any, tables: Tables, cluster: str, *, has_groups: bool) -> None:  # noqa: ANN401 - as above
    # An id may be in several partitions, if a group is not in its own: a series may not come twice.
    stuck: dict[str, float] = {}
    rows = tables.rows(query("stuck_groups"), cluster)
    dated = [row for row in rows if row.stuck_ms is not None and row.stuck_ms >= 0]  # a broker's clock may go back
    for row in dated:
        stuck[row.group_id] = max(row.stuck_ms / 1000, stuck.get(row.group_id, 0))
    blockers = {row.group_id: row.blocker for row in dated if row.blocker and row.blocker["pattern"] != NO_EVIDENCE}
    if has_groups:
        add("kip848_stuck_groups", (cluster,), len(rows))
        add("kip848_stuck_groups_of_unknown_age", (cluster,), len(rows) - len(dated))
    for group, seconds in sorted(stuck.items(), key=lambda item: (-item[1], item[0]))[:GROUPS_SHOWN]:
        add("kip848_stuck_group_seconds", (cluster, group), round(seconds, 3))
        if (blocker := blockers.get(group)) is not None:
            add("kip848_stuck_group_blocker", (cluster, group, blocker["pattern"], blocker["who"] or ""), 1)


def _add_commits(add: Any, tables: Tables, cluster: str) -> None:  # noqa: ANN401 - as above
    rows = {row.status: row for row in tables.rows(query("open_transactions"), cluster)}
    for status in ("open", "unknown", "unnamed"):
        add("kip848_open_transactions", (cluster, status), rows[status].transactions if status in rows else 0)
    ages = [row.oldest_ms for row in rows.values() if row.oldest_ms is not None]
    if ages:
        add("kip848_open_transaction_seconds", (cluster,), round(max(ages) / 1000, 3))
    add("kip848_open_transactions_of_unknown_age", (cluster,), sum(row.undated for row in rows.values()))
    for row in tables.rows(query("owned_partitions"), cluster):
        add("kip848_owned_partitions", (cluster, row.state), row.partitions)


def _add_rebalances(add: Any, tables: Tables, cluster: str) -> None:  # noqa: ANN401 - as above
    """Add the counts of the last run; an archive has none, nor has a row of an older version."""
    (row,) = tables.rows(_LAST_RUN, cluster)
    if any(getattr(row, name, None) is None for name in _COUNTED):
        return
    for outcome, count in dict(row.new_rebalances).items():
        add("kip848_new_rebalances", (cluster, outcome), count or 0)
    for outcome, count in dict(row.total_rebalances).items():
        add("kip848_rebalances", (cluster, outcome), count or 0, "_total")
    duration = "kip848_rebalance_duration_seconds"
    for quantile, name in _QUANTILES.items():
        if (millis := row.new_durations[name]) is not None and millis >= 0:
            add(duration, (cluster,), millis / 1000, quantile=quantile)
    add(duration, (cluster,), (row.total_durations["sum_ms"] or 0) / 1000, "_sum")
    add(duration, (cluster,), row.total_durations["count"] or 0, "_count")
