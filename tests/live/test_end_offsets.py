"""A run over a live topic asks where the topics end whose partitions had an owner when the run before ended."""

import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed
from kip848_records.simulate import Simulation, simulate
from kip848_records.sources.read import read_log
from tests.audits import table_rows
from tests.live.topics import Topic, as_consumed, ends_of

pytestmark = pytest.mark.slow
HOUR_MS = 60 * 60 * 1000


def test_two_runs_that_ask_show_that_messages_wait(spark, tmp_path):
    simulated = simulate(Simulation(0, hours=0.5, seed=4, partitions=2, committing_groups=3), tmp_path / "log")
    rows = as_consumed(read_log(spark, str(simulated.log))).cache()
    topic = Topic(spark, rows, ends_of(rows))
    topic.now_ms = rows.selectExpr("unix_millis(max(timestamp)) AS ms").first().ms + 1000
    out = tmp_path / "out"
    topic.audit(out, offset_commits=True)
    assert table_rows(out, "end_offset", "default") == []  # nobody knows yet of which topics

    owned = [row for row in table_rows(out, "commit_progress", "default") if row["released_offset"] is None]
    of_members = [row for row in owned if row["owner"] == "member" and row["last_offset"] is not None]
    still = max(of_members, key=lambda row: row["last_offset"])  # no other group is ahead
    place = still["topic"], still["partition"]
    topic.topic_ends = {place: still["last_offset"] + 7, ("another", 0): 5}
    states = []
    for _ in range(2):
        topic.now_ms += HOUR_MS
        topic.audit(out, offset_commits=True)
        text = completed("SELECT * FROM consumption_now WHERE end_offset IS NOT NULL")
        found = {(row.topic, row.partition, row.group_id): row for row in DuckTables(str(out)).rows(text, "default")}
        states.append(found[*place, still["group_id"]])
    assert {(row.topic, row.partition) for row in found.values()} == {place}
    assert [(row.state, row.lag) for row in states] == [("messages_wait", 7), ("suspected", 7)]
    assert states[1].waits_ms == HOUR_MS
