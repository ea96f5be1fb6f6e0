"""Tables of `kip848 migration` and `kip848 topic` that are cut name the format that has all rows."""

import pytest

from kip848_records.report.columns import Column
from kip848_records.report.sections import section, sections_markdown, sections_terminal


@pytest.mark.parametrize(
    ("rows", "where"),
    [(200, "--json and --markdown have them"), (201, "--markdown has 200, --json all of them")],
)
def test_where_the_rows_are_that_the_terminal_does_not_show(rows, where):
    (who,) = section("Who", [Column("group", "group_id")], [{"group_id": f"g{nth}"} for nth in range(rows)])
    *_, last = (line.plain for line in sections_terminal("head", [who]))
    assert last.endswith(where)
    assert sections_markdown("head", [who]).count("g1") == len([nth for nth in range(200) if f"{nth}"[0] == "1"])
