"""A verdict as JSON: nothing is lost, whatever ids hold."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given

from kip848_records import __version__
from kip848_records.expectations.results import CaptureLimits, PresentBlocker
from kip848_records.report.check_json import check_json, check_line
from kip848_records.report.words import captures, limits_text
from tests.report.verdicts import ALL, CAPTURED, MEMBER, STUCK, finding, result, verdict, verdicts

LATER = "later records are behind an open transaction, or were not read"
CAPTURE = ("group", "captured_at", "as_of_newest_record", "known_to")


def test_what_limits_ages_is_said():
    at = datetime(2026, 1, 1, tzinfo=UTC)
    limits = {"demo": CaptureLimits(is_newest_record=True), "live": CaptureLimits(known_to={3: at, 7: None})}
    made = replace(verdict(captured_at={"demo": at, "live": at}), limits=limits)
    document = json.loads(check_json(made))
    assert document["as_of_newest_record"] == ["demo"]
    assert document["known_to"] == {"live": {"3": "2026-01-01T00:00:00.000+00:00", "7": None}}
    assert captures(made) == [
        "Cluster demo, captured at 2026-01-01 00:00:00 UTC",
        "Ages are as of the newest record; pass --captured-at with the time of the copy",
        "Cluster live, captured at 2026-01-01 00:00:00 UTC",
        "Partition 3 is known only to 2026-01-01 00:00:00 UTC: " + LATER,
        "Partition 7 is not known: " + LATER,
    ]
    many = CaptureLimits(known_to={1: None, 3: at, 4: at + timedelta(days=1)})
    assert limits_text(many) == [
        ("Partitions 1, 3-4 are not known, or known only to 2026-01-01 00:00:00 UTC or later: " + LATER)
    ]


def test_what_is_said_of_the_whole():
    document = json.loads(check_json(ALL))
    assert list(document) == ["version", "tables", *CAPTURE, "clusters", "status", "expectations"]
    assert document["version"] == __version__
    assert document["tables"] == "out/tables"
    assert document["captured_at"] == {"demo": "2026-11-21T08:18:46.358+00:00"}
    assert document["status"] == "fail"


def test_what_is_said_of_an_expectation():
    failed, warned, unknown, passed = json.loads(check_json(ALL))["expectations"]
    violations = failed.pop("violations")
    assert failed == {
        "name": "group_stable",
        "description": "what group_stable expects",
        "severity": "error",
        "status": "fail",
        "checked": 43,
        "passed": 10,
        "errors": 31,
        "warnings": 2,
        "violations_total": 33,
        "unknown_total": 0,
        "unknown": [],
        "faults": {},
        "not_applicable": {},
        "not_looked_for": [],
    }
    assert violations[0] == {
        "cluster": "demo",
        "group_id": "payments",
        "group_epoch": 7,
        "member_id": MEMBER,
        "partition": 3,
        "offset": 1234,
        "severity": "error",
        "message": STUCK,
        "blocker": None,
        "age_ms": None,
    }
    assert violations[1]["member_id"] is None
    assert [one["message"] for one in warned["unknown"]] == ["log begins later"]
    assert (unknown["status"], unknown["unknown_total"], len(unknown["unknown"])) == ("unknown", 5, 1)
    assert (passed["status"], passed["checked"], passed["violations"]) == ("pass", 10, [])


def test_who_blocks_is_a_field_of_a_finding():
    blocker = PresentBlocker("silent_member", "m", "app @ h", 1_000, "app @ h is silent", "Restart it")
    found = result("group_stable", [finding(blocker=blocker), finding(blocker=blocker._replace(since_ms=None))])
    first, second = json.loads(check_json(verdict(found)))["expectations"][0]["violations"]
    assert first["blocker"] == {
        "pattern": "silent_member",
        "member_id": "m",
        "who": "app @ h",
        "since": "1970-01-01T00:00:01.000+00:00",
        "sentence": "app @ h is silent",
        "next_step": "Restart it",
    }
    assert second["blocker"]["since"] is None


def test_times_are_utc_and_may_be_unknown():
    east = CAPTURED.astimezone(timezone(timedelta(hours=9)))
    document = json.loads(check_json(verdict(captured_at={"east": east, "west": None})))
    assert document["captured_at"] == {"east": "2026-11-21T08:18:46.358+00:00", "west": None}
    assert (document["status"], document["expectations"]) == ("not_applicable", [])


@given(verdicts())
def test_any_id_comes_back(made):
    text = check_json(made)
    assert text.isascii()
    document = json.loads(text)
    assert list(document["captured_at"]) == list(made.captured_at)
    for told, each in zip(document["expectations"], made.results, strict=True):
        assert told["violations"] == [one.columns() for one in each.violations]
        assert told["unknown"] == [one.columns() for one in each.unknown]


def test_the_line_for_log_shippers_is_one_line_of_counts():
    text = check_line(ALL, 1)
    assert "\n" not in text
    assert text.isascii()
    found = json.loads(text)
    assert datetime.fromisoformat(found.pop("at")).tzinfo is not None
    assert found == {
        "event": "kip848_check",
        "version": __version__,
        "tables": "out/tables",
        "group": None,
        "captured_at": {"demo": "2026-11-21T08:18:46.358+00:00"},
        "as_of_newest_record": [],
        "known_to": {},
        "status": "fail",
        "exit_code": 1,
        "checked": 80,
        "errors": 31,
        "warnings": 3,
        "unknown": 6,
        "fail_expectations": ["group_stable"],
        "warn_expectations": ["rebalance_time"],
        "unknown_expectations": ["one_owner"],
        "fault_expectations": [],
        "not_applicable_expectations": [],
    }
