"""An expectation that checked nothing has not passed, in no form of a verdict: it says why, and the way out."""

import json
from xml.etree.ElementTree import fromstring

from kip848_records.report.check_json import check_json, check_line
from kip848_records.report.check_terminal import check_terminal
from kip848_records.report.junit import junit
from kip848_records.report.markdown import markdown
from kip848_records.report.sarif import sarif
from tests.report.verdicts import nothing, result, verdict

COMMITS = ("the audit decoded no offset commits", "audit the log with --offset-commits", "offset_commits")
VERDICT = verdict(
    result("group_stable"),
    nothing("offsets_lost", *COMMITS),
    nothing("owned_not_consumed", *COMMITS),
    nothing("streams_ready"),
)
MISSING = "the audit decoded no offset commits: audit the log with --offset-commits"


def lines(made, **options):
    return [text.plain for text in check_terminal(made, 200, **options)]


def test_the_terminal_counts_it_apart_and_says_what_can_be_done():
    shown = lines(VERDICT)
    assert "PASS  1 expectation  (--verbose lists them)" in shown
    at = shown.index("NOT APPLICABLE  3 expectations checked nothing  (--verbose says why)")
    assert shown[at + 1 :] == [f"  2: {MISSING}", "", "1 of 4 expectations passed, 3 not applicable"]


def test_the_terminal_says_why_of_each_that_is_asked_for():
    assert {f"  offsets_lost: {MISSING}", "  streams_ready: no streams group"} <= {*lines(VERDICT, is_verbose=True)}
    named = lines(verdict(nothing("moved_back", *COMMITS, is_named=True), nothing("streams_ready")))
    assert named[1:4] == [
        "",
        "NOT APPLICABLE  2 expectations checked nothing  (--verbose says why)",
        f"  moved_back: {MISSING}",
    ]


def test_json_has_the_need_and_the_way_out():
    document = json.loads(check_json(VERDICT))
    assert document["status"] == "pass"
    _, lost, _, ready = document["expectations"]
    assert (lost["status"], lost["checked"]) == ("not_applicable", 0)
    reason, way_out, need = COMMITS
    assert lost["not_applicable"] == {"demo": {"reason": reason, "way_out": way_out, "need": need}}
    assert ready["not_applicable"] == {"demo": {"reason": "no streams group", "way_out": None, "need": None}}
    line = json.loads(check_line(VERDICT, 0))
    assert line["not_applicable_expectations"] == ["offsets_lost", "owned_not_consumed", "streams_ready"]


def test_junit_skips_it():
    suite = fromstring(junit(VERDICT))  # noqa: S314 - our own
    assert (suite.get("tests"), suite.get("skipped")) == ("4", "3")
    said = {case.get("name"): skipped.get("message") for case in suite for skipped in case.findall("skipped")}
    assert said["offsets_lost"] == f"not applicable: {MISSING}"
    assert said["streams_ready"] == "not applicable: no streams group"


def test_sarif_has_a_notification():
    (run,) = json.loads(sarif(VERDICT))["runs"]
    said = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert f"offsets_lost: not applicable: {MISSING}" in said
    assert run["results"] == []


def test_markdown_has_a_sign_of_its_own_and_the_reasons():
    text = markdown(VERDICT)
    assert "| `offsets_lost` | \N{EN DASH} not applicable | 0 | 0 | 0 |" in text
    assert "3 checked nothing: not applicable" in text
    assert f"| `offsets_lost` | {MISSING} |" in text
