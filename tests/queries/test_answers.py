"""The answers for programs are what their JSON Schemas say; `test_both_engines.py` compares the types on Spark."""

import json
from datetime import datetime

import pytest
from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from kip848_records.cli import main
from kip848_records.queries.answers import ANSWERS, json_schema
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from kip848_records.queries.texts import query
from kip848_records.report.terminal import plain_text
from tests import made_tables
from tests.audits import CLUSTERS

CAPTURE = "kafka-4.3.1"
AT = datetime.fromisoformat("2026-01-01T12:00:00+00:00")
TEXTS = {name: (name, questions()[name].sql, {}) for name in ANSWERS} | {
    "new_events": ("events", questions()["new_events"].sql, {}),
    "diagnosis_as_of": (
        "diagnosis",
        query("queries/diagnosis_as_of"),
        {"as_of": datetime.fromisoformat("2027-01-01T00:00:00+00:00")},
    ),
}
"""The texts of answers with a schema, each with the name of the schema and its parameters."""

FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time", raises=ValueError)
def is_time(value):
    """As RFC 3339: a time without a zone is none."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


def validator(name):
    return Draft202012Validator(json_schema(name), format_checker=FORMATS)


def lines(answer):
    """The lines that --json prints of an answer."""
    return [json.loads(json.dumps(row, default=plain_text)) for row in answer.to_pylist()]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(json_schema(name))


@pytest.mark.parametrize("text", TEXTS)
def test_an_answer_has_the_columns_and_types_of_its_schema(audits, text):
    name, sql, parameters = TEXTS[text]
    tables = DuckTables(str(audits.out))
    answer = tables.arrow(sql, CLUSTERS[CAPTURE], **parameters)
    assert {field.name: field.type for field in answer.schema} == {each.name: each.type for each in ANSWERS[name]}
    found = lines(answer)
    assert found
    for line in found:
        validator(name).validate(line)
        assert list(line) == [each.name for each in ANSWERS[name]]


@pytest.mark.parametrize("arguments", [*((name,) for name in ANSWERS), ("events", "--since-last-run")], ids=" ".join)
def test_what_the_command_prints_is_what_the_schema_says(audits, capsys, arguments):
    assert main(["query", str(audits.out), "--cluster", CLUSTERS[CAPTURE], *arguments, "--json", "--quiet"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found
    for line in found:
        validator(arguments[0]).validate(line)


SPARSE = {"pattern": "storm_across", "severity": "info", "is_present": True, "first_seen": AT, "sentence": "s"}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_row_with_nulls_is_what_the_schema_says(tmp_path, name):
    """What may be null in the tables may be null in the answer."""
    rebalance = {"group_id": "g", "outcome": "converged", "ended_at": AT, "unowned_ms": 5000}
    storm = SPARSE | {"group_id": None, "partition": None, "incarnation": None, "next_step": "n"}
    rows = [storm, SPARSE | {"group_id": "g", "empty_ms": 7}]
    others = dict.fromkeys(made_tables.OF_KINDS, ())
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], diagnosis=rows, rebalance=[rebalance], **others)
    found = lines(DuckTables(str(tmp_path)).arrow(questions()[name].sql, "c"))
    assert len(found) > 1
    for line in found:
        validator(name).validate(line)


@pytest.mark.parametrize(
    "wrong", [{"event": "other"}, {"at": "2026-01-01T12:00:00"}, {"members": 1.5}, {"sentence": 1}]
)
def test_a_wrong_line_is_refused(wrong):
    line = dict.fromkeys(each.name for each in ANSWERS["events"]) | {"event": "trouble_began", "at": AT.isoformat()}
    validator("events").validate(line)
    with pytest.raises(ValidationError):
        validator("events").validate(line | wrong)
