"""The README's questions in SQL: each runs on the tables of a capture, and its answer is what they say."""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from kip848_records.errors import InputError
from kip848_records.tables.specs import QUARANTINE
from kip848_records.views import create_views
from tests.audits import CLUSTERS

TEXT = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
QUESTIONS = dict(re.findall(r"<!-- question: (\w+) -->\n```sql\n(.*?)```", TEXT, re.DOTALL))
CAPTURE = "kafka-4.3.1"


@pytest.fixture(scope="module")
def views(spark, audits):
    """The session with the views that the README makes."""
    example = re.search(r"<!-- test: views -->\n```python\n(.*?)```", TEXT, re.DOTALL)[1]
    example = example.replace('"out"', repr(str(audits.out))).replace('"demo"', repr(CLUSTERS[CAPTURE]))
    exec(example, {})  # noqa: S102 - our own README
    return spark


@pytest.fixture
def ask(views):
    return lambda name: [row.asDict() for row in views.sql(QUESTIONS[name]).collect()]


@pytest.fixture
def rows(audits):
    """Rows of a table, as a reader without Spark sees them."""
    return lambda table: audits.rows(CAPTURE, table)


def measured(rows):
    return [row for row in rows if row["history"] == "observed" and not row["clock_skew"]]


def test_fifteen_questions_are_asked_and_each_is_tested():
    asked = {name.removeprefix("test_question_") for name in globals() if name.startswith("test_question_")}
    assert set(QUESTIONS) == asked
    assert len(QUESTIONS) == 15


def test_question_not_converged(ask):
    answer = ask("not_converged")
    assert [(row["group_id"], row["state"], row["client_id"]) for row in answer] == [
        ("stuck", "Reconciling", "stuck-app"),
        ("stuck", "Reconciling", "stuck-app"),
    ]
    culprit, waits = answer
    assert (culprit["blocked_by"], waits["blocked_by"]) == ([], [culprit["member_id"]])


def test_question_slowest(ask, rows):
    lags = [row["rebalance_lag_ms"] for row in measured(rows("epoch_timeline")) if row["rebalance_lag_ms"] is not None]
    assert [row["rebalance_lag_ms"] for row in ask("slowest")] == sorted(lags, reverse=True)[:10]


def test_question_percentiles(ask):
    answer = {row["group_id"]: row for row in ask("percentiles")}
    assert answer["slow-revoke"]["rebalances"] == 3
    assert answer["slow-revoke"]["p50_ms"] == 6006
    assert answer["slow-revoke"]["p95_ms"] == pytest.approx(6907.8)
    assert next(iter(answer)) == "slow-revoke"


def test_question_epochs_per_hour(ask, rows):
    epochs = rows("epoch_timeline")
    answer = ask("epochs_per_hour")
    assert {row["group_id"]: row["epochs"] for row in answer} == Counter(row["group_id"] for row in epochs)
    left = sum(row["group_id"] == "churn" and row["cause"] == "member_left" for row in epochs)
    assert (answer[0]["group_id"], answer[0]["by_leaving"]) == ("churn", left)


def test_question_storms(ask, rows):
    minutes = {}
    for row in rows("epoch_timeline"):
        minutes.setdefault(row["bumped_at"].minute, []).append(row["group_id"])
    many = {minute: groups for minute, groups in minutes.items() if len(set(groups)) >= 3}
    assert many
    answer = {row["minute"].minute: (row["groups"], row["epochs"]) for row in ask("storms")}
    assert answer == {minute: (len(set(groups)), len(groups)) for minute, groups in many.items()}


def test_question_flapping(ask, rows):
    of_members = rows("consumer_group_member_metadata")
    gone = {(row["group_id"], row["member_id"]) for row in of_members if row["is_tombstone"]}
    first, *_ = answer = ask("flapping")
    assert {row["group_id"]: row["gone"] for row in answer if row["gone"]} == Counter(group for group, _ in gone)
    assert (first["group_id"], first["joined"]) == ("churn", 15)


def test_question_causes(ask, rows):
    answer = ask("causes")
    epochs = rows("epoch_timeline")
    by_members = {"member_joined", "member_left", "subscription_changed", "static_member_replaced"}
    assert answer[0]["epochs"] >= 2
    assert by_members & {cause for row in answer for cause in row["causes"]}
    groups = Counter(row["group_id"] for row in epochs)
    assert all(row["epochs"] <= groups[row["group_id"]] for row in answer)


def test_question_unowned(ask, rows):
    lost = [row["wanted_ms"] for row in measured(rows("partition_handover")) if row["wanted_ms"]]
    answer = ask("unowned")
    assert [row["wanted_ms"] for row in answer] == sorted(lost, reverse=True)[:10]
    assert (answer[0]["group_id"], answer[0]["topic"]) == ("static", "orders")


def test_question_handovers(ask, rows):
    answer = ask("handovers")
    assert Counter((row["group_id"], row["partition"]) for row in answer) == Counter(
        (row["group_id"], row["partition"]) for row in rows("partition_handover") if row["topic"] == "payments"
    )
    pairs = [(a, b) for a, b in pairwise(answer) if a["partition"] == b["partition"]]
    of_one_group = [(a, b) for a, b in pairs if a["group_id"] == b["group_id"]]
    assert of_one_group
    assert all(a["to_member"] == b["from_member"] for a, b in of_one_group)


def test_question_protocols(ask):
    assert ask("protocols") == [
        {"group_id": "upgrade", "what": "assignor", "used": ["cooperative-sticky", "default of the broker"]},
        {"group_id": "upgrade", "what": "protocol", "used": ["classic", "consumer"]},
    ]


def test_question_away(ask, rows):
    went = [row for row in rows("consumer_group_current_member_assignment") if row["member_epoch"] == -2]
    answer = ask("away")
    assert [row["group_id"] for row in answer] == [row["group_id"] for row in went]
    assert {row["instance_id"] for row in answer} <= {"inst-0", "inst-1", "inst-2"}
    assert all(row["until"] > row["went_at"] for row in answer)


def test_question_partial(ask):
    assert ask("partial") == [{"group_id": "stuck", "epochs": 3, "without_beginning": 0, "without_end": 2}]


def test_question_quarantine(spark, ask):
    assert ask("quarantine") == []
    made = [("c", 1, offset, None, b"\0", None, "value: too short", 3) for offset in (7, 9)]
    spark.createDataFrame(made, QUARANTINE.schema).createOrReplaceTempView("quarantine")
    (row,) = ask("quarantine")
    assert list(row.values()) == ["value: too short", 1, 2, 7, 9]


def test_question_commits(ask, rows):
    counted = [row for row in rows("offset_commit") if not row["is_tombstone"]]
    kept = Counter((row["group"], row["topic"]) for row in counted if row["transaction"] in {"none", "committed"})
    assert {(row["group"], row["topic"]): row["commits"] for row in ask("commits")} == kept
    assert len(kept) > 3


def test_question_runs(ask):
    answer = ask("runs")
    assert [(row["run"], row["partition"], row["complete_from"]) for row in answer] == [(1, n, 0) for n in range(3)]
    assert {row["captured_at"].strftime("%M:%S.%f") for row in answer} == {"19:14.385000"}


def test_a_folder_without_tables_and_a_cluster_that_is_not_there_are_refused(spark, audits, tmp_path):
    with pytest.raises(InputError, match="audit_runs"):
        create_views(spark, str(tmp_path), "demo")
    with pytest.raises(InputError, match="has no tables of cluster 'nowhere'"):
        create_views(spark, str(audits.out), "nowhere")
