"""What a finding says of the member that holds a rebalance up is what all reports say of it."""

from datetime import UTC, datetime, timedelta
from itertools import product
from types import SimpleNamespace

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.coverage import RIGHT_CENSORED
from kip848_records.report.advice import MemberNow, advise
from kip848_records.terminal import duration_text
from tests.expectations.evaluated import evaluated
from tests.made_tables import write

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
(RULE,) = (each for each in EXPECTATIONS if each.name == "rebalance_time")
OPEN = {
    "outcome": "open",
    "history": RIGHT_CENSORED,
    "causes": ["member_joined", "member_left"],
    "duration_ms": 20 * SECOND,
    "epochs": 1,
    "group_type": "consumer",
    "assigning_ms": 0,
    "not_ready_ms": None,
    "delay_ms": None,
}
BLOCKER = {
    "client_id": "app",
    "client_host": "/10.0.0.1",
    "instance_id": None,
    "late_ms": 5000,
    "blocked_ms": 0,
    "held_up": 0,
    "revoke_ms": 0,
    "away_ms": 0,
    "last_state": "behind",
}

PRESENT = [
    MemberNow("revoking", 1424 * SECOND, DAY),
    MemberNow("revoking", 2 * DAY + 5 * SECOND, 5 * MINUTE),
    MemberNow("revoking", None, 3 * HOUR),
    MemberNow("behind", 999),
    MemberNow("behind", 26 * HOUR + 61 * SECOND, is_classic=True),
    MemberNow("unknown", 61 * MINUTE),
    MemberNow("waiting", HOUR + 59 * SECOND),
    MemberNow("away", DAY),
    MemberNow("away"),
    MemberNow("reconciled", 5),
    None,
]
CLIENTS = [
    {},
    {"held_up": 1},
    {"held_up": 1234, "instance_id": "i"},
    {"client_id": None, "client_host": None, "revoke_ms": 7000, "away_ms": 8000},
    {"client_id": None, "client_host": None, "instance_id": "i"},
    {"client_id": "a_b", "client_host": "h"},
]
REBALANCES = [{}, {"epochs": 1500}, {"epochs": 10, "duration_ms": 9 * SECOND}, {"assigning_ms": 9000}]
REBALANCES += [{"assigning_ms": 900, "not_ready_ms": 9000}]


def findings(tmp_path, groups):
    """The row of each group, of which each has its rebalance and its members now."""
    rebalances, states, stays = [], [], []
    for nth, (rebalance, members) in enumerate(groups):
        group = {"group_id": f"{nth:04}"}
        rebalances.append(group | rebalance)
        for member_id, now in members.items():
            member = group | {"member_id": member_id}
            states.append(member | {"state": now.state, "duration_ms": now.state_ms, "is_classic": now.is_classic})
            stays.append(member | {"rebalance_timeout_ms": now.rebalance_timeout_ms})
    run = {"run": 1, "dialect": "kafka", "captured_at": START + timedelta(days=9)}
    tables = {"rebalance": rebalances, "member_state_timeline": states, "membership": stays, "group_state": []}
    write(tmp_path, "c", audit_runs=[run], **tables)
    found = evaluated(DuckTables(str(tmp_path)), RULE, Setting("error", {"max_seconds": 0}))
    return sorted(found, key=lambda row: row.group_id)


def test_a_blocker_is_named_in_the_words_of_all_reports(tmp_path):
    cases = [
        (OPEN | columns | {"blockers": [BLOCKER | {"member_id": "m"} | client]}, {} if now is None else {"m": now})
        for now, client, columns in product(PRESENT, CLIENTS, REBALANCES)
    ]
    found = findings(tmp_path, cases)
    assert len(found) == len(cases)
    for row, (rebalance, members) in zip(found, cases, strict=True):
        told = advise(SimpleNamespace(**rebalance, expected_ms=None), members)
        epochs = f"{rebalance['epochs']:,} epochs, " if rebalance["epochs"] > 1 else ""
        age = duration_text(rebalance["duration_ms"])
        limit = f"expected to converge within 0 s, ongoing for ≥ {age} ({epochs}member_joined, member_left)"
        assert (row.member_id, row.message) == (told.member_id, f"{limit}: {told.sentence}")


def test_the_first_blocker_that_still_is_one_is_named(tmp_path):
    blockers = [BLOCKER | {"member_id": name, "late_ms": 9 - nth} for nth, name in enumerate("gdbl")]
    behind = MemberNow("behind", 5)
    members = {"d": MemberNow("reconciled", 5), "b": behind, "l": behind}
    (row,) = findings(tmp_path, [(OPEN | {"blockers": blockers}, members)])
    told = advise(SimpleNamespace(**OPEN, expected_ms=None, blockers=blockers), members)
    assert row.member_id == told.member_id == "b"


def test_durations_have_their_two_largest_units(tmp_path):
    spans = [0, 999, 1000, 59_999, MINUTE, MINUTE + 999, HOUR, HOUR + 1000, HOUR + MINUTE + 1000, 25 * HOUR]
    spans += [DAY, DAY + 1000, DAY + MINUTE, DAY + MINUTE + 1000, DAY + HOUR + MINUTE + 1000, 400 * DAY - 1]
    found = findings(tmp_path, [(OPEN | {"duration_ms": span, "epochs": 1, "blockers": []}, {}) for span in spans])
    told = [row.message.split("≥ ")[1].split(" (")[0] for row in found]
    assert told == [duration_text(span) for span in spans]
