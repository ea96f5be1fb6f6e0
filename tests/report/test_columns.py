"""The cells of tables: one rule for sections of a group's history and for answers about a cluster."""

from types import SimpleNamespace

import pytest

from kip848_records.report.columns import (
    AT_LEAST,
    AT_MOST,
    BYTES,
    NUMBER,
    SPAN,
    TEXT,
    TIME,
    Column,
    Names,
    bare,
    filled,
)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (TEXT, "g", "g"),
        (NUMBER, 12_345, "12,345"),
        (NUMBER, 0, "0"),
        (NUMBER, "≥ 3", "≥ 3"),
        (NUMBER, None, ""),
        (TIME, 0, "1970-01-01 00:00:00 UTC"),
        (SPAN, 5_000, "5 s"),
        (AT_LEAST, 5_000, "≥ 5 s"),
        (AT_MOST, 5_000, "≤ 5 s"),
        (AT_MOST, -1, "unknown: clock went back"),
        (BYTES, 1_500_000, "1.5 MB"),
        (TEXT, Names("abcde"), "a, b, c and 2 more"),
    ],
)
def test_a_cell_is_a_text_of_its_kind(kind, value, text) -> None:
    row = {"it": value}
    assert str(Column("it", "it", kind).cell(row)) == text
    assert str(Column("it", "it", kind).cell(SimpleNamespace(**row))) == text


def test_a_table_has_the_columns_that_are_filled_and_aligns_numbers_right() -> None:
    columns = [
        Column("{units}", "a"),
        Column("offset", bare("b"), NUMBER),
        Column("empty", "c", NUMBER),
        Column("names", lambda row: Names(row["d"])),
    ]
    rows = [{"a": "x", "b": 4_000, "c": None, "d": ()}, {"a": None, "b": None, "c": None, "d": ()}]
    assert filled(columns, rows, {"units": "tasks"}) == (["tasks", "offset"], [("x", "4000"), ("", "")], ["offset"])
