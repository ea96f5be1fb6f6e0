"""Committed offsets of topics to which no member subscribes, and one group id with subscribe() and with assign()."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.questions import questions
from kip848_records.queries.texts import completed
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from tests import reported
from tests.cli.offsets_log import commit, member, write
from tests.progress import Watcher

NAME = "subscribe-and-assign"


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    return reported.audited(NAME, tmp_path_factory.mktemp("both"))


@pytest.fixture(scope="module")
def explained(audited):
    """What explain says of the group, its lines as one."""
    history = GroupHistory(reported.tables_of(audited), "order-service", "c")
    return " ".join(" ".join(part.plain for part in explain(history)).split())


def test_explain_names_the_topic_the_times_and_both_sides(explained):
    assert (
        "This group id is used with subscribe() and with assign(): a client without a member id committed orders-retry "
        "0 about every 10 s, 121 times from 2026-11-25 09:46:40 UTC to 2026-11-25 10:06:40 UTC, while the group had no "
        "members. order-service @ 10.0.0.51, which subscribes to orders, joined at 2026-11-25 10:06:43 UTC, and nobody "
        "has committed orders-retry 0 since then."
    ) in explained
    assert "it goes on from 484, whatever it has read since" in explained
    assert "subscribe and assign (warning); since 2026-11-25 10:06:43 UTC, for 2 h 39 min, and still so" in explained
    assert "Healthy" not in explained


def test_explain_lists_topics_to_which_no_member_subscribes(explained):
    assert (
        "Committed offsets of topics to which no member subscribes (no fault by itself): partitions committed last "
        "commit at before the capture orders-retry 0 484 2026-11-25 10:06:40 UTC 2 h 39 min by: a client without a "
        "member id, or a tool"
    ) in explained


def test_a_question_lists_them(audited):
    (row,) = reported.tables_of(audited).rows(questions()["not_subscribed"].sql, "c")
    assert (row.topic, row.partition, row.committed, row.committed_by) == ("orders-retry", 0, 484, "simple")


def every(seconds, first, last, *, group, topic="retry"):
    return [commit(at, at, group=group, topic=topic) for at in range(first, last + 1, seconds)]


GROUPS = {
    # A client is refused from second 101 on: it had committed each 20 s.
    "both": [*every(20, 0, 100, group="both"), *member(101, "orders", group="both")],
    "four times": [*every(20, 40, 100, group="four times"), *member(101, "orders", group="four times")],
    "ended before": [*every(20, 0, 100, group="ended before"), *member(201, "orders", group="ended before")],
    "the topic of the member": [
        *every(20, 0, 100, group="the topic of the member"),
        *member(101, "retry", group="the topic of the member"),
    ],
    "goes on": [
        *every(20, 0, 100, group="goes on"),
        *member(101, "orders", group="goes on"),
        commit(150, 150, group="goes on", topic="retry"),
    ],
    "too short": [*every(20, 0, 460, group="too short"), *member(461, "orders", group="too short")],
    "at once": [
        *(commit(100, 1, number, group="at once", topic="retry") for number in range(9)),
        *member(101, "orders", group="at once"),
    ],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The tables of `GROUPS`, which end at second 500."""
    folder = tmp_path_factory.mktemp("made")
    rows = [*(row for of_group in GROUPS.values() for row in of_group), commit(500, 1, group="last")]
    write(folder / "log", *sorted(rows, key=lambda row: row.seconds))
    run_audit(
        None, AuditOptions((str(folder / "log"),), str(folder / "out"), cluster="c", offset_commits=True), Watcher()
    )
    return reported.tables_of(folder / "out")


def test_only_regular_commits_that_end_with_the_first_member_are_a_trouble(made):
    rows = made.rows("SELECT * FROM diagnosis WHERE pattern = 'subscribe_and_assign'", "c")
    assert [(row.group_id, row.count, row.is_present, row.severity) for row in rows] == [("both", 1, True, "warning")]
    assert rows[0].subject["topics"] == ["retry"]


def test_what_no_member_subscribes_to_is_information(made):
    rows = made.rows(completed("SELECT DISTINCT group_id FROM not_subscribed"), "c")
    assert {row.group_id for row in rows} == GROUPS.keys() - {"the topic of the member"}
