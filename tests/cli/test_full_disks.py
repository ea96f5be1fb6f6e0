"""A disk becomes full: what was there stays, nothing is left beside it, and one line says which disk."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pytest

from kip848_records.cli import main
from kip848_records.config import load_settings
from kip848_records.machine.disks import DiskError
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.pipeline.progress import Progress
from kip848_records.simulate import Simulation, simulate
from kip848_records.spark.java import check_java
from kip848_records.spark.scratch import check_scratch_disks
from kip848_records.spark.setup_errors import SetupError
from kip848_records.tables.local import has_commits
from kip848_records.tables.registry import DEFAULT
from tests import made_tables
from tests.commands import PROGRAM, WITH_WORKERS, ended
from tests.engines.engines import EMBEDDED, SPARK
from tests.seeds import nightly
from tests.small_disks import fill, small_disk

EVALUATED = sum(setting.severity != "off" for setting in load_settings().values())

# Disks are mounted by a program.
pytestmark = pytest.mark.process

ROOM = str(Path(__file__).parent)
OPTIONS = {"json": "json", "junit": "xml", "sarif": "sarif", "markdown": "md", "openmetrics": "prom"}
_SETTINGS = ("SPARK_", "PYSPARK_", "JAVA_TOOL", "JDK_JAVA", "_JAVA")


def command(*arguments, stdout=subprocess.PIPE, **variables):
    """Run a command in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)}
    given = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    environment = kept | {name: str(value) for name, value in variables.items()}
    return subprocess.run(given, env=environment, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.fixture
def tables(tmp_path):
    """Tables with one group."""
    rows = {name: [] for name in DEFAULT if name not in ("audit_runs", "log")}
    rows |= {"group_state": [{"group_id": "g", "group_type": "consumer", "has_full_history": True, "state": "Stable"}]}
    captured = datetime(2026, 1, 1, 12, tzinfo=UTC)
    made_tables.write(
        tmp_path / "tables", "c", audit_runs=[{"run": 1, "dialect": "kafka", "captured_at": captured}], **rows
    )
    return tmp_path / "tables"


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk", "256k") as disk:
        yield disk


@pytest.mark.slow
def test_results_of_a_check(tables, disk, capsys):
    files = {name: disk / f"results.{ending}" for name, ending in OPTIONS.items()}
    for file in files.values():
        file.write_text("good")
    fill(disk)
    options = [text for name, file in files.items() for text in (f"--{name}", str(file))]
    code = main(["check", str(tables), "--quiet", *options])
    said = capsys.readouterr()
    errors = [line for line in said.err.splitlines() if line.startswith("error: ")]
    assert code == 1
    assert said.out.startswith("Cluster ")
    assert len(errors) == len(OPTIONS)
    for file in files.values():
        assert file.read_text() == "good"
        assert any(f"to {file}: No space left on device: it takes " in error for error in errors)
    assert len([*disk.iterdir()]) == len(OPTIONS) + 1


@pytest.mark.slow
def test_the_page(tables, disk, capsys):
    page = disk / "page.html"
    page.write_text("good")
    fill(disk, leave=40_000)
    assert main(["report", str(tables), "--out", str(page), "--quiet"]) == 2
    assert f"to {page}: No space left on device: it takes " in capsys.readouterr().err
    assert page.read_text() == "good"
    assert len([*disk.iterdir()]) == 2


@pytest.mark.parametrize("free", [0, 60_000])
def test_a_simulation_leaves_nothing_and_can_be_repeated(disk, free):
    """Python also says if a writer failed that it collects later: then the test fails."""
    fill(disk, leave=free)
    for _ in range(2):
        with pytest.raises(DiskError) as caught:
            simulate(Simulation(groups=20, hours=0.5), disk / "out")
        told = f"nothing can be written to {disk / 'out'}: No space left on device, "
        assert caught.value.message.startswith(told)
        assert not [*(disk / "out").iterdir()]
    (disk / "filler").unlink()
    simulate(Simulation(groups=1, hours=0.1), disk / "out")
    assert {each.name for each in (disk / "out").iterdir()} == {"log", "topics.json"}


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_is_redirected(unbuffered):
    with Path("/dev/full").open("w") as full:
        done = command("query", "--list", stdout=full, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: the answer cannot be written: No space left on device",
        "hint: redirect it to a file on a disk with enough space",
    ]


def test_an_answer_in_a_file(disk):
    fill(disk)
    with (disk / "out").open("w") as out:
        done = command("query", "--list", stdout=out)
    told = f"error: the answer cannot be written to {disk / 'out'}: No space left on device"
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, told)


def test_another_disk_is_not_that_of_the_answer():
    """As with Python's files: what fails to write to an open one names no file."""
    program = (
        "import errno, os\nfrom kip848_records.cli import inspect\n"
        "def fill_another(_):\n"
        "    print('half an answer')\n"
        "    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        f"inspect._run = fill_another\n{PROGRAM}"
    )
    done = subprocess.run([sys.executable, "-c", program, "inspect", "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "half an answer\n")
    assert done.stderr.startswith("error: there is no space left on a disk (")
    assert "is free on the disk of" in done.stderr


class TestBeforeSparkStarts:
    @pytest.fixture(autouse=True)
    def _no_settings(self, monkeypatch):
        for name in [name for name in os.environ if name.startswith(_SETTINGS)]:
            monkeypatch.delenv(name)

    def test_an_audit_says_which_disk(self, disk, captures, tmp_path):
        try:
            check_java()
        except SetupError as error:
            pytest.skip(str(error))
        capture = captures / "kafka-4.0.0-zstd" / "segments"
        done = command(
            "audit", capture, "--out", tmp_path / "out", "--engine", "spark", "--quiet", SPARK_LOCAL_DIRS=disk / "spark"
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[0] == (
            f"error: Spark cannot start: 262.1 kB is free on the disk of {disk / 'spark'} (SPARK_LOCAL_DIRS), "
            "it takes 33.6 MB"
        )
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize(
        ("variable", "value", "setting"),
        [
            ("SPARK_LOCAL_DIRS", f"{ROOM},{{}}", "SPARK_LOCAL_DIRS"),
            ("PYSPARK_SUBMIT_ARGS", "--conf spark.local.dir={} pyspark-shell", "spark.local.dir"),
            (
                "PYSPARK_SUBMIT_ARGS",
                "--driver-java-options '-Xmx1g -Djava.io.tmpdir={}' pyspark-shell",
                "java.io.tmpdir",
            ),
            ("PYSPARK_SUBMIT_ARGS", "--conf spark.driver.extraJavaOptions=-Djava.io.tmpdir={} shell", "java.io.tmpdir"),
            ("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir={}", "java.io.tmpdir"),
        ],
    )
    def test_every_setting_that_names_one(self, disk, monkeypatch, variable, value, setting):
        monkeypatch.setenv(variable, value.format(disk))
        if setting == "java.io.tmpdir":  # by default Spark's folder is Java's
            monkeypatch.setenv("SPARK_LOCAL_DIRS", ROOM)
        with pytest.raises(DiskError, match=rf"is free on the disk of {disk} \({setting}\), it takes") as caught:
            check_scratch_disks()
        assert f"or set {setting} to a folder on a larger disk" in caught.value.hint

    def test_a_folder_that_spark_ignores(self, disk, monkeypatch, tmp_path):
        """It ignores one to which it may not write, as long as there is another."""
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{disk},{tmp_path}")
        check_scratch_disks()
        monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{disk},{disk / 'b'}")
        with pytest.raises(DiskError, match=f"nothing can be written to {disk} "):
            check_scratch_disks()

    def test_python_s_own_folder(self, disk, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", str(disk))
        with pytest.raises(DiskError, match=rf"is free on the disk of {disk} \(TMPDIR\), it takes 4\.2 MB"):
            check_scratch_disks()

    def test_a_disk_without_space_for_a_single_file(self, disk, monkeypatch):
        """Then Python finds no folder at all."""
        fill(disk)
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(disk)])
        monkeypatch.setenv("TMPDIR", str(disk))
        with pytest.raises(DiskError, match=rf"0 B is free on the disk of {disk} \(TMPDIR\)"):
            check_scratch_disks()

    def test_a_disk_without_inodes(self, tmp_path, monkeypatch):
        with small_disk(tmp_path / "disk", "100m", ",nr_inodes=2") as disk:
            (disk / "file").touch()
            monkeypatch.setenv("SPARK_LOCAL_DIRS", str(disk))
            with pytest.raises(DiskError, match="0 B is free on the disk of"):
                check_scratch_disks()

    def test_large_disks_are_taken(self):
        check_scratch_disks()


# Each size is full at another step: the log, the staged rows, the tables.
FULL_AT = [(EMBEDDED, "100k")]
OTHERS = [(SPARK, "600k"), (EMBEDDED, "4k"), (EMBEDDED, "600k"), (SPARK, "300k"), (SPARK, "900k")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "size"), [*FULL_AT, *(pytest.param(*each, marks=pytest.mark.nightly) for each in OTHERS)]
)
def test_an_audit_that_fills_the_disk_of_its_tables(request, captures, tmp_path, engine, size):
    """What is there can be read, and the next run succeeds."""
    spark = request.getfixturevalue("classic") if engine == SPARK else None
    options = AuditOptions(sources=(str(captures / "kafka-4.0.0-zstd" / "segments"),), out="", cluster="c")
    with small_disk(tmp_path / "disk", size) as disk:
        options = replace(options, out=str(disk / "out"))
        with pytest.raises(DiskError) as caught:
            run_audit(spark, options, Progress())
        assert caught.value.message.startswith("there is no space left on a disk (")
        assert f"is free on the disk of {options.out}" in caught.value.message
        assert not (disk / "out" / "_staging").exists()
        for log in (disk / "out").glob("*/_delta_log"):
            if has_commits(log):
                deltalake.DeltaTable(str(log.parent)).to_pyarrow_table()
        assert not (disk / "out" / "audit_runs" / "_delta_log").exists()
        subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
        assert run_audit(spark, options, Progress()).quarantined == 0


@pytest.mark.slow
class TestWithoutSpark:
    """Each place that the embedded engine writes to, as users of commands meet it."""

    @pytest.mark.parametrize("size", ["1m", *nightly(["100k", "3m"])])
    def test_worker_processes(self, large_copies, tmp_path, size):
        """While they read, while they replay, and while the rows of the log are written."""
        with small_disk(tmp_path / "disk", size) as disk:
            out = disk / "out"
            code, printed, said = ended("audit", large_copies[0], "--out", out, program=WITH_WORKERS)
            assert (code, printed) == (2, [])
            error, hint = without_panic(said)
            assert error.startswith("error: there is no space left on a disk (")
            assert f"is free on the disk of {out}" in error
            assert hint.startswith("hint: free some space and run the command again")
            assert not (out / "_staging").exists()
            assert not (out / "audit_runs").exists()

    @pytest.mark.parametrize("leave", [0, *nightly([100_000])])
    def test_the_user_s_cache(self, captures, tmp_path, disk, leave):
        """The question is answered, and its tables are not kept."""
        fill(disk, leave)
        source = captures / "kafka-4.0.0-zstd" / "segments"
        code, printed, said = ended("check", source, TMPDIR=tmp_path, XDG_CACHE_HOME=disk)
        assert (code, said) == (0, [])
        assert printed[-1].startswith(f"1 of {EVALUATED} expectations warned, ")
        assert not [*disk.glob("kip848-records/audits/*"), *disk.glob("kip848-records/audits/.*")]
        assert not [*tmp_path.glob("kip848-*")]

    def test_the_folder_for_temporary_files(self, captures, disk):
        """The answer about a small log needs none."""
        source = captures / "kafka-4.0.0-zstd" / "segments"
        code, printed, _ = ended("check", source, "--no-cache", TMPDIR=disk)
        assert code == 0
        assert printed[-1].startswith(f"1 of {EVALUATED} expectations warned, ")
        assert not [*disk.iterdir()]

    @pytest.mark.parametrize("place", ["--out", "--scratch"])
    def test_a_disk_that_is_read_only(self, captures, tmp_path, disk, place):
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        options = {"--out": tmp_path / "out"} | {place: disk / "new"}
        code, printed, said = ended("audit", captures / "kafka-4.0.0-zstd" / "segments", *sum(options.items(), ()))
        told = f"error: nothing can be written to {disk / 'new'}: no permission to write to {disk}"
        hint = f"hint: pass a folder that you can write to with {place}; it need not exist"
        assert (code, printed, said) == (2, [], [told, hint])
        assert not (tmp_path / "out").exists()


def without_panic(said):
    """The lines on stderr but those that delta-rs prints when it could not write."""
    return [line for line in said if line.startswith(("error: ", "hint: ")) or "Traceback" in line or "File" in line]
