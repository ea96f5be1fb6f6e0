"""Groups that exist because of offset commits alone, to which a coordinator cannot load records of some other types.

Such a commit makes a group if there is none. Each record of a group of those types gets the offset of the last commit
before it: the other commits make no difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import Window
from pyspark.sql import functions as F

from kip848_records.kinds import ROLES, SHARE, STREAMS
from kip848_records.replay.decode.grouped_rows import COMMIT_BEFORE
from kip848_records.sources.log_rows import is_offset_commit, is_readable, key_of_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

REFUSED_BY_SIMPLE_GROUPS: Final = frozenset(
    key_type for key_type, (kind, _) in ROLES.items() if kind in {SHARE, STREAMS}
)
"""The types of records that a release of Kafka cannot load on top of such a group."""

_GROUP: Final = ("partition", "group_id")


def with_commit_before(records: DataFrame, commits: DataFrame) -> DataFrame:
    """Return the records with `COMMIT_BEFORE`: the offset of the last commit with a value in their group before them.

    It is null for groups without records of `REFUSED_BY_SIMPLE_GROUPS`. Commits of aborted transactions count, as for a
    coordinator that loads the log. Both have the schema `sources.log.LOG_SCHEMA`.
    """
    groups = records.where(key_of_types(REFUSED_BY_SIMPLE_GROUPS)).select(*_GROUP).distinct()
    is_commit = is_offset_commit() & is_readable() & F.col("value").isNotNull()
    before = commits.where(is_commit).join(groups, [*_GROUP], "left_semi").withColumn("commit", F.col("offset"))
    rows = records.withColumn("commit", F.lit(None).cast("bigint")).unionByName(
        before.select(*records.columns, "commit")
    )
    earlier = Window.partitionBy(*_GROUP).orderBy("offset").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return rows.withColumn(COMMIT_BEFORE, F.max("commit").over(earlier)).where("commit IS NULL").drop("commit")
