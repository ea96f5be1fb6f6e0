# Databricks notebook source
# MAGIC %md
# MAGIC # What changed since the night before?
# MAGIC
# MAGIC Two audits, side by side: which groups stopped converging, whose rebalances became slower, who joined, and how
# MAGIC long rebalances took.
# MAGIC
# MAGIC | parameter | |
# MAGIC |---|---|
# MAGIC | `tables_before`, `cluster_before` | folder and cluster of the earlier audit |
# MAGIC | `tables`, `cluster` | folder and cluster of the later one |
# MAGIC | `since` | a time, such as `2026-11-21 00:00:00` (UTC): empty unless both nights are in the same tables |
# MAGIC
# MAGIC An audit of a *copy* replaces its cluster's rows, so keep each night in a folder, or under a cluster name, of
# MAGIC its own. The tables of a *live topic* keep growing: there name the same folder and cluster twice, and where
# MAGIC the later night begins in `since`. By default the log of `make audit` is the night before, and the bundled log
# MAGIC of Kafka 4.0.0, which was copied a minute later, is the other.
# MAGIC
# MAGIC It needs the package. On serverless compute, install its wheel in a cell before this one: `%pip install` and the
# MAGIC path. The terms are in the [glossary](../docs/glossary.md).

# COMMAND ----------

import os
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.express as px

from kip848_records.queries.engines import open_tables
from kip848_records.queries.texts import plain
from kip848_records.times import utc_text


def parameter(name, default):
    """A widget on Databricks; elsewhere a variable of the environment: KIP848_TABLES for `tables`."""
    if "dbutils" in globals():
        dbutils.widgets.text(name, default)
        return dbutils.widgets.get(name)
    return os.environ.get(f"KIP848_{name.upper()}", default)


# `make audit` writes to out/ in the project's folder; Jupyter starts in the notebook's.
tables = parameter("tables", "out" if Path("out").is_dir() else "../out")
cluster = parameter("cluster", "later")
tables_before = parameter("tables_before", tables)
cluster_before = parameter("cluster_before", "demo")
since = parameter("since", "")

if (tables_before, cluster_before, since) == (tables, cluster, ""):
    raise ValueError(
        "both nights are the same audit: name another one, or the time `since` when the later night begins"
    )
FIRST, LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
later_begins = datetime.fromisoformat(since) if since else None
if later_begins is not None and later_begins.tzinfo is None:
    later_begins = later_begins.replace(tzinfo=UTC)
NIGHTS = {"before": (tables_before, cluster_before), "after": (tables, cluster)}


def session():
    """The session of Databricks, or one of our own where DuckDB cannot read the tables."""
    if "spark" in globals():
        return spark
    from kip848_records.spark.session import get_session

    return get_session("compare two nights")


engine = "spark" if "spark" in globals() else None
OPENED = {night: open_tables(folder, engine, session=session, note=print) for night, (folder, _) in NIGHTS.items()}


def ask(night, question):
    """The answer for one night: its cluster, from `:first` to `:until`, and its end, `:at`."""
    first = later_begins if since and night == "after" else FIRST
    until = later_begins if since and night == "before" else LAST
    _, of_cluster = NIGHTS[night]
    return OPENED[night].arrow(question, of_cluster, first=first, until=until, at=ENDS[night]).to_pandas()


def end(night):
    """When a night ended: when its log was copied, or when the later night began."""
    folder, of_cluster = NIGHTS[night]
    (run,) = OPENED[night].chosen_runs(of_cluster)
    if run.captured_at is None:
        raise ValueError(f"{folder} does not say when the log of {of_cluster!r} was copied")
    return later_begins if since and night == "before" else run.captured_at


ENDS = {night: end(night) for night in NIGHTS}
for night, (folder, of_cluster) in NIGHTS.items():
    print(f"{night}: cluster {of_cluster} in {folder}, up to {utc_text(ENDS[night])}")
if ENDS["before"] >= ENDS["after"]:
    raise ValueError(
        "the night before ends no earlier than the later one: swap the two, or name an earlier audit, or time `since`"
    )

# COMMAND ----------

# MAGIC %md
# MAGIC ## Which groups do not converge any more?
# MAGIC
# MAGIC The state of each group at the end of each night. *Newly not converged*: it was converged, empty or not there
# MAGIC at the end of the night before. A state that the log does not show reads `unknown`. A classic group, a Connect
# MAGIC cluster or a share group is Stable also while it rebalances: then it reads `rebalancing`.
# MAGIC
# MAGIC **What to see:** the first rows. `since` separates a rebalance just under way from a stuck group.

# COMMAND ----------

STATES = """
SELECT states.group_id, CASE WHEN began_at IS NULL THEN state ELSE 'rebalancing' END AS state,
    coalesce(began_at, since) AS since, is_rebalancing(state) OR began_at IS NOT NULL AS is_stuck
FROM (
    SELECT group_id, max_by(state, (incarnation, from_offset)) AS state,
        max_by(from_at, (incarnation, from_offset)) AS since
    FROM group_state_timeline
    WHERE from_at <= :at AND (to_at IS NULL OR to_at > :at)
    GROUP BY group_id
) AS states
LEFT JOIN (
    SELECT group_id, min(began_at) AS began_at
    FROM rebalance
    WHERE hides_rebalances(group_type) AND began_at <= :at AND (outcome = 'open' OR ended_at > :at)
    GROUP BY group_id
) AS hidden ON hidden.group_id = states.group_id
ORDER BY states.group_id
"""
STATES = plain(STATES)  # fills in which states and kinds rebalance, as in the package's own questions
ORDER = ["newly not converged", "still not converged", "unknown", "converged again", "new group", "gone", "as before"]
before, after = (ask(night, STATES).rename(columns={"state": night, "is_stuck": f"{night}_stuck"}) for night in NIGHTS)
stuck = before.drop(columns="since").merge(after, "outer", "group_id")
is_stuck = {night: stuck[f"{night}_stuck"].eq(True) for night in NIGHTS}  # noqa: FBT003 - absent groups are not
stuck["change"] = np.select(
    [
        (stuck.before == "unknown") | (stuck.after == "unknown"),
        is_stuck["after"] & is_stuck["before"],
        is_stuck["after"],
        is_stuck["before"],
        stuck.before.isna(),
        stuck.after.isna(),
    ],
    ["unknown", "still not converged", "newly not converged", "converged again", "new group", "gone"],
    "as before",
)
stuck["change"] = pd.Categorical(stuck.change, ORDER)
stuck = stuck.sort_values(["change", "group_id"], ignore_index=True)
stuck = stuck[["group_id", "change", "before", "after", "since"]]
display(stuck)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Whose rebalances became slower?
# MAGIC
# MAGIC Median and 95th percentile from the first bump to Stable, of rebalances whose both ends are in the log, in
# MAGIC groups that had members before. `measured` says of how many: of three, a percentile says little.
# MAGIC
# MAGIC **What to see:** `p95_grew_by` far above zero with a dozen measured rebalances or more. A group with many more
# MAGIC rebalances than before is restarted, or its members are evicted, more often.

# COMMAND ----------

REBALANCES = """
SELECT group_id, began_at, duration_ms, is_measured
FROM rebalance
WHERE began_at >= :first AND began_at < :until
ORDER BY group_id, began_at, began_offset
"""
REBALANCED = {night: ask(night, REBALANCES) for night in NIGHTS}
MEASURED = {night: rows[rows.is_measured] for night, rows in REBALANCED.items()}


def speed(night):
    took = MEASURED[night].groupby("group_id").duration_ms
    return pd.DataFrame(
        {
            f"rebalances_{night}": REBALANCED[night].groupby("group_id").size(),
            f"measured_{night}": took.count(),
            f"median_ms_{night}": took.quantile(0.5),
            f"p95_ms_{night}": took.quantile(0.95),
        }
    )


slower = speed("before").join(speed("after"), how="outer").rename_axis("group_id").reset_index()
counts = [f"{what}_{night}" for night in NIGHTS for what in ("rebalances", "measured")]
slower[counts] = slower[counts].fillna(0).astype(int)
slower["p95_grew_by"] = slower.p95_ms_after - slower.p95_ms_before
slower = slower.sort_values(["p95_grew_by", "group_id"], ascending=[False, True], ignore_index=True)
display(slower)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Who is new?
# MAGIC
# MAGIC A member gets a new id with each start, so members are compared by what they call themselves: their instance
# MAGIC id if they have one, else their client id.
# MAGIC
# MAGIC **What to see:** a client that was not there `before` may be a deployment, or a developer's laptop. A client
# MAGIC with many more member ids than before restarts often, or the coordinator expels it and it joins again.

# COMMAND ----------

CLIENTS = """
SELECT group_id, coalesce(instance_id, client_id) AS client, count(DISTINCT member_id) AS member_ids
FROM membership
WHERE coalesce(joined_at < :until, true) AND coalesce(left_at >= :first, true)
GROUP BY group_id, coalesce(instance_id, client_id)
ORDER BY group_id, client
"""
of_nights = [ask(night, CLIENTS).rename(columns={"member_ids": f"member_ids_{night}"}) for night in NIGHTS]
members = of_nights[0].merge(of_nights[1], "outer", ["group_id", "client"])
ids = ["member_ids_before", "member_ids_after"]
members[ids] = members[ids].fillna(0).astype(int)
members["more"] = members.member_ids_after - members.member_ids_before
members["is_known"] = members.member_ids_before > 0
members = members.sort_values(["is_known", "more", "group_id", "client"], ascending=[True, False, True, True])
members = members.drop(columns="is_known").reset_index(drop=True)
display(members)

# COMMAND ----------

# MAGIC %md
# MAGIC ## How long did rebalances take?
# MAGIC
# MAGIC For each time, the share of the night's measured rebalances that took no longer.
# MAGIC
# MAGIC **What to see:** the curve of the later night to the *right* of the other means slower. Curves that part only
# MAGIC at the top are a few bad rebalances; curves that part everywhere are a broker, a heartbeat interval, or a new
# MAGIC client.

# COMMAND ----------

spread = pd.concat([rows.assign(night=night, seconds=rows.duration_ms / 1000) for night, rows in MEASURED.items()])
spread_figure = px.ecdf(
    spread,
    x="seconds",
    color="night",
    category_orders={"night": list(NIGHTS)},
    color_discrete_map={"before": "#8C8C8C", "after": "#D55E00"},
    hover_data=["group_id"],
    labels={"seconds": "seconds from the first bump to Stable"},
    title="Rebalances of all groups, by how long they took",
)
spread_figure.update_yaxes(title="share of the rebalances", tickformat=".0%")
spread_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## And then?
# MAGIC
# MAGIC Explore one of these groups in `explore_rebalances`. To detect a problem when it returns, write a rule for it:
# MAGIC `build_your_own_check`.
