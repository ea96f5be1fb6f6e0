"""Answers for people have 80 columns: wider is only a line with one name that nobody can break."""

import re

import pytest
from rich.cells import cell_len

from kip848_records.queries.duck import DuckTables
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.sql import query
from kip848_records.report.terminal import fitted_table, wrapped_lines
from tests.audits import CLUSTERS
from tests.seeds import daily_sample

WIDTH = 80


def too_wide(text):
    return [line for line in text.splitlines() if cell_len(line) > WIDTH and len(line.split()) > 1]


# Each capture has groups of the same kinds as another one: two of the three show them.
ON = daily_sample([*CLUSTERS.values()], 2, "widths")


@pytest.mark.daily
@pytest.mark.slow
@pytest.mark.parametrize("tables", ["audits", "kinds"])
def test_every_group_of_the_captures_is_explained_in_eighty_columns(tables, request):
    found = request.getfixturevalue(tables)
    opened = DuckTables(str(getattr(found, "out", found)))
    texts = {}
    for run in opened.runs():
        if tables == "audits" and run.cluster not in ON:
            continue
        for row in opened.rows(query("groups"), run.cluster):
            parts = explain(GroupHistory(opened, row.group_id, run.cluster))
            texts[run.cluster, row.group_id] = "\n".join(part.plain for part in parts)
    assert len(texts) > 10
    assert {name: lines for name, text in texts.items() if (lines := too_wide(text))} == {}
    is_well = [text for text in texts.values() if re.search(r"\n(Healthy( now)?|Nothing is wrong now): ", text)]
    assert is_well
    assert not any("stuck for" in text.split("\n\n")[0] for text in is_well)


def test_names_and_units_stay_whole():
    text = "app @ 10.0.0.1 left after about 12 s, and again at 2026-01-01 00:00:00 UTC"
    lines = list(wrapped_lines(text, 25, "- ", "  "))
    assert lines == ["- app @ 10.0.0.1 left", "  after about 12 s, and", "  again at", "  2026-01-01 00:00:00 UTC"]
    assert list(wrapped_lines("名" * 30 + " " + "名" * 30, WIDTH)) == ["名" * 30] * 2


def test_columns_without_room_follow_their_row():
    rows = [("x" * 40, "y" * 30, "z" * 20, None, "w"), ("a", "b", "c", "d", "")]
    lines = [line.plain for line in fitted_table("one", "two", "three", "four", "", rows=rows, right=("two",))]
    assert [line.rstrip() for line in lines] == [
        f"  {'one':<40}  {'two':>30}",
        f"  {'x' * 40}  {'y' * 30}",
        f"      three: {'z' * 20}; w",
        f"  {'a':<40}  {'b':>30}",
        "      three: c; four: d",
    ]


def test_an_answer_of_its_own_has_a_line_below_its_titles_and_in_a_pipe_one_line_a_row():
    rows = [("x" * 40, "y" * 30, "z" * 20), ("a", None, "名")]
    folded, whole = (
        [line.plain for line in fitted_table("one", "two", "three", rows=rows, width=width, is_ruled=True)]
        for width in (WIDTH, None)
    )
    assert folded == [
        f"{'one':<40}   two",
        "─" * 73,
        f"{'x' * 40}   {'y' * 30}",
        f"    three: {'z' * 20}",
        "a",
        "    three: 名",
    ]
    assert whole == [
        f"{'one':<40}   {'two':<30}   three",
        "─" * 96,
        f"{'x' * 40}   {'y' * 30}   {'z' * 20}",
        f"{'a':<40}   {'':<30}   名",
    ]
