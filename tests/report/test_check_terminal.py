"""A verdict in a terminal."""

from hypothesis import given
from rich.console import Console

from kip848_records.report.check_terminal import check_terminal
from kip848_records.text import printable
from tests.report.verdicts import ALL, CAPTURED, MEMBER, NOWHERE, STUCK, finding, result, verdict, verdicts


def printed(made):
    console = Console(width=100_000, highlight=False)
    with console.capture() as captured:
        for part in check_terminal(made):
            console.print(part)
    return [line.rstrip() for line in captured.get().split("\n")][:-1]


def test_every_expectation_has_a_line():
    lines = printed(ALL)
    assert lines[:2] == ["Cluster demo, captured at 2026-11-21 08:18:46.358 UTC", ""]
    assert lines[2].split() == ["expectation", "status", "checked", "violations", "unknown"]
    assert [line.split() for line in lines[4:8]] == [
        ["group_stable", "fail", "43", "33", "0"],
        ["rebalance_time", "warn", "12", "1", "1"],
        ["one_owner", "unknown", "15", "0", "5"],
        ["epochs_rise", "pass", "10", "0", "0"],
    ]
    assert lines[-1] == "1 of 4 expectations failed, 1 warned, 1 could not be evaluated"


def test_violations_are_listed_below():
    lines = printed(ALL)
    start = lines.index("group_stable, 33 violations: what group_stable expects")
    assert lines[start + 1].split() == ["severity", "group", "epoch", "member", "partition", "offset", "violation"]
    assert [line.split(maxsplit=6) for line in lines[start + 3 : start + 6]] == [
        ["error", "payments", "7", MEMBER, "3", "1234", STUCK],
        ["warn", "payments", "7", "3", "1234", *STUCK.split(" ", 1)],
        ["and", "31", "more"],
    ]
    assert "rebalance_time, 1 violation: what rebalance_time expects" in lines
    assert not any(line.startswith(("one_owner,", "epochs_rise,")) for line in lines)


def test_ten_violations_are_shown():
    lines = printed(verdict(result("a", [finding(message=f"number {n}") for n in range(12)])))
    assert [line.split()[-1] for line in lines if "number" in line] == [str(n) for n in range(10)]
    assert "and 2 more" in lines


def test_of_several_clusters_each_is_named():
    several = verdict(result("a", [finding(cluster="west")]), captured_at={"east": CAPTURED, "west": None})
    assert any(line.split()[:3] == ["west", "error", "payments"] for line in printed(several))


def test_what_is_nowhere_has_empty_cells():
    (line,) = [line for line in printed(verdict(result("a", [NOWHERE]))) if "no records" in line]
    assert line.split() == ["warn", "no", "records"]


@given(verdicts())
def test_no_id_commands_a_terminal_or_breaks_a_line(made):
    lines = printed(made)
    assert all(line.isprintable() for line in lines)
    for each in made.results:
        for one in each.violations:
            told = (one.cluster, one.group_id, one.member_id, one.message)
            cells = [printable(text).strip() for text in (told if len(made.captured_at) > 1 else told[1:]) if text]
            assert any(all(cell in line for cell in cells) for line in lines)
