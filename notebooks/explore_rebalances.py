# Databricks notebook source
# MAGIC %md
# MAGIC # Which group hurts, and why?
# MAGIC
# MAGIC Kafka's coordinator writes every step of every rebalance into `__consumer_offsets`; kip848-records turned that
# MAGIC log into Delta tables. This notebook finds the consumer group that is worst off, shows its rebalances one by
# MAGIC one, who held them up, and which partitions nobody consumed meanwhile.
# MAGIC
# MAGIC | parameter | |
# MAGIC |---|---|
# MAGIC | `tables` | the folder of the tables, `--out` of the audit |
# MAGIC | `cluster` | the Kafka cluster, `--cluster` of the audit |
# MAGIC | `group` | the group to look at; empty: the one that is worst off |

# COMMAND ----------

import os
from pathlib import Path

import plotly.express as px
import plotly.graph_objects as go
from pyspark.sql import functions as F


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

if "spark" not in globals():  # Databricks brings one
    from kip848_records.session import get_session

    spark = get_session("explore rebalances")
spark.conf.set("spark.sql.session.timeZone", "UTC")


def table(name):
    """This cluster's rows of a table."""
    return spark.table(f"delta.`{tables}/{name}`").where(F.col("cluster") == cluster)


as_of = table("audit_runs").agg(F.max("captured_at").cast("string")).first()[0]
if as_of is None:
    raise ValueError(f"{tables} has no audit of a cluster {cluster!r}: see kip848 audit, --out and --cluster")
captured_at = F.lit(as_of).cast("timestamp")
print(f"Cluster {cluster}, as of {as_of} UTC")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which group is worst off?
# MAGIC
# MAGIC One row for each group: what it is doing now, how long it has not been converged, and what its rebalances
# MAGIC took. A percentile takes only rebalances whose start and end are both in the log (`history = 'observed'`).
# MAGIC
# MAGIC **What to see:** groups on top are not converged *now*, the longest first. Below them, those that spent most
# MAGIC time in rebalances. Many epochs with a small lag are a restart; few epochs with a large one are a slow member.

# COMMAND ----------

is_measured = (F.col("history") == "observed") & ~F.col("clock_skew")
now = table("group_state").select(
    "group_id",
    "state",
    F.when(
        F.col("state").isin("Assigning", "Reconciling"),
        captured_at.cast("double") - F.col("since").cast("double"),
    ).alias("not_converged_s"),
    "members",
    "converged_members",
)
rebalances = (
    table("epoch_timeline")
    .groupBy("group_id")
    .agg(
        F.count("*").alias("epochs"),
        F.percentile(F.when(is_measured, F.col("rebalance_lag_ms")), 0.95).alias("p95_lag_ms"),
        F.max(F.when(is_measured, F.col("rebalance_lag_ms"))).alias("slowest_ms"),
        F.sum(F.when(is_measured, F.col("rebalance_lag_ms"))).alias("rebalancing_ms"),
    )
)
groups = now.join(rebalances, "group_id", "left").orderBy(
    F.desc_nulls_last("not_converged_s"), F.desc_nulls_last("rebalancing_ms"), "group_id"
)
worst = groups.toPandas()
display(worst)

# COMMAND ----------

group = group or worst.group_id.iloc[0]
print(f"Looking at group {group}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What happened to it?
# MAGIC
# MAGIC Each bar is a group epoch: from the bump (the dot), when something changed, until the group was Stable again.
# MAGIC Its colour says what caused it. A hatched bar is *censored*: the epoch has not ended yet, or records around it
# MAGIC were compacted away, so that one of its ends is not known. A dot alone converged at once, or its group emptied
# MAGIC or was deleted before: the table has which.
# MAGIC
# MAGIC **What to see:** bars that end together were settled by one stable moment: the later epochs superseded the
# MAGIC earlier. A staircase of short bars is a rolling restart. A hatched bar that runs to the right edge is the
# MAGIC trouble of now.

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
HATCHES = {"observed": "", "left_censored": "\\", "right_censored": "/", "censored": "x"}
goes_on = F.col("status").isin("open", "superseded")
epochs = (
    table("epoch_timeline")
    .where(F.col("group_id") == group)
    .orderBy("incarnation", "group_epoch")
    .withColumn("from", F.col("bumped_at"))
    .withColumn("to", F.coalesce("converged_at", F.when(goes_on, captured_at), "bumped_at"))
    .withColumn("epoch", F.concat_ws("/", F.when(F.col("incarnation") > 0, F.col("incarnation")), "group_epoch"))
    .select(
        *("epoch", "cause", "from", "to", "status", "members", "partitions_moved"),
        *("assign_lag_ms", "rebalance_lag_ms", "history"),
    )
    .toPandas()
)
display(epochs)

# COMMAND ----------

epochs_figure = px.timeline(
    epochs,
    x_start="from",
    x_end="to",
    y="epoch",
    color="cause",
    color_discrete_map=CAUSES,
    pattern_shape="history",
    pattern_shape_map=HATCHES,
    hover_data=["status", "members", "partitions_moved", "assign_lag_ms", "rebalance_lag_ms"],
    title=f"Group {group}: each epoch from its bump until the group was Stable",
)
epochs_figure.add_scatter(
    x=epochs["from"],
    y=epochs.epoch,
    mode="markers",
    marker={"color": [CAUSES[cause] for cause in epochs.cause], "size": 8, "line": {"color": "white", "width": 1}},
    name="bump",
    hoverinfo="skip",
)
epochs_figure.update_yaxes(
    title="group epoch", type="category", categoryorder="array", categoryarray=epochs.epoch[::-1]
)
epochs_figure.update_xaxes(title="time (UTC)")
epochs_figure.update_layout(height=max(320, 160 + 22 * len(epochs)), legend_title="cause, history")
epochs_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who held it up?
# MAGIC
# MAGIC The members of the slowest assignment, each with where its time went: *revoking* is time in which the member
# MAGIC was asked to give partitions up, *waiting* is time in which it waited for partitions that others held. The
# MAGIC rest went by until there was an assignment, and until the member's heartbeats.
# MAGIC
# MAGIC **What to see:** the culprit is the member that is *revoking*; those that are *waiting* name it under
# MAGIC `blocked_by`. Its client id and host say whom to talk to. Its log says why it is slow; this log does not.

# COMMAND ----------

lags = table("rebalance_lag").where((F.col("group_id") == group) & F.col("lag_ms").isNotNull())
slowest = (
    lags.orderBy((F.col("status") != "open"), F.desc("lag_ms"), F.desc("group_epoch"))
    .select("incarnation", "group_epoch")
    .limit(1)
)
members = (
    lags.join(slowest, ["incarnation", "group_epoch"])
    .orderBy(F.desc("lag_ms"), F.desc("revoke_ms"), "member_id")
    .select(
        "group_epoch",
        "member_id",
        F.concat_ws(" ", F.coalesce("instance_id", "client_id"), "client_host").alias("client"),
        *("status", "lag_ms", "revoke_ms", "wait_ms", "blocked_by"),
    )
    .toPandas()
)
display(members)

# COMMAND ----------

members["other_ms"] = (members.lag_ms - members.revoke_ms - members.wait_ms).clip(lower=0)
members_figure = go.Figure(
    [
        go.Bar(name=name, y=members.member_id, x=members[column] / 1000, orientation="h", marker_color=colour)
        for name, column, colour in (
            ("revoking", "revoke_ms", "#D55E00"),
            ("waiting for others", "wait_ms", "#E69F00"),
            ("assignment, heartbeats", "other_ms", "#BBBBBB"),
        )
    ]
)
epoch = members.group_epoch.iloc[0] if len(members) else "without members"
members_figure.update_layout(
    barmode="stack",
    title=f"Group {group}, assignment epoch {epoch}: where its members' time went",
    xaxis_title="seconds from the bump",
    yaxis={"title": "member", "autorange": "reversed"},
    height=max(280, 160 + 40 * len(members)),
)
members_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which partitions did nobody consume?
# MAGIC
# MAGIC A partition has no owner from its release to its next owner's record. Only time in which some member was meant
# MAGIC to have it counts (`wanted`). It is a lower bound: how long a member was dead before its session expired is
# MAGIC not in the log.
# MAGIC
# MAGIC **What to see:** wide bars are consumer lag that piles up on that partition. A hatched bar has not ended.

# COMMAND ----------

topic_partition = F.concat_ws(" ", "topic", "partition")
gaps = (
    table("partition_handover")
    .where((F.col("group_id") == group) & F.col("wanted") & (F.col("unowned_ms") > 0))
    .select(
        topic_partition.alias("partition"),
        F.col("released_at").alias("from"),
        F.col("acquired_at").alias("to"),
        "history",
    )
)
still = (
    lags.where(F.col("status") == "open")
    .select(F.explode("awaited").alias("awaited"))
    .select("awaited.*")
    .where(F.col("owner").isNull() & F.col("released_at").isNotNull())
    .select(
        topic_partition.alias("partition"),
        F.col("released_at").alias("from"),
        captured_at.alias("to"),
        F.lit("right_censored").alias("history"),
    )
    .distinct()
)
unowned = gaps.union(still).orderBy("partition", "from").toPandas()
if unowned.empty:
    print(f"Group {group} left no partition without an owner, as far as the log shows")
else:
    unowned_figure = px.timeline(
        unowned,
        x_start="from",
        x_end="to",
        y="partition",
        pattern_shape="history",
        pattern_shape_map=HATCHES,
        color_discrete_sequence=["#D55E00"],
        title=f"Group {group}: partitions without an owner",
    )
    unowned_figure.update_yaxes(type="category", categoryorder="category descending")
    unowned_figure.update_xaxes(title="time (UTC)")
    unowned_figure.update_layout(height=max(280, 140 + 20 * unowned.partition.nunique()), legend_title="history")
    unowned_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## And then?
# MAGIC
# MAGIC * Another group: set the parameter `group`, and run all cells.
# MAGIC * `kip848 explain` tells the same of one group in a terminal; `kip848 check` judges all groups, for an alert.
# MAGIC * `compare_two_nights` says what is new since an earlier audit.
# MAGIC * `build_your_own_check` turns a finding into a rule.
