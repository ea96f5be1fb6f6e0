# Databricks notebook source
# MAGIC %md
# MAGIC # What changed since the night before?
# MAGIC
# MAGIC Yesterday's audit and today's, side by side: which groups stopped converging, whose rebalances became slower,
# MAGIC who joined, and how the lags are spread.
# MAGIC
# MAGIC | parameter | |
# MAGIC |---|---|
# MAGIC | `tables_before`, `cluster_before` | folder and cluster of the earlier audit |
# MAGIC | `tables`, `cluster` | folder and cluster of the later one |
# MAGIC | `since` | a time, such as `2026-11-21 00:00:00` (UTC): empty unless both nights are in the same tables |
# MAGIC
# MAGIC An audit of a *copy* replaces its cluster's rows, so keep each night in a folder, or under a cluster name, of
# MAGIC its own. The tables of a *live topic* keep growing: there name the same folder and cluster twice, and where
# MAGIC the later night begins in `since`. By default the bundled log of Kafka 4.0.0 is the night before, and that of
# MAGIC `make audit` the later.

# COMMAND ----------

import os
from pathlib import Path

import plotly.express as px
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
tables_before = parameter("tables_before", tables)
cluster_before = parameter("cluster_before", "before")
since = parameter("since", "")

if (tables_before, cluster_before, since) == (tables, cluster, ""):
    raise ValueError(
        "both nights are the same audit: name another one, or the time `since` when the later night begins"
    )
if "spark" not in globals():  # Databricks brings one
    from kip848_records.session import get_session

    spark = get_session("compare two nights")
spark.conf.set("spark.sql.session.timeZone", "UTC")
NIGHTS = {"before": (tables_before, cluster_before), "after": (tables, cluster)}


def table(night, name):
    """The rows that one night's audit has of a table."""
    folder, of_cluster = NIGHTS[night]
    return spark.table(f"delta.`{folder}/{name}`").where(F.col("cluster") == of_cluster)


def began(night, name, column):
    """Those that began in that night, by the time in a column: all of them, unless both nights are in one table."""
    rows = table(night, name)
    if not since:
        return rows
    is_later = F.col(column) >= F.lit(since).cast("timestamp")
    return rows.where(is_later if night == "after" else ~is_later)


def end(night):
    """When a night ended: when its log was copied, or when the later night began."""
    if since and night == "before":
        return since
    as_of = table(night, "audit_runs").agg(F.max("captured_at").cast("string")).first()[0]
    if as_of is None:
        folder, of_cluster = NIGHTS[night]
        raise ValueError(f"{folder} has no audit of a cluster {of_cluster!r}: see kip848 audit, --out and --cluster")
    return as_of


ENDS = {night: end(night) for night in NIGHTS}
for night, (folder, of_cluster) in NIGHTS.items():
    print(f"{night}: cluster {of_cluster} in {folder}, up to {ENDS[night]} UTC")

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which groups do not converge any more?
# MAGIC
# MAGIC The state of each group at the end of each night. *Newly not converged*: it was converged, empty or not there
# MAGIC at the end of the night before. A state that the log does not tell reads `unknown`, and then nobody knows.
# MAGIC
# MAGIC **What to see:** the first rows. `since` tells a rebalance that was just under way from a group that is stuck.

# COMMAND ----------


def states(night):
    """The last state of each group in a night; none where it did not exist, or had been deleted."""
    at = F.lit(ENDS[night]).cast("timestamp")
    return (
        table(night, "group_state_timeline")
        .where((F.col("from_at") <= at) & (F.col("to_at").isNull() | (F.col("to_at") > at)))
        .groupBy("group_id")
        .agg(F.max_by("state", F.struct("incarnation", "from_offset")).alias(night))
    )


def is_stuck(night):
    return F.col(night).isin("Assigning", "Reconciling")


changes = (
    states("before")
    .join(states("after"), "group_id", "full")
    .withColumn(
        "change",
        F.when((F.col("before") == "unknown") | (F.col("after") == "unknown"), "unknown")
        .when(is_stuck("after"), F.when(is_stuck("before"), "still not converged").otherwise("newly not converged"))
        .when(is_stuck("before"), "converged again")
        .when(F.col("before").isNull(), "new group")
        .when(F.col("after").isNull(), "gone")
        .otherwise("as before"),
    )
)
ORDER = ["newly not converged", "still not converged", "unknown", "converged again", "new group", "gone", "as before"]
place = F.array_position(F.array(*map(F.lit, ORDER)), F.col("change"))
present = table("after", "group_state").select("group_id", "since")
stuck = changes.join(present, "group_id", "left").orderBy(place, "group_id")
stuck = stuck.select("group_id", "change", "before", "after", "since").toPandas()
display(stuck)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Whose rebalances became slower?
# MAGIC
# MAGIC Median and 95th percentile from bump to Stable, of rebalances whose both ends are in the log. `measured` says
# MAGIC of how many: of three, a percentile says little.
# MAGIC
# MAGIC **What to see:** `p95_grew_by` far above zero with a dozen measured epochs or more. A group with many more
# MAGIC epochs than before is restarted, or its members are evicted, more often.

# COMMAND ----------

is_measured = (F.col("history") == "observed") & ~F.col("clock_skew")
lag = F.when(is_measured, F.col("rebalance_lag_ms"))


def speed(night):
    return (
        began(night, "epoch_timeline", "bumped_at")
        .groupBy("group_id")
        .agg(
            F.count("*").alias(f"epochs_{night}"),
            F.count(lag).alias(f"measured_{night}"),
            F.percentile(lag, 0.5).alias(f"median_ms_{night}"),
            F.percentile(lag, 0.95).alias(f"p95_ms_{night}"),
        )
    )


slower = (
    speed("before")
    .join(speed("after"), "group_id", "full")
    .withColumn("p95_grew_by", F.col("p95_ms_after") - F.col("p95_ms_before"))
    .orderBy(F.desc_nulls_last("p95_grew_by"), "group_id")
    .toPandas()
)
display(slower)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who is new?
# MAGIC
# MAGIC A member gets a new id with each start, so members are compared by what they call themselves: their instance
# MAGIC id if they have one, else their client id.
# MAGIC
# MAGIC **What to see:** a client that was not there `before` may be a deployment, or somebody's laptop. A client with
# MAGIC many more member ids than before restarts, or is thrown out and comes back.

# COMMAND ----------


def clients(night):
    client = F.coalesce("instance_id", "client_id").alias("client")
    return (
        began(night, "rebalance_lag", "target_at")
        .groupBy("group_id", client)
        .agg(F.count_distinct("member_id").alias(f"member_ids_{night}"))
    )


members = (
    clients("before")
    .join(clients("after"), ["group_id", "client"], "full")
    .fillna(0, ["member_ids_before", "member_ids_after"])
    .withColumn("more", F.col("member_ids_after") - F.col("member_ids_before"))
    .orderBy(F.col("member_ids_before") > 0, F.desc("more"), "group_id", "client")
    .toPandas()
)
display(members)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How are the lags spread?
# MAGIC
# MAGIC For each lag, the share of the night's rebalances that took no longer.
# MAGIC
# MAGIC **What to see:** the curve of the later night to the *right* of the other means slower. Curves that part only
# MAGIC at the top are a few bad rebalances; curves that part everywhere are a broker, a heartbeat interval, or a new
# MAGIC client.

# COMMAND ----------

measured = None
for night in NIGHTS:
    lags = began(night, "epoch_timeline", "bumped_at").where(lag.isNotNull())
    lags = lags.select(F.lit(night).alias("night"), "group_id", (F.col("rebalance_lag_ms") / 1000).alias("lag_s"))
    measured = lags if measured is None else measured.union(lags)
spread = measured.orderBy("night", "lag_s").toPandas()
lags_figure = px.ecdf(
    spread,
    x="lag_s",
    color="night",
    category_orders={"night": list(NIGHTS)},
    color_discrete_map={"before": "#8C8C8C", "after": "#D55E00"},
    hover_data=["group_id"],
    labels={"lag_s": "seconds from bump to Stable"},
    title="Rebalances of all groups, by how long they took",
)
lags_figure.update_yaxes(title="share of the rebalances", tickformat=".0%")
lags_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## And then?
# MAGIC
# MAGIC Look at a group from above in `explore_rebalances`. What should never come back unseen is worth a rule:
# MAGIC `build_your_own_check`.
