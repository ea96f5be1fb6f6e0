"""What is told of all logs that the tests of this folder ask about."""

import pytest
from pyspark.sql import SparkSession

from tests.timeline import epoch_stories, member_stories
from tests.timeline.logs import CAPTURED_AT, Log, captured_logs, random_log, told_in_one_job
from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import Rows
from tests.timeline.stories import COMPLETE_FROM, records_of

STORIES = {
    "epoch stories": Log(records_of(epoch_stories.STORIES), COMPLETE_FROM),
    "member stories": Log(records_of(member_stories.STORIES), COMPLETE_FROM),
}


@pytest.fixture(scope="session")
def told(spark: SparkSession) -> dict[str, Rows]:
    """The rows of each log by Spark, by table: see `told_in_one_job`."""
    return told_in_one_job(spark, {"captures": captured_logs(), "random": random_log()} | STORIES, cut=3)


@pytest.fixture(scope="session", params=["by Spark", "by the plain replay"])
def told_stories(request: pytest.FixtureRequest) -> dict[str, Rows]:
    """The rows of the stories alone, by each of the two that tell them."""
    if request.param == "by Spark":
        return request.getfixturevalue("told")
    return {name: replay(log.records, log.complete_from, CAPTURED_AT) for name, log in STORIES.items()}
