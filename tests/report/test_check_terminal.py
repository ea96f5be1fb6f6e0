"""A verdict in a terminal."""

import json
from collections import Counter
from dataclasses import replace

from hypothesis import given

from kip848_records.errors import UnexpectedError
from kip848_records.report.changes import Changed, Changes
from kip848_records.report.check_json import check_json
from kip848_records.report.check_terminal import check_terminal
from kip848_records.report.headline import Headline
from kip848_records.text import printable
from tests.report.verdicts import ALL, CAPTURED, MEMBER, NOWHERE, STUCK, finding, result, verdict, verdicts

PLACE = "__consumer_offsets-3 offset 1234"


def spaced(text):
    return " ".join(text.split())


def printed(made, width=80, **how):
    return [part.plain for part in check_terminal(made, width, **how)]


def test_what_is_worst_comes_first_and_what_passed_is_one_line():
    lines = printed(ALL)
    assert lines[:2] == ["Cluster demo, captured at 2026-11-21 08:18:46 UTC", ""]
    assert [line for line in lines if line[:1].isupper()][1:] == [
        "FAIL  group_stable, 31 errors, 2 warnings of 43 checked: what group_stable",
        "WARN  rebalance_time, 1 warning, 1 unknown of 12 checked: what rebalance_time",
        "UNKNOWN  one_owner, 5 unknown of 15 checked: what one_owner expects",
        "PASS  1 expectation  (--verbose lists them)",
    ]
    assert lines[-1] == "1 of 4 expectations failed, 1 warned, 1 could not be evaluated"


def test_how_the_groups_are_stands_behind_the_time_of_their_cluster():
    made = verdict(captured_at={"east": CAPTURED, "west": CAPTURED})
    overdue = {"newly_overdue": [Changed("g", 1)] * 2, "unknown": [], "undated": [], "recovered": [Changed("h", None)]}
    overdue |= {"settled": []}
    changes = Changes(is_first=False, **overdue, began=[], ended=[], passed=[])
    heads = {"east": Headline(Counter(stuck=1, healthy=1), changes), "west": Headline(Counter(healthy=1))}
    assert printed(made, heads=heads)[:6] == [
        "Cluster east, captured at 2026-11-21 08:18:46 UTC",
        "1 of 2 groups stuck · 1 healthy",
        "Since the run before: 2 newly overdue, 1 recovered",
        "Cluster west, captured at 2026-11-21 08:18:46 UTC",
        "0 of 1 group stuck · 1 healthy",
        "",
    ]
    assert json.loads(check_json(made, heads))["clusters"]["west"]["since_last_run"] is None
    east = json.loads(check_json(made, heads))["clusters"]["east"]
    assert (east["groups"]["stuck"], east["groups"]["failing"]) == (1, 0)
    assert east["since_last_run"] == {
        "newly_overdue": 2,
        "unknown": 0,
        "undated": 0,
        "recovered": 1,
        "settled": 0,
        "began": 0,
        "ended": 0,
        "passed": 0,
    }


def test_the_more_errors_the_sooner():
    few, many = result("few", [finding()]), result("many", [finding()] * 3)
    lines = printed(verdict(few, many))
    assert [line.split(",")[0] for line in lines if line.startswith("FAIL")] == ["FAIL  many", "FAIL  few"]


def test_a_violation_names_the_group_then_what_is_wrong_then_where():
    lines = printed(ALL)
    start = lines.index("  expects")
    assert lines[start + 1 : start + 3] == [f"  payments: {STUCK}", f"    epoch 7, member {MEMBER}, {PLACE}"]
    assert lines[start + 3 : start + 5] == [f"  warn: payments: {STUCK}", f"    epoch 7, {PLACE}"]
    assert lines[start + 5] == "  and 31 more"


def test_what_is_unknown_is_named_and_counted():
    lines = printed(ALL)
    start = next(n for n, line in enumerate(lines) if line.startswith("UNKNOWN"))
    assert lines[start + 1] == "  payments: compacted away"
    assert lines[start + 3] == "  and 4 more"


def test_what_is_unknown_for_one_cause_is_one_line():
    """A broker with an open transaction hides the rest of a partition: most expectations then know nothing of it."""
    made = verdict(*(result(name, unknown=[finding(message="unread")], unknowns=2) for name in "abcd"), result("e"))
    lines = [line for line in printed(made) if line[:1].isupper()]
    assert lines[1:] == [
        "UNKNOWN  4 expectations: a, b, c, d  (--verbose says why)",
        "PASS  1 expectation  (--verbose lists them)",
    ]
    assert "  payments: unread" not in printed(made)
    assert printed(made, is_verbose=True).count("  payments: unread") == 4


def test_of_a_fault_too_the_milder_findings_are_told_apart():
    broken = replace(
        result("a", [finding(), finding("warn", group_id="mild")]),
        faults={"demo": UnexpectedError.of(ValueError("x"), "the query of a for cluster demo")},
    )
    lines = printed(verdict(broken))
    assert f"  payments: {STUCK}" in lines
    assert f"  warn: mild: {STUCK}" in lines


def test_an_id_with_spaces_stays_whole():
    spaced_id = "my  group " * 12
    assert any(spaced_id.strip() in line for line in printed(verdict(result("a", [finding(group_id=spaced_id)])), 40))


def test_passes_are_listed_if_asked_for():
    assert printed(ALL, is_verbose=True)[-4:-2] == ["PASS  1 expectation", "  epochs_rise: 10 checked"]


def test_a_pass_of_the_only_expectation_says_what_passed_and_what_was_not_looked_at():
    only = replace(result("loads", passed=3), without=("cluster demo: commits are not looked at",))
    assert printed(verdict(only))[2:] == [
        "PASS  loads, 3 checked: what loads expects",
        "  cluster demo: commits are not looked at",
        "",
        "1 expectation passed",
    ]


def test_ten_violations_are_shown():
    lines = printed(verdict(result("a", [finding(message=f"number {n}") for n in range(12)])))
    assert [line.split()[-1] for line in lines if "number" in line] == [str(n) for n in range(10)]
    assert "  and 2 more" in lines


def test_of_several_clusters_each_is_named():
    several = verdict(result("a", [finding(cluster="west")]), captured_at={"east": CAPTURED, "west": None})
    assert any(line.startswith("  west, payments: ") for line in printed(several))


def test_what_is_nowhere_has_no_place():
    lines = printed(verdict(result("a", [NOWHERE])))
    at = lines.index("  no records")
    assert lines[at + 1] == ""


def test_what_to_do_is_said_once_for_findings_of_one_cause():
    """Findings for programs have it all; of advice that differs in its times these are said."""
    step = "Read its log at 2026-11-21 08:1{}:57 UTC and the exit code of the container."
    steps = [step.format(1), step.format(2), step.format(1), "Restart it.", "Restart it."]
    found = [
        finding("warn", group_id=f"g{n}", message=f"It left. {each} It ended 1 h before the capture.", advice=each)
        for n, each in enumerate(steps)
    ]
    checked = verdict(result("restart_loop", found))
    said = [line.strip() for line in printed(checked, 200) if line.startswith("  g")]
    ended = "It ended 1 h before the capture."
    assert said == [
        f"g0: It left. {steps[0]} {ended}",
        f"g1: It left. What to do: as above, at 2026-11-21 08:12:57 UTC. {ended}",
        f"g2: It left. What to do: as above, at 2026-11-21 08:11:57 UTC. {ended}",
        f"g3: It left. Restart it. {ended}",
        f"g4: It left. What to do: as above. {ended}",
    ]
    assert [each.columns()["message"] for each in checked.results[0].violations] == [each.message for each in found]


def test_lines_are_as_wide_as_the_terminal_and_ids_are_whole():
    long = "x" * 100
    lines = printed(verdict(result("a", [finding(group_id=long, message="word " * 30)])), 60)
    assert any(f"{long}:" in line for line in lines)
    assert all(len(line) <= 60 for line in lines if long not in line)


@given(verdicts())
def test_no_id_commands_a_terminal_or_breaks_a_line(made):
    lines = printed(made, 1_000_000, is_verbose=True)
    assert all(line.isprintable() for line in lines)
    for each in made.results:
        for one in each.violations:
            told = (one.cluster, one.group_id, one.message)
            words = [
                " ".join(printable(text).split()) for text in (told if len(made.captured_at) > 1 else told[1:]) if text
            ]
            assert any(all(word in " ".join(line.split()) for word in words) for line in lines)
