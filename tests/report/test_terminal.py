"""What people read: exact where it is compared, short where it is not."""

import pytest

from kip848_records.report.terminal import ids_text
from kip848_records.text import count_text, duration_text, ranges_text
from kip848_records.times import time_text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "0 s"),
        (172, "172 ms"),
        (1_000, "1 s"),
        (4_172, "4.1 s"),
        (59_999, "59.9 s"),
        (61_000, "1 min 1 s"),
        (3_600_000, "1 h"),
        (90_061_000, "1 d 1 h"),
        (-1, ""),
        (None, ""),
    ],
)
def test_durations(millis, text):
    assert duration_text(millis) == text


def test_numbers_and_times():
    assert time_text(1_795_249_126_358) == "2026-11-21 08:18:46 UTC"
    assert [count_text(count, "group") for count in (0, 1, 1200)] == ["0 groups", "1 group", "1,200 groups"]


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([5], "5"), ([3, 1, 2, 7], "1-3, 7"), ([0, 2, 4, 5, 5], "0, 2, 4-5")]
)
def test_ranges(numbers, text):
    assert ranges_text(numbers) == text


def test_ids_are_never_cut():
    assert ids_text(None) == ""
    assert ids_text(["a", "b", "c"]) == "a, b, c"
    assert ids_text([*"abcde"]) == "a, b, c and 2 more"
