"""Fetching jars, with a program in the place of Java."""

from pathlib import Path

import pytest

from tests import maven_jars
from tests.downloads import UnavailableError
from tests.maven_jars import fetch

pytestmark = pytest.mark.process

# Puts a jar where Ivy is told to, and leaves a line of its arguments.
IVY = """
echo "$@" >> "$XDG_CACHE_HOME/calls"
for last; do :; done
mkdir -p "$(dirname "$last")"
touch "$(dirname "$last")/m-1.jar"
"""


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(maven_jars, "_slow", [])
    return program


def install(java: Path, script: str) -> None:
    java.write_text("#!/bin/sh\n" + script)
    java.chmod(0o755)


def test_jars_are_fetched_once(java: Path, tmp_path: Path):
    install(java, IVY)
    jars = fetch("m", "1")
    assert [jar.name for jar in jars] == ["m-1.jar"]
    assert jars[0].is_file()
    assert fetch("m", "1") == jars
    assert fetch("m", "1", dependencies=True) != jars
    assert fetch("m", "1", organisation="org.other") != jars
    calls = (tmp_path / "calls").read_text().splitlines()
    assert ["-notransitive" in call for call in calls] == [True, False, True]
    of = [call.split("-dependency ")[1].split(" -")[0] for call in calls]
    assert of == ["org.apache.kafka m 1", "org.apache.kafka m 1", "org.other m 1"]
    assert len(list((tmp_path / "kip848-records" / "jars").iterdir())) == 3


def test_two_processes_that_fetch_the_same_agree(java: Path, tmp_path: Path):
    folder = tmp_path / "kip848-records" / "jars" / "org.apache.kafka-m-1"
    install(java, IVY + f'mkdir "{folder}"; touch "{folder}/of-the-other.jar"')
    assert [jar.name for jar in fetch("m", "1")] == ["of-the-other.jar"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo ':: m;1: not found'; echo '\tServer access error at url'; echo USE; exit 1",
            "Server access error at url",
        ),
        ("echo 'module not found: m;1'; echo USE; exit 1", "module not found: m;1"),
        (IVY + "echo '\t[FAILED     ] m;1!m.jar: broken pipe'", "[FAILED     ] m;1!m.jar: broken pipe"),
        ("exit 0", "Ivy said nothing"),
    ],
)
def test_what_ivy_cannot_get_is_named(java: Path, script: str, reason: str):
    install(java, script)
    for _ in range(2):
        with pytest.raises(UnavailableError) as caught:
            fetch("m", "1")
        assert str(caught.value) == f"org.apache.kafka:m:1 cannot be fetched: {reason}"


def test_without_java_there_are_no_jars(java: Path):
    assert not java.exists()
    with pytest.raises(UnavailableError, match="m:1 cannot be fetched: Java does not run"):
        fetch("m", "1")


def test_a_cache_that_cannot_be_written_is_named(java: Path, tmp_path: Path):
    install(java, IVY)
    (tmp_path / "kip848-records").write_text("a file, not a folder")
    with pytest.raises(UnavailableError, match=r"there is no place for jars in .*kip848-records"):
        fetch("m", "1")


def test_waiting_has_an_end_and_is_not_repeated(java: Path):
    install(java, "exec sleep 60")
    with pytest.raises(UnavailableError, match=r"fetching org\.apache\.kafka:m:1 took more than 0\.2 s"):
        fetch("m", "1", timeout=0.2)
    with pytest.raises(UnavailableError, match=r"m:2 was not asked for: fetching org\.apache\.kafka:m:1 took more"):
        fetch("m", "2")
