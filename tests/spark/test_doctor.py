"""`kip848 doctor`: what lacks is named, with the way to get it; Spark is not started.

One test asks the Java of this machine. In the others Java is there, because each question starts a JVM;
`tests/spark/test_java.py` shows what the question finds.
"""

import os
import pwd
import re
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import pytest

from kip848_records.cli import main
from kip848_records.machine import budget
from kip848_records.spark import doctor
from kip848_records.spark.conf import default_settings, missing_jars
from kip848_records.spark.java import check_java, home_of_java
from tests import users
from tests.small_disks import fill, small_disk

ROOT = Path(__file__).parents[2]


@pytest.fixture
def said(capsys, monkeypatch, tmp_path):
    """Run the command with a home whose Ivy folder has all jars; the exit code, and the findings by subject."""
    home = tmp_path / "home"
    (home / ".ivy2.5.2" / "jars").mkdir(parents=True)
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_LOCAL_DIRS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    for coordinate in missing_jars(default_settings(), tmp_path):
        organisation, name, version = coordinate.split(":")
        (home / ".ivy2.5.2" / "jars" / f"{organisation}_{name}-{version}.jar").touch()
    monkeypatch.setattr(doctor, "home_of_java", lambda: home)
    monkeypatch.setattr(doctor, "check_java", lambda: 17)

    def run(*arguments):
        code = main(["doctor", *map(str, arguments)])
        out = capsys.readouterr().out
        lines = out.splitlines()
        found = {}
        for nth, line in enumerate(lines[:-1]):
            if line[0] != " ":
                hint = lines[nth + 1].strip() if lines[nth + 1][0] == " " else None
                if found.get(subject := line[9:25].strip(), ("ok",))[0] == "ok":  # of several, the one to mend
                    found[subject] = (line[:8].strip(), line[26:], hint)
        assert lines[-1].endswith("An audit can run") == (code == 0)
        return code, found

    return run


def test_nothing_lacks(said, tmp_path):
    code, found = said("--out", tmp_path / "a" / "b")
    assert code == 0
    assert {status for status, _, _ in found.values()} == {"ok"}
    assert found.keys() >= {"kip848-records", "Spark", "Java", "jars", "memory", "--out", "--webhook"}


@pytest.mark.process
def test_java_that_is_not_there(said, monkeypatch):
    monkeypatch.setattr(doctor, "check_java", check_java)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    code, found = said()
    status, text, hint = found["Java"]
    assert (code, status) == (1, "lacking")
    assert text == "Spark needs Java, but '/nowhere/bin/java' does not run"
    assert "install Java 17 or 21" in hint


def test_jars_that_the_first_audit_fetches_are_a_note(said, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "home_of_java", lambda: tmp_path)
    code, found = said()
    status, text, hint = found["jars"]
    assert (code, status) == (0, "note")
    assert "io.delta:delta-spark" in text
    assert "spark-sql-kafka" in text
    assert "docs/install.md" in hint


@pytest.mark.parametrize(
    ("packages", "missing"),
    [
        ("a.b:c:1,  d:e:2", "a.b:c:1, d:e:2"),
        ("a.b:c:1,", "a.b:c:1"),
        ("a.b:c:1,d:e,f:g:3", "a.b:c:1, f:g:3"),
        ("a.b:c:1 ", "a.b:c:1"),
    ],
)
def test_jars_as_spark_reads_them(said, monkeypatch, tmp_path, packages, missing):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    for separator in (" ", "=", "\t", " = "):
        (tmp_path / "spark-defaults.conf").write_text(f"spark.jars.packages{separator}{packages}\n")
        code, found = said()
        assert (code, found["jars"][:2]) == (0, ("note", f"{missing}: not in Ivy's folder yet"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("--jars /a.jar", "those of the setting spark.jars"),
        ("--conf spark.jars=/a.jar", "those of the setting spark.jars"),
        ("--conf spark.jars.packages=", "Spark has them, or finds them in its Ivy folder"),
    ],
)
def test_jars_of_the_command_line(said, monkeypatch, tmp_path, arguments, text):
    monkeypatch.setattr(doctor, "home_of_java", lambda: tmp_path)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{arguments} pyspark-shell")
    code, found = said()
    assert (code, found["jars"]) == (0, ("ok", text, None))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"spark.app.name \xff\n", "'utf-8' codec can't decode byte 0xff"),
        (b"spark.app.name \\u12\n", "\\u is not followed by four hexadecimal digits"),
    ],
)
def test_settings_that_cannot_be_read(said, monkeypatch, tmp_path, content, reason):
    (tmp_path / "spark-defaults.conf").write_bytes(content)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    code, found = said()
    status, text, _ = found["settings"]
    assert (code, status) == (1, "lacking")
    assert reason in text


@pytest.mark.parametrize(
    ("options", "memory"),
    [("", "100 GiB"), ("--load-spark-defaults ", "100 GiB"), ("--driver-memory 9g ", "9 GiB")],
)
def test_a_file_of_settings_that_spark_submit_would_read(said, monkeypatch, tmp_path, options, memory):
    """It takes the place of `spark-defaults.conf`, unless both are to be read."""
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.memory 300g\nspark.jars /a.jar\n")
    (tmp_path / "own.conf").write_text("spark.driver.memory=100g\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{options}--properties-file {tmp_path / 'own.conf'} pyspark-shell")
    _, found = said()
    assert found["memory"][1].endswith(f"spark.driver.memory is {memory}")
    assert ("spark.jars" in found["jars"][1]) == ("--load" in options)


def test_a_file_of_settings_that_is_not_there(said, monkeypatch, tmp_path):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file={tmp_path / 'own.conf'} pyspark-shell")
    code, found = said()
    text = f"Spark's settings in {tmp_path / 'own.conf'} cannot be read: No such file or directory"
    assert (code, found["settings"][:2]) == (1, ("lacking", text))


def test_a_quote_that_is_not_closed(said, monkeypatch):
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf 'spark.a=b pyspark-shell")
    code, found = said()
    assert (code, found["settings"][0]) == (1, "lacking")
    assert found["settings"][1] == "Spark's settings in PYSPARK_SUBMIT_ARGS cannot be read: No closing quotation"


def test_a_reader_that_is_not_installed(said, monkeypatch):
    monkeypatch.setattr(doctor, "_READERS", ("duckdb", "not-there"))
    code, found = said()
    assert (code, found["readers"]) == (1, ("lacking", "not-there: not installed", "pip install not-there"))


def test_versions_that_do_not_match(said, monkeypatch, tmp_path):
    (tmp_path / "spark-defaults.conf").write_text("spark.jars.packages io.delta:delta-spark_3.5_2.12:3.3.0\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    code, found = said()
    status, text, hint = found["Spark"]
    assert (code, status) == (1, "lacking")
    assert "does not match io.delta:delta-spark_3.5_2.12:3.3.0" in text
    assert hint == "pip install 'pyspark==3.5.*' 'delta-spark==3.3.0'"


@pytest.mark.parametrize(("limit", "status"), [("2g", "ok"), ("9999g", "note")])
def test_less_memory_than_spark_may_take(said, monkeypatch, tmp_path, limit, status):
    (tmp_path / "spark-defaults.conf").write_text(f"spark.driver.memory {limit}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    code, found = said()
    assert (code, found["memory"][0]) == (0, status)


@pytest.mark.parametrize(
    "setting", ["spark.driver.memory=9999g", "spark.driver.memory\t9999G", "spark.driver.memory 9999gb "]
)
def test_memory_as_spark_reads_it(said, monkeypatch, tmp_path, setting):
    (tmp_path / "spark-defaults.conf").write_text(f"{setting}\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert said()[1]["memory"][0] == "note"


@pytest.mark.parametrize(
    "arguments",
    [
        "--driver-memory 512m",
        "--driver-memory=512m",
        "--conf spark.driver.memory=512m",
        "-c spark.driver.memory=512m",
        "--conf 'spark.driver.memory = 512m'",
    ],
)
def test_the_hint_about_memory_helps(said, monkeypatch, tmp_path, arguments):
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.memory 9999g\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert 'PYSPARK_SUBMIT_ARGS="--driver-memory 1g pyspark-shell" kip848 ...' in said()[1]["memory"][2]
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{arguments} pyspark-shell")
    status, text, hint = said()[1]["memory"]
    assert (status, hint) == ("ok", None)
    assert text.endswith("spark.driver.memory is 0.5 GiB")


@pytest.mark.parametrize("folder", ["", "slice", "slice/service"])
def test_the_limit_of_any_cgroup_counts(said, monkeypatch, tmp_path, folder):
    """The cgroup of the process may have the limit, or one above it."""
    (tmp_path / "slice" / "service").mkdir(parents=True)
    (tmp_path / "own").write_text("0::/slice/service\n")
    monkeypatch.setattr(budget, "_CGROUPS", tmp_path)
    monkeypatch.setattr(budget, "_OWN_CGROUPS", tmp_path / "own")
    limit = tmp_path / folder / "memory.max"
    limit.write_text("max\n")
    assert not said()[1]["memory"][1].startswith("0.5 GiB")
    limit.write_text(f"{1 << 29}\n")
    assert said()[1]["memory"][1].startswith("0.5 GiB")


def test_a_disk_that_is_full(said, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "_FREE_BYTES", 1 << 80)
    code, found = said("--out", tmp_path)
    assert code == 1
    assert {subject for subject, (status, *_) in found.items() if status == "lacking"} == {"temporary files", "--out"}


@pytest.mark.process  # it mounts a disk
def test_spark_s_own_folder_is_on_a_full_disk(said, monkeypatch, tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", str(disk / "spark"))
        code, found = said()
    assert (code, found["temporary files"]) == (
        1,
        (
            "lacking",
            f"0.0 GiB free in {disk}",
            "set SPARK_LOCAL_DIRS to a folder on a larger disk: docs/sizing.md says how",
        ),
    )


@pytest.mark.process  # as above
def test_a_disk_for_temporary_files_that_takes_no_file(said, monkeypatch, tmp_path):
    """Python then finds no folder at all."""
    with small_disk(tmp_path / "disk") as disk:
        fill(disk)
        monkeypatch.setattr("tempfile.tempdir", None)
        monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(disk)])
        monkeypatch.setenv("TMPDIR", str(disk))
        code, found = said()
    assert (code, found["temporary files"][:2]) == (1, ("lacking", f"0.0 GiB free in {disk}"))


def test_a_folder_that_cannot_be(said, tmp_path):
    (tmp_path / "file").touch()
    code, found = said("--out", tmp_path / "file" / "out")
    assert (code, found["--out"][0], found["--out"][1]) == (1, "lacking", f"{tmp_path / 'file'}: it is a file")


def test_a_folder_elsewhere_is_not_examined(said):
    code, found = said("--out", "s3a://bucket/out")
    assert (code, found["--out"][0]) == (0, "note")


@pytest.mark.process
def test_it_takes_a_moment_on_this_machine():
    """CPU time, not time on a clock: other tests run meanwhile."""
    before = getrusage(RUSAGE_CHILDREN)
    program = "import sys; from kip848_records.command import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "doctor"], cwd=ROOT, env=users.environment(), capture_output=True, check=False
    )
    after = getrusage(RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert re.search(rb"^ok +Java +(17|21)$", done.stdout, re.MULTILINE)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


def test_the_home_of_java_is_that_of_the_account(monkeypatch, tmp_path):
    """So is the one of Ivy's folder: `HOME` may be that of another user, as with sudo."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home_of_java() == Path(pwd.getpwuid(os.getuid()).pw_dir)
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # a user without an account
    assert home_of_java() == tmp_path
