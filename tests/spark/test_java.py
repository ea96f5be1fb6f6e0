import subprocess
import sys

import pytest

from kip848_records.spark import java
from kip848_records.spark.setup_errors import SetupError

pytestmark = pytest.mark.process


@pytest.fixture
def java_home(tmp_path, monkeypatch):
    """Make JAVA_HOME hold a program that answers -version as told."""

    def build(answer, exit_code=0):
        program = tmp_path / "bin" / "java"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}\nEND\nexit {exit_code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    return build


@pytest.mark.parametrize(
    "answer",
    [
        'openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment',
        'openjdk version "21" 2023-09-19',
        'Picked up JAVA_TOOL_OPTIONS: -Dx=1\njava version "21.0.2" 2024-01-16 LTS',
    ],
)
def test_java_17_and_21_pass(java_home, answer):
    java_home(answer)
    java.check_java()


@pytest.mark.parametrize("found", ['java version "1.8.0_292"', 'openjdk version "11.0.2"', 'openjdk version "25.0.3"'])
def test_another_java_is_named_with_what_to_install(java_home, found):
    java_home(f"{found}\nOpenJDK Runtime Environment")
    with pytest.raises(SetupError, match=f"is {found}; install Java 17 or 21 .*openjdk-17"):
        java.check_java()


def test_a_program_that_says_no_version_is_not_java_17(java_home):
    java_home("hello")
    with pytest.raises(SetupError, match="unknown version"):
        java.check_java()


def test_a_java_that_fails_counts_as_missing(java_home):
    java_home("Unable to locate a Java Runtime.", exit_code=1)
    with pytest.raises(SetupError, match="does not run; install Java"):
        java.check_java()


def test_no_java_at_java_home(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SetupError, match=f"'{tmp_path}/bin/java' does not run"):
        java.check_java()


def test_no_java_on_the_path(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match="'java' does not run"):
        java.check_java()


def test_as_a_program_it_answers_in_one_line(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "kip848_records.spark.java"],
        env={"JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode != 0
    assert run.stderr.startswith("error: Spark needs Java")
    assert run.stderr.count("\n") == 1
