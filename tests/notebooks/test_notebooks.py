"""The notebooks run from start to end, on the captures' tables, and show what their text promises."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pandas as pd
import plotly.io
import pytest
from pandas.testing import assert_frame_equal

from kip848_records.cli import _parser
from kip848_records.errors import InputError
from tests import users
from tests.audits import CLUSTERS
from tests.conftest import QUICK_JAVA
from tests.docs.pages import block
from tests.seeds import nightly_rows
from tests.sessions import CLASSIC, CONNECT

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = ("build_your_own_check", "compare_two_nights", "explore_rebalances", "what_is_wrong")
DEMO, SINCE = CLUSTERS["kafka-4.3.1"], "2026-11-21 08:18:45"
to_jupyter = runpy.run_path(str(NOTEBOOKS / "to_jupyter.py"))["to_jupyter"]


@pytest.fixture
def run(audits, monkeypatch):
    """Run a notebook's cells in this process, with parameters; return its names, and what it displayed and plotted.

    DuckDB reads the tables, unless there is a session, as on Databricks.
    """

    def start(name, session=None, **parameters):
        for key, value in ({"tables": audits.out, "cluster": DEMO} | parameters).items():
            monkeypatch.setenv(f"KIP848_{key.upper()}", str(value))
        displayed, plotted = [], []
        monkeypatch.setattr(plotly.io, "show", lambda figure, *_, **__: plotted.append(figure))
        names = {"display": displayed.append} | ({} if session is None else {"spark": session})
        for cell in to_jupyter((NOTEBOOKS / f"{name}.py").read_text()).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, name, "exec"), names)  # noqa: S102 - our own
        return names, displayed, plotted

    return start


def assert_session_shows_the_same(run, session, name, **parameters):
    for ours, theirs in zip(run(name, **parameters)[1], run(name, session=session, **parameters)[1], strict=True):
        assert_frame_equal(ours, theirs, check_dtype=False)


TWO_NIGHTS = {"cluster_before": DEMO, "since": SINCE}


# The one with most queries runs in the session that takes less.
ON_SPARK = [(CLASSIC, "compare_two_nights", TWO_NIGHTS), (CONNECT, "what_is_wrong", {})]
ON_THE_OTHER = [(CONNECT, "compare_two_nights", TWO_NIGHTS), (CLASSIC, "what_is_wrong", {})]


@pytest.mark.parametrize(("spark", "name", "parameters"), [*ON_SPARK, *nightly_rows(ON_THE_OTHER)], indirect=["spark"])
def test_a_session_of_spark_shows_the_same(run, spark, name, parameters):
    assert_session_shows_the_same(run, spark, name, **parameters)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("spark", "name"),
    [(CONNECT, "explore_rebalances"), (CLASSIC, "build_your_own_check")],
    indirect=["spark"],
)
def test_a_session_of_spark_shows_what_reports_and_checks_do(run, spark, name):
    """Each asks all texts of a page or of a check, which `tests/queries/test_both_engines.py` compares."""
    assert_session_shows_the_same(run, spark, name)


class TestExploreRebalances:
    @pytest.mark.slow
    def test_it_begins_with_the_group_that_is_stuck_and_tells_its_story(self, run, capsys):
        names, (groups, rebalances, blockers, owned), (rebalances_figure, members_figure) = run("explore_rebalances")
        assert (names["group"], groups.group_id[0]) == ("stuck", "stuck")
        assert list(groups.health == "stuck") == [True] + [False] * (len(groups) - 1)
        assert groups.stuck_for_s[0] == pytest.approx(28.027)
        assert groups.blocked_by[0] == "stuck-app @ 127.0.0.1, revoking for ≥ 27.8 s"
        assert list(rebalances.epochs) == ["2", "3-4"]
        bars = {bar.name: bar for bar in rebalances_figure.data if bar.type == "bar"}
        assert {name: (list(bar.y), bar.marker.pattern.shape) for name, bar in bars.items()} == {
            "member_joined, observed": (["2"], ""),
            "member_joined, right_censored": (["3-4"], "/"),
        }
        (culprit,) = blockers.itertuples()
        assert (culprit.client, culprit.last_state, culprit.held_up) == ("stuck-app @ 127.0.0.1", "revoking", 1)
        assert culprit.member_id in set(owned.member_id)
        assert set(owned.units) == {"clicks 0-23", "orders 0-15", "nothing"}
        states = {bar.name: set(bar.y) for bar in members_figure.data}
        assert culprit.member_id in states["revoking"]
        assert culprit.member_id not in states["waiting"]
        assert members_figure.layout.yaxis.categoryarray[-1] == culprit.member_id  # on top
        assert members_figure.layout.title.text == "Group stuck, epochs 3-4: what its members did"
        said = capsys.readouterr().out
        assert "1 of 1 classic group can move now" in said
        assert "as of 2026-11-21 08:19:14 UTC" in said
        assert "stuck-app @ 127.0.0.1 has been asked to give up partitions for ≥ 27.8 s; 1" in said  # wrapped behind it
        assert "left no partition or task without an owner" in said

    @pytest.mark.slow
    def test_another_group_is_looked_at_by_its_name(self, run, audits):
        _, (_, rebalances, _, _), (figure, members_figure, unowned_figure) = run(
            "explore_rebalances", group="slow-revoke"
        )
        assert list(rebalances.duration_ms) == [0, 6006, 7008]
        bars = [bar for bar in figure.data if bar.type == "bar"]
        assert sorted(ms for bar in bars for ms in bar.x) == [0, 6006, 7008]
        # The slowest, and nothing beyond its ends.
        assert {bar.name for bar in members_figure.data} >= {"revoking", "waiting"}
        (slowest,) = (row for row in rebalances.itertuples() if row.duration_ms == 7008)
        for bar in members_figure.data:
            begins = pd.to_datetime(list(bar.base), utc=True)
            ends = begins + pd.to_timedelta(list(bar.x), unit="ms")
            assert min(begins) >= slowest[2]
            assert max(ends) <= slowest[3]
        lost = {
            f"{row['topic']} {row['partition']}"
            for row in audits.rows("kafka-4.3.1", "partition_handover")
            if row["group_id"] == "slow-revoke" and row["wanted_ms"]
        }
        assert {y for bar in unowned_figure.data for y in bar.y} == lost
        assert len(lost) == 4

    @pytest.mark.slow
    def test_a_group_that_was_deleted_is_shown_to_its_end(self, run, capsys):
        _, (_, rebalances, _), _ = run("explore_rebalances", group="deleted")
        assert {"emptied", "deleted"} & set(rebalances.outcome)
        assert "was deleted" in capsys.readouterr().out

    @pytest.mark.slow
    def test_a_classic_group_has_no_blockers_to_show(self, run):
        _, (_, rebalances, blockers, owned), figures = run("explore_rebalances", group="classic")
        assert list(rebalances.epochs) == ["1", "2", "3"]
        assert blockers.empty
        assert len(figures) == 2
        assert {units.split()[0] for units in owned.units} == {"orders"}

    @pytest.mark.slow
    def test_a_connect_cluster_names_the_worker_that_left(self, run, kinds, capsys):
        parameters = {"tables": kinds, "cluster": "connect", "group": "connect-cluster"}
        _, (groups, *_, owned), (*_, unowned_figure) = run("explore_rebalances", **parameters)
        assert (groups.kind[0], groups.health[0]) == ("connect", "stuck")
        assert list(owned.units) == ["src1: connector, task 0", "src3: connector, task 0"]
        lost = {y for bar in unowned_figure.data for y in bar.y}
        assert lost == {"sink1: connector, tasks 0-1", "src2: connector, task 0"}
        assert "Worker http://127.0.0.1:19603/ left 5 connectors and tasks behind" in capsys.readouterr().out

    def test_a_cluster_that_is_not_there_is_named(self, run):
        with pytest.raises(InputError, match="has no tables of cluster 'nowhere'"):
            run("explore_rebalances", cluster="nowhere")


class TestWhatIsWrong:
    def test_it_names_the_client_that_does_not_stay_and_shows_its_stays(self, run, audits, capsys):
        _, (now, lately, costs, bill, stays), (figure,) = run("what_is_wrong")
        rows = {row["group_id"]: row for row in audits.rows("kafka-4.3.1", "diagnosis") if row["severity"] != "info"}
        row = rows["churn"]
        assert dict(zip(now.group_id, now.pattern, strict=True)) == {name: rows[name]["pattern"] for name in rows}
        assert set(lately.subject) == {"churn-app @ 127.0.0.1"}
        assert [bar.name for bar in figure.data] == [row["severity"]]
        (cost,) = costs.itertuples()
        assert (cost.times, cost.rebalances, cost.unowned_s) == (
            *(row["count"], row["rebalances"]),
            row["unowned_ms"] / 1000,
        )
        (lost,) = bill[bill.pattern == row["pattern"]].itertuples()
        assert (lost.subject, lost.partition_seconds) == ("churn-app", row["lost_ms"] // 1000)
        assert len(bill) > 1
        assert set(stays.client_id) == {row["subject"]["client_id"]}
        assert (stays.left_at.dropna() >= pd.Timestamp(row["first_seen"])).all()
        assert (stays.left_at <= pd.Timestamp(row["last_seen"])).sum() >= row["count"]
        assert f"warning: churn: {row['sentence']}\n    {row['next_step']}" in capsys.readouterr().out

    def test_what_ended_earlier_is_not_of_the_last_hours(self, run, capsys):
        _, (now, lately, costs, _, _), figures = run("what_is_wrong", hours="0.001")
        assert (len(now), len(lately), len(costs), figures) == (1, 0, 1, [])
        assert "No group had a trouble in the 0.001 hours before the audit" in capsys.readouterr().out

    def test_groups_without_a_trouble(self, run, kinds, capsys):
        _, displayed, figures = run("what_is_wrong", tables=kinds, cluster="connect")
        assert ([len(each) for each in displayed], figures) == ([0, 0, 0, 0], [])
        assert "No group had a trouble in the history" in capsys.readouterr().out


class TestCompareTwoNights:
    def test_two_audits(self, run):
        later = {"cluster_before": DEMO, "cluster": CLUSTERS["kafka-4.0.0-zstd"]}
        _, (changed, slower, members), (spread_figure,) = run("compare_two_nights", **later)
        changes = dict(zip(changed.group_id, changed.change, strict=True))
        assert (changes["stuck"], changes["churn"]) == ("still not converged", "newly not converged")
        assert list(changed.group_id[:2]) == ["churn", "stuck"]
        assert slower.group_id[0] == "slow-revoke"
        assert slower.p95_grew_by[0] == pytest.approx(1005.75)
        assert {"inst-0", "churn-app"} <= set(members.client)
        assert [trace.name for trace in spread_figure.data] == ["before", "after"]
        assert [len(trace.x) for trace in spread_figure.data] == [
            slower.measured_before.sum(),
            slower.measured_after.sum(),
        ]

    def test_a_connect_cluster_that_waits_is_stuck(self, run, kinds):
        nights = {"tables": kinds, "cluster": "connect", "cluster_before": "connect", "since": "2026-11-21 08:28:00"}
        _, (changed, *_), _ = run("compare_two_nights", **nights)
        assert changed[["group_id", "change", "after"]].to_numpy()[0].tolist() == [
            *("connect-cluster", "newly not converged", "rebalancing")
        ]

    def test_the_night_before_is_the_earlier_one(self, run):
        with pytest.raises(ValueError, match="the night before ends no earlier than the later one"):
            run("compare_two_nights", cluster_before=CLUSTERS["kafka-4.0.0-zstd"])
        with pytest.raises(ValueError, match="the night before ends no earlier than the later one"):
            run("compare_two_nights", cluster_before=DEMO, since="2026-11-22")

    def test_two_nights_in_one_table(self, run, audits):
        _, (changed, slower, members), _ = run("compare_two_nights", cluster_before=DEMO, since=SINCE)
        assert changed[["group_id", "change", "before"]].to_numpy()[0].tolist() == [
            "stuck",
            "newly not converged",
            "Stable",
        ]
        begins = [row["began_at"] for row in audits.rows("kafka-4.3.1", "rebalance")]
        late = sum(begin.strftime("%Y-%m-%d %H:%M:%S") >= SINCE for begin in begins)
        assert 0 < late < len(begins)
        assert (slower.rebalances_before.sum(), slower.rebalances_after.sum()) == (len(begins) - late, late)
        stays = [row for row in audits.rows("kafka-4.3.1", "membership") if row["group_id"] == "churn"]
        (churn,) = members[members.group_id == "churn"].itertuples()
        joined = [row for row in stays if row["joined_at"].strftime("%Y-%m-%d %H:%M:%S") < SINCE]
        assert churn.member_ids_before == len({row["member_id"] for row in joined}) < len(stays)

    def test_one_audit_is_not_two(self, run):
        with pytest.raises(ValueError, match="both nights are the same audit"):
            run("compare_two_nights", cluster_before=DEMO)


@pytest.mark.slow
def test_an_expectation_of_ones_own_finds_what_it_is_about(run, audits, capsys):
    _, (usual, results), _ = run("build_your_own_check")
    moved = [row["partitions_moved"] for row in audits.rows("kafka-4.3.1", "rebalance")]
    ours = results.set_index("expectation").loc["partitions_stay"]
    assert (ours.status, ours.violations, ours.unknown) == (
        "warn",
        sum(number is not None and number > 10 for number in moved),
        moved.count(None),
    )
    assert usual.max_moved.max() == max(filter(None, moved))
    assert "churn, epoch 30: expected at most 10 partitions to move, moved 19" in capsys.readouterr().out


def test_on_databricks_parameters_are_widgets():
    class Widgets:
        def __init__(self):
            self.values = {"tables": "s3://bucket/kip848"}

        def text(self, name, default):
            self.values.setdefault(name, default)

        def get(self, name):
            return self.values[name]

    cells = to_jupyter((NOTEBOOKS / "explore_rebalances.py").read_text()).cells
    parameters, _, _ = cells[1].source.partition("def session")
    names = {"dbutils": SimpleNamespace(widgets=Widgets())}
    exec(parameters, names)  # noqa: S102 - our own
    assert (names["tables"], names["cluster"], names["group"]) == ("s3://bucket/kip848", "demo", "")


def test_the_page_says_how_to_get_the_later_night():
    command = block("test: later night").replace("\\\n", " ")
    program, *words = shlex.split(command)
    arguments = _parser(words).parse_args(words)
    assert program == ".venv/bin/kip848"
    assert all((NOTEBOOKS.parent / path).exists() for path in (*arguments.sources, arguments.topics))
    notebook = (NOTEBOOKS / "compare_two_nights.py").read_text()
    assert f'parameter("cluster", "{arguments.cluster}")' in notebook
    assert f'parameter("tables", "{arguments.out}" if' in notebook


@pytest.mark.slow
def test_jupyter_runs_one_from_start_to_end(audits, tmp_path):
    notebook = tmp_path / "explore_rebalances.ipynb"
    nbformat.write(to_jupyter((NOTEBOOKS / notebook.name).with_suffix(".py").read_text()), notebook)
    environment = users.environment()
    environment |= {"KIP848_TABLES": str(audits.out), "KIP848_CLUSTER": CLUSTERS["kafka-4.3.1"]}
    environment |= {"TZ": "Asia/Tokyo", "JDK_JAVA_OPTIONS": QUICK_JAVA, "TMPDIR": str(tmp_path)}
    command = [Path(sys.executable).with_name("jupyter-execute"), "--inplace", "--timeout=300", notebook]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    outputs = [each for cell in nbformat.read(notebook, 4).cells for each in cell.get("outputs", [])]
    kind = "application/vnd.plotly.v1+json"
    plots = [each.data[kind] for each in outputs if kind in each.get("data", {})]
    assert [plot["layout"]["title"]["text"].split(":")[0] for plot in plots] == [
        "Group stuck",
        "Group stuck, epochs 3-4",
    ]
    (said, *_) = [each.text for each in outputs if each.output_type == "stream" and each.name == "stdout"]
    assert said.endswith("as of 2026-11-21 08:19:14 UTC\n")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_notebook_of_databricks_and_asks_only_for_what_connect_has(name):
    source = (NOTEBOOKS / f"{name}.py").read_text()
    assert source.startswith("# Databricks notebook source\n# MAGIC %md\n# MAGIC # ")
    notebook = to_jupyter(source)
    nbformat.validate(notebook)
    kinds = [cell.cell_type for cell in notebook.cells]
    assert (kinds[0], kinds[-1]) == ("markdown", "markdown")
    assert not any("MAGIC" in cell.source for cell in notebook.cells)
    assert sum(cell.source.count("**What to see:**") for cell in notebook.cells) >= 2
    for banned in (".rdd", "sparkContext", "_jvm", ".cache(", ".persist("):
        assert banned not in source


@pytest.mark.process
def test_all_notebooks_are_written_for_jupyter(tmp_path):
    for path in NOTEBOOKS.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    subprocess.run([sys.executable, tmp_path / "to_jupyter.py"], check=True, capture_output=True)
    written = sorted(path.stem for path in tmp_path.glob("*.ipynb"))
    assert written == sorted(NAMES)
    assert all(nbformat.read(tmp_path / f"{name}.ipynb", 4).cells for name in written)


def test_the_glossary_is_where_the_notebooks_say_and_has_each_term_once():
    glossary = NOTEBOOKS / ".." / "docs" / "glossary.md"
    terms = re.findall(r"^\| (?!term)([^|-][^|]*) \|", glossary.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"group epoch", "target assignment", "Reconciling", "late", "blocker", "rebalance", "`censored`"} <= set(
        terms
    )
    assert len(set(terms)) == len(terms)
    for name in NAMES:
        assert "(../docs/glossary.md)" in (NOTEBOOKS / f"{name}.py").read_text()
