"""Nightly and daily tests have other seeds each day, and a failure shows how to repeat them."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests import seeds

ROOT = Path(__file__).parents[2]
TEST = """
import pytest
from tests.seeds import daily_seeds, nightly

@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.daily), *nightly(daily_seeds(1, "made"))]
)
def test_it(seed):
    assert seed == 1, f"failed with {seed}"
"""


def test_the_seed_of_the_day_is_the_date_or_the_variable(monkeypatch):
    monkeypatch.delenv(seeds.VARIABLE)
    assert seeds.seed_of_the_day() == int(f"{datetime.now(UTC):%Y%m%d}")
    monkeypatch.setenv(seeds.VARIABLE, "20261128")
    assert seeds.seed_of_the_day() == 20261128


def test_each_day_and_each_name_has_its_own_seeds(monkeypatch):
    chosen = {}
    for day in ("20261128", "20261129"):
        monkeypatch.setenv(seeds.VARIABLE, day)
        for name in ("walks", "logs"):
            chosen[day, name] = tuple(seeds.daily_seeds(3, name))
            assert tuple(seeds.daily_seeds(3, name)) == chosen[day, name]
    assert len(set(chosen.values())) == 4


def test_a_sample_keeps_the_order_of_its_cases():
    assert seeds.daily_sample("abc", 5, "letters") == ["a", "b", "c"]
    assert seeds.daily_sample(range(100), 10, "numbers") == sorted(set(seeds.daily_sample(range(100), 10, "numbers")))


@pytest.mark.slow
def test_a_failure_with_a_seed_of_the_day_shows_how_to_repeat_it(tmp_path):
    file = tmp_path / "test_made.py"
    file.write_text(TEST)

    def run(*arguments):
        environment = {**os.environ, "PYTEST_ADDOPTS": "", seeds.VARIABLE: "7"}
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "pyproject.toml", "--rootdir", ROOT]
        command += ["-p", "tests.conftest", file, *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False).stdout

    for workers in ("0", "2"):
        printed = run("-n", workers)
        _, failed = printed.split("= FAILURES =")
        assert failed.count(f"set {seeds.VARIABLE}=7") == 2, printed
        assert f"failed with {seeds.Random('7/made').sample(range(1_000_000), 1)[0]}" in failed
    assert f"set {seeds.VARIABLE}=7" in run("-m", "not nightly")
