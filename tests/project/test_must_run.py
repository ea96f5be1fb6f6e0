"""What tests compare with may be missing on a laptop, where they are skipped; in CI they fail, and say what it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LACKING = {
    "tests/broker/test_broker.py": "there is no place for jars in ",
    "tests/monitoring/test_prometheus.py": "apt-get install prometheus prometheus-node-exporter",
    "tests/protocol/test_definitions.py": "there is no place for jars in ",
    "tests/report/page/test_browser.py": "there is no Chromium to open the page in",
    "tests/report/test_junit.py": "there is no place for schemas in ",
    "tests/report/test_sarif.py": "there is no place for jars in ",
}
"""Files with tests that compare with something, and what they say if it cannot be had."""

MAY_LACK = {"tests/install/test_databricks.py": "there is no `databricks` on the PATH"}
TESTS = "tool_that_logs_in or takes_every_line or embedded_consumer or many_groups or jenkins_takes_it or it_is_valid"
TESTS += " or databricks_cli"


def run(*files, must_run, select=""):
    """Run tests where no program is on the PATH, and nothing can be fetched or kept; return what pytest prints."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KIP848_", "PYTEST_"))}
    environment = kept | {"PATH": "", "XDG_CACHE_HOME": "/proc/none", "KIP848_TESTS_MUST_RUN": "1" if must_run else ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", select, *files]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("must_run", [True, False])
def test_what_tests_compare_with_is_missing(must_run):
    done = run(*LACKING, *MAY_LACK, select=TESTS, must_run=must_run)
    lines = re.findall(r"^(FAILED|ERROR|SKIPPED).* (tests/[\w/]+\.py):", done.stdout, re.MULTILINE)
    skipped = {file for outcome, file in lines if outcome == "SKIPPED"}
    failed = {file for outcome, file in lines if outcome != "SKIPPED"}
    expected = ({*MAY_LACK}, {*LACKING}, 1) if must_run else ({*MAY_LACK, *LACKING}, set(), 0)
    assert (skipped, failed, done.returncode) == expected, done.stdout
    for reason in (*LACKING.values(), *MAY_LACK.values()):
        assert reason in done.stdout


def test_continuous_integration_skips_nothing_and_names_the_cases_that_take_most():
    *before, last = (ROOT / ".ci" / "run").read_text().splitlines()
    assert last == 'make "${1:-test-all}"'
    assert "export KIP848_TESTS_MUST_RUN=1" in before
    assert any(line.startswith('export PYTEST_ADDOPTS="--cpu 40 ') for line in before)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("def test_it():\n    pytest.skip('no network')", "1 failed"),
        ("@pytest.mark.skipif(True, reason='no network')\ndef test_it():\n    pass", "1 error"),
        ("pytest.importorskip('no_network')\ndef test_it():\n    pass", "1 error"),
        ("@pytest.mark.not_everywhere\ndef test_it():\n    pytest.skip('no network')", "1 skipped"),
        ("@pytest.mark.xfail(reason='no network')\ndef test_it():\n    raise ValueError", "1 xfailed"),
    ],
)
def test_every_kind_of_skip(tmp_path, text, outcome):
    (tmp_path / "test_made.py").write_text(f"import pytest\n{text}\n")
    done = run(
        tmp_path / "test_made.py",
        "-c",
        "pyproject.toml",
        "--rootdir",
        ROOT,
        "-p",
        "tests.conftest",
        select="",
        must_run=True,
    )
    assert outcome in done.stdout.splitlines()[-1], done.stdout
    assert "no network" in done.stdout or "no_network" in done.stdout
