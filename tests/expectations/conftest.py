"""All logs of the cases: one dump, one replay, one check."""

from dataclasses import dataclass, replace

import pytest

from kip848_records.check import check
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.results import Result
from kip848_records.expectations.sql import SEVERITY
from kip848_records.queries.duck import DuckTables
from tests.expectations.cases import CASES, CLUSTER, audit_cases, settings_of_cases, write_kinds
from tests.expectations.evaluated import more_columns
from tests.expectations.logs import PASS, VIOLATION


@dataclass(frozen=True)
class Checked:
    """`results`: by expectation, see `with_passes`. `partitions`: by group id."""

    results: dict[str, Result]
    partitions: dict[str, int]

    def of(self, case):
        """What was found of a case's group under its expectation: violations, what is unknown, and what passed."""
        result = self.results[case.rule]
        told = [each for each in result.violations if each.group_id == case.group]
        return (
            [each for each in told if each.severity != PASS],
            [each for each in result.unknown if each.group_id == case.group],
            [each for each in told if each.severity == PASS],
        )


@pytest.fixture(scope="session")
def audited(tmp_path_factory):
    """The folder of the tables, and in which partition each group is. Logs in the draft's dialect are a cluster too."""
    out = tmp_path_factory.mktemp("expectations")
    return out, audit_cases(out)


@pytest.fixture(scope="session")
def made_kinds(tmp_path_factory):
    """The folder of the made-up tables about single kinds of groups, in the cluster `KINDS`."""
    out = tmp_path_factory.mktemp("kinds")
    write_kinds(out)
    return out


@pytest.fixture(scope="session")
def settings(tmp_path_factory):
    """Limits that the cases are made for."""
    return settings_of_cases(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="session")
def checked(audited, settings) -> Checked:
    out, partitions = audited
    expectations = [with_passes(each) for each in EXPECTATIONS]
    verdict = check(DuckTables(str(out)), settings, expectations=expectations, cluster=CLUSTER)
    assert not any(result.faults for result in verdict.results)
    return Checked({result.name: result for result in verdict.results}, partitions)


def with_passes(expectation):
    """The expectation, whose results also hold what passed of the groups that are to: with the severity PASS."""
    groups = [case.group for case in CASES if case.rule == expectation.name and case.verdict == PASS]
    listed = ", ".join("'{}'".format(group.replace("'", "''")) for group in ["", *groups])
    columns = more_columns(expectation)
    more = "".join(f", every.{name}" for name in columns if name != SEVERITY)
    severity = "every.severity" if SEVERITY in columns else "NULL"
    text = f"""
        SELECT
            CASE WHEN every.verdict = '{PASS}' THEN '{VIOLATION}' ELSE every.verdict END AS verdict,
            CASE WHEN every.verdict = '{PASS}' THEN '{PASS}' ELSE {severity} END AS severity,
            every.group_id, every.group_epoch, every.member_id, every.partition, every.offset, every.message{more}
        FROM ({expectation.text}) AS every
        WHERE every.verdict <> '{PASS}' OR every.group_id IN ({listed})
    """  # noqa: S608 - of our own texts
    return replace(expectation, text=text)
