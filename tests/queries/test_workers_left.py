"""The Connect workers that left connectors and tasks behind, in rebalances that are over."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from kip848_records.queries.texts import completed
from kip848_records.report.comings import with_changes
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.group_sections import REBALANCES
from kip848_records.simulate import Simulation, simulate
from tests import made_tables
from tests.audits import audit_rows

GROUP = {"group_id": "g", "group_type": "classic"}


def lost(worker, offset, *units):
    row = GROUP | {"connector": "sink", "from_member": worker, "released_offset": offset, "acquired_offset": offset + 1}
    return [row | {"task": unit, "reason": "worker_left", "status": "acquired"} for unit in units]


@pytest.fixture
def made(tmp_path):
    """Three generations: two workers leave in a rebalance of two generations, and one of them later."""
    began = [(1, 1, 1, "converged"), (5, 2, 3, "converged"), (9, 4, 4, "open")]
    rebalances = [
        GROUP
        | {"began_offset": offset, "first_epoch": first, "last_epoch": last, "outcome": outcome, "causes": ["unknown"]}
        | {"began_at": 1_000 * offset, "ended_offset": offset + last - first, "ended_at": 1_000 * (offset + 1)}
        for offset, first, last, outcome in began
    ]
    stay = GROUP | {"client_id": "connect-1", "joined_offset": 1, "joined_epoch": 1, "joined_how": "joined"}
    left = (("a", 5, 2), ("b", 6, 3), ("c", 9, 4), ("d", 5, 2))
    revoked = GROUP | {"connector": "sink", "task": 9, "from_member": "d", "released_offset": 6, "reason": "revoked"}
    tables = {name: [] for name in made_tables.OF_KINDS} | {
        "rebalance": rebalances,
        "membership": [
            stay | {"member_id": name, "left_offset": offset, "left_epoch": epoch, "left_how": "left"}
            for name, offset, epoch in left
        ],
        "task_handover": [*lost("a", 5, 0), *lost("b", 6, -1, 0, 1), *lost("c", 9, 3), revoked],
        "connect_assignment": [
            GROUP | {"generation": 1, "member_id": name, "worker_url": f"http://{name}/"} for name in "abd"
        ],
        "group_state": [GROUP | {"generation": 4}],
        "group_state_timeline": [GROUP],
    }
    made_tables.write(tmp_path, "c", audit_runs=[{"run": 1}], **tables)
    return DuckTables(str(tmp_path))


def test_events_name_the_worker_that_left_most_behind(made):
    rows = made.rows(questions()["events"].sql, "c")
    assert [(row.outcome, row.worst_blocker) for row in rows] == [("converged", None), ("converged", "http://b/")]


def test_each_worker_is_in_the_rebalance_that_had_begun(made):
    """A worker whose URL no record has is named by its member id."""
    text = "SELECT began_offset, worker, units, nth FROM workers_left ORDER BY began_offset, nth"
    assert made.rows(completed(text), "c") == [(5, "http://b/", 3, 1), (5, "http://a/", 1, 2), (9, "c", 1, 1)]


def test_explain_says_with_how_much_each_worker_left(made):
    group = GroupHistory(made, "g", "c")
    incarnation = group.incarnations[-1]
    rows = group.section(REBALANCES, incarnation)
    first, behind = "http://a/ with 1 connector or task", "http://b/ with 3 connectors and tasks and 1 more"
    assert {row["first_epoch"]: row["changes"] for row in with_changes(group, incarnation, rows)} == {
        4: "left or expired: connect-1 with 1 connector or task",
        2: f"left or expired: {first}, {behind}",
        1: "joined: http://a/, http://b/ and 2 more",
    }


@pytest.mark.slow
def test_simulated_workers_are_those_that_the_tables_tell_of(tmp_path):
    simulated = simulate(
        Simulation(0, hours=2, seed=1, partitions=2, happening_s=60, connect_groups=6), tmp_path / "log"
    )
    rows = [row for file in sorted(simulated.log.rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    audit_rows(tmp_path / "out", "c", rows)
    tables = DuckTables(str(tmp_path / "out"))
    rebalances = tables.rows("SELECT * FROM rebalance ORDER BY began_offset", "c")
    left = Counter()
    for row in tables.rows("SELECT * FROM task_handover WHERE reason = 'worker_left'", "c"):
        began = [each for each in rebalances if (each.group_id, each.partition) == (row.group_id, row.partition)]
        (last,) = [each for each in began if each.began_offset <= row.released_offset][-1:]
        assert last.ended_offset is None or row.released_offset <= last.ended_offset
        left[row.group_id, last.began_at, row.from_member] += 1
    assert left
    urls = {
        (row.group_id, row.member_id): row.worker_url for row in tables.rows("SELECT * FROM connect_assignment", "c")
    }
    most = {}
    for (group, began_at, member), units in left.items():
        most.setdefault((group, began_at), {}).setdefault(units, set()).add(urls[group, member])
    events = tables.rows(questions()["events"].sql, "c")
    finished = [row for row in events if row.event == "rebalance_finished"]
    named = {(row.group_id, row.began_at): row.worst_blocker for row in finished if row.worst_blocker is not None}
    assert named
    assert named.keys() == most.keys() & {(row.group_id, row.began_at) for row in finished}
    for key, worker in named.items():
        assert worker in most[key][max(most[key])], (key, worker, most[key])
