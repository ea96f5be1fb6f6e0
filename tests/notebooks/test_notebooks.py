"""The notebooks run from start to end, on the captures' tables, and show what their text promises."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import plotly.io
import pytest

from kip848_records.cli import _parser
from tests.audits import CLUSTERS
from tests.conftest import QUICK_JAVA

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NAMES = ("build_your_own_check", "compare_two_nights", "explore_rebalances")
to_jupyter = runpy.run_path(str(NOTEBOOKS / "to_jupyter.py"))["to_jupyter"]


@pytest.fixture
def run(spark, audits, monkeypatch):
    """Run a notebook's cells in this process, with parameters; return its names, and what it displayed and plotted."""

    def start(name, **parameters):
        for key, value in ({"tables": audits.out, "cluster": CLUSTERS["kafka-4.3.1"]} | parameters).items():
            monkeypatch.setenv(f"KIP848_{key.upper()}", str(value))
        displayed, plotted = [], []
        monkeypatch.setattr(plotly.io, "show", lambda figure, *_, **__: plotted.append(figure))
        names = {"spark": spark, "display": displayed.append}
        for cell in to_jupyter((NOTEBOOKS / f"{name}.py").read_text()).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, name, "exec"), names)  # noqa: S102 - our own
        return names, displayed, plotted

    return start


class TestExploreRebalances:
    def test_the_group_that_is_stuck_is_on_top_and_its_epochs_are_plotted(self, run, capsys):
        names, (groups, epochs, members), (epochs_figure, members_figure) = run("explore_rebalances")
        assert (names["group"], groups.group_id[0]) == ("stuck", "stuck")
        assert groups.not_converged_s.notna().sum() == 1
        assert groups.not_converged_s[0] == pytest.approx(28.027)
        assert list(epochs.epoch) == ["2", "3", "4"]
        bars = {bar.name: bar for bar in epochs_figure.data if bar.type == "bar"}
        assert {name: list(bar.y) for name, bar in bars.items()} == {
            "member_joined, observed": ["2"],
            "member_joined, right_censored": ["3"],
            "topic_metadata_changed, right_censored": ["4"],
        }
        assert {name: bar.marker.pattern.shape for name, bar in bars.items()} == {
            "member_joined, observed": "",
            "member_joined, right_censored": "/",
            "topic_metadata_changed, right_censored": "/",
        }
        revoking, waiting, _ = members_figure.data
        culprit, waits = members.member_id
        assert members.blocked_by[1] == [culprit]
        assert (revoking.x[0], waiting.x[0]) == (pytest.approx(27.833), 0)
        assert (revoking.x[1], waiting.x[1]) == (0, pytest.approx(28.027))
        assert culprit != waits
        said = capsys.readouterr().out
        assert "as of 2026-11-21 08:19:14.385 UTC" in said
        assert "left no partition without an owner" in said

    def test_another_group_is_looked_at_by_its_name(self, run, audits):
        _, (_, epochs, _), (epochs_figure, _, unowned_figure) = run("explore_rebalances", group="slow-revoke")
        assert list(epochs.rebalance_lag_ms) == [0, 6006, 7008]
        bars = [bar for bar in epochs_figure.data if bar.type == "bar"]
        assert sorted(ms for bar in bars for ms in bar.x) == [0, 6006, 7008]
        lost = {
            f"{row['topic']} {row['partition']}"
            for row in audits.rows("kafka-4.3.1", "partition_handover")
            if row["group_id"] == "slow-revoke" and row["wanted"] and row["unowned_ms"] > 0
        }
        assert {y for bar in unowned_figure.data for y in bar.y} == lost
        assert len(lost) == 4

    def test_an_epoch_that_its_group_s_end_cut_short_has_no_bar(self, run):
        _, (_, epochs, _), _ = run("explore_rebalances", group="deleted")
        ended = epochs[epochs.status.isin(["emptied", "deleted"])]
        assert len(ended)
        assert list(ended["from"]) == list(ended["to"])

    def test_a_classic_group_has_no_epochs_to_show(self, run, capsys):
        _, (_, epochs, members), _ = run("explore_rebalances", group="classic")
        assert epochs.empty
        assert members.empty
        assert "left no partition without an owner" in capsys.readouterr().out

    def test_a_cluster_that_is_not_there_is_named(self, run):
        with pytest.raises(ValueError, match="has no audit of a cluster 'nowhere'"):
            run("explore_rebalances", cluster="nowhere")


class TestCompareTwoNights:
    def test_two_audits(self, run):
        before = {"cluster_before": CLUSTERS["kafka-4.0.0-zstd"]}
        _, (changed, slower, members), (lags_figure,) = run("compare_two_nights", **before)
        changes = dict(zip(changed.group_id, changed.change, strict=True))
        assert (changes["stuck"], changes["churn"]) == ("still not converged", "converged again")
        assert changed.group_id[0] == "stuck"
        assert slower.group_id[0] == "churn"
        assert slower.p95_grew_by[0] == pytest.approx(1041.85)
        assert {"inst-0", "churn-app"} <= set(members.client)
        assert [trace.name for trace in lags_figure.data] == ["before", "after"]
        assert [len(trace.x) for trace in lags_figure.data] == [
            slower.measured_before.sum(),
            slower.measured_after.sum(),
        ]

    def test_two_nights_in_one_table(self, run, audits):
        cluster, since = CLUSTERS["kafka-4.3.1"], "2026-11-21 08:18:45"
        _, (changed, slower, members), _ = run("compare_two_nights", cluster_before=cluster, since=since)
        assert changed[["group_id", "change", "before"]].values[0].tolist() == [
            "stuck",
            "newly not converged",
            "Stable",
        ]
        bumps = [row["bumped_at"] for row in audits.rows("kafka-4.3.1", "epoch_timeline")]
        late = sum(bump.strftime("%Y-%m-%d %H:%M:%S") >= since for bump in bumps)
        assert 0 < late < len(bumps)
        assert (slower.epochs_before.sum(), slower.epochs_after.sum()) == (len(bumps) - late, late)
        assert (members.member_ids_before == 0).sum() < len(members)

    def test_one_audit_is_not_two(self, run):
        with pytest.raises(ValueError, match="both nights are the same audit"):
            run("compare_two_nights", cluster_before=CLUSTERS["kafka-4.3.1"])


def test_an_expectation_of_ones_own_finds_what_it_is_about(run, audits, capsys):
    _, (usual, results), _ = run("build_your_own_check")
    moved = [row["partitions_moved"] for row in audits.rows("kafka-4.3.1", "epoch_timeline")]
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
    parameters, _, _ = cells[1].source.partition('if "spark" not in globals()')
    names = {"dbutils": SimpleNamespace(widgets=Widgets())}
    exec(parameters, names)  # noqa: S102 - our own
    assert (names["tables"], names["cluster"], names["group"]) == ("s3://bucket/kip848", "demo", "")


def test_the_readme_says_how_to_get_the_night_before():
    text = (NOTEBOOKS.parent / "README.md").read_text()
    command = re.search(r"<!-- test: before -->\n```bash\n(.*?)```", text, re.DOTALL)[1].replace("\\\n", " ")
    program, *words = shlex.split(command)
    arguments = _parser().parse_args(words)
    assert program == ".venv/bin/kip848"
    assert all((NOTEBOOKS.parent / path).exists() for path in (*arguments.sources, arguments.topics))
    notebook = (NOTEBOOKS / "compare_two_nights.py").read_text()
    assert f'parameter("cluster_before", "{arguments.cluster}")' in notebook
    assert f'parameter("tables", "{arguments.out}" if' in notebook


def test_jupyter_runs_one_from_start_to_end(audits, tmp_path):
    notebook = tmp_path / "explore_rebalances.ipynb"
    nbformat.write(to_jupyter((NOTEBOOKS / notebook.name).with_suffix(".py").read_text()), notebook)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
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
        "Group stuck, assignment epoch 3",
    ]
    (said, *_) = [each.text for each in outputs if each.output_type == "stream" and each.name == "stdout"]
    assert said.endswith("as of 2026-11-21 08:19:14.385 UTC\n")


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


def test_all_notebooks_are_written_for_jupyter(tmp_path):
    for path in NOTEBOOKS.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    subprocess.run([sys.executable, tmp_path / "to_jupyter.py"], check=True, capture_output=True)
    written = sorted(path.stem for path in tmp_path.glob("*.ipynb"))
    assert written == sorted(NAMES)
    assert all(nbformat.read(tmp_path / f"{name}.ipynb", 4).cells for name in written)
