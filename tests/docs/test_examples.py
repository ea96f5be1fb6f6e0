"""Every example of README.md and docs/ runs as it is printed, in a folder like a reader's, and prints what is shown.

One audit serves all examples: that of `make audit`. Those that take Spark are not in `make test`, and neither is the
nightly job, which Spark runs in another time zone.
"""

import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from kip848_records.config import load_limits, load_settings
from kip848_records.decode import decode
from kip848_records.expectations.captures import capture_limits
from kip848_records.queries.duck import DuckTables
from kip848_records.replay.diagnosis.consumption import StallSettings
from kip848_records.replay.diagnosis.limits import limits_of
from kip848_records.replay.diagnosis.restart_loop import Settings
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.news import news
from kip848_records.sources.read import read_log
from tests.audits import table_rows
from tests.conftest import QUICK_JAVA
from tests.docs import reader
from tests.docs.pages import ROOT, block, commands, examples, pages
from tests.docs.reader import environment, make_clone, run_examples
from tests.equal_rows import Rows

EVALUATED = sum(setting.severity != "off" for setting in load_settings().values())
SESSIONS = [each for each in examples() if each.mark.startswith("output: ") and each.language == "console"]
# They need no Spark, and run in one process, in this order.
COMMANDS = (
    *("test: tutorial check", "test: report", "test: simulate", "test: simulate-kinds"),
    *("test: ci", "test: retention"),
)
AUDIT = (
    "kip848 audit tests/captures/kafka-4.3.1/segments --topics tests/captures/kafka-4.3.1/topics.json --cluster demo "
    "--out out"
)
"""That of `make audit`."""

WITH_SPARK = ("test: python", "test: views")

pytestmark = pytest.mark.process


class Night(NamedTuple):
    """A reader's folder with the tables of the nightly job in `out`, and what the job printed."""

    clone: Path
    printed: str


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    clone = make_clone(tmp_path_factory.mktemp("clone"))
    scratch = tmp_path_factory.mktemp("scratch")
    variables = environment(TZ="Asia/Tokyo", TMPDIR=str(scratch), JDK_JAVA_OPTIONS=QUICK_JAVA)
    script = ["bash", "-ec", block("test: nightly")]
    done = subprocess.run(script, cwd=clone, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Night(clone, done.stdout)


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A reader's folder; `ran` makes the tables in it."""
    return make_clone(tmp_path_factory.mktemp("reader"))


@pytest.fixture(scope="module")
def ran(clone, kinds):
    """What each example without Spark did, by its text."""
    (clone / "kinds").symlink_to(kinds)
    (clone / "DIR").mkdir()
    (clone / "DIR" / "group_size.sql").write_text(block("test: expectation"))
    texts = [AUDIT, *(each.text for each in SESSIONS)]
    texts += [block(mark) for mark in COMMANDS]
    _, *after_make = block("test: first result").splitlines()
    texts += ["\n".join(after_make), "kip848 check out --expectations DIR"]
    programs = [block("test: sql"), block("test: run-audit")]
    asked = [("bash", text) for text in texts] + [("python", text) for text in programs]
    found = run_examples(clone, asked, has_spark=False)
    return dict(zip([*texts, *programs], found, strict=True))


@pytest.fixture(scope="module")
def ran_with_spark(clone, ran):
    """The same of examples that start Spark: one session serves all."""
    named = {each.mark: each for each in examples()}
    found = [named[mark] for mark in WITH_SPARK]
    ran = run_examples(clone, [(each.language, each.text) for each in found], JDK_JAVA_OPTIONS=QUICK_JAVA)
    return dict(zip(WITH_SPARK, ran, strict=True))


@pytest.mark.parametrize(("target", "program"), [("audit", "kip848 audit"), ("audit-spark", r"jobs/nightly_audit\.py")])
def test_make_audit_reads_what_the_nightly_job_reads(target, program):
    assert block("test: first result on Spark").split() == ["make", "audit-spark"]
    recipe = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    made = re.search(rf"{program} ((?:\\\n|.)*)", recipe)[1]
    nightly = re.search(r"nightly_audit\.py ((?:\\\n|.)*) &&", block("test: nightly"))[1]
    assert shlex.split(made.replace("\\\n", " ")) == shlex.split(nightly.replace("\\\n", " "))


@pytest.mark.slow
def test_summary_is_what_an_audit_prints(ran):
    ((code, printed),) = ran[AUDIT]
    assert code == 0
    shown = [each.text for each in examples() if each.mark == "output: summary"]
    assert shown
    assert all(printed.startswith(text) for text in shown)


@pytest.mark.nightly
def test_nightly_job_on_a_machine_in_another_time_zone_writes_the_same_tables(audits, night):
    assert f"1 of {EVALUATED} expectations warned, 1 could not be evaluated" in night.printed
    names = {row["topic_id"]: row["topic"] for row in table_rows(night.clone / "out", "topic_name", "demo")}
    assert "clicks" in names.values()
    for table in ("rebalance", "epoch_timeline", "group_state"):
        expected = [row | {"cluster": "demo"} for row in audits.rows("kafka-4.3.1", table)]
        assert Rows(table_rows(night.clone / "out", table, "demo")) == Rows(expected), table
    first = min(row["bumped_at"] for row in audits.rows("kafka-4.3.1", "epoch_timeline"))
    assert f"{first:%Y-%m-%d %H:}" in night.printed


@pytest.mark.slow
@pytest.mark.parametrize("session", SESSIONS, ids=lambda each: f"{each.page.stem}-{each.mark.split()[1]}")
def test_a_session_prints_what_the_page_shows(session, ran):
    did = ran[session.text]
    lines = commands(session.text)
    printed = [f"$ {line}\n{each.printed}" for line, each in zip(lines, did, strict=True)]
    assert "".join(printed) == session.text
    assert [each.code for each in did] == [int(" check " in line) for line in lines]


@pytest.mark.slow
def test_the_two_commands_give_a_first_result(ran):
    make, *others = block("test: first result").splitlines()
    assert make == "make audit"
    (explained,) = ran["\n".join(others)]
    assert explained.code == 0
    assert "stuck-app @ 127.0.0.1 has been asked to give up partitions" in explained.printed


@pytest.mark.nightly
def test_both_engines_print_the_same_summary(night, ran):
    (audit,) = ran[AUDIT]
    assert f"\n{audit.printed}" in night.printed  # spark-submit puts the progress before it


@pytest.mark.slow
def test_the_check_of_the_tutorial_fails(ran):
    (check,) = ran[block("test: tutorial check")]
    assert check.code == 1
    assert "FAIL  group_stable, 1 error of 9 checked" in check.printed


SLOWEST = re.compile(r"slow-revoke\W+\d+.*?\b(\d+)\W+converged")


@pytest.mark.slow
def test_sql_reads_what_the_audit_wrote(ran):
    ((_, printed),) = ran[block("test: sql")]
    assert SLOWEST.findall(printed)[:2] == ["7008", "6006"]


@pytest.mark.slow
def test_python_audits_without_a_session(clone, ran):
    ((code, printed),) = ran[block("test: run-audit")]
    assert (code, printed) == (0, "2026-11-21 08:19:14.385000+00:00 5238 records\n")
    tables = {path.name: DeltaTable(path).to_pyarrow_table().num_rows for path in (clone / "by-python").iterdir()}
    assert tables["group_state"] == len(table_rows(clone / "out", "group_state", "demo"))


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_sql_measures_only_what_was_observed(clone, tmp_path):
    epochs = DeltaTable(clone / "out" / "epoch_timeline").to_pyarrow_table()
    is_slow = pc.equal(epochs["group_id"], "slow-revoke")
    history = pc.if_else(is_slow, "left_censored", epochs["history"])
    other = make_clone(tmp_path / "clone")
    nth = epochs.schema.get_field_index("history")
    epochs = epochs.set_column(nth, pa.field("history", history.type, nullable=False), history)
    write_deltalake(other / "out" / "epoch_timeline", epochs)
    (((_, printed),),) = run_examples(other, [("python", block("test: sql"))])
    assert "10 rows" in printed
    assert "slow-revoke" not in printed


@pytest.mark.parametrize("page", pages(), ids=lambda each: each.stem)
def test_a_page_that_uses_the_environment_of_a_clone_makes_it_before(page):
    text = page.read_text(encoding="utf-8")
    for each in examples(page):
        if ".venv/bin/kip848" in each.text:
            before = text[: text.index(each.text)] + each.text.partition(".venv/bin/kip848")[0]
            assert "make audit" in before or "python3 -m venv .venv" in before


NEEDS = {
    r"get_session|^spark-submit|--engine spark|--catalog": r"\[spark[,\]]|make audit-spark|Databricks",
    r"--webhook": r"notify\]",
    r"kip848 \w+ out\b": r"make audit|--out out",
    r"source \.venv|\.venv/bin/": r"venv \.venv|make audit|venv /opt",
}
"""What an example needs, by what is in it: the page says so before, or in it."""


@pytest.mark.parametrize("page", pages(), ids=lambda each: each.stem)
def test_a_page_says_what_its_examples_need(page):
    text = page.read_text(encoding="utf-8")
    for each in examples(page):
        for used, said in NEEDS.items():
            if each.language in {"bash", "console", "python"} and re.search(used, each.text, re.MULTILINE):
                before = text[: text.index(each.text) + len(each.text)]
                assert re.search(said, before), f"{page.name}: {each.text}"


@pytest.mark.parametrize(
    "line", ["no-kip848 doctor", ".venv/bin/no-kip848 doctor", "bash doctor"]
)  # a program that is not there, or another
def test_the_program_of_an_example_is_looked_up(tmp_path, monkeypatch, line):
    monkeypatch.chdir(make_clone(tmp_path / "clone"))
    with pytest.raises(AssertionError, match=r"there is no |is another one"):
        reader.run_command(line)


@pytest.mark.slow
def test_python_example_shows_records(ran_with_spark):
    ((_, printed),) = ran_with_spark["test: python"]
    assert "previous_member_epoch" in printed
    assert "stuck" in printed or "churn" in printed


@pytest.mark.slow
def test_views_show_the_groups(ran_with_spark):
    ((_, printed),) = ran_with_spark["test: views"]
    assert re.search(r"\bstuck\|Reconciling\|", printed)


def test_python_that_needs_a_workspace_imports_what_there_is():
    for each in examples():
        if each.language == "python" and each.mark.startswith("not run: "):
            imports = [line for line in each.text.splitlines() if line.startswith(("from ", "import "))]
            exec("\n".join(imports), {})  # noqa: S102 - our own page


@pytest.mark.slow
def test_report_writes_a_page(clone, ran):
    ((code, printed),) = ran[block("test: report")]
    assert code == 0
    assert re.fullmatch(r"out/report\.html: 9 groups, 1 deleted; \d\.\d MB\n", printed)
    page = (clone / "out" / "report.html").read_text(encoding="utf-8")
    assert "7 healthy · 1 deleted" in page


@pytest.mark.slow
def test_ci_example_fails_for_a_group_that_did_not_converge(clone, ran):
    ((code, printed),) = ran[block("test: ci")]
    assert code == 1
    assert [line for line in printed.splitlines() if "stuck" in line]
    assert {path.name for path in clone.glob("kip848.*")} == {"kip848.xml", "kip848.sarif", "kip848.md"}


@pytest.mark.slow
def test_an_expectation_of_ones_own_is_evaluated_beside_the_others(ran):
    ((_, printed),) = ran["kip848 check out --expectations DIR"]
    assert "expected at most 3 members, seen 4" in printed


def test_limits_of_ones_own_can_be_read(tmp_path):
    (tmp_path / "mine.toml").write_text(block("test: limits"))
    stable = load_settings(str(tmp_path / "mine.toml"))["group_stable"]
    assert (stable.limits, stable.groups["batch-*"].limits) == ({"max_seconds": 300}, {"max_seconds": 3600})
    assert stable.groups["sandbox-*"].severity == "off"


def test_limits_of_the_diagnosis_can_be_read(tmp_path):
    (tmp_path / "mine.toml").write_text(block("test: limits of the diagnosis"))
    changes = load_limits(str(tmp_path / "mine.toml"))
    assert {each.pattern for each in changes} == {"everybody_left", "restart_loop", "storm"}
    assert limits_of(changes, "batch-7")[Settings.short_stays] == 20
    assert limits_of(changes, "autoscaled-7").off == {"storm"}


def test_the_silence_of_a_partition_can_be_read(tmp_path):
    (tmp_path / "mine.toml").write_text(block("test: less silence"))
    assert limits_of(load_limits(str(tmp_path / "mine.toml")), "g")[StallSettings.min_silence_seconds] == 20_000


def test_the_limit_in_the_runbook_is_read(tmp_path):
    (tmp_path / "mine.toml").write_text(block("test: limit of the runbook"))
    assert load_settings(str(tmp_path / "mine.toml"))["operation_size"].limits["max_bytes"] == 10_485_760


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_the_message_is_what_a_webhook_gets(clone, monkeypatch):
    monkeypatch.chdir(clone)
    tables, limits = DuckTables("out"), load_settings("conf/audit-demo.toml")
    changes = changes_of_clusters(tables, ["demo"], limits)
    said = news(tables, changes, {"demo": capture_limits(tables, "demo")})
    assert f"{said.title}\n{said.text}\n" == block("test: message")


def test_a_line_of_a_dump_is_read(spark, tmp_path):
    (tmp_path / "dump.json").write_text(block("test: line of a dump"))
    (record,) = decode(read_log(spark, str(tmp_path / "dump.json"))).records["consumer_group_metadata"].collect()
    assert (record.group_id, record.epoch, record.offset) == ("stuck", 2, 11)


@pytest.mark.slow
def test_retention_says_what_it_would_remove(ran):
    ((code, printed),) = ran[block("test: retention")]
    assert code == 0
    assert "demo" in printed


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_simulate_writes_a_log(clone):
    assert {each.name for each in (clone / "simulated").iterdir()} == {"log", "topics.json"}


@pytest.mark.slow
@pytest.mark.usefixtures("ran")
def test_simulate_writes_every_kind_of_groups(clone):
    keys = pq.read_table(clone / "every-kind" / "log", columns=["key"])["key"].to_pylist()
    assert all(any(kind in key for key in keys) for kind in (b"classic", b"connect", b"share", b"streams"))


@pytest.mark.nightly
def test_an_audit_makes_the_tables_of_the_pages_about_kinds(tmp_path):
    """The other tests make them without Spark. A second cluster in `out` is what the notebooks compare with."""
    clone = make_clone(tmp_path / "clone")
    about_kinds = [each.text for each in SESSIONS if " kinds " in each.text.splitlines()[0]]
    audits = [block("test: kinds"), block("test: Connect cluster"), block("test: later night")]
    shown = run_examples(clone, [("bash", text) for text in audits + about_kinds], JDK_JAVA_OPTIONS=QUICK_JAVA)
    assert [each.code for each in shown[0] + shown[1] + shown[2]] == [0, 0, 0]
    for text, (explained,) in zip(about_kinds, shown[3:], strict=True):
        command, _, printed = text.partition("\n")
        assert explained.printed == printed, command
    assert table_rows(clone / "out", "group_state", "later")
