"""All logs of the cases: one dump, one replay, one check."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.results import Result
from kip848_records.expectations.sql import NAMES_BLOCKER
from kip848_records.queries.duck import DuckTables
from kip848_records.simulate.broker.cluster import uuid_of
from tests import made_tables
from tests.audits import audit_rows
from tests.expectations import (
    convergence_cases,
    early_cases,
    invariants_cases,
    kinds_cases,
    members_cases,
    records_cases,
)
from tests.expectations.logs import END, PASS, VIOLATION, dump

CASES = [*convergence_cases.CASES, *members_cases.CASES, *invariants_cases.CASES, *records_cases.CASES]
CLUSTER, EARLY, KINDS = "cases", "early", "kinds"
CAPTURED_AT = datetime.fromtimestamp(END / 1000, UTC)
TOPICS = {uuid_of("topic", 0, name): name for name in ("orders", "payments")}
CONFIG = """
[expectations]
group_stable.max_seconds = 30
rebalance_time.max_seconds = 30
rebalance_time_p95.max_seconds = 20.5
revocation_time.max_seconds_over = 5
awaited_partition_free.max_seconds = 12
unowned_time.max_seconds = 20
superseded_epochs = { max_percent = 50, min_epochs = 5 }
mixed_protocols.max_seconds = 60
eager_rebalances.max_rebalances = 3
streams_cold_handover.max_tasks = 3
operation_size = { max_bytes = 5000, warn_percent = 75 }
"""


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
    rows, partitions = dump(CASES)
    audit_rows(out, CLUSTER, rows, captured_at=CAPTURED_AT, topics=TOPICS)
    audit_rows(out, EARLY, early_cases.rows(), captured_at=CAPTURED_AT, dialect=early_cases.DIALECT)
    return out, partitions


@pytest.fixture(scope="session")
def made_kinds(tmp_path_factory):
    """The folder of the made-up tables about single kinds of groups, in the cluster `KINDS`."""
    out = tmp_path_factory.mktemp("kinds")
    run = {"run": 1, "captured_at": CAPTURED_AT}
    made_tables.write(
        out,
        KINDS,
        audit_runs=[run],
        partition_history=[{"is_base": True, "captured_at": CAPTURED_AT}],
        **kinds_cases.tables(),
    )
    return out


@pytest.fixture(scope="session")
def settings(tmp_path_factory):
    """Limits that the cases are made for."""
    config = tmp_path_factory.mktemp("config") / "check.toml"
    config.write_text(CONFIG)
    return load_settings(str(config))


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
    blocker = f", every.{NAMES_BLOCKER}" if NAMES_BLOCKER in expectation.text else ""
    text = f"""
        SELECT
            CASE WHEN every.verdict = '{PASS}' THEN '{VIOLATION}' ELSE every.verdict END AS verdict,
            CASE WHEN every.verdict = '{PASS}' THEN '{PASS}' ELSE every.severity END AS severity,
            every.group_id, every.group_epoch, every.member_id, every.partition, every.offset, every.message{blocker}
        FROM ({expectation.text}) AS every
        WHERE every.verdict <> '{PASS}' OR every.group_id IN ({listed})
    """  # noqa: S608 - of our own texts
    return replace(expectation, text=text)
