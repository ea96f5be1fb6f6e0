"""How a verdict is summed up."""

import pytest

from kip848_records.report.words import captures, counts, line, more, overall, sentence
from tests.report.verdicts import ALL, CAPTURED, MEMBER, NOWHERE, STUCK, finding, nothing, result, verdict

FAILED = result("a", [finding()])
WARNED = result("b", [finding("warn")])
UNKNOWN = result("c", unknown=[finding()])
PASSED = result("d")
NOTHING = nothing("e")


@pytest.mark.parametrize(
    ("results", "status", "says"),
    [
        ([], "not_applicable", "no expectation was evaluated"),
        ([PASSED], "pass", "1 expectation passed"),
        ([PASSED, UNKNOWN], "unknown", "1 of 2 expectations could not be evaluated"),
        ([PASSED, WARNED, UNKNOWN], "warn", "1 of 3 expectations warned, 1 could not be evaluated"),
        ([UNKNOWN, WARNED, FAILED, FAILED], "fail", "2 of 4 expectations failed, 1 warned, 1 could not be evaluated"),
        ([PASSED, NOTHING], "pass", "1 of 2 expectations passed, 1 not applicable"),
        ([NOTHING, NOTHING], "not_applicable", "2 of 2 expectations not applicable"),
        ([NOTHING, FAILED, PASSED], "fail", "1 of 3 expectations failed, 1 not applicable"),
        ([FAILED] * 1200, "fail", "1,200 of 1,200 expectations failed"),
    ],
)
def test_the_worst_is_said_first(results, status, says):
    assert overall(verdict(*results)) == status
    assert sentence(verdict(*results)) == says


def test_what_is_not_listed_is_counted():
    assert [result.checked for result in ALL.results] == [43, 12, 15, 10]
    assert [result.violated for result in ALL.results] == [33, 1, 0, 0]
    assert [more(count, [finding()]) for count in (0, 1, 2, 1500)] == ["", "", "and 1 more", "and 1,499 more"]


def test_captures_name_their_time():
    two = verdict(captured_at={"east": CAPTURED, "west": None})
    assert captures(two) == [
        "Cluster east, captured at 2026-11-21 08:18:46 UTC",
        "Cluster west, captured at an unknown time",
    ]


def test_counts_are_told_where_there_are_any():
    assert [counts(result) for result in ALL.results] == [
        "31 errors, 2 warnings of 43 checked",
        "1 warning, 1 unknown of 12 checked",
        "5 unknown of 15 checked",
        "10 checked",
    ]


def test_a_line_says_where():
    at = "__consumer_offsets-3 offset 1234"
    assert line(finding()) == f"error: cluster demo, group payments, epoch 7, member {MEMBER}, {at}: {STUCK}"
    assert line(NOWHERE) == "warn: cluster demo: no records"
    assert line(NOWHERE, evaluated=False) == "unknown: cluster demo: no records"
    assert line(finding(group_id="a\nb", member_id=None, offset=None)) == (
        rf"error: cluster demo, group a\nb, epoch 7, __consumer_offsets-3: {STUCK}"
    )
    assert line(finding(group_id="", group_epoch=0, partition=0, offset=0, message="m")) == (
        f"error: cluster demo, group , epoch 0, member {MEMBER}, __consumer_offsets-0 offset 0: m"
    )
