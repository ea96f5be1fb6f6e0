"""What the package tells of all logs that the tests of this folder ask about."""

import pytest
from pyspark.sql import SparkSession

from tests.timeline import epoch_stories, member_stories
from tests.timeline.logs import Log, captured_logs, random_log, told_in_one_job
from tests.timeline.spark_rows import Rows
from tests.timeline.stories import COMPLETE_FROM, records_of


@pytest.fixture(scope="session")
def told(spark: SparkSession) -> dict[str, Rows]:
    """The rows of each log, by table: see `told_in_one_job`."""
    logs = {
        "captures": captured_logs(),
        "random": random_log(),
        "epoch stories": Log(records_of(epoch_stories.STORIES), COMPLETE_FROM),
        "member stories": Log(records_of(member_stories.STORIES), COMPLETE_FROM),
    }
    return told_in_one_job(spark, logs, cut=3)
