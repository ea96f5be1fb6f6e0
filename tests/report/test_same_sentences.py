"""What the reports say of one fact, in the words that a person reads: one number, one meaning, on every capture.

`test_same_numbers.py` compares numbers; here the sentences themselves are compared. The summary, `explain`, a check for
a terminal and as JSON, the page and the metrics each say it in their way, and nobody may have to choose between two.
"""

import json
import re
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations.patterns import PATTERNS
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.check_json import check_json
from kip848_records.report.check_terminal import check_terminal
from kip848_records.report.explain import explain
from kip848_records.report.group_history import GroupHistory
from kip848_records.report.headline import headlines
from kip848_records.report.metrics import metrics
from kip848_records.report.page.contents import contents
from kip848_records.report.summary import summary
from kip848_records.text import span_text
from tests import commits_of_a_broker, reported
from tests.audits import CLUSTERS
from tests.progress import Watcher
from tests.seeds import daily_sample

CAPTURES = Path(__file__).parents[1] / "captures"
KINDS = sorted(path.stem for path in (CAPTURES.parent / "kinds").glob("*.parquet"))
REPORTED = sorted(path.name for path in (CAPTURES / "reports").glob("*.jsonl"))
LATER = sorted(path.name.partition(".")[0] for path in reported.FOLDER.glob("*.jsonl.xz"))
LIMITS = """
[expectations.group_stable]
max_seconds = 0
[expectations.streams_ready]
max_seconds = 0
[expectations.owned_not_consumed]
severity = "warn"
"""
"""Each stuck group is a finding."""
OF_STATES = {"group_stable", "streams_ready", "owned_not_consumed"}
AGE = r"≥ (?:\d[\d.,]* (?:ms|s|min|h|d) ?)+"
STOOD = r"has not moved for ((?:\d[\d.]* (?:ms|s|min|h|d) ?)+)"


def flat(text):
    return " ".join(text.split())


class Said:
    """What each report says of a cluster."""

    def __init__(self, out, cluster, settings):
        self.tables, self.cluster, self.settings = DuckTables(str(out)), cluster, settings
        (self.run,) = self.tables.chosen_runs(cluster)

    @cached_property
    def summary(self):
        options = SimpleNamespace(cluster=self.cluster, out="out", dialect="kafka", limits=(), offset_commits=True)
        facts = {"records": {}, "quarantined": 0, "captured_at": self.run.captured_at, "reads": [], "dialect": "kafka"}
        audit = SimpleNamespace(options=options, resumed=False, skipped=0, run=1, **facts)
        return [str(part) for part in summary(self.tables, audit)]

    @cached_property
    def verdict(self):
        asked = [each for each in EXPECTATIONS if each.name in OF_STATES | self.present]
        return check(self.tables, self.settings, expectations=asked, cluster=self.cluster)

    @cached_property
    def present(self):
        return {row.pattern for row in self.tables.rows("SELECT DISTINCT pattern FROM diagnosis", self.cluster)}

    @cached_property
    def changes(self):
        return changes_of_clusters(self.tables, [self.cluster], self.settings)

    @cached_property
    def heads(self):
        return headlines(self.tables, [self.cluster], self.changes)

    @cached_property
    def terminal(self):
        return flat(" ".join(str(line) for line in check_terminal(self.verdict, 10_000, heads=self.heads)))

    @cached_property
    def json(self):
        return json.loads(check_json(self.verdict, self.heads))

    @cached_property
    def page(self):
        return contents(self.tables, self.verdict, cluster=self.cluster)

    @cached_property
    def samples(self):
        families = text_string_to_metric_families(metrics(self.tables, self.verdict, self.changes))
        return [sample for family in families for sample in family.samples]

    def seconds(self, name, **labels):
        return [s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items()]

    @cached_property
    def explained(self):
        """What `explain` says of each group."""
        names = [group["group_id"] for group in self.page.groups]
        histories = {name: GroupHistory(self.tables, name, self.cluster) for name in names}
        return {name: flat("\n".join(map(str, explain(history)))) for name, history in histories.items()}

    def messages(self, *names):
        """The messages of a check by group, of some expectations."""
        found = [
            each for result in self.json["expectations"] if result["name"] in names for each in result["violations"]
        ]
        return [(each["group_id"], flat(each["message"])) for each in found]

    def rows_below(self, title):
        """The rows of a table of the summary."""
        at = next((nth for nth, line in enumerate(self.summary) if line.startswith(title)), None)
        rows = []
        for line in self.summary[at + 1 :] if at is not None else ():
            if not line.startswith("  "):
                break
            rows.append(line)
        return rows


@pytest.fixture(scope="session")
def everything_is_late(tmp_path_factory):
    file = tmp_path_factory.mktemp("limits") / "limits.toml"
    file.write_text(LIMITS)
    return load_settings(str(file))


@pytest.fixture(scope="session")
def said(request, kinds, everything_is_late, tmp_path_factory):
    """What is said of a log, by its name; each is read once."""
    found = {}

    def audited(name):
        out = tmp_path_factory.mktemp("out")
        if name in CLUSTERS:
            return Said(request.getfixturevalue("audits").out, CLUSTERS[name], everything_is_late)
        if name in KINDS:
            return Said(kinds, name, everything_is_late)
        if name == "commits":
            return Said(commits_of_a_broker.audited(out, commits_of_a_broker.SILENCE).location, "c", everything_is_late)
        if name in LATER:
            return Said(reported.audited(name, tmp_path_factory.mktemp("later")), "c", everything_is_late)
        source = CAPTURES / "reports" / name if name in REPORTED else CAPTURES / name / "segments"
        run_audit(None, AuditOptions((str(source),), str(out), cluster="c", offset_commits=True), Watcher())
        return Said(out, "c", everything_is_late)

    def read(name):
        found[name] = audited(name)
        return found[name]

    said_of_one = read(QUICK)
    assert said_of_one.summary and said_of_one.terminal and said_of_one.explained and said_of_one.samples  # noqa: PT018
    return lambda name: found.get(name) or read(name)


QUICK = "connect"
"""The log whose cases are in `make test`: to read what is said of one takes seconds."""
MORE = ["commits", "kafka-4.4.0-coordinator", "lost-segment", *REPORTED, *LATER]
OTHERS = [name for name in (*CLUSTERS, *KINDS, *MORE) if name != QUICK]
TODAY = {"commits", *daily_sample(OTHERS, 5, "same sentences")}
LOGS = [
    QUICK,
    *(
        pytest.param(name, marks=[pytest.mark.daily, pytest.mark.slow] if name in TODAY else pytest.mark.nightly)
        for name in OTHERS
    ),
]
every_log = pytest.mark.parametrize("log", LOGS)


@every_log
def test_how_many_groups_have_which_health(said, log):
    """Each headline has the same counts; deleted groups are none."""
    each = said(log)
    counts = {name: count for name, count in each.json["clusters"][each.cluster]["groups"].items() if count}
    assert {name: count for name, count in each.page.counts.items() if name != "deleted" and count} == counts
    assert {
        s.labels["health"]: s.value for s in each.samples if s.name == "kip848_groups_by_health" and s.value
    } == counts
    total = sum(counts.values())
    headline = f"{counts.get('stuck', 0)} of {total} group{'s' if total != 1 else ''} stuck"
    assert headline in each.summary[0]
    assert headline in each.terminal
    others = next(part for part in each.heads[each.cluster].lines).split(" · ")[1:]
    assert " · ".join(others) in "\n".join(each.summary)


@every_log
def test_for_how_long_a_group_is_stuck(said, log):
    each = said(log)
    rows = each.rows_below("Stuck groups")
    for group in (group for group in each.page.groups if group["health"] == "stuck"):
        name = group["group_id"]
        age = span_text(group["captured_ms"] - group["since_ms"], is_minimum=True)
        ages = re.findall(
            rf"(?:stuck for|a rebalance is ongoing since [\d :-]+ UTC, for) ({AGE})", each.explained[name]
        )
        assert [found.strip() for found in ages[:1]] == [age]
        shown = [row for row in rows if row.split("  ")[1].strip() == name]
        assert all(re.search(AGE, row)[0].strip() == age for row in shown)
        (seconds,) = each.seconds("kip848_stuck_group_seconds", group=name)
        assert span_text(round(seconds * 1000), is_minimum=True) == age
        if group["since_ms"] == group["state_since_ms"]:  # else the state is younger than the rebalance
            said_of_it = [message for of, message in each.messages("group_stable") if of == name]
            assert all(re.search(rf"for ({AGE})", message)[1].strip() == age for message in said_of_it)


@every_log
def test_who_blocks_a_group(said, log):
    """One sentence everywhere, and the clients that "blocked by" names are those of "Blocking clients"."""
    each = said(log)
    for group in (group for group in each.page.groups if group["health"] == "stuck" and group["blocker"]):
        sentence, name = flat(group["blocker"]["sentence"]), group["group_id"]
        assert sentence in each.explained[name]
        said_of_it = [message for of, message in each.messages("group_stable") if of == name]
        assert all(message.endswith(sentence) for message in said_of_it)
        assert not said_of_it or sentence in each.terminal
    named = {row.split("  ")[-1].strip() for row in each.rows_below("Stuck groups")}
    blocking = [row.strip() for row in each.rows_below("Blocking clients")]
    if len(blocking) < 3:  # the list is cut there
        clients = {re.split(r"  +", row)[0] for row in blocking}
        assert {who for who in named if who and not who.startswith("(")} - clients <= {"2 workers"}


@every_log
def test_what_is_wrong_over_time(said, log):
    """A trouble that is present has one sentence and one age."""
    each = said(log)
    alarms = {expectation.name for expectation in PATTERNS}
    for (_, _, name), history in each.page.histories.items():
        present = [row for row in history.get("diagnosis", ()) if row["is_present"] and row["explained_by"] is None]
        text = each.explained[name]
        for row in present[:5]:
            assert flat(row["sentence"]) in text
            if row["pattern"] in alarms and row["severity"] != "info":
                assert any(
                    flat(row["sentence"]) in message for of, message in each.messages(row["pattern"]) if of == name
                )
    failing = {group["group_id"]: group for group in each.page.groups if group["health"] == "failing"}
    for row in each.rows_below("Failing over time"):
        group = failing.get(re.split(r"  +", row.strip())[0])
        if group is not None:
            age = span_text(group["captured_ms"] - group["first_ms"], is_minimum=group["at_least"])
            assert f"  {age}  " in row
            assert f", for {age}, and still so at capture" in each.explained[group["group_id"]]
            seconds = each.seconds("kip848_trouble_seconds", group=group["group_id"], pattern=group["pattern"])
            assert age in {span_text(round(value * 1000), is_minimum=group["at_least"]) for value in seconds}


@pytest.mark.slow
def test_for_how_long_an_offset_has_not_moved(said):
    """The diagnosis, a check and the page's list say one time of one partition."""
    each = said("commits")
    told = {}
    for group, message in each.messages("not_consumed", "owned_not_consumed"):
        for stood in re.findall(STOOD, message):
            told.setdefault(group, set()).add(stood.strip())
    assert len(told) >= 2
    for group, times in told.items():
        shown = {span_text(row["silent_ms"]) for row in each.page.not_consumed if row["group_id"] == group}
        assert times <= shown | {time.strip() for time in re.findall(STOOD, each.explained[group])}
        assert times & shown
