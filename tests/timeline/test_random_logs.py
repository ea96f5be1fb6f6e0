"""Random logs of many groups in one job: Spark and the plain replay agree on every row, however the rows come."""

import random

from pyspark.sql import SparkSession

from tests.timeline.plain_replay import replay
from tests.timeline.random_log import random_records
from tests.timeline.spark_rows import assert_same, spark_rows

COMPLETE_FROM = {0: 0, 1: 1500, 10: 0, 11: 1500}  # of partitions 2 and 12 nothing is known


def test_spark_agrees_with_the_plain_replay(spark: SparkSession) -> None:
    whole = random_records(1, groups=90, operations=25, partitions=3)
    holed = random_records(2, groups=90, operations=25, partitions=3, lost=0.1)
    records = whole + [{**record, "partition": record["partition"] + 10} for record in holed]
    random.Random(3).shuffle(records)  # noqa: S311 - an order, not a secret
    assert_same(spark_rows(spark, records, COMPLETE_FROM, cut=3), replay(records, COMPLETE_FROM))
