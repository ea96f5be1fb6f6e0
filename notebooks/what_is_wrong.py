# Databricks notebook source
# MAGIC %md
# MAGIC # What is wrong, and since when?
# MAGIC
# MAGIC A consumer that crashes every ten seconds, or two processes with one `group.instance.id`: between two rebalances
# MAGIC such a group reads Stable. The table `diagnosis` has a row for each trouble of this kind, from all kept history:
# MAGIC whom it is about, how often it happened, what it cost, and what to do. This notebook asks that table,
# MAGIC `lost_time` for the bill, and `membership` for the proof.
# MAGIC
# MAGIC | parameter | |
# MAGIC |---|---|
# MAGIC | `tables` | the folder of the tables, `--out` of the audit |
# MAGIC | `cluster` | the Kafka cluster, `--cluster` of the audit |
# MAGIC | `hours` | how many hours before the audit to look at |
# MAGIC
# MAGIC It needs the package. On serverless compute, install its wheel in a cell before this one: `%pip install` and
# MAGIC the path. The terms are in the [glossary](../docs/glossary.md).

# COMMAND ----------

import os
from datetime import timedelta
from pathlib import Path

import pandas as pd
import plotly.express as px

from kip848_records.queries.engines import open_tables
from kip848_records.queries.questions import questions
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
hours = float(parameter("hours", "24"))


def session():
    """The session of Databricks, or one of our own where DuckDB cannot read the tables."""
    if "spark" in globals():
        return spark
    from kip848_records.spark.session import get_session

    return get_session("what is wrong")


opened = open_tables(tables, "spark" if "spark" in globals() else None, session=session, note=print)
(run,) = opened.chosen_runs(cluster)
print(f"Cluster {cluster}, as of {utc_text(run.captured_at)}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What is wrong now?
# MAGIC
# MAGIC `is_present`: it had not stopped when the log was copied. Severity `info` is no alarm: a job that runs each hour
# MAGIC is made to come and go. A row with `explained_by` follows from another row of the group.
# MAGIC
# MAGIC **What to see:** an `error` costs the group a tenth of its work or more, or two processes fight for one
# MAGIC instance id. `sentence` says what happens, `next_step` what to do first. The last lines say what the audit
# MAGIC did not look for: without `--offset-commits`, whether members consume what they own.

# COMMAND ----------

NOW = """
SELECT severity, group_id, pattern, count, at_least, first_seen, cost_share, sentence, next_step
FROM diagnosis
WHERE is_present AND severity <> 'info' AND explained_by IS NULL
ORDER BY severity, coalesce(cost_share, 0) DESC, group_id, pattern, first_seen, sentence
"""
now = opened.arrow(NOW, cluster).to_pandas()
display(now)
for row in now.itertuples():
    print(f"{row.severity}: {row.group_id or 'several groups'}: {row.sentence}\n    {row.next_step}")
if now.empty:
    groups = opened.arrow("SELECT count(*) AS n FROM group_state", cluster)["n"][0].as_py()
    print(f"Nothing is known to be wrong now ({groups:,} groups looked at)")
for missing in questions()["diagnosis"].missing(run):
    print(missing)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What flapped in the last day?
# MAGIC
# MAGIC A trouble that came at 14:00 and went at 15:00 is not there when the nightly audit runs, and may come back. Each
# MAGIC bar is one, from the first event to the last.
# MAGIC
# MAGIC **What to see:** bars that end together had one cause, such as a deployment or a broker. A bar at the same hour
# MAGIC of each day is a schedule. A bar to the right edge is the trouble of now.

# COMMAND ----------

LATELY = """
SELECT severity, group_id, pattern, episode, subject.client_id AS client_id, subject.client_host AS client_host,
    subject.instance_id AS instance_id, subject.what AS what, count, median_interval_ms, usual_stay_ms,
    first_seen, last_seen, is_present, sentence
FROM diagnosis
WHERE last_seen >= :since AND severity <> 'info' AND explained_by IS NULL
ORDER BY first_seen, group_id, pattern, sentence
"""


def subject_of(row):
    """Whom a row is about: a client with its host, a kind of client, or the group itself."""
    names = [None if pd.isna(name) else name for name in (row.client_id, row.client_host, row.instance_id)]
    if any(names):
        return client_text(*names)
    return row.what if pd.notna(row.what) else "the group" if pd.notna(row.group_id) else "several groups"


lately = opened.arrow(LATELY, cluster, since=run.captured_at - timedelta(hours=hours)).to_pandas()
lately.insert(2, "subject", [subject_of(row) for row in lately.itertuples()])
display(lately)

# COMMAND ----------

if lately.empty:
    print(f"No group had a trouble in the {hours:g} hours before the audit")
else:
    shown = lately.assign(
        row=[f"{row.group_id or 'several groups'}: {row.pattern}, {row.subject}" for row in lately.itertuples()]
    )
    episodes_figure = px.timeline(
        shown,
        x_start="first_seen",
        x_end="last_seen",
        y="row",
        color="severity",
        color_discrete_map={"error": "#D55E00", "warning": "#E69F00"},
        hover_data=["count", "median_interval_ms", "usual_stay_ms", "is_present"],
        title=f"Cluster {cluster}: troubles of the {hours:g} hours before the audit",
    )
    episodes_figure.update_yaxes(title="", type="category", autorange="reversed")
    episodes_figure.update_xaxes(title="time (UTC)")
    episodes_figure.update_layout(height=max(280, 140 + 24 * shown["row"].nunique()), legend_title="severity")
    episodes_figure.show()

# COMMAND ----------

# MAGIC %md
# MAGIC ## What does one subject cost?
# MAGIC
# MAGIC All troubles of one client, or of one group, in all of the history. `unowned_s` is in partition-seconds: two
# MAGIC partitions without an owner for five seconds are ten. A rebalance that two clients began counts for both, so
# MAGIC do not add up these rows; `rebalances_shared` says how many there are. Empty: the log does not show it.
# MAGIC
# MAGIC **What to see:** often one client causes most of it. Repair that one first.

# COMMAND ----------

COSTS = """
SELECT group_id, subject.client_id AS client_id, subject.client_host AS client_host,
    subject.instance_id AS instance_id, subject.what AS what,
    count(*) AS episodes, sum(count) AS times, sum(rebalances) AS rebalances,
    sum(rebalances_shared) AS rebalances_shared, sum(partitions_moved) AS partitions_moved,
    sum(unowned_ms) / 1e3 AS unowned_s, sum(empty_ms) / 1e3 AS empty_s,
    min(first_seen) AS first_seen, max(last_seen) AS last_seen
FROM diagnosis
WHERE severity <> 'info' AND explained_by IS NULL
GROUP BY group_id, subject.client_id, subject.client_host, subject.instance_id, subject.what
ORDER BY coalesce(sum(unowned_ms), 0) DESC, sum(count) DESC, group_id, client_id, client_host, instance_id, what
"""
costs = opened.arrow(COSTS, cluster).to_pandas()
costs.insert(1, "subject", [subject_of(row) for row in costs.itertuples()])
display(costs)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What did all rebalances cost?
# MAGIC
# MAGIC The bill, from the relation `lost_time`: how many partition-seconds had no owner, by group and trouble. Each
# MAGIC rebalance counts once; a row without a pattern has the rebalances of a group that no trouble caused.
# MAGIC
# MAGIC **What to see:** a large row without a pattern is what deployments and scaling cost, not a fault.

# COMMAND ----------

bill = opened.arrow(questions()["lost_time"].sql, cluster).to_pandas().head(50)
display(bill)

# COMMAND ----------

# MAGIC %md
# MAGIC ## Is it true?
# MAGIC
# MAGIC The stays of the members behind the first of these rows that is of one group, from the table `membership`.
# MAGIC `left_how` says how one ended: `left` also stands for a session that expired and a member that was fenced,
# MAGIC for the log has one record for all of them; `expired` is a static member that was away.
# MAGIC
# MAGIC **What to see:** stays of the same length, one after the other. Look into the client's log at `left_at`.

# COMMAND ----------

STAYS = """
SELECT member_id, client_id, client_host, instance_id, joined_at, joined_how, left_at, left_how
FROM membership
WHERE group_id = :group AND (left_at IS NULL OR left_at >= :first_seen) AND joined_at <= :last_seen
ORDER BY joined_at, member_id
"""
of_one_group = costs.dropna(subset="group_id")
if of_one_group.empty:
    print("No group had a trouble in the history")
else:
    worst = of_one_group.iloc[0]
    stays = opened.arrow(
        STAYS,
        cluster,
        group=worst.group_id,
        first_seen=worst.first_seen.to_pydatetime(),
        last_seen=worst.last_seen.to_pydatetime(),
    ).to_pandas()
    for name in ("client_id", "client_host", "instance_id"):
        if pd.notna(worst[name]):
            stays = stays[stays[name] == worst[name]]
    display(stays.reset_index(drop=True))

# COMMAND ----------

# MAGIC %md
# MAGIC ## And then?
# MAGIC
# MAGIC * The [runbook](../docs/runbook.md) says what to change in a client, and why.
# MAGIC * `kip848 explain` tells the same about one group in a terminal. `kip848 query` has the table as `diagnosis`.
# MAGIC * `explore_rebalances` draws the rebalances of one group.
