"""What was not checked is not passed: every expectation, question and metric on audits that lack what it is about."""

import json
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kip848_records.check import check
from kip848_records.cli import main
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.files import Setting
from kip848_records.expectations.results import NOT_APPLICABLE
from kip848_records.kinds import KINDS
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.needs import NEEDS
from kip848_records.queries.questions import questions
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.current_state import well
from kip848_records.report.metrics import METRICS, metrics
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page
from kip848_records.specs.tables import OF_COMMITS
from tests import made_tables
from tests.cli.offsets_log import commit, member, write
from tests.progress import Watcher

EMPTY, NO_COMMITS, DECODED = "empty", "no commits", "decoded"
"""Audits: of a log without a record, of one group without its commits, and with them: nobody committed."""

NAMES = [each.name for each in EXPECTATIONS]
OF_THE_AUDIT = {"audit_is_recent"}
"""Expectations about the audit itself, which an empty log has too."""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The tables of three audits."""
    folder = tmp_path_factory.mktemp("lacking")
    rows = {EMPTY: [], NO_COMMITS: [*member(1, "t"), commit(2, 5)], DECODED: member(1, "t")}
    for name, written in rows.items():
        log = write(folder / name, *written)
        options = AuditOptions(
            (str(log),), str(folder / "out"), cluster=name, offset_commits=name != NO_COMMITS, allow_empty=True
        )
        run_audit(None, options, Watcher())
    return folder / "out"


@pytest.fixture(scope="module")
def results(out):
    """The results of each audit, by name."""
    tables, settings = DuckTables(str(out)), {}
    for each in EXPECTATIONS:
        settings[each.name] = Setting("error", {name: limit.default for name, limit in each.limits.items()})
    return {
        cluster: {each.name: each for each in check(tables, settings, cluster=cluster).results}
        for cluster in (EMPTY, NO_COMMITS, DECODED)
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_expectation_has_nothing_to_check_in_an_empty_log(results, name):
    result = results[EMPTY][name]
    if name in OF_THE_AUDIT:
        assert result.by_cluster.keys() == {EMPTY}
        return
    assert (result.status, result.by_cluster) == (NOT_APPLICABLE, {})
    assert result.not_applicable[EMPTY].reason


@pytest.mark.parametrize("name", NAMES)
def test_an_expectation_says_which_need_an_audit_does_not_meet(results, name):
    expectation = next(each for each in EXPECTATIONS if each.name == name)
    result = results[NO_COMMITS][name]
    if expectation.needs:
        (need,) = expectation.needs
        nothing = result.not_applicable[NO_COMMITS]
        assert (result.status, nothing.need, nothing.reason, nothing.way_out) == (
            NOT_APPLICABLE,
            need,
            NEEDS[need].missing,
            NEEDS[need].way_out,
        )
    elif result.status == NOT_APPLICABLE:
        assert result.not_applicable[NO_COMMITS].reason == f"no {expectation.about}"


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith(("connect_", "share_", "streams_"))])
def test_an_expectation_about_a_kind_has_nothing_to_check_without_a_group_of_it(results, name):
    assert results[DECODED][name].status == NOT_APPLICABLE


@pytest.mark.parametrize("cluster", [EMPTY, NO_COMMITS, DECODED])
@pytest.mark.parametrize("name", questions())
def test_a_question_is_refused_or_answers_in_words(out, capsys, name, cluster):
    """Neither an empty table nor, for programs, nothing at all."""
    question = questions()[name]
    run = next(run for run in DuckTables(str(out)).runs() if run.cluster == cluster)
    unmet = [NEEDS[need] for need in question.needs if not NEEDS[need].is_met(run)]
    code = main(["query", str(out), name, "--cluster", cluster])
    said = capsys.readouterr()
    if unmet:
        assert (code, said.out) == (2, "")
        assert said.err.startswith(f"error: {out}/ cannot answer {name} for cluster {cluster!r}: {unmet[0].missing}\n")
        return
    assert code == 0
    assert [each for each in question.missing(run) if f"note: {each}\n" not in said.err] == []
    if "\N{BOX DRAWINGS LIGHT HORIZONTAL}" in said.out:  # a table: it has rows
        assert len(said.out.splitlines()) > 2
        return
    assert said.out.startswith(question.empty)


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_programs_get_the_words_as_a_note(out, capsys, form):
    assert main(["query", str(out), "generations", "--cluster", EMPTY, form]) == 0
    assert f"note: {questions()['generations'].empty}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "form"),
    [*((table, ()) for table in OF_COMMITS), *(("consumption_now", form) for form in ((), ("--json",), ("--csv",)))],
)
def test_sql_over_tables_that_were_never_filled_says_so(out, capsys, table, form):
    """A count of 0 would read as if all were well; with commits, an empty answer is one."""
    why = "note: the audit decoded no offset commits: "
    rows, count = f"SELECT * FROM {table}", f"SELECT count(*) AS n FROM {table}"  # noqa: S608 - constants
    for text, is_empty in ((rows, True), (count, False)):
        for cluster in (NO_COMMITS, EMPTY):
            assert main(["query", str(out), text, "--cluster", cluster, *form]) == 0
            notes = capsys.readouterr().err.splitlines()
            assert ("note: the answer has no rows" in notes) == is_empty
            assert any(each.startswith(why) for each in notes) == (cluster == NO_COMMITS)
    assert main(["query", str(out), rows, *form]) == 0
    assert f"note: cluster {NO_COMMITS}: the audit decoded no offset commits: " in capsys.readouterr().err


def test_sql_about_troubles_says_which_were_not_looked_for(out, capsys):
    assert main(["query", str(out), "SELECT * FROM diagnosis", "--cluster", NO_COMMITS]) == 0
    none, why = capsys.readouterr().err.splitlines()
    assert none == "note: the answer has no rows"
    assert why.startswith("note: the audit decoded no offset commits: troubles of consumption are not looked for; ")


@pytest.mark.parametrize(
    ("cluster", "title", "said"),
    [
        (EMPTY, "No groups", None),
        (NO_COMMITS, "1 stuck", f"Not looked at, because {NEEDS['offset_commits'].missing}: "),
        (DECODED, "1 stuck", "No partition seems not to be consumed"),
    ],
)
def test_the_page_says_what_nobody_looked_at(out, cluster, title, said):
    """An absent list of partitions that nobody consumes would read as if all were consumed."""
    html = page(contents(DuckTables(str(out)), cluster=cluster)).html
    shown = re.sub(r"<[^>]+>", "", html[html.index('<h1 id="verdict">') :])
    assert shown.startswith(title)
    silent = shown.partition("Partitions that nobody seems to consume")[2].strip()
    assert silent.startswith(said) if said else not silent


@pytest.mark.parametrize("has_commits", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_healthy_group_is_not_said_to_consume_if_nobody_looked(kind, has_commits):
    """Workers and members of share groups commit no offsets of what they have; a simple group has no member."""
    now = {"generation": None, "health": "healthy", "members": 2, "partition": 0, "incarnation": 0}
    group = {"states": [SimpleNamespace(**now)], "section": lambda *_: [{"numbers": "0 1", "total": 1}]}
    group |= {"has_commits": has_commits}
    (said,) = well(SimpleNamespace(**group), kind, [])
    assert said.plain.startswith("Healthy: 2 ")
    is_limited = kind in {"consumer", "classic", "streams"} and not has_commits
    not_looked_at = "Whether they consume was not looked at (--offset-commits)."
    assert (not_looked_at in " ".join(said.plain.split())) == is_limited


def test_a_healthy_group_with_troubles_that_are_over_says_both_in_one_sentence():
    now = {"generation": None, "health": "healthy", "members": 2, "partition": 0, "incarnation": 0}
    troubles = [("restart_loop", "warning"), ("storm", "error"), ("job", "info")]
    over = [{"pattern": pattern, "severity": severity, "is_present": False} for pattern, severity in troubles]
    group = {"states": [SimpleNamespace(**now)], "section": lambda *_: [{"total": 2}], "has_commits": True}
    (said,) = well(SimpleNamespace(**group), "consumer", over)
    assert said.plain == "Healthy now: 2 members; the restart loop and the storm below are over."


CHECKED, NOT_CHECKED = {"kip848_expectation_results"}, {"kip848_expectation_not_applicable"}
OF_GROUPS = {
    *("kip848_groups", "kip848_stuck_groups", "kip848_stuck_groups_of_unknown_age", "kip848_groups_by_health"),
    "kip848_troubles_of_unknown_age",
}
OF_A_STUCK_GROUP = {"kip848_stuck_group_seconds", "kip848_stuck_group_blocker"}
OF_A_FAILING_GROUP = {"kip848_trouble_seconds"}
OF_A_TIME = {"kip848_audit_captured_timestamp_seconds"}
OF_TWO_RUNS = {"kip848_newly_overdue_groups", "kip848_overdue_groups_unknown_before", "kip848_recovered_groups"}
OF_COMMITS = {"kip848_open_transactions", "kip848_open_transactions_of_unknown_age"}
OF_OWNED_PARTITIONS = {"kip848_owned_partitions"}
OF_AN_OPEN_TRANSACTION = {"kip848_open_transaction_seconds"}
OF_A_LIVE_TOPIC = {"kip848_partitions_not_read_to_end"}
OF_REBALANCES = {"kip848_new_rebalances", "kip848_rebalances", "kip848_rebalance_duration_seconds"}
PRESENT = {
    EMPTY: NOT_CHECKED | OF_COMMITS | OF_REBALANCES,
    NO_COMMITS: NOT_CHECKED | CHECKED | OF_GROUPS | OF_A_STUCK_GROUP | OF_A_TIME | OF_REBALANCES,
    DECODED: CHECKED | OF_GROUPS | OF_A_STUCK_GROUP | OF_A_TIME | OF_REBALANCES | OF_COMMITS | NOT_CHECKED,
}


@pytest.fixture(scope="module")
def written(out):
    """The metrics of each audit, by name."""
    tables, settings = DuckTables(str(out)), load_settings()
    chosen = [each for each in EXPECTATIONS if each.name in {"group_stable", "offsets_lost", "hanging_transaction"}]
    found = {}
    for cluster in PRESENT:
        verdict = check(tables, settings, expectations=chosen, cluster=cluster)
        changes = changes_of_clusters(tables, verdict.captured_at, settings)
        families = list(text_string_to_metric_families(metrics(tables, verdict, changes)))
        found[cluster] = {family.name: family for family in families}
    return found


def test_every_metric_is_placed_here():
    """A new metric says without what it is absent, in its spec and here."""
    placed = [
        *(
            CHECKED,
            NOT_CHECKED,
            OF_GROUPS,
            OF_A_STUCK_GROUP,
            OF_A_FAILING_GROUP,
            OF_A_TIME,
            OF_TWO_RUNS,
            OF_COMMITS,
            OF_OWNED_PARTITIONS,
        ),
        *(OF_AN_OPEN_TRANSACTION, OF_A_LIVE_TOPIC, OF_REBALANCES),
    ]
    assert sorted(name for each in placed for name in each) == sorted(METRICS)
    of_commits = OF_COMMITS | OF_OWNED_PARTITIONS | OF_AN_OPEN_TRANSACTION
    stated = {"offset_commits": of_commits, "earlier_run": OF_TWO_RUNS, "live_topic": OF_A_LIVE_TOPIC}
    for name, spec in METRICS.items():
        assert spec.needs == tuple(need for need, of in stated.items() if name in of), name


@pytest.mark.parametrize("cluster", PRESENT)
def test_a_metric_is_absent_where_nothing_is_known(written, cluster):
    assert written[cluster].keys() == PRESENT[cluster]


def test_the_metric_of_what_is_not_applicable_has_the_reason(written):
    reasons = {
        cluster: {
            each.labels["expectation"]: each.labels["reason"]
            for each in written[cluster]["kip848_expectation_not_applicable"].samples
        }
        for cluster in (NO_COMMITS, EMPTY)
    }
    assert reasons[NO_COMMITS] == {"offsets_lost": "offset_commits", "hanging_transaction": "offset_commits"}
    assert reasons[EMPTY] == dict.fromkeys(("group_stable", "offsets_lost", "hanging_transaction"), "nothing_to_check")
    results = written[NO_COMMITS]["kip848_expectation_results"].samples
    assert {each.labels["expectation"] for each in results} == {"group_stable"}


def test_what_has_no_known_age_is_counted_apart(tmp_path):
    """Zero seconds would read as if it had just begun, and no alert would fire."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    state = {"state": "Reconciling", "history": "right_censored"}
    since = {"unknown": None, "later": at + timedelta(seconds=1), "known": at - timedelta(seconds=90)}
    trouble = {"pattern": "restart_loop", "severity": "error", "is_present": True, "partition": 0, "incarnation": 0}
    transaction = {"status": "open", "group_ids": ["g"]}
    made_tables.write(
        tmp_path,
        "c",
        audit_runs=[{"run": 1, "captured_at": at, "offset_commits": True}],
        group_state=[{"group_id": group, "since": when} | state for group, when in since.items()],
        diagnosis=[{"group_id": group, "first_seen": when or at} | trouble for group, when in since.items()],
        open_transaction=[transaction | {"age_ms": age} for age in (None, -1)],
        **{name: [] for name in ("rebalance", "group_state_timeline", "member_state_timeline")},
    )
    verdict = check(DuckTables(str(tmp_path)), load_settings(), expectations=[])
    families = text_string_to_metric_families(metrics(DuckTables(str(tmp_path)), verdict, {}))
    found = {family.name: [(each.labels, each.value) for each in family.samples] for family in families}
    assert found["kip848_stuck_groups"] == [({"cluster": "c"}, 3)]
    assert found["kip848_stuck_group_seconds"] == [({"cluster": "c", "group": "known"}, 90)]
    assert found["kip848_stuck_groups_of_unknown_age"] == [({"cluster": "c"}, 2)]
    assert {labels["group"]: value for labels, value in found["kip848_trouble_seconds"]} == {"known": 90, "unknown": 0}
    undated = {labels["severity"]: value for labels, value in found["kip848_troubles_of_unknown_age"]}
    assert undated == {"error": 1, "warning": 0}
    assert "kip848_open_transaction_seconds" not in found
    assert found["kip848_open_transactions_of_unknown_age"] == [({"cluster": "c"}, 2)]


FEW = ("group_in_its_partition", "offsets_lost", "hanging_transaction", "moved_back")


def test_a_check_says_so_in_its_files_and_does_not_fail(out, capsys, tmp_path):
    """One of the two results is unknown; with those that are not applicable it would be one of four."""
    config, file = tmp_path / "audit.toml", tmp_path / "check.json"
    off = [f"{name}.severity = 'off'\n" for name in NAMES if name not in {*FEW, "group_stable"}]
    config.write_text(f"[expectations]\nmoved_back.severity = 'error'\n{''.join(off)}")
    command = [
        "check",
        str(out),
        "--cluster",
        NO_COMMITS,
        "--config",
        str(config),
        "--json",
        str(file),
        "--max-unknown",
    ]
    assert main([*command, "1"]) == 0
    shown = capsys.readouterr().out.splitlines()
    at = shown.index("NOT APPLICABLE  3 expectations checked nothing  (--verbose says why)")
    # The one that the configuration names, with its reason; how many others could be checked.
    assert " ".join(" ".join(shown[at + 1 :]).split()) == (
        "moved_back: the audit decoded no offset commits: audit the log with --offset-commits "
        "2: the audit decoded no offset commits: audit the log with --offset-commits "
        "1 of 5 expectations could not be evaluated, 3 not applicable"
    )
    statuses = {each["name"]: each["status"] for each in json.loads(file.read_text())["expectations"]}
    assert statuses == {"group_stable": "pass", **dict.fromkeys(FEW, "not_applicable"), FEW[0]: "unknown"}
    assert main([*command, "49%"]) == 1
    assert "1 of 2 results are unknown" in capsys.readouterr().err
