"""Whatever the tables contain, every report answers: extremes of columns, each kind of group, no rows at all.

`tests/queries/test_both_engines.py` asks Spark about a sample of the same rows.
"""

import gzip
import io
import json
import re
from base64 import b64decode
from collections.abc import Sequence
from types import SimpleNamespace
from typing import NamedTuple
from xml.etree.ElementTree import fromstring

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.captures import capture_limits
from kip848_records.expectations.results import Verdict
from kip848_records.log.runs import PartitionRead
from kip848_records.queries.duck import DuckTables
from kip848_records.queries.questions import questions
from kip848_records.queries.texts import folder, relations_of
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.check_json import check_json, check_line
from kip848_records.report.check_terminal import check_terminal
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.junit import junit
from kip848_records.report.markdown import markdown
from kip848_records.report.metrics import metrics
from kip848_records.report.news import news
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page
from kip848_records.report.sarif import sarif
from kip848_records.report.summary import summary
from kip848_records.report.terminal import cell_text, plain_text
from tests.expectations.evaluated import evaluated
from tests.extremes import made
from tests.seeds import daily_sample

CLUSTERS = (made.VARIED, made.PARTITIONS, *made.TIMES, made.EMPTY, made.DELETED)
SETTINGS = load_settings()
NEGATIVE = re.compile(r"-[0-9][0-9,.]* ?(ms|s|min|h|d)\b")


class Extent(NamedTuple):
    """How much is tried: one in so many variants, some clusters, so many runs, and so many groups to explain."""

    name: str
    one_in: int
    clusters: Sequence[str]
    runs: int
    explained: int


FEW = Extent("few", 50, (made.VARIED, *daily_sample(CLUSTERS[1:], 1, "cluster")), runs=2, explained=1)
ALL = Extent("all", 1, CLUSTERS, runs=10_000, explained=30)
EXTENTS = {FEW: [pytest.mark.daily], ALL: [pytest.mark.nightly]}
in_each_cluster = pytest.mark.parametrize(
    ("extent", "cluster"),
    [
        pytest.param(extent, cluster, marks=marks, id=f"{extent.name}-{cluster}")
        for extent, marks in EXTENTS.items()
        for cluster in extent.clusters
    ],
    indirect=["extent"],
    scope="module",
)


@pytest.fixture(
    params=[pytest.param(extent, marks=marks, id=extent.name) for extent, marks in EXTENTS.items()], scope="module"
)
def extent(request):
    return request.param


@pytest.fixture(scope="module")
def made_tables(extent, tmp_path_factory):
    """The tables, and the groups of the cluster `VARIED`."""
    variants = made.variants()
    plain, changed = ([each for each in variants if bool(each.changes) == is_changed] for is_changed in (False, True))
    groups = [*plain, *daily_sample(changed, len(changed) // extent.one_in, f"variants of {extent.name}")]
    out = tmp_path_factory.mktemp(extent.name)
    made.write(out, groups)
    return DuckTables(str(out)), groups


@pytest.fixture(scope="module")
def tables(made_tables):
    return made_tables[0]


@pytest.fixture(scope="module")
def verdict(tables, cluster):
    """The results of a check of the cluster."""
    return check(tables, SETTINGS, cluster=cluster)


def printed(parts):
    console = Console(width=100_000, highlight=False, color_system=None, file=io.StringIO())
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    text = captured.get()
    assert not NEGATIVE.search(text), NEGATIVE.search(text)
    return text


def run_of(tables, cluster):
    return next(run for run in tables.runs() if run.cluster == cluster)


@pytest.mark.slow
@in_each_cluster
def test_a_check_evaluates_every_expectation(verdict):
    assert {result.name: dict(result.faults) for result in verdict.results if result.faults} == {}


@pytest.mark.slow
@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=[each.name for each in EXPECTATIONS])
def test_an_expectation_has_a_message_for_every_row(tables, expectation):
    rows = evaluated(tables, expectation, SETTINGS[expectation.name], cluster=made.VARIED)
    assert not [row.message for row in rows if row.message and NEGATIVE.search(row.message)]


@pytest.mark.slow
@in_each_cluster
def test_every_form_of_the_results_can_be_parsed(tables, verdict, cluster):
    forms = [check_json(verdict), check_line(verdict, 0), sarif(verdict), markdown(verdict), junit(verdict)]
    for form in forms[:3]:
        json.loads(form, parse_constant=pytest.fail)
    fromstring(forms[4].encode())  # noqa: S314 - our own
    assert not [NEGATIVE.search(form) for form in forms if NEGATIVE.search(form)]
    printed(check_terminal(verdict))
    news(tables, changes_of_clusters(tables, [cluster], SETTINGS), verdict.limits)


@pytest.mark.slow
@in_each_cluster
def test_the_metrics_can_be_parsed(tables, verdict, cluster):
    check_metrics(metrics(tables, verdict, changes_of_clusters(tables, [cluster], SETTINGS)))


def test_the_metrics_of_every_run_can_be_parsed(extent, tables):
    """Every extreme of `audit_runs` is a cluster of its own, which no check names."""
    extremes = [run.cluster for run in tables.runs() if run.cluster not in CLUSTERS]
    for cluster in daily_sample(extremes, extent.runs, "runs"):
        unchecked = Verdict(tables.location, {cluster: None}, [], {cluster: capture_limits(tables, cluster)})
        check_metrics(metrics(tables, unchecked, {}))


def check_metrics(text):
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert sample.value == sample.value, sample  # not NaN
            is_span = sample.name == "kip848_stuck_group_seconds" or "quantile" in sample.labels
            assert not is_span or sample.value >= 0, sample


@pytest.mark.slow
@pytest.mark.parametrize("name", questions())
def test_a_question_has_an_answer_in_every_cluster(extent, tables, name):
    for cluster in extent.clusters:
        answer = tables.arrow(questions()[name].sql, cluster)
        for row in answer.to_pylist():
            json.loads(json.dumps(row, default=plain_text))
            assert [*map(cell_text, row.values())]
            assert not {
                key: value
                for key, value in row.items()
                # A retention is the number of a client or of the brokers, not an age.
                if key.endswith("_ms") and not key.endswith("retention_ms") and value is not None and value < 0
            }


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(folder("queries/relations")))
def test_a_relation_has_rows_of_every_cluster(extent, tables, name):
    relations = ",\n".join(f"{each} AS (\n{text}\n)" for each, text in relations_of(f"FROM {name}").items())
    for cluster in extent.clusters:
        at = run_of(tables, cluster).captured_at
        tables.arrow(f"WITH {relations} SELECT * FROM {name}", cluster, captured_at=at)  # noqa: S608 - of our own texts


@pytest.mark.slow
@in_each_cluster
def test_the_summary(tables, cluster):
    run = run_of(tables, cluster)
    options = SimpleNamespace(cluster=cluster, out="/x", dialect="kafka", limits=(), offset_commits=True)
    audit = SimpleNamespace(
        options=options,
        run=1,
        records={3: 1},
        quarantined=0,
        captured_at=run.captured_at,
        reads=[PartitionRead(1, 0, 0, 5)],
        resumed=False,
        skipped=0,
        dialect="kafka",
        aborted=0,
        copies=1,
    )
    text = printed(summary(tables, audit))
    assert ("no groups" in text) == (cluster in {made.EMPTY, made.DELETED})


@pytest.mark.parametrize("are_extreme", [False, True], ids=["plain", "extreme"])
def test_every_kind_of_group_is_explained(extent, made_tables, are_extreme):
    tables, groups = made_tables
    found = [group for group in groups if (len(group.changes) > 1 if are_extreme else not group.changes)]
    assert found
    for group in daily_sample(found, extent.explained, "explained"):
        history = GroupHistory(tables, group.group_id, made.VARIED)
        printed(explain(history))
        for epoch in (3, 4):
            if history.rows("incarnations_with_epoch", epoch=epoch):
                printed(explain(history, epoch))


@pytest.mark.slow
@in_each_cluster
def test_the_page(tables, verdict, cluster):
    written = page(contents(tables, verdict, cluster=cluster))
    assert not NEGATIVE.search(re.sub(r"<script.*?</script>", "", written.html, flags=re.DOTALL))
    for packed in re.findall(r">(H4sI[A-Za-z0-9+/=]+)</", written.html):
        json.loads(gzip.decompress(b64decode(packed)), parse_constant=pytest.fail)
