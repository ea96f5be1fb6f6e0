"""The numbers that SQL marks in a message; `test_both_engines.py` asks Spark for the marks."""

from pathlib import Path

import duckdb
import pytest

from kip848_records.queries import texts
from kip848_records.queries.marked_numbers import MARK, with_numbers
from kip848_records.queries.texts import plain
from kip848_records.text import count_text, duration_text

NUMBERS = [0, 1, 999, 1_000, 20_034, 999_999, 1_234_567, 10**9, 10**12 + 5, 2**52, 2**63 - 1]


def said(call, number, type_="bigint"):
    query = f"SELECT {plain(call)} FROM (SELECT CAST({number} AS {type_}) AS n)"  # noqa: S608 - ours
    ((marked,),) = duckdb.sql(query).fetchall()
    return with_numbers(f"it is {marked}.")[len("it is ") : -1]


@pytest.mark.parametrize("number", NUMBERS)
def test_counts_and_time_spans_are_those_of_all_reports(number):
    assert said("counted(n, observed rebalance)", number) == count_text(number, "observed rebalance")
    assert said("thousands(n)", number) == f"{number:,}"
    assert said("duration(n)", number) == said("span(n)", number) == duration_text(number)
    assert said("at_least(n)", number) == f"≥ {duration_text(number)}"


@pytest.mark.parametrize(
    ("call", "number", "expected"),
    [
        ("span(n)", "NULL", "an unknown time"),
        ("at_least(n)", "-1", "an unknown time (the broker's clock went back)"),
        ("duration(n)", "NULL", ""),
        ("counted(n, offset)", "NULL", "? offsets"),
    ],
)
def test_a_number_that_is_not_known_is_none(call, number, expected):
    assert said(call, number) == expected


@pytest.mark.parametrize(("number", "expected"), [("NULL", None), ("1.5", 2), ("9.3e18", 10**15)])
def test_a_whole_number_fits_and_null_is_null(number, expected):
    """`least` of both engines would make 10^15 of null."""
    query = f"SELECT {plain('whole(n)')} FROM (SELECT CAST({number} AS double) AS n)"  # noqa: S608 - ours
    assert duckdb.sql(query).fetchall() == [(expected,)]


def test_a_part_of_a_millisecond_does_not_count():
    assert said("span(n)", "61999.75", "double") == "1 min 1 s"


@pytest.mark.parametrize("name", ["a\x01b", "\x01span\x01", "\x01unknown 5\x01", "\x01span x\x01", "\x01"])
def test_a_name_with_marks_but_no_number_stays_as_it_is(name):
    ((marked,),) = duckdb.sql(f"SELECT {plain('span(5000)')}").fetchall()
    assert with_numbers(f"group {name} for {marked}") == f"group {name} for 5 s"


def test_only_messages_of_expectations_have_marks():
    package = Path(texts.__file__).parents[1]
    others = [
        path for path in package.rglob("*.sql") if "expectations" not in path.parts and path.name != "functions.sql"
    ]
    assert len(others) > 100
    assert [path for path in others if MARK in plain(path.read_text())] == []
