"""Random logs of many groups: Spark and the plain replay agree on every row."""

from tests.timeline.logs import CAPTURED_AT, random_log
from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import Rows, assert_same


def test_spark_agrees_with_the_plain_replay(told: dict[str, Rows]) -> None:
    log = random_log()
    assert_same(told["random"], replay(log.records, log.complete_from, CAPTURED_AT))
