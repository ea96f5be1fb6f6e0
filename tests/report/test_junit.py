"""A verdict as JUnit XML: valid for Jenkins, and read back with Python's own parser."""

from xml.etree.ElementTree import fromstring

import pytest
import xmlschema
from hypothesis import given, settings

from kip848_records.report.junit import junit
from kip848_records.report.words import line
from tests.downloads import UnavailableError
from tests.report.junit_schema import junit_schema
from tests.report.verdicts import ALL, finding, result, verdict, verdicts


@pytest.fixture(scope="module")
def schema():
    try:
        return xmlschema.XMLSchema(junit_schema())
    except UnavailableError as error:
        pytest.skip(str(error))


def suite(made):
    return fromstring(junit(made))  # noqa: S314 - our own


def cases(made):
    return suite(made).findall("testcase")


def test_it_is_one_suite_with_counts():
    told = suite(ALL)
    assert (told.tag, told.get("name")) == ("testsuite", "kip848 check")
    assert {name: told.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    assert [case.get("name") for case in told] == ["group_stable", "rebalance_time", "one_owner", "epochs_rise"]
    assert {case.get("classname") for case in told} == {"kip848.check"}


def test_each_status_has_its_form():
    failed, warned, unknown, passed = cases(ALL)
    summary = "31 errors, 2 warnings of 43 checked: what group_stable expects"
    (failure,) = failed
    assert (failure.tag, failure.get("message")) == ("failure", summary)
    violations = [line(finding()), line(finding("warn", member_id=None))]
    assert failure.text.split("\n") == [summary, *violations, "and 31 more"]
    (printed,) = warned
    warning = line(finding("warn", message="slow"))
    assert printed.tag == "system-out"
    assert printed.text.split("\n") == ["1 warning, 1 unknown of 12 checked: what rebalance_time expects", warning]
    (skipped,) = unknown
    assert (skipped.tag, skipped.get("message")) == ("skipped", "5 unknown of 15 checked: what one_owner expects")
    assert skipped.text.split("\n")[1:] == [line(finding(message="compacted away"), evaluated=False), "and 4 more"]
    assert not list(passed)


@pytest.mark.nightly  # pip fetches the schema
@pytest.mark.parametrize("made", [ALL, verdict()], ids=["all", "none"])
def test_jenkins_takes_it(schema, made):
    schema.validate(junit(made))


@pytest.mark.slow
@given(made=verdicts())
def test_jenkins_takes_any_id(schema, made):
    schema.validate(junit(made))


@settings(max_examples=30)
@given(verdicts())
def test_any_id_is_told(made):
    for case, each in zip(cases(made), made.results, strict=True):
        told = "".join(case.itertext()).split("\n")
        evaluated = bool(each.errors or each.warnings)
        found = each.violations if evaluated else each.unknown
        assert [text for text in told[1:] if not text.startswith("and ")] == [
            line(one, evaluated=evaluated) for one in found
        ]


def test_what_xml_cannot_hold_is_escaped():
    hidden = result("a", [finding(group_id="\x00\x0b\x1b\ufffe]]>\r\n", message="&lt; <b>")])
    (case,) = cases(verdict(hidden))
    assert r"group \x00\x0b\x1b\ufffe]]>\r\n, epoch" in case[0].text
    assert case[0].text.endswith(": &lt; <b>")
