"""What `kip848 explain` says of a group before and after its conversion, by tables without a log."""

from datetime import UTC, datetime, timedelta

from kip848_records.queries.duck import DuckTables
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import BEFORE_AND_AFTER, CONVERSIONS
from kip848_records.times import time_text
from tests import made_tables
from tests.report.fitted import entries, lines_of

EARLY, LATE, CAPTURED = (datetime(2026, 1, 2, hour, tzinfo=UTC) for hour in (1, 2, 3))
TITLE = "Before and after, the latest first, 20 of 22:"
CLASSIC = {"group_id": "g", "protocol": "classic", "from_at": EARLY, "observed_ms": 3_600_000, "rebalances": 7}
CONSUMER = {"group_id": "g", "protocol": "consumer", "from_at": LATE, "from_offset": 9, "rebalances": 2}


def text_of(out, periods, types=("classic", "consumer")):
    states = [{"group_id": "g", "group_type": kind, "state": "Stable", "from_at": EARLY} for kind in types]
    made_tables.write(
        out,
        "made",
        audit_runs=[{"run": 1, "captured_at": CAPTURED}],
        group_state=[{"group_id": "g", "state": "Stable"}],
        group_state_timeline=states,
        protocol_comparison=periods,
    )
    return "\n".join(lines_of(GroupHistory(DuckTables(str(out)), "g", "made"), BEFORE_AND_AFTER))


def test_a_group_that_kept_its_protocol(tmp_path):
    assert text_of(tmp_path, []) == ""


def test_before_and_after(tmp_path):
    known = {"rebalances_per_hour": 7.0, "partitions_moved": 14, "partitions_stopped": 84, "rounds": 9}
    text = text_of(tmp_path, [CLASSIC | known | {"unowned_min_partition_ms": 1234}, CONSUMER])
    after, before = sorted(entries(text, "Before and after, the latest first:"), reverse=True)
    assert before.endswith(" 1 h 7 9 7.0 moved: 14; stopped: 84; without an owner (sum of partitions): ≥ 1.2 s")
    assert after.endswith(" 2 ? moved: ?; stopped: ?")
    assert "estimated" not in text
    assert "Do not compare the time without an owner between protocols" in text


def test_numbers_of_a_log_that_was_compacted_are_minimums(tmp_path):
    known = {"partitions_moved": 14, "partitions_stopped": 84, "rounds": 9, "history": "left_censored"}
    text = text_of(tmp_path, [CLASSIC | known, CONSUMER])
    (before,) = (row for row in entries(text, "Before and after, the latest first:") if row.startswith("classic"))
    assert before.endswith(" 1 h ≥ 7 ≥ 9 ≥ 14 stopped: ≥ 84")


def test_the_stop_of_consumption_is_called_an_estimate(tmp_path):
    stops = {"stop_known": 80, "stop_max_p50_ms": 1500, "stop_max_p95_ms": 9000, "partitions_stopped": 84}
    text = text_of(tmp_path, [CLASSIC | stops, CONSUMER | {"stop_known": 0, "partitions_stopped": 0}])
    rows = entries(text, "Before and after, the latest first:")
    after, before = (next(row for row in rows if row.startswith(name)) for name in ("consumer", "classic"))
    assert before.endswith("; stops estimated by offset commits: 80; median stop: ≤ 1.5 s; 95% of stops: ≤ 9 s")
    assert after.endswith("; stops estimated by offset commits: 0")


def test_it_says_that_periods_are_cut(tmp_path):
    periods = [
        CLASSIC | {"from_at": EARLY + timedelta(0, nth), "from_offset": nth, "unowned_min_partition_ms": 1000 * nth}
        for nth in range(22, 0, -1)
    ]
    *rows, more = entries(text_of(tmp_path, periods), TITLE)
    assert more == "and 2 more: see protocol_comparison"
    waits = [row.split("≥ ")[-1] for row in rows]
    assert waits == [f"{nth} s" for nth in range(22, 2, -1)]


def test_the_latest_changes_are_kept(tmp_path):
    hours = [EARLY + timedelta(hours=nth) for nth in range(22)]
    rows = [
        {"group_id": "g", "offset": nth, "at": at, "direction": "upgrade", "from_type": "classic", "epoch": nth,
         "to_type": "consumer", "converted": 1, "mixed_until": at + timedelta(minutes=60 - nth) if nth else None}
        for nth, at in enumerate(hours)
    ]  # fmt: skip
    made_tables.write(tmp_path, "made", audit_runs=[{"run": 1, "captured_at": CAPTURED}],
                      group_state=[{"group_id": "g", "state": "Stable"}], group_migration=rows,
                      group_state_timeline=[{"group_id": "g", "state": "Stable", "from_at": EARLY}])  # fmt: skip
    lines = lines_of(GroupHistory(DuckTables(str(tmp_path)), "g", "made"), CONVERSIONS)
    assert lines[1] == "Changes of the protocol, the latest first, 20 of 22:"
    *rows, more = entries("\n".join(lines), lines[1])
    assert more == "and 2 more: see group_migration"
    assert [row[:23] for row in rows] == [time_text(int(at.timestamp() * 1000)) for at in reversed(hours[2:])]
    assert all("both protocols until: " in row for row in rows)
