# Databricks notebook source
# MAGIC %md
# MAGIC # Which group hurts, and why?
# MAGIC
# MAGIC Kafka's coordinator writes every step of every rebalance into `__consumer_offsets`; kip848-records turned that
# MAGIC log into Delta tables. This notebook finds the consumer group that is worst off, says what holds it up, and
# MAGIC draws its rebalances, what its members did meanwhile, and which partitions had no owner.
# MAGIC
# MAGIC | parameter | |
# MAGIC |---|---|
# MAGIC | `tables` | the folder of the tables, `--out` of the audit |
# MAGIC | `cluster` | the Kafka cluster, `--cluster` of the audit |
# MAGIC | `group` | the group to look at; empty: the one that is worst off |
# MAGIC
# MAGIC It needs the package, whose report has the same queries. On serverless compute, install its wheel in a cell
# MAGIC before this one: `%pip install` and the path. The terms are in the [glossary](../docs/glossary.md).

# COMMAND ----------

import os
from pathlib import Path

import pandas as pd
import plotly.express as px
from rich.console import Console

from kip848_records.queries.engines import open_tables
from kip848_records.report.explain import explain
from kip848_records.report.fleet_text import fleet_terminal
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import numbers_of, section_rows, units_text
from kip848_records.report.page.contents import contents
from kip848_records.report.page.phrases import blocker_text
from kip848_records.text import client_text
from kip848_records.times import utc_text


def parameter(name, default):
    """A widget on Databricks; elsewhere a variable of the environment: KIP848_TABLES for `tables`."""
    if "dbutils" in globals():
        dbutils.widgets.text(name, default)
        return dbutils.widgets.get(name)
    return os.environ.get(f"KIP848_{name.upper()}", default)


# `make audit` writes to out/ in the project's folder; Jupyter starts in the notebook's.
tables = parameter("tables", "out" if Path("out").is_dir() else "../out")
cluster = parameter("cluster", "demo")
group = parameter("group", "")


def session():
    """The session of Databricks, or one of our own where DuckDB cannot read the tables."""
    if "spark" in globals():
        return spark
    from kip848_records.spark.session import get_session

    return get_session("explore rebalances")


opened = open_tables(tables, "spark" if "spark" in globals() else None, session=session, note=print)
(run,) = opened.chosen_runs(cluster)
found = contents(opened, cluster=cluster)
print(f"Cluster {cluster}, as of {utc_text(run.captured_at)}")


def times(millis):
    """Times in ms since 1970 as a column of timestamps, UTC."""
    return pd.to_datetime(millis, unit="ms", utc=True)


# COMMAND ----------

# MAGIC %md
# MAGIC ## Which group is worst off?
# MAGIC
# MAGIC One row for each group: what it is doing now, for how long it has been stuck and who blocks it, and what its
# MAGIC rebalances took. `slowest_ms` is of rebalances that converged and whose start and end are both in the log.
# MAGIC A classic group, a Connect cluster or a share group reads Stable while it rebalances: `health` shows that it is
# MAGIC stuck.
# MAGIC
# MAGIC **What to see:** groups on top are stuck *now*, the longest first. Below them, those with the slowest
# MAGIC rebalances. Many quick rebalances are a restart; few slow ones are a slow member.

# COMMAND ----------


def row_of(each):
    """A group's row: that of the page's list."""
    is_stuck = each["health"] == "stuck"
    stuck_ms = each["stuck_ms"] if is_stuck else None
    return {
        **{name: each[name] for name in ("group_id", "kind", "state", "health")},
        "stuck_for_s": None if stuck_ms is None else stuck_ms / 1000,
        "blocked_by": blocker_text(each["blocker"]) if is_stuck else "",
        **{name: each[name] for name in ("members", "converged_members", "rebalances", "slowest_ms", "idle_ms")},
    }


worst = pd.DataFrame([row_of(each) for each in found.groups])
display(worst)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What holds it up, and what to do?
# MAGIC
# MAGIC The output of `kip848 explain` for a group: what it waits for, what to do next, and where that is explained.
# MAGIC
# MAGIC **What to see:** the first sentence is the answer: which client, doing what for how long, and who waits for it.

# COMMAND ----------

group = group or worst.group_id.iloc[0]
of_group = GroupHistory(opened, group, cluster)
console = Console(width=140, force_jupyter=False)
for part in explain(of_group):
    console.print(part, soft_wrap=True)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What happened to it?
# MAGIC
# MAGIC Each bar is a rebalance: from the first bump (the dot), when something changed, until the group was Stable
# MAGIC again. Its colour says what began it. A hatched bar is *censored*: it has not ended yet, or records around it
# MAGIC were compacted away, so that one of its ends is not known. A dot alone converged at once.
# MAGIC
# MAGIC **What to see:** a staircase of short bars is a rolling restart. One bar of many epochs is a group that never
# MAGIC came to rest between them. A hatched bar that runs to the right edge is the trouble of now.

# COMMAND ----------

CAUSES = {
    "member_joined": "#0072B2",
    "member_left": "#D55E00",
    "static_member_replaced": "#CC79A7",
    "subscription_changed": "#009E73",
    "topic_metadata_changed": "#E69F00",
    "regex_resolved": "#56B4E9",
    "upgraded": "#7A5195",
    "unknown": "#8C8C8C",
}
OTHER_CAUSE = "#8C8C8C"
HATCHES = {"observed": "", "left_censored": "\\", "right_censored": "/", "censored": "x"}
incarnation = of_group.incarnations[-1]
(of_list,) = (each for each in found.groups if (each["group_id"], each["partition"]) == (group, incarnation.partition))
captured_ms = of_list["captured_ms"]


def rows_of(*names):
    """The rows of sections of the page, as their SQL returns them, for the group's last partition."""
    return [row for row in section_rows(of_group, *names) if row["partition"] == incarnation.partition]


def units_of(row):
    """Partitions, connectors and tasks as the page names them; None for nothing."""
    numbers = numbers_of(row["numbers"])
    return units_text(of_list["kind"], row["place"], numbers) if numbers else None


def epochs_of(first, last, earlier):
    """The epochs of a rebalance: 3-4; 1/3-4 if the group had been deleted once."""
    epochs = f"{first}" if first == last else f"{first}-{last}"
    return f"{earlier}/{epochs}" if earlier else epochs


rebalances = pd.DataFrame(
    [
        {
            "epochs": epochs_of(each["first_epoch"], each["last_epoch"], each["incarnation"]),
            "from": times(each["began_at_ms"]),
            "to": times(
                each["ended_at_ms"]
                or (captured_ms if each["outcome"] == "open" else each["began_at_ms"] + (each["duration_ms"] or 0))
            ),
            "cause": next(filter(None, each["causes"] or ()), "unknown"),
            "causes": " ".join(filter(None, each["causes"] or ())),
            **{name: each[name] for name in ("outcome", "duration_ms", "assigning_ms", "members")},
            **{name: each[name] for name in ("members_waited", "partitions_moved", "history")},
        }
        for each in reversed(rows_of("rebalances"))
    ],
    columns=[
        *("epochs", "from", "to", "cause", "causes", "outcome", "duration_ms", "assigning_ms", "members"),
        *("members_waited", "partitions_moved", "history"),
    ],
)
display(rebalances)

# COMMAND ----------

if rebalances.empty:
    print(f"Group {group} has no rebalances in the log")
else:
    rebalances_figure = px.timeline(
        rebalances,
        x_start="from",
        x_end="to",
        y="epochs",
        color="cause",
        color_discrete_map=CAUSES,
        pattern_shape="history",
        pattern_shape_map=HATCHES,
        hover_data=["causes", "outcome", "members", "partitions_moved", "assigning_ms", "duration_ms"],
        title=f"Group {group}: each rebalance from its first bump until the group was Stable",
    )
    rebalances_figure.add_scatter(
        x=rebalances["from"],
        y=rebalances.epochs,
        mode="markers",
        marker={
            "color": [CAUSES.get(cause, OTHER_CAUSE) for cause in rebalances.cause],
            "size": 8,
            "line": {"color": "white", "width": 1},
        },
        name="bump",
        hoverinfo="skip",
    )
    rebalances_figure.update_yaxes(
        title="epochs or generations", type="category", categoryorder="array", categoryarray=rebalances.epochs[::-1]
    )
    rebalances_figure.update_xaxes(title="time (UTC)")
    rebalances_figure.update_layout(height=max(320, 160 + 22 * len(rebalances)), legend_title="cause, history")
    rebalances_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who held it up?
# MAGIC
# MAGIC The blockers of one rebalance: the one that is ongoing, else the slowest of the last twenty. A member is *late*
# MAGIC while its next step depends on no other member, and *blocks* while it holds a partition that another member
# MAGIC awaits. Below, what every member did meanwhile. The log does not show this of classic groups and Connect
# MAGIC clusters; if a worker left, the sentence above names it.
# MAGIC
# MAGIC **What to see:** the culprit is on top, and *revoking*, *behind* or *away*; those that are *waiting* wait for
# MAGIC it. Its client id and host say whom to talk to. Its log says why it is slow; this log does not.

# COMMAND ----------

LATEST = """
SELECT unix_millis(began_at) AS began_ms, first_epoch, last_epoch, outcome, duration_ms, blockers
FROM rebalance WHERE group_id = :group AND partition = :partition AND incarnation = :incarnation
ORDER BY began_offset DESC LIMIT 20
"""
shown = max(
    opened.rows(LATEST, cluster, group=group, **incarnation._asdict()),
    key=lambda row: (row.outcome == "open", row.duration_ms or 0),
    default=None,
)
blockers = pd.DataFrame(
    [
        {
            "client": client_text(each["client_id"], each["client_host"], each["instance_id"]),
            **{name: each[name] for name in ("member_id", "late_ms", "blocked_ms", "held_up", "revoke_ms", "away_ms")},
            "last_state": each["last_state"],
        }
        for each in ((shown.blockers or ()) if shown else ())
    ],
    columns=["client", "member_id", "late_ms", "blocked_ms", "held_up", "revoke_ms", "away_ms", "last_state"],
)
display(blockers)

# COMMAND ----------

STATES = {
    "revoking": "#D55E00",
    "behind": "#CC79A7",
    "away": "#7A5195",
    "waiting": "#E69F00",
    "unknown": "#8C8C8C",
    "reconciled": "#56B4E9",
}
began_ms = shown.began_ms if shown else 0
ended_ms = (shown.began_ms + (shown.duration_ms or 0)) if shown else 0
intervals = pd.DataFrame(
    [
        {
            **{name: each[name] for name in ("member_id", "state", "member_epoch")},
            "from": times(max(each["from_ms"], began_ms)),
            "to": times(min(each["to_ms"] or ended_ms, ended_ms)),
        }
        for each in rows_of("intervals")
        if each["incarnation"] == incarnation.incarnation
        and each["from_ms"] < ended_ms
        and (each["to_ms"] is None or each["to_ms"] > began_ms)
    ]
)
if not intervals.empty:
    # The blockers on top, the worst first.
    ranks = {member_id: nth for nth, member_id in enumerate(blockers.member_id)}
    names = sorted(intervals.member_id.unique(), key=lambda member_id: (ranks.get(member_id, len(ranks)), member_id))
    members_figure = px.timeline(
        intervals,
        x_start="from",
        x_end="to",
        y="member_id",
        color="state",
        color_discrete_map=STATES,
        category_orders={"member_id": names, "state": list(STATES)},
        hover_data=["member_epoch"],
        title=f"Group {group}, epochs {epochs_of(shown.first_epoch, shown.last_epoch, 0)}: what its members did",
    )
    members_figure.update_yaxes(title="member")
    members_figure.update_xaxes(title="time (UTC)")
    members_figure.update_layout(height=max(280, 160 + 30 * len(names)), legend_title="state")
    members_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which partitions or tasks had no owner?
# MAGIC
# MAGIC A partition, or a task of a streams group or a Connect cluster, has no owner from its release to the record of
# MAGIC its next owner. The plot counts the time in which a member was meant to have it. That is a lower bound: the
# MAGIC log does not show how long a member was dead before its session expired.
# MAGIC
# MAGIC **What to see:** wide bars are consumer lag that piles up on that partition, or a connector that stands still.

# COMMAND ----------

unowned = pd.DataFrame(
    [
        {
            "partition": f"{each['place']} {number}",
            "from": times(each["released_at_ms"]),
            # Without a new owner the gap ends with the log, or when no member was to have the partition any more.
            "to": times(each["acquired_at_ms"] or each["released_at_ms"] + each["idle_ms"]),
            "from_member": each["from_member"],
            "to_member": each["to_member"],
        }
        for each in rows_of("handovers")
        if each["idle_ms"]
        for number in numbers_of(each["numbers"])
    ]
    + [
        {
            "partition": units_of(each),
            "from": times(each["released_at_ms"]),
            "to": times(each["acquired_at_ms"] or each["released_at_ms"] + each["unowned_ms"]),
            "from_member": each["giver"],
            "to_member": each["taker"],
        }
        for each in rows_of("free", "moved")
        if each["unowned_ms"] and each["status"] != "removed"
    ]
)
if unowned.empty:
    print(f"Group {group} left no partition or task without an owner, as far as the log shows")
else:
    unowned_figure = px.timeline(
        unowned,
        x_start="from",
        x_end="to",
        y="partition",
        hover_data=["from_member", "to_member"],
        color_discrete_sequence=["#D55E00"],
        title=f"Group {group}: partitions or tasks without an owner",
    )
    unowned_figure.update_yaxes(title="", type="category", categoryorder="category descending")
    unowned_figure.update_xaxes(title="time (UTC)")
    unowned_figure.update_layout(height=max(280, 140 + 20 * unowned.partition.nunique()))
    unowned_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who has what now?
# MAGIC
# MAGIC The partitions of each member, the connectors and tasks of a Connect worker, or the tasks of a streams group by
# MAGIC role, as `subtopology: partitions`. `kip848 query DIR owners` also says what each member is to have, and is to
# MAGIC give up.
# MAGIC
# MAGIC **What to see:** a member that has much more than the others, or nothing.

# COMMAND ----------

owned = pd.DataFrame(
    [{"member_id": each["member_id"], "role": each["role"], "units": units_of(each)} for each in rows_of("units")]
)
if owned.empty:
    print(f"No member of group {group} has anything now")
else:
    owned = owned.fillna({"units": "nothing"})
    display(owned)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which groups can move to the consumer protocol?
# MAGIC
# MAGIC The output of `kip848 migration`: the groups to begin with, those that would gain most, those that cannot move,
# MAGIC and why, and the members that are left in groups that are half-way.
# MAGIC
# MAGIC **What to see:** *Begin with these* is a plan for the first day; *Cannot move* says whom to ask.

# COMMAND ----------

if not found.moves:
    print("No group uses the classic protocol")
for move in found.moves.values():
    for part in fleet_terminal(move):
        console.print(part, soft_wrap=True)

# COMMAND ----------

# MAGIC %md
# MAGIC ## And then?
# MAGIC
# MAGIC * Another group: set the parameter `group`, and run all cells.
# MAGIC * `kip848 explain` shows the same for one group in a terminal; `kip848 check` evaluates all groups, as an alert.
# MAGIC * `compare_two_nights` says what is new since an earlier audit.
# MAGIC * `build_your_own_check` turns a finding into a rule.
