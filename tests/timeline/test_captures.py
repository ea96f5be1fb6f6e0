"""The timelines of real brokers' logs, against a plain replay and against what Kafka's own tool printed."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.timeline.logs import CAPTURED_AT, CAPTURES, FIRST_PARTITION, captured_logs
from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import Rows, assert_same

CHANGED_AFTER_THE_COPY = {("kafka-4.0.0-zstd", "churn")}


@pytest.fixture(scope="module")
def captured(told: dict[str, Rows]) -> Rows:
    return told["captures"]


def test_every_row_equals_the_plain_replay(captured: Rows) -> None:
    log = captured_logs()
    assert_same(captured, replay(log.records, log.complete_from, CAPTURED_AT))


@pytest.mark.parametrize("capture", ["kafka-4.3.1", "kafka-4.0.0-zstd"])
def test_last_states_equal_what_kafka_described(captured: Rows, capture: str) -> None:
    columns = ("state", "group_epoch", "assignment_epoch", "members")
    ours = {row["group_id"]: tuple(row[c] for c in columns) for row in rows_of(captured["lasts"], capture)}
    described = describe_state(CAPTURES / capture / "oracle/describe-state.txt")
    assert ours.keys() == described.keys()
    compared = [group for group in ours if (capture, group) not in CHANGED_AFTER_THE_COPY]
    assert {group: ours[group] for group in compared} == {group: described[group] for group in compared}


def test_stuck_is_open_and_not_stable_since_the_bump_before(captured: Rows) -> None:
    epochs = [row for row in rows_of(captured["epochs"], "kafka-4.3.1") if row["group_id"] == "stuck"]
    epochs.sort(key=lambda row: row["group_epoch"])
    assert [(row["group_epoch"], row["status"], row["superseded_by"]) for row in epochs] == [
        (2, "converged", None),
        (3, "superseded", 4),
        (4, "open", None),
    ]
    (stuck,) = [row for row in rows_of(captured["lasts"], "kafka-4.3.1") if row["group_id"] == "stuck"]
    assert stuck["since"] == epochs[1]["bumped_at"]


def test_members_of_slow_revoke_waited_for_the_slow_one(captured: Rows) -> None:
    lags = [row for row in rows_of(captured["lags"], "kafka-4.3.1") if row["group_id"] == "slow-revoke"]
    slow = {row["member_id"] for row in lags if row["revoke_ms"] > 1000}
    waits = {row["wait_ms"]: row for row in lags if row["wait_ms"]}
    assert waits.keys() == {6006, 7008}
    assert len(slow) == 1
    assert all(slow <= set(row["blocked_by"]) for row in waits.values())
    assert all(row["status"] == "reconciled" and row["history"] == "observed" for row in waits.values())


def test_the_member_of_stuck_that_waits_is_blocked_by_the_one_that_does_not_revoke(captured: Rows) -> None:
    lags = [row for row in rows_of(captured["lags"], "kafka-4.3.1") if row["group_id"] == "stuck"]
    still = [row for row in lags if row["status"] == "open" and not row["superseded"]]
    (waiting,) = [row for row in still if row["wait_ms"]]
    (revoking,) = [row for row in still if row["revoke_ms"]]
    assert (waiting["group_epoch"], revoking["group_epoch"]) == (4, 4)
    assert waiting["blocked_by"] == [revoking["member_id"]]
    awaited = [(item["topic"], item["partition"], item["owner"]) for item in waiting["awaited"]]
    assert awaited == [("clicks", number, revoking["member_id"]) for number in range(12, 24)]
    assert waiting["lag_ms"] == CAPTURED_AT - waiting["first_bumped_at"]


def test_no_partition_of_a_capture_has_two_owners(captured: Rows) -> None:
    handovers = [row for row in captured["handovers"] if row["from_member"] is not None]
    assert handovers
    assert all(row["released_at"] is not None for row in handovers)


def test_the_static_members_of_a_real_group_were_away(captured: Rows) -> None:
    away = [row["members_away"] for row in rows_of(captured["states"], "kafka-4.3.1") if row["group_id"] == "static"]
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
