"""The timelines of real brokers' logs, against a plain replay and against what Kafka's own tool printed."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.dump_log import read_dump_logs
from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import Rows, assert_same, spark_rows

FOLDER = Path(__file__).parents[1] / "captures"
FIRST_PARTITION = {"kafka-4.3.1": 0, "kafka-4.0.0-zstd": 10, "kafka-4.3.1-all-types": 20}
"""All captures go through Spark in one job, each with partition numbers of its own, and once more, 100 further on,
as logs of which nobody knows whether they are complete."""
COMPLETE_FROM = dict.fromkeys(range(100), 0)
CHANGED_AFTER_THE_COPY = {("kafka-4.0.0-zstd", "churn")}
EPOCHS, LASTS, _STATES = range(3)


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    return [
        {**record, "partition": record["partition"] + first + history}
        for name, first in FIRST_PARTITION.items()
        for record in read_dump_logs(FOLDER / name / "oracle/dump-log")
        for history in (0, 100)
    ]


@pytest.fixture(scope="module")
def told(spark: SparkSession, records: list[dict[str, Any]]) -> Rows:
    return spark_rows(spark, records, COMPLETE_FROM)


def test_every_row_equals_the_plain_replay(told: Rows, records: list[dict[str, Any]]) -> None:
    assert_same(told, replay(records, COMPLETE_FROM))


@pytest.mark.parametrize("capture", ["kafka-4.3.1", "kafka-4.0.0-zstd"])
def test_last_states_equal_what_kafka_described(told: Rows, capture: str) -> None:
    columns = ("state", "group_epoch", "assignment_epoch", "members")
    ours = {row["group_id"]: tuple(row[c] for c in columns) for row in rows_of(told[LASTS], capture)}
    described = describe_state(FOLDER / capture / "oracle/describe-state.txt")
    assert ours.keys() == described.keys()
    compared = [group for group in ours if (capture, group) not in CHANGED_AFTER_THE_COPY]
    assert {group: ours[group] for group in compared} == {group: described[group] for group in compared}


def test_stuck_is_open_and_not_stable_since_the_bump_before(told: Rows) -> None:
    epochs = [row for row in rows_of(told[EPOCHS], "kafka-4.3.1") if row["group_id"] == "stuck"]
    epochs.sort(key=lambda row: row["group_epoch"])
    assert [(row["group_epoch"], row["status"], row["superseded_by"]) for row in epochs] == [
        (2, "converged", None),
        (3, "superseded", 4),
        (4, "open", None),
    ]
    (stuck,) = [row for row in rows_of(told[LASTS], "kafka-4.3.1") if row["group_id"] == "stuck"]
    assert stuck["since"] == epochs[1]["bumped_at"]


def test_the_static_members_of_a_real_group_were_away(told: Rows) -> None:
    away = [row["members_away"] for row in rows_of(told[_STATES], "kafka-4.3.1") if row["group_id"] == "static"]
    assert max(away) == 3


def rows_of(rows: list[dict[str, Any]], capture: str) -> list[dict[str, Any]]:
    first = FIRST_PARTITION[capture]
    return [row for row in rows if first <= row["partition"] < first + 10]


def describe_state(path: Path) -> dict[str, tuple[str, int | None, int | None, int]]:
    """Group id -> state, group epoch, assignment epoch and members, as ``kafka-consumer-groups`` printed them."""
    line = re.compile(r"(\S+) +\S+ +\(\d+\) +\S+ +(\w+) +(\d+|-) +(\d+|-) +(\d+) *")
    described = {}
    for match in filter(None, map(line.fullmatch, path.read_text().splitlines())):
        group, state, *epochs, members = match.groups()
        group_epoch, assignment_epoch = (None if epoch == "-" else int(epoch) for epoch in epochs)
        described[group] = (state, group_epoch, assignment_epoch, int(members))
    return described
