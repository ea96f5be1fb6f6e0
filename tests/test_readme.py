"""Every example of the README runs, and what the README says it prints is what it prints.

What the examples write to `out` goes to a temporary folder.
"""

import os
import re
import shlex
import subprocess
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from kip848_records.cli import main
from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from tests.audits import table_rows
from tests.conftest import QUICK_JAVA

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


def block(mark):
    """The first code block behind a mark such as `<!-- test: ci -->`."""
    return re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", TEXT, re.DOTALL)[1]


def run(command, out, code=0):
    """Run a `kip848` command line in this process; return what it prints, with `out` where the folder was."""
    command = re.sub(r"kip848\.(xml|sarif|md)", lambda file: shlex.quote(f"{out}/{file[0]}"), command)
    program, *arguments = shlex.split(command.replace("--out out", f"--out {shlex.quote(str(out))}"))
    assert Path(program).name == "kip848"
    with redirect_stdout(StringIO()) as printed:
        assert main(arguments) == code
    return printed.getvalue().replace(str(out), "out")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("readme") / "out"


@pytest.fixture(scope="module")
def summary(out):
    """What `make audit` prints, set-up apart."""
    recipe = subprocess.run(["make", "-n", "audit"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return run(re.search(r"\S*kip848 audit(?:\\\n|.)*", recipe)[0].replace("\\\n", " "), out)


# The examples take the active session; it must be the tests' own.
pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(autouse=True)
def _at_the_root():
    assert Path.cwd() == ROOT, "run pytest in the project's folder: the README's paths are relative, also to the JVM"


def test_summary_is_what_make_audit_prints(summary):
    assert summary.strip() == block("output: summary").strip()


@pytest.mark.usefixtures("summary")
def test_sql_reads_what_make_audit_wrote(spark, out):
    rows = spark.sql(block("test: sql").replace("`out/", f"`{out}/")).collect()
    assert [(row.group_id, row.rebalance_lag_ms) for row in rows[:2]] == [("slow-revoke", 7008), ("slow-revoke", 6006)]


@pytest.mark.usefixtures("summary")
def test_sql_measures_only_what_was_observed(spark, out):
    is_slow = F.col("group_id") == "slow-revoke"
    history = F.when(is_slow, "left_censored").otherwise(F.col("history"))
    epochs = spark.read.format("delta").load(f"{out}/epoch_timeline").withColumn("history", history)
    epochs.createOrReplaceTempView("some_censored")
    rows = spark.sql(block("test: sql").replace("delta.`out/epoch_timeline`", "some_censored")).collect()
    assert len(rows) == 10
    assert "slow-revoke" not in {row.group_id for row in rows}


@pytest.mark.usefixtures("summary")
def test_explain_prints_what_it_says(out):
    command, _, printed = block("output: explain").removeprefix("$ ").partition("\n")
    assert run(command.replace(" out ", f" {shlex.quote(str(out))} "), out) == printed


def test_inspect_prints_what_it_says(out):
    command, _, printed = block("output: inspect").removeprefix("$ ").partition("\n")
    assert run(command, out) == printed


def test_inspect_command_beside_make_audit_runs(out):
    command = re.search(r"^\.venv/bin/kip848 inspect .*$", TEXT, re.MULTILINE)[0]
    assert "ConsumerGroupMetadata" in run(command, out)


def test_python_example_shows_records(capsys):
    exec(block("test: python"), {})  # noqa: S102 - our own README
    printed = capsys.readouterr().out
    assert "previous_member_epoch" in printed
    assert "stuck" in printed or "churn" in printed


@pytest.mark.usefixtures("summary")
def test_report_writes_a_page(out):
    command = block("test: report").replace(" report out ", f" report {shlex.quote(str(out))} ")
    assert re.fullmatch(r"out/report\.html: 10 groups, \d\.\d MB\n", run(command, out))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "8 healthy · 1 deleted" in page


def test_ci_example_fails_for_a_group_that_did_not_converge(tmp_path):
    command = block("test: ci").replace("\\\n", " ")
    assert [line for line in run(command, tmp_path, code=1).splitlines() if "stuck" in line]
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"kip848.xml", "kip848.sarif", "kip848.md"}


@pytest.mark.usefixtures("summary")
def test_check_prints_what_it_says(out):
    command, _, printed = block("output: check").removeprefix("$ ").partition("\n")
    assert run(command.replace(" out ", f" {shlex.quote(str(out))} "), out, code=1) == printed


@pytest.mark.usefixtures("summary")
def test_an_expectation_of_ones_own_is_evaluated_beside_the_others(out, tmp_path):
    (tmp_path / "group_size.sql").write_text(block("test: expectation"))
    printed = run(f"kip848 check {shlex.quote(str(out))} --expectations {shlex.quote(str(tmp_path))}", out)
    assert "expected at most 3 members, seen 4" in printed


def test_settings_of_ones_own_can_be_read(tmp_path):
    (tmp_path / "mine.toml").write_text(re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)[1])
    stable = load_settings(str(tmp_path / "mine.toml"))["group_stable"]
    assert (stable.limits, stable.groups["batch-*"].limits) == ({"max_seconds": 300}, {"max_seconds": 3600})
    assert stable.groups["sandbox-*"].severity == "off"


def test_expectations_are_listed_with_their_defaults():
    settings = load_settings()
    rows = [
        f"| `{each.name}` | {each.description} | {settings[each.name].severity} "
        f"| {', '.join(f'`{name}` {value:,}' for name, value in settings[each.name].limits.items())} |"
        for each in EXPECTATIONS
    ]
    listed = TEXT.split("<!-- expectations -->\n\n")[1].split("\n\n")[0].splitlines()
    assert listed == ["| expectation | what is expected | severity | limits |", "|---|---|---|---|", *rows]


def test_databricks_example_reads_a_dump(spark, captures, capsys):
    source = block("test: databricks")
    dump = captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"
    exec(  # noqa: S102 - our own README
        source.replace("/Volumes/ops/kafka/consumer_offsets_dump", str(dump)),
        {"spark": spark, "display": lambda frame: frame.show()},
    )
    assert "metadata_hash" in capsys.readouterr().out


def test_nightly_job_on_a_machine_in_another_time_zone_writes_the_same_tables(audits, tmp_path):
    out = tmp_path / "out"
    script = block("test: nightly").replace("--out out", f"--out {shlex.quote(str(out))}")
    script = script.replace("convergence.py out", f"convergence.py {shlex.quote(str(out))}")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK_", "SPARK_"))}
    environment |= {"TZ": "Asia/Tokyo", "TMPDIR": str(tmp_path), "JDK_JAVA_OPTIONS": QUICK_JAVA}
    done = subprocess.run(["bash", "-ec", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "CRITICAL  1 of 9 groups stuck" in done.stdout
    assert "1 of 35 expectations could not be evaluated" in done.stdout
    for table in ("rebalance", "epoch_timeline", "group_state"):
        expected = [row | {"cluster": "demo"} for row in audits.rows("kafka-4.3.1", table)]
        assert sorted(map(repr, table_rows(out, table, "demo"))) == sorted(map(repr, expected))
    first = min(row["bumped_at"] for row in audits.rows("kafka-4.3.1", "epoch_timeline"))
    assert f"{first:%Y-%m-%d %H:}" in done.stdout
