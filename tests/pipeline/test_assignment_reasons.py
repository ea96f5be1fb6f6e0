"""Two public reports whose reasons stand in assignments: what an audit makes of their logs, and what users read."""

import pytest

from tests import reported

CONNECT, STREAMS = "two-connect-clusters", "streams-probing"

pytestmark = pytest.mark.slow  # each has some thousand generations


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    return reported.audited(CONNECT, tmp_path_factory.mktemp("connect"))


@pytest.fixture(scope="module")
def streams(tmp_path_factory):
    return reported.audited(STREAMS, tmp_path_factory.mktemp("streams"))


def troubles(tables):
    rows = tables.rows("SELECT * FROM diagnosis WHERE severity <> 'info' AND explained_by IS NULL", "c")
    return [(row.group_id, row.pattern, row.probable_cause, row.count, row.is_present) for row in rows]


def test_two_clusters_with_one_group_id(connect):
    tables = reported.tables_of(connect)
    assert troubles(tables) == [("connect-cluster", "configurations_differ", "two_config_topics", 3549, True)]
    (row,) = tables.rows("SELECT * FROM diagnosis WHERE pattern = 'configurations_differ'", "c")
    assert (
        "http://10.0.0.161:8083/ to 17; http://10.0.0.151:8083/, http://10.0.0.152:8083/ to 42. The leader cannot read "
        "as far as another worker, so it assigns nothing (error 1). The leader's configuration went back at 2026-11-25 "
        "10:26:43 UTC, from offset 42 to 17"
    ) in row.sentence
    lost = tables.rows("SELECT * FROM task_handover WHERE reason = 'worker_left'", "c")
    assert {(unit.connector, unit.task, unit.status) for unit in lost} == {
        *(("jdbc-source", -1, "open"), ("jdbc-source", 0, "open")),
        *(("s3-sink", -1, "open"), ("s3-sink", 0, "open"), ("s3-sink", 1, "open")),
    }
    causes = tables.rows("SELECT cause, count(*) AS found FROM classic_generation GROUP BY cause", "c")
    assert {each.cause: each.found for each in causes}["config_mismatch"] == 3549
    assert "unknown" not in {each.cause for each in causes}


def test_its_operator_reads_it_once(connect, capsys):
    said = reported.printed(capsys, "check", connect)
    assert "WARN configurations_differ, 1 warning of 1 checked" in said
    assert "connect_config_lag, 1 warning of 5 checked" in said
    assert "it joined with 17 (generations: 3551, the last one 3555)" in said
    assert "connect_task_running, 5 errors" in said
    said = reported.printed(capsys, "explain", connect, "--group", "connect-cluster")
    assert 'explained by "configurations differ" above' in said
    assert "why it joins again" not in said
    assert "cause not in the log" not in said


def test_warm_ups_that_never_end(streams, capsys):
    tables = reported.tables_of(streams)
    assert troubles(tables) == [
        ("enrich-app", "endless_warm_ups", None, 41, True),
        ("enrich-fast", "endless_warm_ups", None, 419, True),
    ]
    causes = tables.rows("SELECT group_id, cause, count(*) AS found FROM classic_generation GROUP BY ALL", "c")
    assert {(each.group_id, each.found) for each in causes if each.cause == "probing"} == {
        ("enrich-app", 41),
        ("enrich-fast", 419),
    }
    assert "unknown" not in {each.cause for each in causes}
    said = reported.printed(capsys, "explain", streams, "--group", "enrich-app")
    assert "has been restoring copies of tasks 0_0, 0_1, to take them over, from 2026-11-25 10:46:40 UTC on" in said
    assert "41 probing rebalances, one about every 10 min, found none of them ready" in said
    assert "has had no partition" not in said
    assert "standby tasks 0_0, 0_1" in said
