"""The sentence that sums up how the groups are, and the lists below it, from made-up states."""

from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from rich.console import Console

from kip848_records.summary import _groups, _records, _unconverged, convergence, unowned_times, verdict
from tests.made_tables import rows_of

SINCE = datetime(2026, 1, 1, tzinfo=timezone.utc)
AWAY = "waiting only for static members that are away"


@pytest.mark.parametrize(
    ("counts", "says"),
    [
        ({}, "0 groups of consumers"),
        ({"converged": 1}, "1 group of consumers: 1 converged"),
        ({"converged": 1200}, "1,200 groups of consumers: 1,200 converged"),
        ({AWAY: 1}, f"1 group of consumers: 1 {AWAY}"),
        (
            {"of which the log does not tell": 2, "not converged": 1, AWAY: 3, "converged": 4},
            f"10 groups of consumers: 4 converged, 1 not converged, 3 {AWAY}, 2 of which the log does not tell",
        ),
    ],
)
def test_the_verdict_is_made_of_all_four_counts(counts, says):
    assert verdict(counts) == says


def group(name, state, members=3, converged=3, away=0):
    counts = {"members": members, "converged_members": converged, "members_away": away}
    row = {"group_id": name, "group_type": "consumer", "state": state, "since": SINCE, "history": "right_censored"}
    return row | counts | {"waits_for_away_only": state == "Reconciling" and converged + away == members}


def printed(parts):
    console = Console(width=1000, highlight=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return captured.get()


@pytest.fixture(scope="module")
def states(spark):
    groups = [
        group("stable", "Stable"),
        group("empty", "Empty", members=0, converged=0),
        group("classic", "Stable", converged=None, away=None),
        group("assigning", "Assigning", converged=2, away=1) | {"history": "censored"},
        group("old", "Assigning", converged=None),
        group("slow", "Reconciling", converged=1, away=1),
        group("away", "Reconciling", converged=2, away=1),
        group("unknown", "unknown", members=None, converged=None, away=None),
    ]
    return rows_of(spark, "group_state", groups).withColumn("convergence", convergence())


def test_each_group_is_counted_once(states):
    _, sentence, table = printed(_groups(states)).split("\n", 2)
    assert sentence == (
        f"8 groups of consumers: 3 converged, 3 not converged, 1 {AWAY}, 1 of which the log does not tell"
    )
    assert [line.split() for line in table.splitlines()[2:]] == [
        ["Assigning", "consumer", "2"],
        ["Empty", "consumer", "1"],
        ["Reconciling", "consumer", "2"],
        ["Stable", "consumer", "2"],
        ["unknown", "consumer", "1"],
    ]


def test_groups_are_listed_by_what_they_wait_for(states):
    no_members = states.limit(0).selectExpr(
        *("group_id", "state AS status", "false AS superseded", "1 AS lag_ms", "'m' AS member_id")
    )
    text = printed(_unconverged(SimpleNamespace(captured_at=SINCE), states, lambda _: no_members))
    behind, away = text.split(f"1 group {AWAY}, the oldest first:")
    assert "3 groups not converged, the oldest first:" in behind
    assert {line.split()[0] for line in behind.splitlines() if "2026-01-01" in line} == {"assigning", "old", "slow"}
    assert [line.split()[0] for line in away.splitlines() if "2026-01-01" in line] == ["away"]
    assert "None" not in text


def test_only_time_in_which_somebody_was_to_have_a_partition_is_lost(spark):
    """Not that of a group that is stopped at night, nor what may have been another owner's, unseen."""
    at_night = {"group_id": "g", "history": "observed", "wanted": True, "unowned_ms": 50_000_000, "wanted_ms": 2_000}
    soon = at_night | {"partition": 1, "unowned_ms": 3_000, "wanted_ms": 3_000}
    unseen = at_night | {"partition": 2, "history": "left_censored", "wanted_ms": 40_000_000}
    skewed = at_night | {"partition": 3, "clock_skew": True, "wanted_ms": 40_000_000}
    unwanted = at_night | {"group_id": "h", "wanted": False, "wanted_ms": 0}
    handovers = rows_of(spark, "partition_handover", [at_night, soon, unseen, skewed, unwanted])
    (lost,) = unowned_times(handovers, "group_id").collect()
    assert (lost.group_id, lost.total, lost.longest.ms, lost.longest.partition) == ("g", 5_000, 3_000, 1)


def test_one_row_is_no_rows(spark):
    counts = {"records": {3: 1}, "quarantined": 1, "reads": (), "aborted": 0, "copies": 1, "group_configurations": 0}
    options = SimpleNamespace(offset_commits=False, dialect="kafka")
    quarantine = spark.createDataFrame([], "key binary, position int")
    text = printed(_records(SimpleNamespace(**counts, dialect="kafka", options=options), quarantine))
    assert text.startswith("\n1 record read, 1 row quarantined, 0 of unknown type, ")


def test_no_groups(states):
    none = states.limit(0)
    assert printed(_groups(none)) == "\n0 groups of consumers\n"
