"""The fuzz script counts what it does, and tells of what fails what one needs to repeat it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests import fuzz
from tests.fuzz_cases import CASES, Case
from tests.memory import peak_memory

ROOT = Path(__file__).parents[2]
PRINT_PEAK = "from tests.memory import peak_memory; print(peak_memory())"


@pytest.fixture
def planted(monkeypatch):
    """Makes a function the check of all cases of messages, a hundred inputs each."""

    def plant(check):
        items = [bytes([number]) for number in range(100)]
        monkeypatch.setitem(CASES, "messages", lambda _: Case("planted", items, check))

    return plant


@pytest.mark.slow
@pytest.mark.process
def test_a_short_run(capsys):
    assert fuzz.main(["--inputs", "3000", "--seed", "5", "--processes", "2"]) == 0
    printed = capsys.readouterr().out
    assert "seed 5, of the processes: 5.0, 5.1" in printed
    inputs, good, errors = (
        int(n.replace(",", "")) for n in re.search(r"messages" + r" +([\d,]+)" * 3, printed).groups()
    )
    assert inputs == good + errors > 2000
    assert printed.endswith("0 findings\n")


def test_a_case_follows_from_its_name():
    def cases():
        return [make(fuzz.random.Random("x")).items for make in CASES.values()]

    assert cases() == cases()


@pytest.mark.parametrize("error", [AssertionError, ZeroDivisionError, MemoryError])
def test_a_finding_is_cut_down_and_can_be_repeated(planted, capsys, error):
    def check(items):
        if b"\x30" in items and b"\x50" in items:
            raise error("planted")
        return len(items)

    planted(check)
    for _ in range(2):
        assert fuzz.main(["--repeat", "messages/8.1/7"]) == 1
        printed = capsys.readouterr().out
        assert f"{error.__name__}: planted" in printed
        assert "found in messages/8.1/7, planted; inputs: 2\n30\n50\n" in printed
        assert printed.endswith("repeat it with: python tests/fuzz.py --repeat messages/8.1/7\n")


def test_an_input_that_takes_too_long_is_a_finding(planted, capsys, monkeypatch):
    def check(items):
        while b"\x30" in items:
            pass
        return len(items)

    planted(check)
    monkeypatch.setattr(fuzz, "HANGING_SECONDS", 0.1)
    assert fuzz.main(["--repeat", "messages/1/1"]) == 1
    assert "TooSlowError: ended after" in (printed := capsys.readouterr().out)
    assert "inputs: 1\n30\n" in printed


def test_a_slow_input_is_named(planted, capsys, monkeypatch):
    def check(items):
        sum(range(3_000_000 if b"\x30" in items else 1))
        return len(items)

    planted(check)
    monkeypatch.setattr(fuzz, "CPU_SECONDS", 0.01)
    assert fuzz.main(["--repeat", "messages/1/1"]) == 1
    assert "TooSlowError: more than 0.01 s of CPU" in (printed := capsys.readouterr().out)
    assert "inputs: 1\n30\n" in printed


def test_memory_in_use_is_bounded(planted, capsys, monkeypatch):
    planted(len)
    monkeypatch.setattr(fuzz, "PEAK_BYTES", 1000)
    assert fuzz.main(["--repeat", "messages/1/1"]) == 1
    assert "bytes in use" in capsys.readouterr().out


@pytest.mark.process
def test_a_process_answers_for_its_own_memory_not_for_its_parent_s():
    mine = np.ones(50_000_000)
    told = subprocess.run([sys.executable, "-c", PRINT_PEAK], cwd=ROOT, check=True, capture_output=True)
    assert 0 < int(told.stdout) < mine.nbytes < peak_memory()


def test_long_inputs_go_to_a_file(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(fuzz.tempfile, "tempdir", str(tmp_path))

    def check(_):
        raise AssertionError

    monkeypatch.setitem(CASES, "messages", lambda _: Case("planted", [b"x" * 5000], check))
    assert fuzz.main(["--repeat", "messages/1/1"]) == 1
    (path,) = re.findall(r"\n(/\S+fuzz-\S+\.hex)\n", capsys.readouterr().out)
    assert Path(path).read_text(encoding="utf-8") == (b"x" * 5000).hex()


@pytest.mark.process
def test_a_process_that_dies_is_a_finding(capsys, monkeypatch):
    monkeypatch.setattr(fuzz, "work", die)
    assert fuzz.main(["--inputs", "10", "--processes", "1"]) == 1
    printed = capsys.readouterr().out
    assert "a process ended with" in printed
    assert "--repeat segments/3/4" in printed


def die(_seed, _minutes, _inputs, at, _results):
    at.value = b"segments/3/4"
    os._exit(9)
