"""How long brokers keep offsets decides why one was lost: an option of each command that reads a log."""

import pytest

from kip848_records.cli import main
from tests.cli.offsets_log import commit, write

HOUR = 3600
TOOL_OR_TOPIC = "deleted_or_topic_deleted"
"""No other group keeps an offset of the topic, which may be gone."""
QUESTION = "SELECT cause FROM commit_jump WHERE kind = 'lost'"


@pytest.fixture
def asked(capsys, monkeypatch, tmp_path):
    """Run a command: its exit code, and what it printed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(*arguments):
        try:
            code = main([str(each) for each in (*arguments, "--quiet")])
        except SystemExit as error:
            code = error.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def log(tmp_path):
    """A log with a commit that was removed 30 hours later."""
    return write(tmp_path / "log", commit(0, 5), commit(30 * HOUR, None))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("retention", "cause"),
    [(None, TOOL_OR_TOPIC), ("31h", TOOL_OR_TOPIC), ("30h", "expired"), ("1d", "expired"), ("1800min", "expired")],
)
def test_an_offset_expired_if_it_was_old_enough(asked, log, retention, cause):
    """The tables in the cache are those of the same retention."""
    options = [] if retention is None else ["--offsets-retention", retention]
    assert asked("query", log, "--offset-commits", QUESTION)[1].split()[-1] == TOOL_OR_TOPIC
    assert asked("query", log, "--offset-commits", *options, QUESTION)[1].split()[-1] == cause


def test_a_run_keeps_what_it_was_told(asked, log, tmp_path):
    out = tmp_path / "out"
    assert asked("audit", log, "--offset-commits", "--offsets-retention", "3600s", "--out", out)[0] == 0
    code, printed, _ = asked("query", out, "SELECT offsets_retention_ms FROM audit_runs")
    assert (code, printed.split()[-1].replace(",", "")) == (0, "3600000")
    question = "SELECT cause, assumed_retention_ms FROM commit_jump WHERE kind = 'lost'"
    printed = asked("query", out, question, "--json")[1]
    assert printed == '{"cause": "expired", "assumed_retention_ms": null}\n'


@pytest.mark.parametrize("retention", ["10080", "0d", "7 d", "d", "-1d", "1w"])
def test_a_time_without_a_unit_is_refused(asked, log, retention):
    """Kafka's setting is in minutes, other options are in seconds."""
    code, _, said = asked("query", log, "--offset-commits", f"--offsets-retention={retention}", QUESTION)
    assert code == 2
    assert f"{retention!r} is not a time such as 7d, 36h, 10080min or 60s" in said


def test_it_needs_offset_commits_of_a_log(asked, log, tmp_path):
    code, _, said = asked("audit", log, "--offsets-retention", "7d", "--out", tmp_path / "out")
    assert (code, said.splitlines()[0]) == (2, "error: --offsets-retention is about offset commits")
    assert asked("audit", log, "--out", tmp_path / "out")[0] == 0
    code, _, said = asked("query", tmp_path / "out", "--offsets-retention", "7d", QUESTION)
    assert code == 2
    assert "--offsets-retention" in said
