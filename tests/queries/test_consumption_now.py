"""The states of owned partitions in the log of a broker 4.4.0, where clients paused, died, or had nothing to read."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed
from tests import made_tables
from tests.commits_of_a_broker import SILENCE, audited

MINUTE = timedelta(minutes=1)
OF_SOME_GROUPS = f"{SILENCE}groups.'g-d*'.min_silence_seconds = 3600\n"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return audited(tmp_path_factory.mktemp("tables"), SILENCE)


@pytest.fixture(scope="module")
def by_default(tmp_path_factory):
    return audited(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def states(tables):
    return states_of(tables)


def states_of(tables):
    rows = tables.rows(completed("SELECT * FROM consumption_now"), "c")
    return {(row.group_id, row.topic, row.partition): row for row in rows}


def of_group(states, group):
    return {(topic, partition): row.state for (found, topic, partition), row in states.items() if found == group}


@pytest.mark.slow
def test_a_partition_that_was_paused(states):
    row = states["g-pause", "t-orders", 3]
    assert (row.state, row.evidence, row.silent_ms) == ("suspected", "messages_waiting", 110_797)
    assert (row.min_silence_ms, row.need_ms) == (20_000, 20_000)
    assert (row.acquired_offset, row.committed, row.ahead_by, row.ahead_group) == (115, 260, 556, "g-manual")
    others = [state for (_, partition), state in of_group(states, "g-pause").items() if partition != 3]
    assert others == ["progress"] * 5


def test_a_member_whose_worker_died(states):
    dead = {key: row for key, row in states.items() if key[0] == "g-dead" and row.state == "suspected"}
    assert sorted(partition for _, _, partition in dead) == [0, 1, 2]
    assert {(row.evidence, row.silent_ms) for row in dead.values()} == {("messages_waiting", 94_741)}


@pytest.mark.slow
def test_a_transaction_that_was_left_open(states):
    assert [*of_group(states, "g-hang").values()] == ["blocked_by_transaction"] * 4
    assert {row.producer_id for key, row in states.items() if key[0] == "g-hang"} == {2}


@pytest.mark.parametrize("group", ["g-skew", "g-java-cla", "g-java-con"])
def test_a_partition_that_gets_no_messages_is_no_finding(states, group):
    """The groups are not ahead of each other: without the topic's end, that it stopped is all that is known."""
    assert states[group, "t-skew", 3].state == "stopped_alone"


def test_groups_that_have_nothing_to_read(states):
    assert set(of_group(states, "g-burst").values()) == {"all_stopped"}
    assert [of_group(states, "g-idle")["t-idle", partition] for partition in (2, 3)] == ["no_commit_yet"] * 2
    assert set(of_group(states, "g-none").values()) == {"never_commits"}


@pytest.mark.slow
def test_a_rebalance_timeout_is_too_long_for_a_short_log(by_default):
    found = states_of(by_default)
    assert {row.min_silence_ms for row in found.values()} == {300_000}
    assert not {"suspected", "blocked_by_transaction"} & {row.state for row in found.values()}


@pytest.mark.slow
def test_a_limit_of_some_groups(tmp_path):
    found = states_of(audited(tmp_path, OF_SOME_GROUPS))
    assert {group for (group, *_), row in found.items() if row.min_silence_ms == 3_600_000} >= {"g-dead", "g-dead-c"}
    assert "suspected" not in of_group(found, "g-dead").values()
    assert found["g-pause", "t-orders", 3].state == "suspected"


@pytest.mark.parametrize(("advances", "state"), [(3, "stopped_alone"), (2, "idle_or_not_consumed")])
def test_a_partition_that_moved_three_times_has_stopped(tmp_path, advances, state):
    found = of_made(tmp_path, {"advances": advances, "last_advance_at": MINUTE}, {"last_advance_at": 60 * MINUTE})
    assert [row.state for row in found] == [state, "progress"]


def test_its_owner_goes_on_to_commit_within_half_of_the_time_that_it_needs(tmp_path):
    found = of_made(tmp_path, *({"last_commit_at": 60 * MINUTE - timedelta(seconds=each)} for each in (150, 151)))
    assert [(row.need_ms, row.is_committing) for row in found] == [(300_000, True), (300_000, False)]


def of_made(folder, *partitions):
    """The states of partitions of one topic, at the end of an hour; times are of this hour."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    stay = {"group_id": "g", "group_type": "consumer", "topic": "t", "owner": "member", "acquired_at": start}
    stay |= {
        "history": "right_censored",
        "advances": 9,
        "commits": 9,
        "last_offset": 5,
        "rebalance_timeout_ms": 300_000,
    }
    rows = [
        stay
        | {"partition": number, "member_id": f"m{number}"}
        | {name: start + value if isinstance(value, timedelta) else value for name, value in each.items()}
        for number, each in enumerate(partitions)
    ]
    run = {"run": 1, "captured_at": start + 60 * MINUTE, "offset_commits": True}
    made_tables.write(folder, "c", audit_runs=[run], commit_progress=rows, open_transaction=[])
    return DuckTables(str(folder)).rows(completed("SELECT * FROM consumption_now ORDER BY partition"), "c")


@pytest.mark.slow
def test_check_may_ask_otherwise_than_the_audit(by_default, tables, tmp_path):
    (tmp_path / "check.toml").write_text(
        "[expectations]\n"
        "owned_not_consumed.min_silence = 20\n"
        "owned_not_consumed.groups.'g-pause'.min_silence = 3600\n"
        "blocked_by_transaction.min_silence = 20\n"
    )
    by_check = findings(by_default, str(tmp_path / "check.toml"))
    by_audit = findings(tables, None)
    assert by_audit["blocked_by_transaction"] == by_check["blocked_by_transaction"] == {"g-hang"}
    assert by_check["owned_not_consumed"] == by_audit["owned_not_consumed"] - {"g-pause"} >= {"g-dead"}
    assert "g-pause" in by_audit["owned_not_consumed"]
    assert not any(findings(by_default, None).values())


def findings(tables, config):
    settings = load_settings(config)
    found = {each.name: each.violations for each in check(tables, settings).results}
    names = ("owned_not_consumed", "blocked_by_transaction")
    return {name: {finding.group_id for finding in found[name]} for name in names}
