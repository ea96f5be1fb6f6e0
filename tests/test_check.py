"""`check.check`: what it makes of what the rules say. What they say is in `tests/quality`."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import functions as F

from kip848_records import check as check_module
from kip848_records.check import check, is_audited
from kip848_records.config import OFF, Setting, load_settings
from kip848_records.errors import InputError
from kip848_records.quality import EXPECTATIONS, Expectation, judged, sentence
from kip848_records.quality.expectations import ERROR, WARN
from kip848_records.quality.results import Result
from tests.made_tables import write

CAPTURED_AT = datetime(2026, 1, 1, tzinfo=timezone.utc)
GROUPS = ["batch-1", "batch-2", "100%", "1000", "a_b", "axb", "c\\d", "c\\\\d", "[x]", "x", "", "*", "two\nlines"]
(GROUP_STABLE,) = (each for each in EXPECTATIONS if each.name == "group_stable")


def few_members(audited, limits):
    """A group has at most max_members members. Of an empty one nobody can tell."""
    groups = audited.table("group_state")
    return judged(
        groups,
        violated=F.col("members") > limits("max_members"),
        known=F.col("members") > 0,
        message=sentence("expected at most {}, seen {}", limits("max_members"), "members"),
        severity=F.when(F.col("members") == 7, WARN),
    )


FEW_MEMBERS = Expectation("few_members", few_members, ("max_members",))


def group(group_id, members):
    return {"group_id": group_id, "partition": 1, "offset": members, "group_epoch": 3, "members": members}


@pytest.fixture(scope="module")
def out(classic, tmp_path_factory):
    """Two clusters: in a all groups have 5 members, in b are as many groups as their ids say."""
    folder = tmp_path_factory.mktemp("check")
    run = {"run": 1, "dialect": "kafka", "version": "0", "sources": [], "offset_commits": False, "is_set_aside": False}
    states = [group(each, 5) for each in GROUPS]
    write(classic, folder, "a", audit_runs=[run], latest_state=[], group_state=states)
    run["captured_at"] = CAPTURED_AT
    sizes = [*range(8), 5, 5]
    write(classic, folder, "b", audit_runs=[run], group_state=[group(f"of {size}", size) for size in sizes])
    return str(folder)


def few(spark, out, cluster, severity=ERROR, max_members=4, **groups):
    """The result of the expectation of our own."""
    patterns = {p: Setting(*each) for p, each in groups.items()}
    settings = {"few_members": Setting(severity, {"max_members": max_members}, patterns)}
    verdict = check(spark, out, settings, expectations=[FEW_MEMBERS], cluster=cluster)
    return verdict.results[0] if verdict.results else None


def test_a_result_counts_and_shows_what_was_found(spark, out):
    result = few(spark, out, "b")
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
    assert result.violations[0].message == "expected at most 4.0, seen 5"


def test_more_is_counted_than_kept(spark, out, monkeypatch):
    monkeypatch.setattr(check_module, "KEPT", 2)
    result = few(spark, out, None, WARN, 0)
    assert (result.passed, result.errors, result.warnings, result.unknowns) == (0, 0, 22, 1)
    assert [each.cluster for each in result.violations] == ["a", "a"]
    assert result.status == "warn"
    result = few(spark, out, "b", ERROR, 0)
    assert (result.errors, result.warnings) == (8, 1)
    assert [each.severity for each in result.violations] == [ERROR, ERROR]


def test_clusters_are_told_apart(spark, out):
    settings = {"few_members": Setting(ERROR, {"max_members": 4})}
    both = check(spark, out, settings, expectations=[FEW_MEMBERS])
    assert both.captured_at == {"a": None, "b": CAPTURED_AT}
    assert {each.cluster for each in both.results[0].violations} == {"a", "b"}
    assert both.failed
    only = check(spark, out, settings, expectations=[FEW_MEMBERS], cluster="b")
    assert only.captured_at == {"b": CAPTURED_AT}
    assert {each.cluster for each in only.results[0].violations} == {"b"}
    with pytest.raises(InputError, match=r"has no tables of cluster 'c'; there is 'a', 'b'"):
        check(spark, out, settings, expectations=[FEW_MEMBERS], cluster="c")


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
def test_a_pattern_of_group_ids(spark, pattern, matched):
    setting = Setting(ERROR, {}, {pattern: Setting(WARN)})
    severity = check_module._by_group(setting, lambda each: F.lit(each.severity))
    rows = spark.createDataFrame([(each,) for each in [*GROUPS, None]], "group_id string").withColumn("is", severity)
    assert {row.group_id for row in rows.collect() if row["is"] == WARN} == matched


def test_groups_have_numbers_and_severities_of_their_own(spark, out):
    low, high = {"max_members": 1}, {"max_members": 9}
    result = few(spark, out, "a", **{"batch-1": (WARN, low), "batch-*": (OFF, low), "a*": (ERROR, high)})
    assert result.passed == 2
    assert {each.group_id for each in result.violations} == set(GROUPS) - {"batch-2", "a_b", "axb"}
    assert [each.group_id for each in result.violations if each.severity == WARN] == ["batch-1"]
    # Off for all others.
    result = few(spark, out, "a", OFF, x=(WARN, {"max_members": 1}))
    assert [(each.group_id, each.severity) for each in result.violations] == [("x", WARN)]
    assert (result.passed, result.errors, result.unknowns) == (0, 0, 0)


def test_what_is_off_is_left_out(spark, out):
    assert few(spark, out, "a", OFF) is None
    assert few(spark, out, "a", OFF, x=(OFF, {"max_members": 1})) is None


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        ({"errors": 1, "warnings": 1, "unknowns": 1, "passed": 1}, "fail"),
        ({"warnings": 1, "unknowns": 1, "passed": 1}, "warn"),
        ({"unknowns": 1, "passed": 1}, "unknown"),
        ({"passed": 1}, "pass"),
        ({}, "pass"),
    ],
)
def test_the_worst_is_the_status(counts, status):
    none = dict.fromkeys(("passed", "errors", "warnings", "unknowns"), 0)
    assert Result("x", "", ERROR, **none | counts, violations=[], unknown=[]).status == status


def test_without_a_time_of_the_copy_or_with_one_too_early_no_age_is_known(spark, classic, tmp_path):
    state = {"group_type": "consumer", "state": "Reconciling", "since": CAPTURED_AT, "history": "right_censored"}
    day = timedelta(days=1)
    for cluster, captured_at in {"null": None, "later": CAPTURED_AT + day, "earlier": CAPTURED_AT - day}.items():
        run = {"run": 1, "is_set_aside": False, "dialect": "kafka", "captured_at": captured_at}
        tables = {"group_state": [group("g", 1) | state], "rebalance_lag": []}
        write(classic, tmp_path, cluster, audit_runs=[run], **tables)
    settings = load_settings() | {"group_stable": Setting(ERROR, {"max_seconds": 80_000})}
    found = {
        cluster: check(spark, str(tmp_path), settings, expectations=[GROUP_STABLE], cluster=cluster).results[0]
        for cluster in ("null", "later", "earlier")
    }
    assert found["null"].unknown[0].message == "expected Stable within 80000 s, Reconciling for ? s"
    assert found["later"].violations[0].message == "expected Stable within 80000 s, Reconciling for 86400 s"
    assert {cluster: result.status for cluster, result in found.items()} == {
        "null": "unknown",
        "later": "fail",
        "earlier": "unknown",
    }
    # Of more ms than an int holds.
    month = replace(settings["group_stable"], limits={"max_seconds": 30 * 86_400})
    assert not check(spark, str(tmp_path), {"group_stable": month}, expectations=[GROUP_STABLE], cluster="later").failed


def test_a_folder_without_tables_is_named(spark, out, tmp_path):
    assert is_audited(spark, out)
    assert not is_audited(spark, str(tmp_path))
    with pytest.raises(InputError, match="has no table audit_runs"):
        check(spark, str(tmp_path), load_settings())
    with pytest.raises(InputError, match="has no table quarantine"):
        check(spark, out, load_settings(), cluster="b", expectations=EXPECTATIONS[-1:])
