"""Fetching the schema, with a program in the place of pip."""

import sys
from pathlib import Path

import pytest

from tests.downloads import UnavailableError
from tests.report.junit_schema import junit_schema

pytestmark = pytest.mark.process

# Packs the source distribution that pip would get, where pip is told to.
PIP = f"""
cd "$XDG_CACHE_HOME"
echo "$@" >> calls
for one; do case $before in --dest) to=$one;; esac; before=$one; done
mkdir -p pytest-{pytest.__version__}/testing/example_scripts
echo schema > pytest-{pytest.__version__}/testing/example_scripts/junit-10.xsd
tar czf "$to/pytest-{pytest.__version__}.tar.gz" pytest-{pytest.__version__}
"""


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return program


def install(pip: Path, script: str) -> None:
    pip.write_text("#!/bin/sh\n" + script)
    pip.chmod(0o755)


def test_it_is_fetched_once(pip: Path, tmp_path: Path):
    install(pip, PIP)
    schema = junit_schema()
    assert schema.read_text() == "schema\n"
    assert junit_schema() == schema
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
    assert list((tmp_path / "kip848-records" / "schemas").iterdir()) == [schema]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'WARNING: slow'; echo 'ERROR: no such version'; exit 1", "cannot be fetched: ERROR: no such version"),
        ("exit 0", "cannot be fetched: pip said nothing"),
        ("exec sleep 60", r"took more than 0\.2 s"),
    ],
)
def test_what_pip_cannot_get_is_named(pip: Path, script: str, reason: str):
    install(pip, script)
    with pytest.raises(UnavailableError, match=rf"^[^\n]*source of pytest-[^\n]* {reason}$"):
        junit_schema(0.2 if "sleep" in script else 60)
