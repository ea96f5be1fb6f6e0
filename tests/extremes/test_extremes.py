"""Whatever the tables contain, every report answers: extremes of columns, each kind of group, no rows at all."""

import gzip
import io
import json
import random
import re
from base64 import b64decode
from types import SimpleNamespace
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
from kip848_records.queries.spark import SparkTables
from kip848_records.queries.texts import folder, relations_of
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.check_json import check_json, check_line
from kip848_records.report.check_terminal import check_terminal
from kip848_records.report.details import details
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

CLUSTERS = (made.VARIED, made.PARTITIONS, *made.TIMES, made.EMPTY, made.DELETED)
FEW = (made.VARIED,)
"""Of the clusters those that Spark is asked about, too: each of its queries takes seconds."""
SETTINGS = load_settings()
EXPLAINED = {"embedded": 30, "spark": 2}
"""How many groups are explained; each takes some fifteen queries."""
SAMPLED = 60
"""Of how many variants Spark gets one: it takes minutes for all of them."""
NEGATIVE = re.compile(r"-[0-9][0-9,.]* ?(ms|s|min|h|d)\b")


@pytest.fixture(scope="module")
def duck(tmp_path_factory):
    out = tmp_path_factory.mktemp("extremes")
    return out, made.write(out)


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    out = tmp_path_factory.mktemp("sampled")
    return out, made.write(out, SAMPLED)


@pytest.fixture(params=["embedded", pytest.param("spark", marks=pytest.mark.slow)], scope="module")
def made_tables(request):
    """The tables, and the groups of the cluster `VARIED`."""
    if request.param == "spark":
        out, groups = request.getfixturevalue("sampled")
        return SparkTables(request.getfixturevalue("classic"), str(out)), groups
    out, groups = request.getfixturevalue("duck")
    return DuckTables(str(out)), groups


@pytest.fixture(scope="module")
def tables(made_tables):
    return made_tables[0]


@pytest.fixture(scope="module")
def clusters(tables):
    return CLUSTERS if tables.engine == "embedded" else FEW


@pytest.fixture(scope="module")
def verdicts(tables, clusters):
    """The results of a check of each cluster."""
    return {cluster: check(tables, SETTINGS, cluster=cluster) for cluster in clusters}


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


def test_a_check_evaluates_every_expectation(verdicts):
    for verdict in verdicts.values():
        assert {result.name: dict(result.faults) for result in verdict.results if result.faults} == {}


@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=[each.name for each in EXPECTATIONS])
def test_an_expectation_has_a_message_for_every_row(tables, expectation):
    rows = evaluated(tables, expectation, SETTINGS[expectation.name], cluster=made.VARIED)
    assert not [row.message for row in rows if row.message and NEGATIVE.search(row.message)]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_every_form_of_the_results_can_be_parsed(tables, verdicts, cluster):
    if cluster not in verdicts:
        return
    verdict = verdicts[cluster]
    forms = [check_json(verdict), check_line(verdict, 0), sarif(verdict), markdown(verdict), junit(verdict)]
    for form in forms[:3]:
        json.loads(form, parse_constant=pytest.fail)
    fromstring(forms[4].encode())  # noqa: S314 - our own
    assert not [NEGATIVE.search(form) for form in forms if NEGATIVE.search(form)]
    printed(check_terminal(verdict))
    news(tables, changes_of_clusters(tables, [cluster], SETTINGS), verdict.limits)


def test_the_metrics_of_every_run_can_be_parsed(tables, verdicts):
    """Every extreme of `audit_runs` is a cluster of its own, which no check names but this one."""
    names = [run.cluster for run in tables.runs()]
    for cluster in names if tables.engine == "embedded" else FEW:
        unchecked = Verdict(tables.location, {cluster: None}, [], {cluster: capture_limits(tables, cluster)})
        verdict = verdicts.get(cluster, unchecked)
        changes = changes_of_clusters(tables, [cluster], SETTINGS) if cluster in CLUSTERS else {}
        for family in text_string_to_metric_families(metrics(tables, verdict, changes)):
            for sample in family.samples:
                assert sample.value == sample.value, sample  # not NaN
                is_span = sample.name == "kip848_stuck_group_seconds" or "quantile" in sample.labels
                assert not is_span or sample.value >= 0, sample


@pytest.mark.parametrize("name", questions())
def test_a_question_has_an_answer_in_every_cluster(tables, clusters, name):
    for cluster in clusters:
        answer = tables.arrow(questions()[name].sql, cluster)
        for row in answer.to_pylist():
            json.loads(json.dumps(row, default=plain_text))
            assert [*map(cell_text, row.values())]
            assert not {
                key: value for key, value in row.items() if key.endswith("_ms") and value is not None and value < 0
            }


@pytest.mark.parametrize("name", sorted(folder("queries/relations")))
def test_a_relation_has_rows_of_every_cluster(tables, clusters, name):
    relations = ",\n".join(f"{each} AS (\n{text}\n)" for each, text in relations_of(f"FROM {name}").items())
    for cluster in clusters:
        at = run_of(tables, cluster).captured_at
        tables.arrow(f"WITH {relations} SELECT * FROM {name}", cluster, captured_at=at)  # noqa: S608 - of our own texts


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_summary(tables, clusters, cluster):
    if cluster not in clusters:
        return
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
        group_configurations=0,
    )
    text = printed(summary(tables, audit))
    assert ("0 of 0 groups stuck" in text) == (cluster in {made.EMPTY, made.DELETED})
    printed(details(tables, audit))


def test_every_kind_of_group_is_explained(made_tables):
    tables, groups = made_tables
    dice = random.Random(1)  # noqa: S311 - no secret
    every = [group for group in groups if not group.changes]
    many = [group for group in groups if len(group.changes) > 1]
    few = EXPLAINED[tables.engine]
    for group in [*every[:few], *dice.sample(many, min(few, len(many)))]:
        history = GroupHistory(tables, group.group_id, made.VARIED)
        printed(explain(history))
        for epoch in (3, 4):
            if history.rows("incarnations_with_epoch", epoch=epoch):
                printed(explain(history, epoch))


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_page(tables, verdicts, cluster):
    if cluster not in verdicts:
        return
    written = page(contents(tables, verdicts[cluster], cluster=cluster))
    assert not NEGATIVE.search(re.sub(r"<script.*?</script>", "", written.html, flags=re.DOTALL))
    for packed in re.findall(r">(H4sI[A-Za-z0-9+/=]+)</", written.html):
        json.loads(gzip.decompress(b64decode(packed)), parse_constant=pytest.fail)


@pytest.mark.slow
def test_both_engines_answer_alike(sampled, classic):
    out, _ = sampled
    engines = DuckTables(str(out)), SparkTables(classic, str(out))
    for name, question in questions().items():
        ours, theirs = (tables.arrow(question.sql, made.VARIED).to_pylist() for tables in engines)
        assert ours == theirs, name
