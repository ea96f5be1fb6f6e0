"""Every expectation gives the same rows on both engines, and in every time zone, on the logs of all cases.

The product is its own oracle: one engine for the other. `test_cases.py` knows the answers.
"""

import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.spark import SparkTables
from tests.expectations.conftest import CLUSTER, EARLY, KINDS
from tests.expectations.evaluated import evaluated
from tests.expectations.kinds_cases import CASES
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION

OF_KINDS = {case.rule for case in CASES}
OF_DRAFTS = ("names_or_regex", "assignor_versions")
OF_COMMITS = (
    *("owned_not_consumed", "blocked_by_transaction", "offsets_lost", "hanging_transaction"),
    *("moved_back", "moved_ahead", "repeat_at_handover"),
)
# What all groups share, and so has one verdict, or what the logs of the cases, without commits, have no other one of.
SOME_VERDICTS = {
    "audit_is_recent": {PASS},
    "storm_across": {PASS},
    **{name: set() for name in OF_COMMITS},
    "group_in_its_partition": {UNKNOWN},
}


@contextmanager
def zone(name, classic):
    """Let this process and the JVM be in a time zone."""
    zones = classic.sparkContext._jvm.java.util.TimeZone
    before = zones.getDefault()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        zones.setDefault(zones.getTimeZone(name))
        try:
            yield
        finally:
            zones.setDefault(before)
    time.tzset()


@pytest.fixture(scope="session")
def engines(audited, made_kinds, classic):
    """Both engines over the tables of each cluster."""
    out, _ = audited
    of_cases = DuckTables(str(out)), SparkTables(classic, str(out))
    of_kinds = DuckTables(str(made_kinds)), SparkTables(classic, str(made_kinds))
    return {CLUSTER: of_cases, EARLY: of_cases, KINDS: of_kinds}


@pytest.mark.slow
@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=[each.name for each in EXPECTATIONS])
def test_an_expectation(engines, classic, settings, expectation):
    setting = settings[expectation.name]
    patterns = {"*c*e*": replace(setting, severity="warn"), "?x!*": setting}
    setting = replace(setting, severity="error", groups=patterns)
    cluster = EARLY if expectation.name in OF_DRAFTS else KINDS if expectation.name in OF_KINDS else CLUSTER

    def rows(tables, name):
        with zone(name, classic):
            return [tuple(row) for row in evaluated(tables, expectation, setting, cluster=cluster)]

    duck, spark = engines[cluster]
    found = rows(duck, "UTC")
    assert rows(duck, "Asia/Tokyo") == found
    # A job of Spark takes longer: it is asked where the zone would show.
    assert rows(spark, "Asia/Tokyo") == found
    assert {row[0] for row in found} == SOME_VERDICTS.get(expectation.name, {PASS, VIOLATION, UNKNOWN})
