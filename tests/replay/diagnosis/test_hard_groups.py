"""Healthy groups that are hard on purpose: nothing of them is an alarm."""

from collections import Counter

import pytest

from tests.replay.diagnosis.hard_groups import HARD, outcome
from tests.seeds import daily_seeds


def alarms(numbers, seed):
    """The rows with an alarm, and how many rows there are of each pattern, severity, and whether they are explained."""
    found, counts = [], Counter()
    for number in numbers:
        name, rows = outcome(number, seed)
        for row in rows:
            counts[row["pattern"], row["severity"], row["explained_by"] or ""] += 1
            if row["severity"] != "info" and row["explained_by"] is None:
                found.append((seed, number, name, row["pattern"], row["count"], row["subject"]))
    return found, counts


def test_no_alarm_for_hard_groups():
    """Of a few kinds, to see that they run."""
    found, counts = alarms(range(0, len(HARD), 3), seed=1)
    assert found == []
    assert {pattern for pattern, _, _ in counts} <= {"rolling_restart", "job", "spares", "everybody_left"}
    assert counts["rolling_restart", "info", ""] > 1


@pytest.mark.nightly
def test_no_alarm_for_five_thousand_hard_groups(capsys):
    total, found = Counter(), []
    for seed in daily_seeds(5, "hard groups"):
        of_seed, counts = alarms(range(1_000), seed)
        found += of_seed
        total += counts
    with capsys.disabled():
        print(f"\n{'pattern':<20}{'severity':<10}{'explained by':<16}rows")  # noqa: T201
        for (pattern, severity, explained_by), rows in sorted(total.items()):
            print(f"{pattern:<20}{severity:<10}{explained_by:<16}{rows}")  # noqa: T201
    assert found == []
