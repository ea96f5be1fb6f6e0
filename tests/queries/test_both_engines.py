"""Spark answers every text as DuckDB does, over the same rows in memory: rows of all sorts, extreme values among them.

The product is its own oracle: one engine for the other. The tests of single texts know the answers.
"""

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations import sql as expectations
from kip848_records.expectations.captures import _CUT, _OPEN
from kip848_records.expectations.loadable_by import loadable_by
from kip848_records.pipeline import comparison
from kip848_records.pipeline.run_totals import counts_text, made_anew_text
from kip848_records.queries import texts
from kip848_records.queries.answers import ANSWERS
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from kip848_records.queries.tables import with_rows_text
from kip848_records.report.group_section import relations
from kip848_records.report.group_sections import SECTIONS
from kip848_records.report.metrics import _LAST_RUN
from kip848_records.report.sql import query
from tests import commits_of_a_broker, made_tables
from tests.audits import CLUSTERS
from tests.equal_rows import Rows
from tests.expectations.cases import CLUSTER as CASES
from tests.expectations.cases import EARLY, KINDS, audit_cases, settings_of_cases, write_kinds
from tests.expectations.early_cases import DIALECT
from tests.expectations.evaluated import NOW, every_row
from tests.expectations.logs import PASS, UNKNOWN, VIOLATION
from tests.extremes import made
from tests.queries import every_cluster
from tests.queries.every_cluster import CLUSTER, SparkRows

TYPED = {
    *(("question", name) for name in (*ANSWERS, "new_events")),
    *(("other", name) for name in ("diagnosis as of", "protocol comparison")),
}
"""The texts whose columns have the types of a JSON Schema, on both engines."""
WITHOUT_ORDER = {"relation", "other"}
VERDICTS = {
    "audit_is_recent": {PASS},
    "blocked_by_transaction": {PASS, VIOLATION},
    "client_retention": {PASS, UNKNOWN},
    "group_in_its_partition": {UNKNOWN},
    "group_in_two_partitions": {PASS},
    "negative_offsets": {PASS, UNKNOWN},
    "offsets_topic_grew": {VIOLATION},
    "repeat_at_handover": {PASS, UNKNOWN},
    "stale_commits": {PASS, UNKNOWN},
    "storm_across": {UNKNOWN},
    "subscribe_and_assign": {PASS, UNKNOWN},
}
"""The verdicts of expectations that the rows have no other ones of."""
SAMPLED = 60
"""Of so many variants with extreme values one is among the rows."""

QUESTIONS = questions()
REPORTS = texts.folder("report/sql")
PAGE = texts.folder("report/page/sql").keys() - {"section"} - relations().keys()
RELEASES = ("3.9.1-old", "3.9.1", "4.0.0", "4.4.0")
"""Each has a text of its own: what the release ignores, reads as another version, and refuses of type 0."""
ASKED = (*EXPECTATIONS, *(replace(loadable_by(each), name=f"loadable_by {each}") for each in RELEASES))
OF_ONE_TEXT = {alike[0].name: alike for alike in expectations.grouped_by_text(ASKED)}
"""The expectations that one query evaluates, by the name of the first."""
OTHERS = {
    "counts": counts_text("partition = 2 AND ended_offset >= 10 AND ended_at > CAST(:as_of AS timestamp)"),
    "diagnosis as of": texts.query("queries/diagnosis_as_of"),
    "made anew": made_anew_text({0: 100, 1: 0, 2: 100}),
    "tables with rows": with_rows_text({each.table for each in SECTIONS if each.table}),
    "cut": _CUT,
    "open": texts.completed(_OPEN),
    "last run": _LAST_RUN,
    "protocol comparison": comparison.QUERY,
    "counts in words": texts.completed(
        "SELECT counted(n, offset) AS said"
        " FROM (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 1234 UNION ALL SELECT 27194001) AS numbers"
    ),
}

VALUES = {
    "incarnation": 0,
    "epoch": 4,
    "generation": 11,
    "open": "open",
    "converged": "converged",
    "observed": "observed",
    "assigning": "Assigning",
    "reconciling": "Reconciling",
    "unknown": "unknown",
    "run": 99,
    "longer_ms": 0,
    "from_ms": 0,
    "until_ms": 0,
    "most": 5000,
    "shown": 500,
    "cluster": CLUSTER,
    "as_of": datetime(2026, 11, 21, 8, tzinfo=UTC),
    "captured": datetime(2100, 1, 1, tzinfo=UTC),
    "captured_at": NOW,
    "kept_since": datetime(1970, 1, 1, tzinfo=UTC),
    "offset_commits": True,
    "now": NOW,
    "dialect": DIALECT,
    "groups": 6_000,
    "intervals": 300_000,
    "members": 50,
    "slowest": 10,
    "step": 60,
}
"""The values of parameters; `partition` is that of the group."""
COMMITS, MADE = "commits", "made"
GROUPS_OF = {
    "coop": ("classic_members", "upgrade_now"),
    "ns-late": ("topology_now",),
    "mig": ("before_and_after", "migrations"),
    "regex": ("regexes_now",),
    "g-hang": ("transactions_of_group",),
    "g-reset": ("set_while_empty_of_group",),
    "not subscribed": ("not_cleaned_of_group",),
    MADE: ("malformed_members",),
    "one_owner: claimed twice": ("anomalies_of_group",),
    "loadable_records: damaged": ("quarantine_of_group",),
    "loadable_records: current assignment left": ("refused_records",),
}
CLEANED = {"copy": "made", "cleaned_until": 9, "files": 3, "bytes": 1000, "dirty_files": 2}
CLEANED |= {"dirty_records": 10, "dirty_bytes": 900, "dirty_ms": 1000, "dirty_since": NOW}
CONTENT = {"copy": "made", "key_type": 1, "group_id": "a", "topic": "t", "records": 99, "bytes": 9900, "live_keys": 3}
CONTENT |= {"superseded": 96, "unchanged": 9, "dirty_records": 90, "dirty_unchanged": 8, "dirty_ms": 60_000}
CONTENT |= {"superseded_since": NOW, "oldest_at": NOW, "newest_at": NOW}
NOT_SUBSCRIBED = {"group_id": "not subscribed"}
MORE = {
    "group_state_timeline": [{}],
    "refused_record": [{"partition": 0, "offset": 9, "record_type": 8, "seen": "no", "refused_by": [*RELEASES]}],
    "classic_member": [{"generation": VALUES["generation"], "subscription_error": "cut"}],
    "commit_jump": [{"topic": "t", "offset": 1, "kind": "ahead", "jumped_at": NOW}],
    "diagnosis": [{"group_id": None, "pattern": "offsets_topic_grew", "sentence": "It did.", "severity": "warning"}],
    "group_state": [NOT_SUBSCRIBED | {"group_type": "classic", "members": 1}],
    "latest_state": [
        NOT_SUBSCRIBED
        | {"key_type": 1, "key": '{"topic":"left","partition":1}', "value": '{"offset":7}', "transaction": "none"},
        {"key_type": 0, "key": "{}", "value": '{"offset":7,"leaderEpoch":1,"metadata":""}', "transaction": "none"},
    ],
    "membership": [
        {"group_type": "share", "topics": ["t"]},
        NOT_SUBSCRIBED | {"group_type": "classic", "topics": ["t"]},
    ],
    "partition_content": [
        CLEANED | {"files": 9, "bytes": 5001, "dirty_files": 8, "dirty_bytes": 5000, "dirty_ms": 5000},
        *(CLEANED | {"partition": number} for number in (1, 2)),
        CLEANED | {"copy": "other", "files": 9, "dirty_files": 8},
    ],
    "topic_content": [
        CONTENT,
        CONTENT | {"key_type": 3, "topic": None, "live_keys": 0, "kept_tombstones": 1, "unchanged": None},
        CONTENT | {"group_id": "b", "bytes": None, "newest_at": datetime(2020, 1, 1, tzinfo=UTC)},
        CONTENT | {"group_id": "c", "dirty_records": None, "dirty_ms": None, "topic": "u"},
        CONTENT | {"group_id": "d", "partition": 77},
        CONTENT | {"group_id": "e", "records": 99_999, "dirty_records": 90_000},
    ],
    "topic_name": [{"topic_id": "T", "topic": "t", "source": "topics_file"}],
    "partition_history": [
        *({"partition": number, "is_base": True} for number in range(10)),
        {"partition": 77, "copy": "made", "is_base": True, "first_lost_offset": 3},
    ],
    "partition_handover": [{"group_type": "classic", "topic": "t", "released_at": NOW, "history": "right_censored"}],
    "share_partition_state": [
        {"topic": "t", "topic_id": "T", "state": "initialized", "partitions": [0]},
        {"topic": "t", "topic_id": "T", "state": "initializing", "partitions": [1]},
    ],
    "task_handover": [{"subtopology_id": "0", "task": 1, "status": "open"}],
}
"""Rows of what no other source has."""
GROUPS = {name: group for group, names in GROUPS_OF.items() for name in names}
"""The groups that have what the text of a report asks for; of the others it is one that is stuck."""


def text_of(kind, name, settings):
    """Return a text with the values of its own parameters."""
    if kind == "expectation":
        alike = OF_ONE_TEXT[name]
        own = {each.name: settings.get(each.name, settings["loadable_records"]) for each in alike}
        for each, setting in own.items():
            patterns = {"*c*e*": replace(setting, severity="warn"), "?x!*": setting}
            own[each] = replace(setting, severity="error", groups=patterns)
        return expectations.query([every_row(each) for each in alike], own, 100_000)
    found = {
        "question": lambda: QUESTIONS[name].sql,
        "counted": lambda: QUESTIONS[name].counted,
        "relation": lambda: texts.completed(f"SELECT * FROM {name}"),  # noqa: S608 - ours
        "report": lambda: query(name),
        "page": lambda: texts.completed(texts.read(f"report/page/sql/{name}.sql"), **relations()),
        "section": lambda: next(each.query for each in SECTIONS if each.name == name),
        "other": lambda: OTHERS[name],
    }
    return found[kind](), {}


TEXTS = [
    *(("expectation", name) for name in OF_ONE_TEXT),
    *(("question", name) for name in QUESTIONS),
    *(("counted", name) for name, each in QUESTIONS.items() if each.among is not None),
    *(("relation", name) for name in texts.folder("queries/relations")),
    *(("report", name) for name in REPORTS),
    *(("page", name) for name in sorted(PAGE)),
    *(("section", each.name) for each in SECTIONS),
    *(("other", name) for name in OTHERS),
]


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    return settings_of_cases(tmp_path_factory.mktemp("config"))


@pytest.fixture(scope="module")
def duck(audits, kinds, tmp_path_factory):
    """The tables of a cluster that has the rows of many."""
    made_up, out = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("every")
    audit_cases(made_up)
    write_kinds(made_up)
    more = {name: [{"group_id": MADE, **row} for row in rows] for name, rows in MORE.items()}
    made_tables.write(made_up, MADE, audit_runs=[{"run": 1, "captured_at": NOW}], **more)
    named = [(audits.out, CLUSTERS["kafka-4.3.1"]), *((made_up, name) for name in (CASES, EARLY, KINDS, MADE))]
    commits_of_a_broker.audited(made_up, commits_of_a_broker.SILENCE, cluster=COMMITS)
    named.append((made_up / "out", COMMITS))
    named += [(kinds, name) for name in ("connect", "group-kinds", "streams-not-ready")]
    every_cluster.write(
        out, [*(every_cluster.rows_of(*each) for each in named), made.varied_tables(made.variants()[::SAMPLED]).get]
    )
    return DuckTables(str(out))


@pytest.fixture(scope="module")
def spark_rows(classic, duck):
    """The same rows in Spark's memory; this process and the JVM are in time zones of their own."""
    zones = classic.sparkContext._jvm.java.util.TimeZone
    before = zones.getDefault()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        zones.setDefault(zones.getTimeZone("America/St_Johns"))
        yield SparkRows(classic.newSession(), duck)
        zones.setDefault(before)
    time.tzset()
    classic.createDataFrame([], "number int")  # which makes it the active session again


def place(tables, group):
    """The partition of a group."""
    text = "SELECT max(partition) AS partition FROM group_state_timeline WHERE group_id = :group"
    (row,) = tables.rows(text, CLUSTER, group=group)
    return row.partition


@pytest.mark.parametrize(
    ("kind", "name"),
    # Those that count are the questions in parentheses, and each relation is a part of other texts.
    [pytest.param(*each, marks=() if each[0] in {"counted", "relation"} else pytest.mark.essential) for each in TEXTS],
    ids=[" ".join(each) for each in TEXTS],
)
def test_both_engines_give_the_same_answer(duck, spark_rows, settings, kind, name):
    text, own = text_of(kind, name, settings)
    group = GROUPS.get(name, "stuck")
    values = VALUES | own | {"group": group, "partition": place(duck, group)}
    answers = [each._read(text, CLUSTER, each._parts(text, CLUSTER), values) for each in (duck, spark_rows)]
    assert answers[0].schema.names == answers[1].schema.names
    if (kind, name) in TYPED:
        assert answers[0].schema.types == answers[1].schema.types
    ours, theirs = (each.to_pylist() for each in answers)
    if kind in WITHOUT_ORDER:
        ours, theirs = Rows(ours), Rows(theirs)
    assert ours == theirs
    assert ours, "no rows are compared: give it some, or a group that has them"
    if kind == "expectation":
        verdicts = {each.name: set() for each in OF_ONE_TEXT[name]}
        for row in ours:
            verdicts[row.get("expectation", name)].add(row["message"].partition("|")[0])
        assert verdicts == {each: VERDICTS.get(each, {PASS, VIOLATION, UNKNOWN}) for each in verdicts}
