"""How a verdict is summed up."""

import pytest

from kip848_records.report.words import captures, checked, more, overall, sentence, violated
from tests.report.verdicts import ALL, CAPTURED, finding, result, verdict

FAILED = result("a", [finding()])
WARNED = result("b", [finding("warn")])
UNKNOWN = result("c", unknown=[finding()])
PASSED = result("d")


@pytest.mark.parametrize(
    ("results", "status", "says"),
    [
        ([], "pass", "0 expectations passed"),
        ([PASSED], "pass", "1 expectation passed"),
        ([PASSED, UNKNOWN], "unknown", "1 of 2 expectations could not be judged"),
        ([PASSED, WARNED, UNKNOWN], "warn", "1 of 3 expectations warned, 1 could not be judged"),
        ([UNKNOWN, WARNED, FAILED, FAILED], "fail", "2 of 4 expectations failed, 1 warned, 1 could not be judged"),
        ([FAILED] * 1200, "fail", "1,200 of 1,200 expectations failed"),
    ],
)
def test_the_worst_is_said_first(results, status, says):
    assert overall(verdict(*results)) == status
    assert sentence(verdict(*results)) == says


def test_what_is_not_listed_is_counted():
    assert [checked(result) for result in ALL.results] == [43, 12, 15, 10]
    assert [violated(result) for result in ALL.results] == [33, 1, 0, 0]
    assert [more(count, [finding()]) for count in (0, 1, 2, 1500)] == ["", "", "and 1 more", "and 1,499 more"]


def test_captures_name_their_time():
    two = verdict(captured_at={"east": CAPTURED, "west": None})
    assert captures(two) == [
        "Cluster east, captured at 2026-11-21 08:18:46.358 UTC",
        "Cluster west, captured at an unknown time",
    ]
