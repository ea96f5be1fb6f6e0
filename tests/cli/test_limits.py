"""Limits of the diagnosis in a file: what commands say of them."""

import pytest

from kip848_records.cli import main
from kip848_records.machine import paths
from kip848_records.machine.paths import SPARK_VARIABLES
from kip848_records.report.page import page
from kip848_records.tables.location import location_arguments, sources_location
from tests.cli import offsets_log
from tests.expectations.only import only

LOOP = "restart loop"
OFF = "Switched off for this group, so not shown: restart loop"


@pytest.fixture(autouse=True)
def no_spark(monkeypatch, tmp_path):
    monkeypatch.setattr(paths, "_active_session", lambda: None)
    for name in SPARK_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def kip848(capsys):
    """Run a command line in this process: what it printed, and the notes on stderr."""

    def run(*arguments):
        assert main([str(argument) for argument in (*arguments, "--quiet")]) in {0, 1}
        printed = capsys.readouterr()
        return printed.out, [line for line in printed.err.splitlines() if line.startswith("note: ")]

    return run


@pytest.fixture
def log(captures):
    """A log whose group `churn` has a restart loop."""
    return captures / "kafka-4.3.1" / "segments"


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "my limits.toml"
    file.write_text('[diagnosis.restart_loop.groups]\n"churn*" = { enabled = false }')
    return file


@pytest.mark.slow
def test_the_summary_and_explain_say_what_is_not_the_default(kip848, log, config, tmp_path):
    out = tmp_path / "out"
    summary, _ = kip848("audit", log, "--out", out, "--config", config)
    assert "\nDiagnosis with limits of your own (table audit_runs): restart loop\n" in summary
    assert "Failing over time" not in summary
    explained, _ = kip848("explain", out, "churn")
    assert OFF in explained.splitlines()
    assert OFF not in kip848("explain", out, "static")[0]
    summary, _ = kip848("audit", log, "--out", out)
    assert "of your own" not in summary
    assert "Failing over time" in summary
    assert LOOP in kip848("explain", out, "churn")[0]


@pytest.mark.slow
def test_a_check_says_if_the_tables_were_made_with_other_limits(kip848, config, tmp_path):
    log = offsets_log.write(tmp_path / "log", *offsets_log.member(0, "t"))
    out = tmp_path / "out"
    kip848("audit", log, "--out", out)
    one = only("group_stable")
    config.write_text(one + config.read_text())
    note = f"note: {config} has limits of the diagnosis with which the tables were not made; pass it to kip848 audit"
    for more in ([], ["--cluster", "default"]):
        assert kip848("check", out, "--config", config, *more)[1] == [note]
    assert kip848("report", out, "--config", config, "--out", tmp_path / "page.html")[1] == [note]
    kip848("audit", log, "--out", out, "--config", config)
    assert kip848("check", out, "--config", config)[1] == []
    config.write_text(f"{one}[expectations.group_stable]\nmax_seconds = 9")
    assert kip848("check", out, "--config", config)[1] == []


@pytest.mark.slow
def test_questions_about_a_log_take_them(kip848, log, config):
    question = ("query", log, "SELECT pattern FROM diagnosis WHERE group_id = 'churn'", "--csv")
    assert "restart_loop" in kip848(*question)[0]
    told, notes = kip848(*question, "--config", config)
    not_looked_for = "troubles of consumption are not looked for; audit the log with --offset-commits"
    assert "restart_loop" not in told
    assert notes == [
        "note: the answer has no rows",
        f"note: the audit decoded no offset commits: {not_looked_for}",
    ]
    config.write_text("[diagnosis.restart_loop]\nshort_stays = 4")
    assert "restart_loop" in kip848(*question, "--config", config)[0]  # not from the cache


@pytest.mark.slow
def test_the_page_of_a_log_names_the_file_once(kip848, config, tmp_path, monkeypatch):
    log = offsets_log.write(tmp_path / "log", *offsets_log.member(0, "t"))
    config.write_text(only() + config.read_text())
    named = []
    made = page.page
    monkeypatch.setattr(page, "page", lambda contents: named.append(page.commands(contents)) or made(contents))
    assert kip848("report", log, "--config", config, "--out", tmp_path / "page.html")[1] == []
    location = location_arguments(sources_location([str(log)], ["--config", str(config)]))
    assert named == [{"tables": location, "check": f"kip848 check {location}"}]
