"""Every question of the reports has one answer, whichever engine is asked.

The product is its own oracle: one engine for the other. `test_questions.py` knows the answers.
"""

from datetime import UTC, datetime
from importlib.resources import files

import pytest

from kip848_records.pipeline.run_totals import counts_text, made_anew_text
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.spark import SparkTables
from kip848_records.report.page.contents import contents
from kip848_records.report.sql import query
from tests.audits import CLUSTERS

TEXTS = sorted(
    file.name.removesuffix(".sql")
    for file in files("kip848_records.report.sql").iterdir()
    if file.name.endswith(".sql")
)
PARAMETERS = {
    "group": "stuck",
    "partition": 2,
    "incarnation": 0,
    "epoch": 4,
    "open": "open",
    "converged": "converged",
    "observed": "observed",
    "assigning": "Assigning",
    "reconciling": "Reconciling",
    "unknown": "unknown",
    "run": 99,
    "longer_ms": 0,
    "captured": datetime(2100, 1, 1, tzinfo=UTC),
}
COOP = {"group": "coop", "partition": 1, "generation": 11}
CONNECT = {"group": "connect-cluster", "partition": 1, "generation": 11}
SHARED = {"group": "share1", "partition": 0}
STREAMS = {"group": "st", "partition": 0}
MIGRATED = {"group": "mig"}
OF_KINDS = {
    "generations": ("group-kinds", COOP | {"epoch": None}),
    "classic_members_now": ("group-kinds", COOP),
    "workers_now": ("connect", CONNECT),
    "units_without_worker": ("connect", CONNECT),
    "workers_gone": ("connect", CONNECT),
    "owned_now": ("group-kinds", SHARED),
    "share_partitions_now": ("group-kinds", SHARED),
    "share_partitions_free": ("group-kinds", SHARED),
    "tasks_without_owner": ("group-kinds", STREAMS),
    "topology_now": ("streams-not-ready", {"group": "ns-late", "partition": 1}),
    "migrations": ("group-kinds", MIGRATED),
    "upgrade_now": ("group-kinds", COOP),
    "malformed_members": ("group-kinds", COOP),
    "refused_records": ("group-kinds", COOP),
    "before_and_after": ("group-kinds", MIGRATED),
}
"""Questions about single kinds of groups, which the tables of `kinds/` answer."""
OF_OTHERS = {"diagnosis_of_group": {"group": "churn"}, "regexes_now": {"group": "regex"}}
"""Groups of the capture that have what a question asks for."""
NOTHING_WRONG = {
    *("lost_records", "anomalies_of_group", "quarantine_of_group"),
    *(
        "long_transactions",
        "open_transactions",
        "transactions_of_group",
        "jumps_of_group",
        "handovers_of_group",
        "topic_deletions",
    ),
}
"""Nothing is lost in a capture, nothing in it contradicts the protocol, and its transactions have ended."""
NOTHING = {
    *("share_partitions_now", "share_partitions_free", "tasks_without_owner"),
    *("malformed_members", "refused_records"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"), [*((name, {}) for name in OF_KINDS), pytest.param("generations", {"epoch": 11}, id="generation")]
)
def test_both_engines_say_the_same_of_other_kinds_of_groups(classic, kinds, name, more):
    cluster, parameters = OF_KINDS[name]
    answers = [
        tables.arrow(query(name), cluster, **PARAMETERS | parameters | more).to_pylist()
        for tables in (DuckTables(str(kinds)), SparkTables(classic, str(kinds)))
    ]
    assert answers[0] == answers[1]
    assert bool(answers[0]) == (name not in NOTHING)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(TEXTS) - set(OF_KINDS)))
def test_both_engines_give_the_same_answer(classic, audits, name):
    out = str(audits.out)
    parameters = PARAMETERS | OF_OTHERS.get(name, {})
    answers = [
        tables.arrow(query(name), CLUSTERS["kafka-4.3.1"], **parameters).to_pylist()
        for tables in (DuckTables(out), SparkTables(classic, out))
    ]
    assert answers[0] == answers[1]
    assert bool(answers[0]) == (name not in NOTHING_WRONG)


@pytest.mark.slow
def test_both_engines_give_the_same_page(classic, kinds):
    ours, theirs = (contents(tables) for tables in (DuckTables(str(kinds)), SparkTables(classic, str(kinds))))
    assert ours == theirs


def test_both_engines_count_the_same_rebalances(classic, audits):
    """Of a run over tables in a schema of a catalog, Spark counts what ended."""
    text = counts_text("(partition = 0 AND ended_offset >= 10) OR ended_at > CAST(:as_of AS timestamp)")
    as_of = datetime(2020, 1, 1, tzinfo=UTC)
    answers = [
        tables.newest(text, "rebalance", cluster=CLUSTERS["kafka-4.3.1"], as_of=as_of)
        for tables in (DuckTables(str(audits.out)), SparkTables(classic, str(audits.out)))
    ]
    assert [tuple(row) for row in answers[0]] == [tuple(row) for row in answers[1]]
    assert answers[0][0].converged > 0
    assert answers[0][0].p95_ms > 0


def test_both_engines_find_the_same_partitions_made_anew(classic, audits):
    text = made_anew_text({0: 100, 1: 0, 2: 100})
    as_of = datetime(2020, 1, 1, tzinfo=UTC)
    for tables in (DuckTables(str(audits.out)), SparkTables(classic, str(audits.out))):
        found = tables.newest(text, "log", cluster=CLUSTERS["kafka-4.3.1"], as_of=as_of)
        assert {row.partition for row in found} == {0, 2}
