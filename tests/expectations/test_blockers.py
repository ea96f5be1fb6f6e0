"""What a finding says of the member that blocks a rebalance is what all reports say of it."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.group.known_history import RIGHT_CENSORED
from kip848_records.text import duration_text
from tests.expectations.evaluated import evaluated
from tests.made_tables import OF_KINDS, write

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
RULES = {each.name: each for each in EXPECTATIONS if each.name in {"group_stable", "rebalance_time"}}
OPEN = {
    "outcome": "open",
    "history": RIGHT_CENSORED,
    "causes": ["member_joined", "member_left"],
    "duration_ms": 20 * SECOND,
    "began_at": START,
    "epochs": 1,
    "group_type": "consumer",
    "assigning_ms": 0,
}
BLOCKER = {
    "member_id": "m",
    "client_id": "app",
    "client_host": "/10.0.0.1",
    "late_ms": 5000,
    "blocked_ms": 5000,
    "held_up": 23,
    "revoke_ms": 0,
    "away_ms": 0,
    "last_state": "behind",
    "late_now": True,
    "waiting_now": 4,
}


def findings(tmp_path, rebalances, rule="rebalance_time", state="revoking", diagnosis=()):
    """The row of each group, of which each has its rebalance and a member."""
    rows = [{"group_id": f"{nth:04}"} | OPEN | rebalance for nth, rebalance in enumerate(rebalances)]
    member = {"member_id": "m", "state": state, "duration_ms": 1424 * SECOND}
    keys = [{"group_id": row["group_id"], "group_type": row["group_type"]} for row in rows]
    tables = {
        "rebalance": rows,
        "group_state": [key | {"state": "Reconciling", "since": START, "history": RIGHT_CENSORED} for key in keys],
        "member_state_timeline": [key | member for key in keys],
        "membership": [key | {"member_id": "m"} for key in keys],
        "rebalance_lag": [],
        "group_state_timeline": [],
        "diagnosis": diagnosis,
    }
    run = {"run": 1, "dialect": "kafka", "captured_at": START + timedelta(days=9)}
    write(tmp_path, "c", audit_runs=[run], **tables, **{name: [] for name in OF_KINDS})
    found = evaluated(DuckTables(str(tmp_path)), RULES[rule], Setting("error", {"max_seconds": 0}))
    return sorted(found, key=lambda row: row.group_id)


@pytest.mark.parametrize("rule", RULES)
def test_a_finding_ends_with_the_sentence_of_all_reports(tmp_path, rule):
    rebalances = [{"blockers": [BLOCKER], "group_type": kind} for kind in ("consumer", "streams")]
    rebalances += [{"blockers": [BLOCKER], "epochs": 30, "duration_ms": HOUR}, {"blockers": []}]
    found = findings(tmp_path, rebalances, rule)
    text = "SELECT group_id, blocker.sentence AS sentence, blocker.member_id AS member_id FROM group_state"
    said = {row.group_id: row for row in DuckTables(str(tmp_path)).rows(text, "c")}
    assert len(found) == len(said) == 4
    for row in found:
        assert row.message.endswith(f": {said[row.group_id].sentence}")
        assert row.member_id == said[row.group_id].member_id
    of_partitions = "asked to give up partitions for ≥ 23 min 44 s; 4 members wait for it"
    assert found[0].message.endswith(f": app @ 10.0.0.1 has been {of_partitions}")
    assert found[1].message.endswith(f": app @ 10.0.0.1 has been {of_partitions.replace('partitions', 'tasks')}")


def test_a_trouble_over_time_that_explains_it_is_told_instead(tmp_path):
    silent = {
        "pattern": "coordinator_silent",
        "severity": "warning",
        "is_present": True,
        "incarnation": 0,
        "partition": 0,
    }
    silent |= {"group_id": "0000", "sentence": "The broker hangs.", "next_step": "Compare copies.", "episode": 1}
    habit = silent | {"group_id": "0001", "pattern": "slow_by_habit", "sentence": "It is slow."}
    habit["subject"] = {"client_id": "app", "client_host": "/10.0.0.1"}
    others = [
        silent | {"group_id": "0002", "is_present": False},
        silent | {"group_id": "0003", "explained_by": "storm"},
    ]
    rebalances = [{"blockers": [BLOCKER]}] * 4
    found = findings(tmp_path, rebalances, state="revoking", diagnosis=[silent, habit, *others])
    assert found[0].message.endswith(": The broker hangs")
    assert found[1].message.endswith(": It is slow")
    assert [row.member_id for row in found] == [None, "m", "m", "m"]
    assert all("has been asked to give up" in row.message for row in found[2:])


def test_a_rebalance_that_has_ended_names_no_blocker(tmp_path):
    (row,) = findings(tmp_path, [{"outcome": "converged", "history": "observed", "blockers": [BLOCKER]}])
    assert (row.member_id, row.message) == (
        None,
        "expected to converge within 0 s, took 20 s (member joined, member left or expired)",
    )


def test_durations_are_those_of_all_reports(tmp_path):
    spans = [0, 1, 999, 1000, 4172, 59_999, MINUTE, MINUTE + 999, HOUR, HOUR + 1000, HOUR + MINUTE + 1000, 25 * HOUR]
    spans += [DAY, DAY + 1000, DAY + MINUTE, DAY + MINUTE + 1000, DAY + HOUR + MINUTE + 1000, 400 * DAY - 1]
    found = findings(tmp_path, [{"duration_ms": span, "blockers": []} for span in spans])
    told = [row.message.split("≥ ")[1].split(" (")[0] for row in found]
    assert told == [duration_text(span) for span in spans]
