"""One log of all kinds of groups: every number that several reports show is the same in all of them.

The product is its own oracle: one report for the others. The tests of each report know its numbers.
"""

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from kip848_records import __version__
from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.log.runs import PartitionRead
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.texts import completed
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.check_json import check_json, check_line
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.metrics import metrics
from kip848_records.report.news import news
from kip848_records.report.page.contents import contents
from kip848_records.report.summary import slowest_finished, summary
from kip848_records.simulate import Simulation, simulate
from kip848_records.text import duration_text, span_text
from kip848_records.times import time_text
from tests import made_tables
from tests.audits import audit_rows

pytestmark = pytest.mark.slow

CLUSTER = "all-kinds"
SPEC = Simulation(
    *(40, 4, 0.1, 5),
    happening_s=15,
    partitions=4,
    commit_interval_ms=0,
    **{f"{kind}_groups": 6 for kind in ("classic", "connect", "share", "streams")},
)
LIMITED = """
SELECT group_id, limited_by, unix_millis(captured_at) - unix_millis(limited_since) AS ms,
    unix_millis(captured_at) - unix_millis(stuck_since) AS stuck_ms
FROM group_state JOIN stuck_now USING (partition, group_id)
WHERE is_stuck
"""
LATER = timedelta(minutes=20)
"""How long after the last record the log was captured: what is open exceeds the limits of the expectations."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two runs over one log: the first read a half of it, by a clock that was 20 minutes ahead."""
    out = tmp_path_factory.mktemp("same")
    simulated = simulate(SPEC, out / "log")
    rows = [row for file in sorted(simulated.log.rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]
    end = datetime.fromtimestamp(simulated.captured_at / 1000, UTC)
    middle = end - timedelta(hours=SPEC.hours / 2)
    until = {row["partition"]: 1 + row["offset"] for row in rows if row["timestamp"] <= middle}
    damaged = rows[-1] | {"key": b"\0\5\0\4lost\0\1m", "value": b"\0", "offset": rows[-1]["offset"] + 1}
    group = next(row["key"] for row in rows if row["partition"] == damaged["partition"] and row["key"][:2] == b"\0\3")
    deletion = damaged | {"key": group, "value": None, "offset": damaged["offset"] + 1}
    earlier = {
        "run": 0,
        "captured_at": middle + LATER,
        "version": __version__,
        "dialect": "kafka",
        "counted_until": until,
    }
    made_tables.write(out / "tables", CLUSTER, audit_runs=[earlier])
    audit_rows(out / "tables", CLUSTER, [*rows, damaged, deletion], captured_at=end + LATER)
    for name in ("group_state", "group_state_timeline"):
        add_simple_group(str(out / "tables" / name))
    be_ready_later(str(out / "tables" / "group_state"))
    # Without the versions of its tables a run has the newest ones. The first run of all has the number 1.
    DeltaTable(str(out / "tables" / "audit_runs")).update({"table_versions": "NULL", "run": "run + 1"})
    DeltaTable(str(out / "tables" / "log")).update({"run": "run + 1"})
    return DuckTables(str(out / "tables"))


def add_simple_group(table):
    """Add a group without any other record than offset commits: the tables are written without commits."""
    found = DeltaTable(table).to_pyarrow_table()
    row = {
        "group_id": "only-commits",
        "group_type": "simple",
        "incarnation": 0,
        "state": "Empty",
        "history": "censored",
    }
    row = dict.fromkeys(found.schema.names) | found.slice(0, 1).to_pylist()[0] | row
    row |= dict.fromkeys({"to_at", "rebalancing_since", "rebalancing_history"} & row.keys())
    row |= {"waits_for_away_only": False} if "waits_for_away_only" in row else {}
    write_deltalake(table, pa.Table.from_pylist([row], found.schema), mode="append")


def be_ready_later(group_state):
    """Let streams groups have been NotReady for the first five minutes of their ongoing rebalances."""
    found = DeltaTable(group_state).to_pyarrow_table()
    rows = found.to_pylist()
    for row in rows:
        if (row["group_type"], row["state"]) == ("streams", "Reconciling"):
            row["since"] += timedelta(minutes=5)
    write_deltalake(group_state, pa.Table.from_pylist(rows, found.schema), mode="overwrite")


def lines_of(parts):
    console = Console(width=1000, highlight=False, color_system=None)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return [line.rstrip() for line in captured.get().splitlines()]


@pytest.fixture(scope="module")
def terminal(tables):
    """The lines of the summary of the second run."""
    (run,) = tables.chosen_runs(CLUSTER)
    options = SimpleNamespace(cluster=CLUSTER, out=tables.location, dialect="kafka", limits=(), offset_commits=True)
    facts = {"records": {3: 1}, "quarantined": 1, "captured_at": run.captured_at, "reads": [PartitionRead(1, 0)]}
    facts |= {"resumed": False, "skipped": 0, "dialect": "kafka", "run": run.run}
    return lines_of(summary(tables, SimpleNamespace(options=options, **facts)))


@pytest.fixture(scope="module")
def verdict(tables):
    return check(tables, load_settings(), cluster=CLUSTER, now=datetime(2027, 1, 16, tzinfo=UTC))


@pytest.fixture(scope="module")
def changes(tables):
    return changes_of_clusters(tables, [CLUSTER], load_settings())


@pytest.fixture(scope="module")
def samples(tables, verdict, changes):
    """The metrics: by name, their samples as pairs of labels without the cluster, and value."""
    found = {}
    for family in text_string_to_metric_families(metrics(tables, verdict, changes)):
        for sample in family.samples:
            labels = tuple(value for name, value in sorted(sample.labels.items()) if name != "cluster")
            found.setdefault(sample.name, {})[labels] = sample.value
    return found


@pytest.fixture(scope="module")
def page(tables, verdict):
    return contents(tables, verdict, cluster=CLUSTER)


def rows_below(lines, title):
    """The rows of a table of the summary: their cells."""
    at = next(nth for nth, line in enumerate(lines) if line.startswith(title))
    rows = []
    for line in lines[at + 1 :]:
        if not line.startswith("  "):
            return rows
        if not line.startswith("    "):  # else it continues the row before
            rows.append(re.split(r"  +", line.strip()))
    return rows


def test_the_log_has_all_that_is_compared(page, changes, tables):
    kinds = Counter(group["kind"] for group in page.groups)
    assert kinds.keys() == {"consumer", "classic", "connect", "share", "streams", "simple"}
    assert {group["kind"] for group in page.groups if group["health"] == "stuck"} > {"consumer", "share", "streams"}
    assert page.counts.keys() >= {"stuck", "healthy", "deleted", "unknown"}
    assert any(group["waiting"] for group in page.groups)
    assert changes[CLUSTER].newly_overdue
    assert changes[CLUSTER].recovered
    assert tables.rows("SELECT key_type, group_id FROM quarantine", CLUSTER) == [(5, "lost")]


def test_how_many_groups_there_are(terminal, page, samples):
    stuck, groups = map(int, re.search(r"(\d+) of (\d+) groups stuck", terminal[0]).groups())
    exist = page.counts["stuck"] + sum(page.counts[each] for each in ("failing", "healthy", "empty", "away", "unknown"))
    assert groups == exist == sum(samples["kip848_groups"].values())
    assert len(page.groups) == groups + page.counts["deleted"]
    assert stuck == page.counts["stuck"] == samples["kip848_stuck_groups"][()]
    counted = next(line for line in terminal if " healthy" in line)
    others = dict(reversed(each.split(" ", 1)) for each in counted.split(" · "))
    assert int(others["healthy"]) == page.counts["healthy"]
    assert int(others["insufficient data"]) == page.counts["unknown"] == samples_of(samples, "unknown")
    assert int(others.get("empty", 0)) == page.counts["empty"]
    by_health = {name: count for (name,), count in samples["kip848_groups_by_health"].items()}
    assert {name: count for name, count in page.counts.items() if name != "deleted"} == by_health


def samples_of(samples, state):
    return sum(value for (_, each), value in samples["kip848_groups"].items() if each == state)


def test_for_how_long_groups_are_stuck_and_how_many_of_their_members_wait(terminal, page, samples, tables):
    stuck = {group["group_id"]: group for group in page.groups if group["health"] == "stuck"}
    ages = {name: group["captured_ms"] - group["since_ms"] for name, group in stuck.items()}
    assert {name: round(value * 1000) for (name,), value in samples["kip848_stuck_group_seconds"].items()} == ages
    shown = rows_below(terminal, "Stuck groups")
    assert len(shown) > 3
    for name, age, converged, waiting, *_ in shown:
        group = stuck[name]
        assert age == span_text(ages[name], is_minimum=True)
        assert converged == f"{group['converged_members']}/{group['members']}"
        assert int(waiting) == group["waiting"]
    for name, group in stuck.items():
        lines = lines_of(explain(GroupHistory(tables, name, CLUSTER)))
        state = " ".join(line.strip() for line in lines[:6])
        if group["history"] == "right_censored":
            assert f"since {time_text(group['since_ms'])}" in state, (name, state)
        said = sum(": waits for " in line for line in lines)
        assert said == group["waiting"], (name, lines)
        if group["converged_members"] is not None:
            assert f"{group['converged_members']} of {group['members']} " in state


def test_which_clients_block_groups(terminal, page):
    by_client = Counter()
    waiting = Counter()
    for group in page.groups:
        if group["health"] == "stuck" and group["blocker"]["client_id"]:
            client = f"{group['blocker']['client_id']} @ {group['blocker']['client_host'].removeprefix('/')}"
            by_client[client] += 1
            waiting[client] += group["waiting"]
    rows = rows_below(terminal, "Blocking clients")
    assert rows
    for client, groups, waits, _ in rows:
        assert (int(groups), int(waits)) == (by_client[client], waiting[client])


def test_which_rebalances_were_the_slowest(terminal, page, tables):
    assert not any(line.startswith("Slowest finished") for line in terminal)  # what is wrong now took its room
    shown = rows_below(lines_of(slowest_finished(tables, CLUSTER)), "Slowest finished")
    assert len(shown) == 3
    slowest = [(row["group_id"], span_text(row["duration_ms"])) for row in page.slowest[:3]]
    assert [(group, total) for group, total, *_ in shown] == slowest
    by_group = {group["group_id"]: group["slowest_ms"] for group in page.groups}
    assert [by_group[row["group_id"]] for row in page.slowest] == [row["duration_ms"] for row in page.slowest]
    assert max(filter(None, by_group.values())) == page.slowest[0]["duration_ms"]
    measured = tables.rows("SELECT max(duration_ms) AS ms FROM rebalance WHERE is_measured", CLUSTER)
    assert measured[0].ms == page.slowest[0]["duration_ms"]


def test_what_changed_since_the_run_before(terminal, samples, changes, tables, verdict):
    line = next(line for line in terminal if line.startswith("Since the last run"))
    counts = {name: int(count) for count, name in re.findall(r"(\d+) (newly overdue|recovered|unknown)", line)}
    found = changes[CLUSTER]
    assert counts.get("newly overdue", 0) == len(found.newly_overdue) == samples["kip848_newly_overdue_groups"][()]
    assert counts.get("recovered", 0) == len(found.recovered) == samples["kip848_recovered_groups"][()]
    assert counts.get("unknown", 0) == len(found.unknown)
    title = news(tables, changes, verdict.limits).title
    overdue = len(found.newly_overdue) + len(found.unknown)
    assert f"{overdue} groups overdue, {len(found.recovered)} group" in title


def test_for_how_long_overdue_groups_have_been_in_their_state(tables, verdict, changes, page):
    """The limits count the present state, and all other numbers the rebalance, which may be older."""
    limited = tables.rows(completed(LIMITED), CLUSTER)
    ages = {row.group_id: (row.limited_by, duration_text(row.ms)) for row in limited}
    said = {
        each.group_id: (result.name, re.search(r"for ≥ ([^:]*)", each.message)[1])
        for result in verdict.results
        for each in result.violations
        if result.name in {"group_stable", "streams_ready"}
    }
    assert said.items() <= ages.items()
    found = [*changes[CLUSTER].newly_overdue, *changes[CLUSTER].unknown]
    assert found
    assert {each.group_id: duration_text(each.limited_ms) for each in found}.items() <= {
        name: age for name, (_, age) in said.items()
    }.items()
    stuck = {
        each["group_id"]: each["captured_ms"] - each["since_ms"] for each in page.groups if each["health"] == "stuck"
    }
    assert {row.group_id: row.stuck_ms for row in limited} == stuck
    assert any(row.ms < row.stuck_ms for row in limited)


def test_what_was_checked(samples, verdict, page):
    document, line = json.loads(check_json(verdict)), json.loads(check_line(verdict, 0))
    counted = samples["kip848_expectation_results"]
    for each in document["expectations"]:
        numbers = (each["passed"], each["errors"], each["warnings"], each["unknown_total"])
        results = ("pass", "error", "warning", "unknown")
        # What checked nothing has no numbers.
        assert numbers == tuple(counted.get((each["name"], result), 0) for result in results)
        assert ((each["name"], "pass") in counted) == (each["status"] != "not_applicable")
        assert each["checked"] == sum(numbers)
    for total in ("checked", "errors", "warnings"):
        assert line[total] == sum(each[total] for each in document["expectations"])
    assert page.verdict is verdict
    late = {each.group_id for each in next(r for r in verdict.results if r.name == "group_stable").violations}
    stuck = {group["group_id"] for group in page.groups if group["health"] == "stuck" and group["state"] != "NotReady"}
    assert late == stuck
