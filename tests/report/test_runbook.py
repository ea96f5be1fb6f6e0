"""Every entry of the runbook is read, with all its points."""

from kip848_records.expectations import EXPECTATIONS
from kip848_records.replay.blocker.advice import PATTERNS
from kip848_records.replay.diagnosis.consumption import NOT_CONSUMED
from kip848_records.replay.diagnosis.moved_groups import BEGAN_AGAIN
from kip848_records.report.runbook import entries


def test_each_entry_says_what_it_means_and_what_to_do():
    assert set(entries()) == {*PATTERNS, NOT_CONSUMED.name, BEGAN_AGAIN.name, *(each.name for each in EXPECTATIONS)}
    assert {tuple(title for title, _ in points) for points in entries().values()} == {
        ("Means", "Confirm", "Do", "No fault if")
    }
    assert dict(entries()["absent_static_member"])["Confirm"] == "Its open row in `member_state_timeline` is `away`."
