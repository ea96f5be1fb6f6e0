"""A run over a live topic asks where the topics end whose partitions had an owner when the run before ended."""

import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed
from tests.audits import table_rows
from tests.live.topics import Topic, ends_of, read_as_consumed
from tests.simulator.run import Simulation, simulate

HOUR_MS = 60 * 60 * 1000


@pytest.mark.nightly
def test_two_runs_that_ask_show_that_messages_wait(tmp_path):
    simulated = simulate(Simulation(0, hours=0.5, seed=4, partitions=2, committing_groups=3), tmp_path / "log")
    rows = read_as_consumed(simulated.log)
    topic = Topic(rows, ends_of(rows))
    topic.now_ms = max(topic.newest_ms().values()) + 1000
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
