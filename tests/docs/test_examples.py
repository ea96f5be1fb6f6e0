"""Every example of README.md and docs/ runs, and prints what the page shows.

One audit serves all examples: the nightly job's, in another time zone. It reads what `make audit` reads.
"""

import os
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from kip848_records.cli import main
from kip848_records.config import load_settings
from kip848_records.decode import decode
from kip848_records.queries.duck import DuckTables
from kip848_records.report.changes import changes_of_clusters
from kip848_records.report.news import news
from kip848_records.sources.read import read_log
from tests.audits import table_rows
from tests.conftest import QUICK_JAVA
from tests.docs.pages import ROOT, block, commands, examples

EVALUATED = sum(setting.severity != "off" for setting in load_settings().values())
SESSIONS = [each for each in examples() if each.mark.startswith("output: ") and each.language == "console"]

# The examples take the active session; it must be the tests' own.
pytestmark = pytest.mark.usefixtures("spark")


class Night(NamedTuple):
    """The tables of the nightly job, and what it printed."""

    out: Path
    printed: str


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    out = folder / "out"
    script = re.sub(r"(--out|convergence\.py) out\b", rf"\1 {shlex.quote(str(out))}", block("test: nightly"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    environment |= {"TZ": "Asia/Tokyo", "TMPDIR": str(folder), "JDK_JAVA_OPTIONS": QUICK_JAVA}
    done = subprocess.run(
        ["bash", "-ec", script], cwd=ROOT, capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Night(out, done.stdout.replace(str(out), "out"))


@pytest.fixture
def out(night):
    return night.out


@pytest.fixture(autouse=True)
def _at_the_root():
    assert Path.cwd() == ROOT, "run pytest in the project's folder: the pages' paths are relative, also to the JVM"


def run(command, out, code=0):
    """Run a `kip848` command line in this process; return what it prints. Another folder is its `out` or `kinds`."""
    program, *words = shlex.split(command)
    assert Path(program).name == "kip848"
    folder = re.compile(r"^(?:out|kinds)(?=/|$)|^(?=kip848\.\w+$)")
    words = [folder.sub(lambda at: str(out) + "/" * (not at[0]), word) for word in words]
    with redirect_stdout(StringIO()) as printed:
        assert main(words) == code
    return printed.getvalue().replace(str(out), "out")


def test_make_audit_reads_what_the_nightly_job_reads():
    recipe = subprocess.run(["make", "-n", "audit"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    made = re.search(r"kip848 audit ((?:\\\n|.)*)", recipe)[1]
    nightly = re.search(r"nightly_audit\.py ((?:\\\n|.)*) &&", block("test: nightly"))[1]
    assert shlex.split(made.replace("\\\n", " ")) == shlex.split(nightly.replace("\\\n", " "))


def test_summary_is_what_an_audit_prints(night):
    for each in examples():
        if each.mark == "output: summary":
            assert f"\n{each.text}" in night.printed  # spark-submit puts the progress before it


def test_nightly_job_on_a_machine_in_another_time_zone_writes_the_same_tables(audits, night):
    assert f"1 of {EVALUATED} expectations could not be evaluated" in night.printed
    names = {row["topic_id"]: row["topic"] for row in table_rows(night.out, "topic_name", "demo")}
    assert "clicks" in names.values()
    for table in ("rebalance", "epoch_timeline", "group_state"):
        expected = [row | {"cluster": "demo"} for row in audits.rows("kafka-4.3.1", table)]
        assert sorted(map(repr, table_rows(night.out, table, "demo"))) == sorted(map(repr, expected))
    first = min(row["bumped_at"] for row in audits.rows("kafka-4.3.1", "epoch_timeline"))
    assert f"{first:%Y-%m-%d %H:}" in night.printed


@pytest.mark.parametrize("session", SESSIONS, ids=lambda each: f"{each.page.stem}-{each.mark.split()[1]}")
def test_a_session_prints_what_the_page_shows(session, request):
    """The sessions about kinds of groups are of other clusters, whose tables are made without Spark."""
    _, _, *clusters = session.mark.split()
    tables = request.getfixturevalue("kinds") if clusters else request.getfixturevalue("out")
    among = f" --cluster {clusters[0]}" if clusters else ""
    printed = [
        f"$ {command}\n{run(command + among, tables, code=int(' check ' in command))}"
        for command in commands(session.text)
    ]
    assert "".join(printed) == session.text


def test_the_three_commands_give_a_first_result(out):
    first, *others = block("test: first result").splitlines()
    assert first == "make audit"
    explained, checked = (run(each, out, code) for code, each in enumerate(others))
    assert "stuck-app @ 127.0.0.1 has been asked to give up partitions" in explained
    assert f"1 of {EVALUATED} expectations failed" in checked


def test_the_check_of_the_tutorial_fails(out):
    assert "group_stable, 1 violation" in run(block("test: tutorial check"), out, code=1)


def test_sql_reads_what_the_audit_wrote(spark, out):
    rows = spark.sql(block("test: sql").replace("`out/", f"`{out}/")).collect()
    assert [(row.group_id, row.rebalance_lag_ms) for row in rows[:2]] == [("slow-revoke", 7008), ("slow-revoke", 6006)]


def test_sql_measures_only_what_was_observed(spark, out):
    is_slow = F.col("group_id") == "slow-revoke"
    history = F.when(is_slow, "left_censored").otherwise(F.col("history"))
    epochs = spark.read.format("delta").load(f"{out}/epoch_timeline").withColumn("history", history)
    epochs.createOrReplaceTempView("some_censored")
    rows = spark.sql(block("test: sql").replace("delta.`out/epoch_timeline`", "some_censored")).collect()
    assert len(rows) == 10
    assert "slow-revoke" not in {row.group_id for row in rows}


def test_python_example_shows_records(capsys):
    exec(block("test: python"), {})  # noqa: S102 - our own page
    printed = capsys.readouterr().out
    assert "previous_member_epoch" in printed
    assert "stuck" in printed or "churn" in printed


def test_databricks_example_reads_a_dump(spark, captures, capsys):
    source = block("test: databricks")
    dump = captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"
    exec(  # noqa: S102 - our own page
        source.replace("/Volumes/ops/kafka/consumer_offsets_dump", str(dump)),
        {"spark": spark, "display": lambda frame: frame.show()},
    )
    assert "metadata_hash" in capsys.readouterr().out


def test_report_writes_a_page(out):
    assert re.fullmatch(r"out/report\.html: 10 groups, \d\.\d MB\n", run(block("test: report"), out))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "8 healthy · 1 deleted" in page


def test_ci_example_fails_for_a_group_that_did_not_converge(tmp_path):
    command = block("test: ci").replace("\\\n", " ")
    assert [line for line in run(command, tmp_path, code=1).splitlines() if "stuck" in line]
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"kip848.xml", "kip848.sarif", "kip848.md"}


def test_an_expectation_of_ones_own_is_evaluated_beside_the_others(out, tmp_path):
    (tmp_path / "group_size.sql").write_text(block("test: expectation"))
    printed = run(f"kip848 check out --expectations {shlex.quote(str(tmp_path))}", out)
    assert "expected at most 3 members, seen 4" in printed


def test_limits_of_ones_own_can_be_read(tmp_path):
    (tmp_path / "mine.toml").write_text(block("test: limits"))
    stable = load_settings(str(tmp_path / "mine.toml"))["group_stable"]
    assert (stable.limits, stable.groups["batch-*"].limits) == ({"max_seconds": 300}, {"max_seconds": 3600})
    assert stable.groups["sandbox-*"].severity == "off"


def test_the_limit_in_the_runbook_is_read(tmp_path):
    (tmp_path / "mine.toml").write_text(block("test: limit of the runbook"))
    assert load_settings(str(tmp_path / "mine.toml"))["operation_size"].limits["max_bytes"] == 10_485_760


def test_the_message_is_what_a_webhook_gets(out):
    tables, limits = DuckTables(str(out)), load_settings("conf/audit-demo.toml")
    said = news(tables, changes_of_clusters(tables, ["demo"], limits))
    assert f"{said.title}\n{said.text}\n".replace(str(out), "out") == block("test: message")


def test_a_line_of_a_dump_is_read(spark, tmp_path):
    (tmp_path / "dump.json").write_text(block("test: line of a dump"))
    (record,) = decode(read_log(spark, str(tmp_path / "dump.json"))).records["consumer_group_metadata"].collect()
    assert (record.group_id, record.epoch, record.offset) == ("stuck", 2, 11)


def test_retention_says_what_it_would_remove(out):
    assert "demo" in run(block("test: retention"), out)


def test_simulate_writes_a_log_and_its_truth(tmp_path):
    simulated = tmp_path / "simulated"
    run(block("test: simulate").replace("--out simulated", f"--out {shlex.quote(str(simulated))}"), tmp_path)
    assert (simulated / "truth").is_dir()


def test_simulate_writes_every_kind_of_groups(tmp_path):
    simulated = tmp_path / "simulated"
    run(block("test: simulate-kinds").replace("--out every-kind", f"--out {shlex.quote(str(simulated))}"), tmp_path)
    states = pq.read_table(simulated / "truth" / "group_state_timeline.parquet")
    assert {*states["group_type"].to_pylist()} >= {"consumer", "share", "streams"}
