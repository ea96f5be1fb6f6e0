"""Prometheus scrapes the file of `kip848 check --openmetrics` by the node exporter: the programs that operators run.

Debian's packages prometheus and prometheus-node-exporter. All of them listen on loopback only.
"""

import json
import shutil
import subprocess
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import socket
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from kip848_records.cli import main
from kip848_records.expectations import EXPECTATIONS
from kip848_records.report.metrics import METRICS
from kip848_records.tables.registry import DEFAULT
from tests import made_tables
from tests.report.verdicts import HOSTILE

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "conf" / "prometheus"
DASHBOARD = json.loads((ROOT / "conf" / "grafana" / "kip848.json").read_text(encoding="utf-8"))
PROGRAMS = ("prometheus", "prometheus-node-exporter", "promtool")
CLUSTER = 'pro"d\\ 1'
CAPTURED = datetime.now(UTC).replace(microsecond=0)
DEADLINE_S = 60
EVALUATED = ("group_stable", "rebalance_time", "group_in_its_partition")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        any(shutil.which(each) is None for each in PROGRAMS),
        reason="apt-get install prometheus prometheus-node-exporter",
    ),
]


def ago(**span):
    return CAPTURED - timedelta(**span)


def run_row(run, at, total):
    new = {"converged": 3, "emptied": 1}
    durations = {"count": 3, "sum_ms": 9_000, "p50_ms": 2_000, "p95_ms": 5_000, "p99_ms": None, "max_ms": 5_000}
    return {
        "run": run,
        "captured_at": at,
        "dialect": "kafka",
        "offset_commits": True,
        "new_rebalances": [*new.items()],
        "new_durations": durations,
        "total_rebalances": [*(new | {"converged": total}).items()],
        "total_durations": {"count": total, "sum_ms": total * 3_000},
    }


BLOCKER = {
    "pattern": "slow_revocation",
    "who": "slow-app @ 10.0.0.1",
    "sentence": "It is slow",
    "next_step": "Restart it",
}


def state(group, state, since, **columns):
    row = {"group_id": group, "group_type": "consumer", "state": state, "since": since, "history": "right_censored"}
    return row | {
        "captured_at": CAPTURED,
        "members": 1,
        "converged_members": 0,
        "has_full_history": group != "fine",
        **columns,
    }


def interval(group, state, since, until=None):
    return {"group_id": group, "group_type": "consumer", "state": state, "from_at": since, "to_at": until}


def write_tables(folder, *runs):
    """Groups with every id that Kafka allows are stuck; one of them has rows in two partitions."""
    stuck = [state(group, "Reconciling", ago(hours=2)) for group in HOSTILE]
    stuck.append(state(HOSTILE[0], "Reconciling", ago(hours=3), partition=1))
    others = [state("fine", "Stable", ago(hours=9)), state("new", "Assigning", ago(minutes=12), blocker=BLOCKER)]
    others += [state("well", "Stable", ago(minutes=1)), state("lost", "unknown", ago(minutes=1))]
    timeline = [
        interval(row["group_id"], row["state"], row["since"]) | {"partition": row.get("partition", 0)} for row in stuck
    ]
    timeline += [
        interval("new", "Stable", ago(hours=9), ago(minutes=12)),
        interval("well", "Reconciling", ago(hours=9), ago(minutes=1)),
    ]
    tables = {name: [] for name in DEFAULT if name not in ("audit_runs", "log")}
    tables |= {"group_state": [*stuck, *others], "group_state_timeline": timeline}
    trouble = {"group_id": "fine", "partition": 0, "incarnation": 0, "is_present": True}
    trouble |= {"pattern": "restart_loop", "severity": "error", "first_seen": ago(hours=2)}
    rows = [trouble, trouble | {"severity": "warning", "first_seen": ago(hours=4)}, trouble | {"is_present": False}]
    tables |= {"diagnosis": [*rows, trouble | {"group_id": HOSTILE[0], "pattern": "storm", "severity": "info"}]}
    stay = {"group_id": "fine", "topic": "t", "owner": "member", "member_id": "m", "advances": 9, "commits": 9}
    # The partition of the log was read last by the first audit.
    stay |= {"acquired_at": ago(hours=9), "history": "right_censored", "last_advance_at": ago(hours=1, seconds=1)}
    stay |= {"offsets_partition": 1}
    stands = {"last_advance_at": ago(hours=2), "behind_since": ago(hours=2), "ahead_by": 9, "ahead_group": "well"}
    tables |= {"commit_progress": [stay | {"partition": each} | (stands if each < 2 else {}) for each in range(5)]}
    tables |= {"open_transaction": [{"producer_id": 7, "status": "open", "age_ms": 90_000}]}
    made_tables.write(folder, CLUSTER, audit_runs=runs, **tables)


@contextmanager
def running(*command, log):
    """A server, which is ended with the test."""
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            process.wait(DEADLINE_S)


def exporting(address, collected, log):
    """The node exporter, which reads the files of a folder."""
    textfile = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={collected}")
    return running("prometheus-node-exporter", *textfile, f"--web.listen-address={address}", log=log)


def free_address():
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def eventually(answer):
    """The first answer that is something; a server needs a moment to start, and to scrape."""
    end = time.monotonic() + DEADLINE_S
    while time.monotonic() < end:
        with suppress(URLError, ConnectionError):
            if found := answer():
                return found
        time.sleep(0.1)
    pytest.fail("no answer")


@dataclass
class Monitored:
    """`file` is what a check writes, `collected` what the exporter says."""

    address: str
    exporter: str
    file: Path

    def collected(self):
        with urlopen(f"http://{self.exporter}/metrics") as page:
            return page.read().decode()

    def ask(self, expression):
        with urlopen(f"http://{self.address}/api/v1/query?{urlencode({'query': expression})}") as page:
            return json.load(page)["data"]["result"]

    def get(self, path):
        with urlopen(f"http://{self.address}{path}") as page:
            return json.load(page)["data"]


CONFIG = """
global: {{scrape_interval: 200ms, evaluation_interval: 200ms}}
rule_files: [{alerts}]
scrape_configs: [{{job_name: node, static_configs: [{{targets: ["{exporter}"]}}]}}]
"""


@pytest.fixture(scope="module")
def monitored(tmp_path_factory):
    """Prometheus after two audits: the second had ten rebalances more."""
    folder = tmp_path_factory.mktemp("prometheus")
    collected, tables = folder / "collected", folder / "tables"
    collected.mkdir()
    file = collected / "kip848.prom"
    write_tables(tables, run_row(1, ago(hours=1), 30))
    few = folder / "audit.toml"
    others = [each.name for each in EXPECTATIONS if each.name not in EVALUATED]
    few.write_text("".join(f'[expectations.{name}]\nseverity = "off"\n' for name in others))
    check = ["check", str(tables), "--config", str(few), "--openmetrics", str(file)]
    assert main(check) == 1
    here = Monitored(free_address(), free_address(), file)
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(alerts=ALERTS / "alerts.yml", exporter=here.exporter))
    server = ("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}")
    with ExitStack() as stack:
        stack.enter_context(exporting(here.exporter, collected, folder / "1"))
        stack.enter_context(running(*server, f"--web.listen-address={here.address}", log=folder / "2"))
        eventually(lambda: here.ask("kip848_rebalances_total"))
        made_tables.write(tables, CLUSTER, audit_runs=[run_row(2, CAPTURED, 40)])
        assert main(check) == 1
        eventually(lambda: here.ask('kip848_rebalances_total{outcome="converged"} == 40'))
        yield here


def test_the_exporter_takes_every_line_and_promtool_finds_no_fault(monitored):
    page = monitored.collected()
    assert "node_textfile_scrape_error 0" in page
    ours = [line for line in page.split("\n") if line.startswith("kip848_")]
    written = [line for line in monitored.file.read_bytes().decode().split("\n") if line.startswith("kip848_")]
    assert len(ours) == len(written) > 40
    with monitored.file.open() as metrics:
        done = subprocess.run(["promtool", "check", "metrics"], stdin=metrics, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_every_metric_arrives_with_its_type_and_labels(monitored):
    told = monitored.get("/api/v1/metadata")
    for name, spec in METRICS.items():
        shown = f"{name}_total" if spec.type == "counter" else name
        assert [(each["type"], each["help"]) for each in told[shown]] == [(spec.type, spec.help)]
        labels = set().union(*(row["metric"] for row in monitored.ask(shown)))
        quantile = {"quantile"} if spec.type == "summary" else set()
        assert labels - {"__name__", "instance", "job"} == {*spec.labels, *quantile}


def test_ids_come_through_whole_and_once(monitored):
    rows = monitored.ask("kip848_stuck_group_seconds")
    groups = Counter(row["metric"].get("group", "") for row in rows)
    assert groups == Counter([*HOSTILE, "new"])
    assert {row["metric"]["cluster"] for row in rows} == {CLUSTER}
    longest = max(rows, key=lambda row: float(row["value"][1]))
    assert (longest["metric"]["group"], longest["value"][1]) == (HOSTILE[0], "10800")


def test_a_group_that_fails_over_time_has_one_series_a_pattern(monitored):
    (row,) = monitored.ask("kip848_trouble_seconds")
    labels = {name: row["metric"][name] for name in ("group", "pattern", "severity")}
    assert labels == {"group": "fine", "pattern": "restart_loop", "severity": "error"}
    assert row["value"][1] == "14400"


def test_owned_partitions_count_by_what_their_commits_show(monitored):
    counts = {row["metric"]["state"]: int(row["value"][1]) for row in monitored.ask("kip848_owned_partitions")}
    assert counts == {"progress": 3, "suspected": 2, "blocked_by_transaction": 0}


def test_each_group_counts_once(monitored):
    counts = {row["metric"]["health"]: int(row["value"][1]) for row in monitored.ask("kip848_groups_by_health")}
    assert counts == {"stuck": len(HOSTILE) + 2, "failing": 1, "unknown": 1, "healthy": 1}


def test_what_changed_since_the_audit_before(monitored):
    assert [row["value"][1] for row in monitored.ask("kip848_newly_overdue_groups")] == ["1"]
    assert [row["value"][1] for row in monitored.ask("kip848_recovered_groups")] == ["1"]


def queries():
    found = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [pytest.param(expression, id=title) for title, expression in found]


@pytest.mark.parametrize("expression", queries())
def test_every_query_of_the_dashboard_has_an_answer(monitored, expression):
    text = expression.replace("$cluster", ".+").replace("$__range", "1h")
    assert "$" not in text
    rows = eventually(lambda: monitored.ask(text))
    assert all(row["value"][1] != "NaN" for row in rows)


def test_the_variables_of_the_dashboard(monitored):
    *_, cluster = DASHBOARD["templating"]["list"]
    assert cluster["definition"] == "label_values(kip848_groups, cluster)"
    labels = monitored.get("/api/v1/label/cluster/values?" + urlencode({"match[]": "kip848_groups"}))
    assert labels == [CLUSTER]


def test_stuck_groups_fire_an_alert(monitored):
    alerts = eventually(lambda: monitored.ask('ALERTS{alertname="Kip848GroupStuck", alertstate="firing"}'))
    assert {row["metric"].get("group", "") for row in alerts} == set(HOSTILE)


def test_the_rules_pass_their_own_tests():
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        done = subprocess.run(["promtool", *command], cwd=ALERTS, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# TYPE a counter\na_total 1\n", 0),
        ("# TYPE a info\na_info 1\n", 1),
        ("# TYPE a unknown\na 1\n", 1),
        ("# TYPE a gauge\na 1 1767225600\n", 1),
    ],
)
def test_the_collector_refuses_what_is_openmetrics_alone(tmp_path, text, error):
    """Why the file has Prometheus' text format. The exporter takes a counter without `_total` in its type, untyped."""
    collected = tmp_path / "collected"
    collected.mkdir()
    (collected / "a.prom").write_text(text + "# EOF\n")
    here = Monitored("", free_address(), collected / "a.prom")
    with exporting(here.exporter, collected, tmp_path / "log"):
        page = eventually(here.collected)
    assert f"node_textfile_scrape_error {error}" in page
    assert "# TYPE a_total counter" not in page
