"""The timelines of real brokers' logs: what befell some groups, and what is left where nobody knows what is missing."""

from typing import Any

import pytest

from tests.audits import Audits
from tests.timeline.logs import CAPTURED_AT, captured_logs
from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import Rows, assert_same

CAPTURE = "kafka-4.3.1"


def test_every_row_of_unknown_history_equals_the_plain_replay(told: dict[str, Rows]) -> None:
    log = captured_logs()
    assert_same(told["captures"], replay(log.records, log.complete_from, CAPTURED_AT))


def test_static_members_were_away(told: dict[str, Rows]) -> None:
    assert max(row["members_away"] for row in told["captures"]["states"] if row["group_id"] == "static") == 3


def test_stuck_is_open_and_not_stable_since_the_bump_before(audits: Audits) -> None:
    epochs = sorted(rows_of(audits, "stuck", "epoch_timeline"), key=lambda row: row["group_epoch"])
    assert [(row["group_epoch"], row["status"], row["superseded_by"]) for row in epochs] == [
        (2, "converged", None),
        (3, "superseded", 4),
        (4, "open", None),
    ]
    (stuck,) = rows_of(audits, "stuck", "group_state")
    assert stuck["since"] == epochs[1]["bumped_at"]


def test_members_of_slow_revoke_waited_for_the_slow_one(audits: Audits) -> None:
    lags = rows_of(audits, "slow-revoke", "rebalance_lag")
    slow = {row["member_id"] for row in lags if row["revoke_ms"] > 1000}
    waits = {row["wait_ms"]: row for row in lags if row["wait_ms"]}
    assert waits.keys() == {6006, 7008}
    assert len(slow) == 1
    assert all(slow <= set(row["blocked_by"]) for row in waits.values())
    assert all(row["status"] == "reconciled" and row["history"] == "observed" for row in waits.values())


def test_the_member_of_stuck_that_waits_is_blocked_by_the_one_that_does_not_revoke(audits: Audits) -> None:
    lags = rows_of(audits, "stuck", "rebalance_lag")
    still = [row for row in lags if row["status"] == "open" and not row["superseded"]]
    (waiting,) = [row for row in still if row["wait_ms"]]
    (revoking,) = [row for row in still if row["revoke_ms"]]
    assert (waiting["group_epoch"], revoking["group_epoch"]) == (4, 4)
    assert waiting["blocked_by"] == [revoking["member_id"]]
    awaited = [(item["topic"], item["partition"], item["owner"]) for item in waiting["awaited"]]
    assert awaited == [("clicks", number, revoking["member_id"]) for number in range(12, 24)]
    so_far = audits.audits[CAPTURE].captured_at - waiting["first_bumped_at"]
    assert waiting["lag_ms"] == pytest.approx(so_far.total_seconds() * 1000)


def rows_of(audits: Audits, group_id: str, table: str) -> list[dict[str, Any]]:
    return [row for row in audits.rows(CAPTURE, table) if row["group_id"] == group_id]
