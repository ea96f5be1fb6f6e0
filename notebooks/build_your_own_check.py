# Databricks notebook source
# MAGIC %md
# MAGIC # A check of your own
# MAGIC
# MAGIC `kip848 check` comes with expectations about every group: that it converges, that its partitions have owners.
# MAGIC What *your* groups owe you is another matter. This notebook turns such a wish into an expectation, runs it
# MAGIC beside the others, and says how it gets into the nightly job.
# MAGIC
# MAGIC | parameter | |
# MAGIC |---|---|
# MAGIC | `tables` | the folder of the tables, `--out` of the audit |
# MAGIC | `cluster` | the Kafka cluster, `--cluster` of the audit |
# MAGIC | `max_moved` | how many partitions one rebalance may move to another owner |
# MAGIC
# MAGIC It needs the package. On serverless compute, install its wheel in a cell before this one: `%pip install` and
# MAGIC the path. The terms are in the [glossary](../docs/glossary.md).

# COMMAND ----------

import os
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

import pandas as pd

from kip848_records.check import check
from kip848_records.config import load_config
from kip848_records.queries.engines import open_tables


def parameter(name, default):
    """A widget on Databricks; elsewhere a variable of the environment: KIP848_TABLES for `tables`."""
    if "dbutils" in globals():
        dbutils.widgets.text(name, default)
        return dbutils.widgets.get(name)
    return os.environ.get(f"KIP848_{name.upper()}", default)


# `make audit` writes to out/ in the project's folder; Jupyter starts in the notebook's.
tables = parameter("tables", "out" if Path("out").is_dir() else "../out")
cluster = parameter("cluster", "demo")
max_moved = int(parameter("max_moved", "10"))


def session():
    """The session of Databricks, or one of our own where DuckDB cannot read the tables."""
    if "spark" in globals():
        return spark
    from kip848_records.spark.session import get_session

    return get_session("build your own check")


opened = open_tables(tables, "spark" if "spark" in globals() else None, session=session, note=print)

# COMMAND ----------

# MAGIC %md
# MAGIC ## What do we want to hold?
# MAGIC
# MAGIC Say that each moved partition costs a warm cache: a rebalance that moves many of them hurts, even a fast one.
# MAGIC First look at usual values: the column `partitions_moved` of `rebalance`.
# MAGIC It is null where the log does not show it.
# MAGIC
# MAGIC **What to see:** choose a limit above the values of healthy groups, and below the value that needs an operator.

# COMMAND ----------

MOVED = """
SELECT group_id, count(*) AS rebalances, count(partitions_moved) AS known,
    percentile(partitions_moved, 0.5) AS median_moved, max(partitions_moved) AS max_moved
FROM rebalance
GROUP BY group_id
ORDER BY max_moved DESC, group_id
"""
usual = opened.arrow(MOVED, cluster).to_pandas()
display(usual)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The expectation
# MAGIC
# MAGIC An expectation is an SQL file: a header of TOML in comments, and a SELECT that returns a row for each case. The
# MAGIC function `verdict` takes two conditions: whether the case violates the rule, and whether the log shows it. If
# MAGIC the log does not show it, or the first condition is null, the result is *unknown*: neither a pass nor a failure.
# MAGIC Therefore a null in `partitions_moved` needs no code here.

# COMMAND ----------

folder = mkdtemp(prefix="expectations-")
file = Path(folder) / "partitions_stay.sql"
file.write_text("""-- name = "partitions_stay"
-- sentence = "A rebalance moves at most max_moved partitions to another owner"
-- severity = "warn"
-- [limits.max_moved]
-- default = 10
-- unit = "partitions"
-- reason = "Each moved partition costs a warm cache."

SELECT
    verdict(partitions_moved > max_moved, true) AS verdict,
    group_id, last_epoch AS group_epoch, CAST(NULL AS string) AS member_id, partition, began_offset AS offset,
    concat(
        'expected at most ', max_moved_text, ' partitions to move, moved ', text(partitions_moved), ' (',
        array_join(causes, ', '), ')'
    ) AS message
FROM rebalance
JOIN limits USING (group_id)
""")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What does it find?
# MAGIC
# MAGIC The check evaluates it together with those of the package, with their default limits. `warn` only shows a
# MAGIC result; `error` would fail the check.
# MAGIC
# MAGIC **What to see:** `violations` and `unknown` are counted apart from what passed. If `unknown` is most of it,
# MAGIC the log is too short for the question.

# COMMAND ----------

expectations, settings = load_config(folder=folder)
mine = expectations[-1]
settings[mine.name] = replace(settings[mine.name], limits={"max_moved": max_moved})
verdict = check(opened, settings, expectations=expectations, cluster=cluster)
results = pd.DataFrame(
    [(each.name, each.status, each.passed, each.errors + each.warnings, each.unknowns) for each in verdict.results],
    columns=["expectation", "status", "passed", "violations", "unknown"],
)
display(results)

# COMMAND ----------

(ours,) = (each for each in verdict.results if each.name == mine.name)
for violation in ours.violations:
    print(f"{violation.group_id}, epoch {violation.group_epoch}: {violation.message}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## How does it get into the nightly job?
# MAGIC
# MAGIC 1. Put the file into a folder of your own.
# MAGIC 2. Let the job run `kip848 check` with `--expectations` and that folder: its exit code is 1 if one fails.
# MAGIC 3. Keep its severity and limits in the file of the others, which `--config` names:
# MAGIC
# MAGIC    ```toml
# MAGIC    [expectations.partitions_stay]
# MAGIC    severity = "error"
# MAGIC    max_moved = 50
# MAGIC
# MAGIC    [expectations.partitions_stay.groups]
# MAGIC    "batch-*" = { severity = "off" }
# MAGIC    ```
