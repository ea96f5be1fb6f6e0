"""The wheel is complete: installed where nothing of the project is, it runs, and knows its settings."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from kip848_records.sources.plain import read_plain
from tests import made_tables

ROOT = Path(__file__).parents[1]
QUIET = ("report", "check")
GROUP = "static"


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of programs of an environment that has the wheel and nothing else."""
    home = tmp_path_factory.mktemp("venv")
    venv.create(home, with_pip=False)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", programs / "python"]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", wheel], check=True)
    return programs


def run(program, *arguments):
    """Run a program of the environment, in its folder: Python would take modules from where it is started."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SPARK_", "PYSPARK_"))}
    command = [program, *arguments]
    return subprocess.run(command, env=environment, cwd=program.parent, capture_output=True, text=True, check=False)


def test_it_carries_the_settings_and_not_what_is_to_be_copied(wheel):
    names = ZipFile(wheel).namelist()
    settings = {name for name in names if name.startswith("kip848_records/conf/")}
    assert settings >= {
        f"kip848_records/conf/{name}"
        for name in ("audit.toml", "spark-defaults.conf", "small-input.conf", "log4j2.properties")
    }
    assert "kip848_records/docs/runbook.md" in names
    assert not [name for name in names if "/databricks/" in name or "/ci/" in name]
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"kip848_records"}


def test_it_asks_for_no_spark_unless_told(wheel):
    with ZipFile(wheel) as files:
        (metadata,) = [name for name in files.namelist() if name.endswith("METADATA")]
        wanted = [line for line in files.read(metadata).decode().splitlines() if line.startswith("Requires-Dist:")]
    assert {line for line in wanted if "spark" in line.split(";")[0]} == {
        "Requires-Dist: delta-spark==4.4.*; extra == 'spark'",
        "Requires-Dist: pyspark==4.0.*; extra == 'spark'",
        "Requires-Dist: delta-spark==4.4.*; extra == 'dev'",
        "Requires-Dist: pyspark==4.0.*; extra == 'dev'",
        "Requires-Dist: pyspark[connect]; extra == 'dev'",
    }


@pytest.fixture
def without_spark(installed, tmp_path):
    """The same with all that it depends on, but neither PySpark nor Delta."""
    (site,) = installed.parent.glob("lib/python*/site-packages")
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not package.name.startswith(("pyspark", "delta_spark", "kip848", "_kip848")) and package.name != "delta":
            (tmp_path / package.name).symlink_to(package)
    (site / "others.pth").write_text(str(tmp_path))
    yield installed
    (site / "others.pth").unlink()


def test_without_spark_the_command_says_how_to_get_it(without_spark, tmp_path):
    done = run(without_spark / "kip848", "audit", "nowhere", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.splitlines() == [
        "error: Spark is not installed: there is no module pyspark",
        "hint: pip install 'kip848-records[spark]'",
    ]


def test_help_needs_no_spark(without_spark):
    done = run(without_spark / "kip848", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "audit" in done.stdout


def test_tables_of_a_folder_are_read_without_spark(without_spark, kinds, tmp_path):
    """All that reads tables: DuckDB and delta-rs are enough."""
    commands = (
        ["query", kinds, "slowest", "--cluster", "group-kinds"],
        ["query", kinds, "SELECT count(*) AS n FROM rebalance"],
        ["explain", kinds, GROUP, "--cluster", "group-kinds"],
        ["report", kinds, "--cluster", "group-kinds", "--out", tmp_path / "page.html"],
        [
            "check",
            kinds,
            "--cluster",
            "group-kinds",
            "--json",
            tmp_path / "r.json",
            "--openmetrics",
            tmp_path / "m.prom",
        ],
    )
    for arguments in commands:
        done = run(without_spark / "kip848", *arguments, *(["--quiet"] if arguments[0] in QUIET else []))
        assert (done.returncode in {0, 1}, done.stderr) == (True, ""), arguments
        assert done.stdout
    assert all((tmp_path / name).stat().st_size for name in ("page.html", "r.json", "m.prom"))


def test_pages_are_named_by_their_path_in_the_package(without_spark, kinds):
    """The package is not beside a clone: `docs/groups/classic.md` alone would lead nowhere."""
    done = run(without_spark / "kip848", "explain", kinds, "coop", "--cluster", "group-kinds")
    page = Path(done.stdout.split()[-1])
    assert page.parts[-4:] == ("kip848_records", "docs", "groups", "classic.md")
    assert page.is_file()
    assert without_spark.parent in page.parents


def test_records_are_decoded_without_spark(without_spark, captures, tmp_path, monkeypatch):
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_REMOTE"):  # of the tests' own session
        monkeypatch.delenv(name, raising=False)
    names = ["partition", "offset", "timestamp", "key", "value", "key_type", "group_id", "transaction"]
    records = read_plain(str(captures / "kafka-4.3.1" / "segments")).select(names).to_pylist()
    log = [row | {"run": 1, "content": "record"} for row in records]
    made_tables.write(tmp_path / "tables", "c", log=log, audit_runs=[{"run": 1, "dialect": "kafka"}])

    def asked(query):
        return run(without_spark / "kip848", "query", tmp_path / "tables", query, "--csv")

    done = asked("SELECT max(epoch) AS n FROM consumer_group_metadata")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout.split()[1]) > 1
    done = asked("SELECT count(*) AS n FROM offset_commit")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[1] == "hint: audit with --offset-commits --record-tables, which writes the table"


def test_files_are_inspected_without_spark(without_spark, captures):
    segments = captures / "kafka-4.3.1" / "segments" / "__consumer_offsets-2"
    dump = captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"
    for place, group in ((segments, "steady"), (dump, "g-steady")):
        done = run(without_spark / "kip848", "inspect", place, "--group", group, "--dialect", "auto", "--json")
        assert (done.returncode, done.stderr.partition(":")[0]) == (0, "dialect kafka")
        assert '"record": "ConsumerGroupMetadata"' in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["inspect", "dump.json"], ["query", "KINDS", "SELECT 1", "--engine", "spark"], ["check", "dump.json"]],
    ids=" ".join,
)
def test_what_needs_spark_says_how_to_get_it(without_spark, kinds, tmp_path, arguments):
    (tmp_path / "dump.json").touch()
    named = {"dump.json": tmp_path / "dump.json", "KINDS": kinds}
    done = run(without_spark / "kip848", *(named.get(each, each) for each in arguments))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 2), done.stderr
    assert "pip install 'kip848-records[spark]'" in done.stderr


def test_without_spark_doctor_says_what_lacks(without_spark, tmp_path):
    done = run(without_spark / "kip848", "doctor", "--out", tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    lacking = [line for line in done.stdout.splitlines() if line.startswith("lacking")]
    assert lacking == ["lacking  Spark            Spark is not installed: there is no module pyspark"]
    assert "pip install 'kip848-records[spark]'" in done.stdout
    assert done.stdout.endswith("1 lacking: an audit cannot run yet\n")


def test_the_questions_and_expectations_come_with_it(wheel):
    names = ZipFile(wheel).namelist()
    for folder in ("expectations", "queries/questions", "report/sql", "report/page/sql"):
        ours = {file.name for file in (ROOT / "kip848_records" / folder).glob("*.sql")}
        assert {f"kip848_records/{folder}/{name}" for name in ours} <= set(names)
        assert ours


@pytest.fixture
def with_all(installed):
    """The same with all that it depends on. Behind its own folder: the wheel comes before this checkout."""
    (site,) = installed.parent.glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    yield installed
    (site / "others.pth").unlink()


def test_with_what_it_depends_on_the_command_runs_from_the_wheel(with_all):
    done = run(with_all / "kip848", "--help")
    assert done.returncode == 0, done.stderr
    assert "audit" in done.stdout
    where = "from kip848_records.spark_conf import conf_dir; print(conf_dir())"
    (site,) = with_all.parent.glob("lib/python*/site-packages")
    assert run(with_all / "python", "-c", where).stdout.strip() == str(site / "kip848_records" / "conf")


@pytest.mark.slow
def test_the_demo_needs_no_clone(with_all, tmp_path):
    done = run(with_all / "kip848", "demo", "--out", tmp_path / "demo", "--no-browser", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("CRITICAL  1 of ")
    assert f"Next   kip848 explain {tmp_path / 'demo'} --group stuck" in lines
    assert lines[-1] == f"Open   file://{tmp_path / 'demo' / 'report.html'}"
    assert "stuck" in (tmp_path / "demo" / "report.html").read_text()


def test_it_stays_small(wheel):
    """The log of the demo is the largest part, 60 kB; it brings neither tests nor benchmarks."""
    assert wheel.stat().st_size < 1_000_000
    names = ZipFile(wheel).namelist()
    assert not [name for name in names if "/tests/" in name or "benchmarks" in name]
    assert sum(name.startswith("kip848_records/capture/") for name in names) == 4
