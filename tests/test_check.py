"""Expectations on tables: verdicts, settings, findings."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kip848_records import check as check_module
from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.errors import InputError
from kip848_records.expectations import EXPECTATIONS, Expectation, Limit
from kip848_records.expectations.files import Setting
from kip848_records.expectations.results import ERROR, OFF, WARN, Result
from kip848_records.queries.duck import DuckTables
from kip848_records.tables.errors import DamagedError
from kip848_records.tables.registry import DEFAULT
from tests.expectations.evaluated import noted
from tests.made_tables import write

CAPTURED_AT = datetime(2026, 1, 1, tzinfo=UTC)
GROUPS = ["batch-1", "batch-2", "100%", "1000", "a_b", "axb", "c\\d", "c\\\\d", "[x]", "x", "", "*", "two\nlines"]
(GROUP_STABLE,) = (each for each in EXPECTATIONS if each.name == "group_stable")


FEW_MEMBERS = Expectation(
    "few_members",
    "A group has at most max_members members",
    """
    SELECT
        verdict(members > max_members, members > 0) AS verdict, CASE WHEN members = 7 THEN 'warn' END AS severity,
        group_id, group_epoch, CAST(NULL AS string) AS member_id, partition, group_state.offset,
        concat('expected at most ', max_members_text, ', seen ', text(members)) AS message
    FROM group_state
    JOIN limits USING (group_id)
    """,
    limits={"max_members": Limit(4, "members", "few")},
)


def group(group_id, members):
    return {"group_id": group_id, "partition": 1, "offset": members, "group_epoch": 3, "members": members}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Two clusters: in a all groups have 5 members, in b are as many groups as their ids say."""
    folder = tmp_path_factory.mktemp("check")
    run = {"run": 1, "dialect": "kafka", "version": "0", "sources": [], "offset_commits": False, "is_archived": False}
    states = [group(each, 5) for each in GROUPS]
    write(folder, "a", audit_runs=[run], latest_state=[], group_state=states)
    run["captured_at"] = CAPTURED_AT
    sizes = [*range(8), 5, 5]
    write(folder, "b", audit_runs=[run], group_state=[group(f"of {size}", size) for size in sizes])
    return str(folder)


def few(out, cluster, severity=ERROR, max_members=4, **groups):
    """The result of the expectation of our own."""
    patterns = {p: Setting(*each) for p, each in groups.items()}
    settings = {"few_members": Setting(severity, {"max_members": max_members}, patterns)}
    verdict = check(DuckTables(out), settings, expectations=[FEW_MEMBERS], cluster=cluster)
    return verdict.results[0] if verdict.results else None


def test_a_result_counts_and_shows_what_was_found(out):
    result = few(out, "b")
    assert (result.name, result.severity) == ("few_members", ERROR)
    assert result.description == "A group has at most max_members members"
    assert (result.passed, result.errors, result.warnings, result.unknowns) == (4, 4, 1, 1)
    # Of those that are alike in every respect one is shown.
    assert [(each.severity, each.group_id) for each in result.violations] == [
        (ERROR, "of 5"),
        (ERROR, "of 6"),
        (WARN, "of 7"),
    ]
    (unknown,) = result.unknown
    assert (unknown.cluster, unknown.group_id, unknown.group_epoch, unknown.member_id) == ("b", "of 0", 3, None)
    assert (unknown.partition, unknown.offset, unknown.severity) == (1, 0, ERROR)
    assert result.violations[0].message == "expected at most 4, seen 5"


def test_more_is_counted_than_kept(out, monkeypatch):
    monkeypatch.setattr(check_module, "KEPT", 2)
    result = few(out, None, WARN, 0)
    assert (result.passed, result.errors, result.warnings, result.unknowns) == (0, 0, 22, 1)
    assert [each.cluster for each in result.violations] == ["a", "a"]
    assert result.status == "warn"
    result = few(out, "b", ERROR, 0)
    assert (result.errors, result.warnings) == (8, 1)
    assert [each.severity for each in result.violations] == [ERROR, ERROR]


def test_clusters_are_told_apart(out):
    settings = {"few_members": Setting(ERROR, {"max_members": 4})}
    both = check(DuckTables(out), settings, expectations=[FEW_MEMBERS])
    assert both.captured_at == {"a": None, "b": CAPTURED_AT}
    assert {each.cluster for each in both.results[0].violations} == {"a", "b"}
    assert both.failed
    only = check(DuckTables(out), settings, expectations=[FEW_MEMBERS], cluster="b")
    assert only.captured_at == {"b": CAPTURED_AT}
    assert {each.cluster for each in only.results[0].violations} == {"b"}
    with pytest.raises(InputError, match=r"has no tables of cluster 'c'; pass --cluster with one of 'a', 'b'"):
        check(DuckTables(out), settings, expectations=[FEW_MEMBERS], cluster="c")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("batch-*", {"batch-1", "batch-2"}),
        ("batch-?", {"batch-1", "batch-2"}),
        ("batch", set()),
        ("*1", {"batch-1"}),
        ("100%", {"100%"}),
        ("a_b", {"a_b"}),
        ("a?b", {"a_b", "axb"}),
        ("c\\d", {"c\\d"}),
        ("c\\\\d", {"c\\\\d"}),
        ("c*\\d", {"c\\d", "c\\\\d"}),
        ("[x]", {"[x]"}),
        ("x", {"x"}),
        ("", {""}),
        ("two*", {"two\nlines"}),
        ("*", set(GROUPS)),
    ],
)
def test_a_pattern_of_group_ids(out, pattern, matched):
    result = few(out, "a", ERROR, 1, **{pattern: (WARN, {"max_members": 1})})
    assert {each.group_id for each in result.violations if each.severity == WARN} == matched


def test_groups_have_numbers_and_severities_of_their_own(out):
    low, high = {"max_members": 1}, {"max_members": 9}
    result = few(out, "a", **{"batch-1": (WARN, low), "batch-*": (OFF, low), "a*": (ERROR, high)})
    assert result.passed == 2
    assert {each.group_id for each in result.violations} == set(GROUPS) - {"batch-2", "a_b", "axb"}
    assert [each.group_id for each in result.violations if each.severity == WARN] == ["batch-1"]
    # Off for all others.
    result = few(out, "a", OFF, x=(WARN, {"max_members": 1}))
    assert [(each.group_id, each.severity) for each in result.violations] == [("x", WARN)]
    assert (result.passed, result.errors, result.unknowns) == (0, 0, 0)


def test_what_is_off_is_left_out(out):
    assert few(out, "a", OFF) is None
    assert few(out, "a", OFF, x=(OFF, {"max_members": 1})) is None


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({"errors": 1, "warnings": 1, "unknowns": 1, "passed": 1}, "fail"),
        ({"warnings": 1, "unknowns": 1, "passed": 1}, "warn"),
        ({"unknowns": 1, "passed": 1}, "unknown"),
        ({"passed": 1}, "pass"),
        ({}, "not_applicable"),
    ],
)
def test_the_worst_is_the_status(counts, status):
    none = dict.fromkeys(("passed", "errors", "warnings", "unknowns"), 0)
    assert Result("x", "", ERROR, **none | counts, violations=[], unknown=[]).status == status


@pytest.mark.slow
def test_without_a_time_of_the_copy_or_with_one_too_early_no_age_is_known(tmp_path):
    state = {"group_type": "consumer", "state": "Reconciling", "since": CAPTURED_AT, "history": "right_censored"}
    day = timedelta(days=1)
    for cluster, captured_at in {"null": None, "later": CAPTURED_AT + day, "earlier": CAPTURED_AT - day}.items():
        run = {"run": 1, "is_archived": False, "dialect": "kafka", "captured_at": captured_at}
        tables = dict.fromkeys((name for name in DEFAULT if name not in {"log", "audit_runs", "group_state"}), ())
        write(tmp_path, cluster, audit_runs=[run], group_state=[group("g", 1) | state], **tables)
    settings = load_settings() | {"group_stable": Setting(ERROR, {"max_seconds": 80_000})}
    found = {
        cluster: check(DuckTables(str(tmp_path)), settings, expectations=[GROUP_STABLE], cluster=cluster).results[0]
        for cluster in ("null", "later", "earlier")
    }
    assert found["null"].unknown[0].message == "expected Stable within 22 h 13 min, Reconciling for an unknown time"
    assert found["later"].violations[0].message == "expected Stable within 22 h 13 min, Reconciling for ≥ 1 d"
    assert {cluster: result.status for cluster, result in found.items()} == {
        "null": "unknown",
        "later": "fail",
        "earlier": "unknown",
    }
    # Of more ms than an int holds.
    month = replace(settings["group_stable"], limits={"max_seconds": 30 * 86_400})
    assert not check(
        DuckTables(str(tmp_path)), {"group_stable": month}, expectations=[GROUP_STABLE], cluster="later"
    ).failed


@pytest.mark.slow
def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(InputError, match="has no table audit_runs"):
        check(DuckTables(str(tmp_path)), load_settings())


def test_sql_that_cannot_be_run_is_named(out):
    broken = replace(FEW_MEMBERS, text="SELECT nothing FROM group_state", path="own/few_members.sql")
    with pytest.raises(InputError, match=r"own/few_members\.sql is not an expectation: .*nothing"):
        check(DuckTables(out), {"few_members": Setting()}, expectations=[broken])


TWO = [
    Expectation(
        name,
        "A group has at most max_members members",
        """
        SELECT
            limits.expectation, verdict(members > max_members, members > 0) AS verdict, group_state.group_id,
            CAST(NULL AS int) AS group_epoch, CAST(NULL AS string) AS member_id, partition, group_state.offset,
            concat('expected at most ', max_members_text, ', seen ', counted(members, member)) AS message
        FROM group_state
        JOIN limits ON limits.group_id = group_state.group_id
        """,
        limits={"max_members": Limit(4, "members", "few")},
        is_shared=True,
    )
    for name in ("few", "some")
]


def checked_together(out, **settings):
    """The results of two expectations of one text over cluster b, and how many queries evaluated them."""
    tables = DuckTables(out)
    asked = noted(tables)
    results = check(tables, settings, expectations=TWO, cluster="b").results
    return results, len(asked)


def test_expectations_of_one_text_are_one_query_with_settings_of_their_own(out):
    of_some = Setting(WARN, {"max_members": 5}, {"of 7": Setting(OFF)})
    (few, some), queries = checked_together(out, few=Setting(ERROR, {"max_members": 4}), some=of_some)
    assert queries == 1
    assert [(each.passed, each.errors, each.warnings, each.unknowns) for each in (few, some)] == [
        (4, 5, 0, 1),
        (7, 0, 1, 1),
    ]
    assert [each.message for each in some.violations] == ["expected at most 5, seen 6 members"]


def test_alike_or_off_they_are_one_query_too(out):
    (few, some), queries = checked_together(out, few=Setting(ERROR), some=Setting(ERROR))
    assert queries == 1
    assert few.by_cluster == some.by_cluster
    (few,), queries = checked_together(out, few=Setting(ERROR), some=Setting(OFF))
    assert (queries, few.name, few.errors) == (1, "few", 5)


def test_a_query_that_fails_is_a_fault_of_each_expectation_of_its_text(out):
    broken = [replace(each, text=each.text.replace("members > 0", "no_such_column > 0")) for each in TWO]
    settings = {each.name: Setting(ERROR) for each in broken}
    results = check(DuckTables(out), settings, expectations=broken, cluster="b")
    assert [[*each.faults] for each in results.results] == [["b"], ["b"]]


def test_texts_that_happen_to_be_equal_are_asked_apart(out):
    """Those of a user: no column says which expectation a row is about, though one may have that name."""
    text = FEW_MEMBERS.text.replace("SELECT", "SELECT 'at most' AS expectation,", 1)
    alike = [replace(FEW_MEMBERS, name=name, text=text, path=f"{name}.sql") for name in ("few", "some")]
    settings = {"few": Setting(ERROR, {"max_members": 1}), "some": Setting(WARN, {"max_members": 5})}
    few, some = check(DuckTables(out), settings, expectations=alike, cluster="b").results
    assert [(each.passed, each.errors, each.warnings, each.unknowns) for each in (few, some)] == [
        (1, 7, 1, 1),
        (7, 0, 2, 1),
    ]


def test_advice_is_a_part_of_its_message(out):
    advice = "concat('ask ', duration(5000))"
    text = FEW_MEMBERS.text.replace(
        "text(members)) AS message", f"text(members), ', ', {advice}) AS message, {advice} AS advice_in_message"
    )
    (result,) = check(
        DuckTables(out), {"few_members": Setting(ERROR)}, expectations=[replace(FEW_MEMBERS, text=text)], cluster="b"
    ).results
    assert result.violations
    assert {(each.advice, each.message.endswith(", ask 5 s")) for each in result.violations} == {("ask 5 s", True)}


def test_a_table_that_cannot_be_read_is_a_fault_of_its_expectation_alone(tmp_path):
    write(
        tmp_path,
        "c",
        audit_runs=[{"run": 1, "captured_at": CAPTURED_AT}],
        group_state=[group("g", 2)],
        partition_handover=[{}],
    )
    for file in (tmp_path / "partition_handover").glob("**/*.parquet"):
        file.write_bytes(b"no Parquet")
    asked = [each for each in EXPECTATIONS if each.name in {"unowned_time", "group_stable"}]
    stable, unowned = check(DuckTables(str(tmp_path)), load_settings(), expectations=asked).results
    assert (stable.name, [*stable.faults], [*unowned.faults]) == ("group_stable", [], ["c"])
    assert isinstance(unowned.faults["c"], DamagedError)


@pytest.mark.parametrize("asked", [[FEW_MEMBERS], TWO], ids=["alone", "of one text"])
def test_only_what_is_about_the_group_counts(out, asked):
    settings = {each.name: Setting(ERROR) for each in asked}
    results = check(DuckTables(out), settings, expectations=asked, cluster="b", group="of 6").results
    assert [[finding.group_id for finding in each.violations] for each in results] == [["of 6"]] * len(asked)
    assert [(each.passed, each.errors + each.warnings, each.unknowns) for each in results] == [(0, 1, 0)] * len(asked)
