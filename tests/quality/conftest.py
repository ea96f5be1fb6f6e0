"""All logs of the cases: one dump, one audit, one check."""

from dataclasses import dataclass, replace
from datetime import datetime, timezone

import pytest
from pyspark.sql import functions as F

from kip848_records.audit import AuditOptions, run_audit
from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.quality import EXPECTATIONS
from kip848_records.quality.results import Result
from kip848_records.simulate.broker.cluster import uuid_of
from tests.quality import convergence_cases, invariants_cases, members_cases, records_cases
from tests.quality.logs import END, PASS, VIOLATION, dump
from tests.sessions import CLASSIC, mode

CASES = [*convergence_cases.CASES, *members_cases.CASES, *invariants_cases.CASES, *records_cases.CASES]
CAPTURED_AT = datetime.fromtimestamp(END / 1000, timezone.utc)
TOPICS = {uuid_of("topic", 0, name): name for name in ("orders", "payments")}
CONFIG = """
[expectations]
group_stable.max_seconds = 30
rebalance_lag.max_seconds = 30
rebalance_lag_p95.max_seconds = 20.5
revocation_time.max_seconds_over = 5
awaited_partition_free.max_seconds = 12
unowned_time.max_seconds = 20
epochs_per_hour.max_epochs = 10
superseded_epochs = { max_percent = 50, min_epochs = 5 }
static_member_away.max_seconds = 20
regex_flaps.max_flaps = 2
mixed_protocols.max_seconds = 60
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
def audited(classic, tmp_path_factory):
    """The folder of the tables, and in which partition each group is."""
    folder = tmp_path_factory.mktemp("quality")
    partitions = dump(CASES, folder / "log.parquet")
    options = AuditOptions((str(folder / "log.parquet"),), str(folder / "out"), topics=TOPICS, captured_at=CAPTURED_AT)
    with mode(CLASSIC):
        run_audit(classic, options, print)
    return folder / "out", partitions


@pytest.fixture(scope="session")
def checked(spark, audited, tmp_path_factory) -> Checked:
    out, partitions = audited
    config = tmp_path_factory.mktemp("config") / "check.toml"
    config.write_text(CONFIG)
    settings = load_settings(str(config))
    verdict = check(spark, str(out), settings, expectations=[with_passes(each) for each in EXPECTATIONS])
    return Checked({result.name: result for result in verdict.results}, partitions)


def with_passes(expectation):
    """The expectation, whose results also hold what passed of the groups that are to: with the severity PASS."""
    groups = [case.group for case in CASES if case.rule == expectation.name and case.verdict == PASS]
    passes = F.col("verdict") == PASS
    shown = {
        "severity": F.when(passes, PASS).otherwise(F.col("severity")),
        "verdict": F.when(passes, VIOLATION).otherwise(F.col("verdict")),
    }

    def rule(audited, limits):
        return expectation.rule(audited, limits).where(~passes | F.col("group_id").isin(groups)).withColumns(shown)

    return replace(expectation, rule=rule)
