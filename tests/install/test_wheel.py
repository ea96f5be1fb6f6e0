"""The wheel is complete: installed where nothing of the project is, it runs, and knows its settings.

Each night test_install.py lets pip resolve what the wheel asks for; here are the same environments, made in a second.
"""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from kip848_records.cli import _COMMANDS
from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.sources.read import read_copies
from kip848_records.spark.conf import default_settings
from tests import made_tables
from tests.docs.pages import DOCS
from tests.environments import EXTRAS, Environment, requirements

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "kip848_records"
QUIET = ("report", "check")
GROUP = "static"
NO_SPARK = [
    "error: Spark is not installed: there is no module pyspark",
    "hint: pip install 'kip848-records[spark]'",
]


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    return Environment(tmp_path_factory.mktemp("venv"), wheel)


@pytest.fixture
def without_spark(installed):
    """The wheel with what it depends on, and no extra."""
    installed.bring()
    return installed


@pytest.fixture
def with_spark(installed):
    installed.bring("spark")
    return installed


def test_it_carries_the_settings_and_not_what_is_to_be_copied(wheel):
    names = ZipFile(wheel).namelist()
    settings = {name for name in names if name.startswith("kip848_records/conf/")}
    assert settings >= {
        f"kip848_records/conf/{name}" for name in ("audit.toml", "spark-defaults.conf", "log4j2.properties")
    }
    assert "kip848_records/docs/runbook.md" in names
    assert not [name for name in names if "/databricks/" in name or "/ci/" in name]
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"kip848_records"}


def test_it_asks_for_no_spark_unless_told(wheel):
    """And then for the release of Delta whose jar the settings name: another one would be refused."""
    found = [each for each in requirements(wheel) if "spark" in each.name]
    wanted = {(each.name, str(each.specifier), str(each.marker)) for each in found}
    jar = re.search(r"io\.delta:delta-spark_4\.0_2\.13:([\d.]+)", default_settings()["spark.jars.packages"])
    delta, pyspark = f"=={jar[1]}", "<4.1,>=4.0.1"
    assert wanted == {
        ("delta-spark", delta, 'extra == "spark"'),
        ("pyspark", pyspark, 'extra == "spark"'),
        ("delta-spark", delta, 'extra == "dev"'),
        ("pyspark", pyspark, 'extra == "dev"'),
        ("pyspark", "", 'extra == "dev"'),
    }


def test_help_needs_no_extra(without_spark):
    commands = [(), *((command,) for command in _COMMANDS)]
    for words, answer in zip(commands, without_spark.answers([*each, "--help"] for each in commands), strict=True):
        assert (answer.code, answer.said) == (0, ""), words
        assert answer.out.startswith(" ".join(["usage: kip848", *words]))


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_needs_no_other(installed, extra):
    """The help of all commands takes the modules of all."""
    installed.bring(extra)
    for option, expected in (("--help", "usage: kip848"), ("--version", "kip848-records ")):
        done = installed.run("kip848", option)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(expected)


def test_a_webhook_without_its_extra_says_how_to_get_it(without_spark, kinds):
    done = without_spark.run("kip848", "check", kinds, "--webhook", "https://127.0.0.1/")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "error: --webhook needs Apprise, which is not installed",
        "hint: pip install 'kip848-records[notify]'",
    ]


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
    lines = [[*each, *(["--quiet"] if each[0] in QUIET else [])] for each in commands]
    for line, answer in zip(lines, without_spark.answers(lines), strict=True):
        assert (answer.code in {0, 1}, answer.said) == (True, ""), line
        assert answer.out or (line[0], answer.code) == ("check", 0)  # quiet, all is well
    assert all((tmp_path / name).stat().st_size for name in ("page.html", "r.json", "m.prom"))


def test_pages_are_named_by_their_path_in_the_package(without_spark, kinds):
    """The package is not beside a clone: `docs/groups/classic.md` alone would lead nowhere."""
    done = without_spark.run("kip848", "explain", kinds, "coop", "--cluster", "group-kinds")
    page = next(Path(word) for word in done.stdout.split() if word.endswith("classic.md"))
    assert page.parts[-4:] == ("kip848_records", "docs", "groups", "classic.md")
    assert page.is_file()
    assert without_spark.site in page.parents


def test_records_are_decoded_without_spark(without_spark, captures, tmp_path, monkeypatch):
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_REMOTE"):  # of the tests' own session
        monkeypatch.delenv(name, raising=False)
    names = ["partition", "offset", "timestamp", "key", "value", "key_type", "group_id", "transaction"]
    rows = read_copies(EmbeddedEngine(), str(captures / "kafka-4.3.1" / "segments")).batches()
    records = [row for batch in rows for row in batch.select(names).to_pylist() if row["key"] is not None]
    log = [row | {"run": 1, "content": "record"} for row in records]
    made_tables.write(tmp_path / "tables", "c", log=log, audit_runs=[{"run": 1, "dialect": "kafka"}])

    def asked(query):
        return without_spark.run("kip848", "query", tmp_path / "tables", query, "--csv")

    done = asked("SELECT max(epoch) AS n FROM consumer_group_metadata")
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout.split()[1]) > 1
    done = asked("SELECT count(*) AS n FROM offset_commit")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[1] == "hint: audit the log with --offset-commits --record-tables"


def test_files_are_inspected_without_spark(without_spark, captures):
    segments = captures / "kafka-4.3.1" / "segments" / "__consumer_offsets-2"
    dump = captures / "kafka-4.3.1-all-types" / "kafka-source.parquet"
    for place, group in ((segments, "steady"), (dump, "g-steady")):
        done = without_spark.run("kip848", "inspect", place, "--group", group, "--dialect", "auto", "--json")
        assert (done.returncode, done.stderr.partition(":")[0]) == (0, "dialect kafka")
        assert '"record": "ConsumerGroupMetadata"' in done.stdout


NEED_SPARK = (
    "audit SEGMENTS --out out --engine spark",
    "audit SEGMENTS --catalog main --schema kafka --scratch scratch",
    "check --catalog main --schema kafka",
    "demo --engine spark",
    "explain KINDS --group static --engine spark",
    "maintain KINDS --keep 90d --engine spark",
    "maintain --catalog main --schema kafka --scratch scratch --keep 90d",
    "query KINDS slowest --cluster connect --engine spark",
    "report KINDS --out page.html --engine spark",
)


def test_what_needs_spark_says_how_to_get_it(without_spark, captures, kinds, tmp_path):
    named = {"SEGMENTS": captures / "kafka-4.3.1" / "segments", "KINDS": kinds}
    lines = [[named.get(each, each) for each in line.split()] for line in NEED_SPARK]
    progress = re.compile(r"(\[ *[0-9.]+ s\]|note:) .*\n")  # a command says which engine it chose, and why
    for line, answer in zip(NEED_SPARK, without_spark.answers(lines, cwd=tmp_path), strict=True):
        assert (answer.code, answer.out, progress.sub("", answer.said).splitlines()) == (2, "", NO_SPARK), line
    assert not [*tmp_path.iterdir()]


def test_the_page_lists_what_needs_spark_and_what_does_not():
    _, _, part = (DOCS / "install.md").read_text(encoding="utf-8").partition("## What works without Spark")
    needless, needy = re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)[:2]
    commands = {*re.findall(r"`(\w+)`", needless + needy)} & {*_COMMANDS}
    assert commands == {*_COMMANDS}
    assert {line.split()[0] for line in NEED_SPARK} >= {*re.findall(r"^\| `(\w+)`", needy, re.MULTILINE)}


def test_without_spark_doctor_says_what_needs_it(without_spark, tmp_path):
    done = without_spark.run("kip848", "doctor", "--out", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (note,) = [line for line in done.stdout.splitlines() if line.startswith("note     Spark ")]
    assert note.endswith("not installed: only catalogs and other file systems need it")
    assert "pip install 'kip848-records[spark]'" in done.stdout
    assert " Java " not in done.stdout
    assert done.stdout.endswith("An audit can run\n")


def test_the_questions_and_expectations_come_with_it(wheel):
    names = ZipFile(wheel).namelist()
    ours = {f"kip848_records/{file.relative_to(PACKAGE)}" for file in PACKAGE.rglob("*.sql")}
    assert ours <= set(names)
    assert {Path(name).parent.name for name in ours} >= {"expectations", "questions", "relations", "sections"}


def test_it_knows_its_settings(without_spark):
    where = "from kip848_records.spark.conf import conf_dir; print(conf_dir())"
    found = without_spark.run("python", "-c", where).stdout.strip()
    assert found == str(without_spark.site / "kip848_records" / "conf")


def test_the_demo_needs_no_clone(with_spark, tmp_path):
    done = with_spark.run("kip848", "demo", "--out", tmp_path / "demo", "--no-browser", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("WARNING  1 of ")
    assert f"Next   kip848 explain {tmp_path / 'demo'} --group stuck" in lines
    assert lines[-1] == f"Open   file://{tmp_path / 'demo' / 'report.html'}"
    assert "stuck" in (tmp_path / "demo" / "report.html").read_text()


def test_it_stays_small(wheel):
    """The log of the demo is the largest part, 60 kB; it brings neither tests nor benchmarks."""
    assert wheel.stat().st_size < 1_600_000
    names = ZipFile(wheel).namelist()
    assert not [name for name in names if "/tests/" in name or "benchmarks" in name]
    assert sum(name.startswith("kip848_records/capture/") for name in names) == 4
