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
# MAGIC the path.

# COMMAND ----------

import os
from pathlib import Path

from pyspark.sql import functions as F

from kip848_records.check import check
from kip848_records.config import Setting, load_settings
from kip848_records.quality import EXPECTATIONS, Expectation, judged, number, sentence
from kip848_records.session import get_session


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

spark = get_session("build your own check")

# COMMAND ----------

# MAGIC %md
# MAGIC ## What do we want to hold?
# MAGIC
# MAGIC Say that each moved partition costs a warm cache: a rebalance that moves many of them hurts, even a fast one.
# MAGIC First look at what is usual. `partitions_moved` of `epoch_timeline` has it; it is null where the log does not
# MAGIC tell.
# MAGIC
# MAGIC **What to see:** a limit belongs above what a healthy group does, and below what you would call somebody for.

# COMMAND ----------

epochs = spark.table(f"delta.`{tables}/epoch_timeline`").where(F.col("cluster") == cluster)
usual = (
    epochs.groupBy("group_id")
    .agg(
        F.count("*").alias("epochs"),
        F.count("partitions_moved").alias("known"),
        F.median("partitions_moved").alias("median_moved"),
        F.max("partitions_moved").alias("max_moved"),
    )
    .orderBy(F.desc_nulls_last("max_moved"), "group_id")
    .toPandas()
)
display(usual)

# COMMAND ----------

# MAGIC %md
# MAGIC ## The expectation
# MAGIC
# MAGIC A function, from the tables to a verdict for each row that it looks at. Its first docstring line is what
# MAGIC people read. `violated` may be null: then the answer is *unknown*, which neither passes nor fails. That is why
# MAGIC a null in `partitions_moved` needs no code here.

# COMMAND ----------


def partitions_stay(audited, limits):
    """A rebalance moves at most max_moved partitions to another owner."""
    return judged(
        audited.table("epoch_timeline"),
        violated=F.col("partitions_moved") > limits("max_moved"),
        message=sentence(
            "expected at most {} partitions to move, moved {} ({})",
            *(number(limits("max_moved")), "partitions_moved", "cause"),
        ),
    )


mine = Expectation("partitions_stay", partitions_stay, limits=("max_moved",))

# COMMAND ----------

# MAGIC %md
# MAGIC ## What does it find?
# MAGIC
# MAGIC It runs beside those of the package, with their limits as they are. A severity of `warn` tells, `error` would
# MAGIC fail.
# MAGIC
# MAGIC **What to see:** `violations` and `unknown` are counted apart from what passed. If `unknown` is most of it,
# MAGIC the log is too short for the question.

# COMMAND ----------

settings = load_settings() | {mine.name: Setting("warn", {"max_moved": max_moved})}
verdict = check(spark, tables, settings, expectations=[*EXPECTATIONS, mine], cluster=cluster)
results = spark.createDataFrame(
    [(each.name, each.status, each.passed, each.errors + each.warnings, each.unknowns) for each in verdict.results],
    "expectation string, status string, passed long, violations long, unknown long",
).toPandas()
display(results)

# COMMAND ----------

(ours,) = (each for each in verdict.results if each.name == mine.name)
for violation in ours.violations:
    print(f"{violation.group_id}, epoch {violation.group_epoch}: {violation.message}")

# COMMAND ----------

# MAGIC %md
# MAGIC ## How does it get into the nightly job?
# MAGIC
# MAGIC 1. Put the function and `mine` into a module of your own.
# MAGIC 2. Let a job call `check` as above, and end with an error `if verdict.failed`.
# MAGIC 3. Keep its numbers in the file of the others: `load_settings("mine.toml", [mine])` reads
# MAGIC
# MAGIC    ```toml
# MAGIC    [expectations.partitions_stay]
# MAGIC    severity = "error"
# MAGIC    max_moved = 50
# MAGIC
# MAGIC    [expectations.partitions_stay.groups]
# MAGIC    "batch-*" = { severity = "off" }
# MAGIC    ```
