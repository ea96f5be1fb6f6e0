"""Progress is one line that changes on a terminal, a line for each phase elsewhere, and nothing with `--quiet`."""

import io
import re
from argparse import Namespace

import pytest
from rich.console import Console

from kip848_records.cli import progress as progress_module
from kip848_records.cli.progress import LiveProgress, ProgressLines, shown_progress
from kip848_records.pipeline.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """What the clock shows; a test lets time pass by adding to it."""
    now = [100.0]
    monkeypatch.setattr(progress_module, "monotonic", lambda: now[0])
    return now


def work(progress, clock):
    progress.phase("starting Spark")
    clock[0] += 6
    progress.phase("reading", "a\nlog")
    progress.advance(1_000_000)
    clock[0] += 4
    progress.advance(234_567)
    progress.note("dialect kafka")
    progress.phase("writing tables", "log")
    progress.phase("writing tables", "rebalance_lag")
    progress.done()
    progress.done()


def test_lines(clock, capsys):
    work(ProgressLines(), clock)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines() == [
        "[  0.0 s] starting Spark",
        r"[  6.0 s] reading a\nlog",
        "[ 10.0 s] dialect kafka",
        "[ 10.0 s] reading: 1,234,567 rows, 308,642 rows/s",
        "[ 10.0 s] writing tables log",
    ]


class TestTerminal:
    @pytest.fixture
    def terminal(self):
        return Console(file=io.StringIO(), force_terminal=True, width=40, legacy_windows=False, _environ={})

    def test_one_line_changes_and_is_gone(self, terminal, clock, capsys):
        work(LiveProgress(terminal), clock)
        shown = terminal.file.getvalue()
        # A note is above the line; before each other text the line is erased, and in the end too.
        assert re.sub(r"\r|\x1b\[[^a-zA-Z]*[a-zA-Z]", "", shown).count("\n") == 2
        assert "dialect kafka" in shown
        assert "\x1b[2K" in shown.rpartition("\n")[2]
        assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1
        assert capsys.readouterr() == ("", "")

    def test_what_it_shows(self, terminal, clock):
        progress = LiveProgress(terminal)
        clock[0] += 1
        progress.phase("reading", "a\nlog")
        assert progress._text().plain == r"[  1.0 s] reading (a\nlog)"
        progress.advance(1_500)
        assert progress._text().plain == r"[  1.0 s] reading: 1,500 rows (a\nlog)"
        clock[0] += 2
        assert progress._text().plain == r"[  3.0 s] reading: 1,500 rows, 750 rows/s (a\nlog)"
        progress.phase("writing tables")
        assert progress._text().plain == "[  3.0 s] writing tables"
        progress.done()

    def test_it_is_no_longer_than_the_terminal_is_wide(self, terminal):
        progress = LiveProgress(terminal)
        progress.phase("reading", "x" * 100)
        progress.done()
        lines = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", terminal.file.getvalue()).replace("\r", "\n").splitlines()
        assert max(map(len, lines)) == 40


class TestChoice:
    @pytest.mark.parametrize(
        ("is_terminal", "term", "quiet", "kind"),
        [
            (True, "xterm", False, LiveProgress),
            (True, "dumb", False, ProgressLines),
            (False, "xterm", False, ProgressLines),
            (True, "xterm", True, Progress),
        ],
    )
    def test_by_what_stderr_is(self, monkeypatch, is_terminal, term, quiet, kind):
        console = Console(file=io.StringIO(), force_terminal=is_terminal, _environ={"TERM": term})
        monkeypatch.setattr(progress_module, "Console", lambda **_: console)
        with shown_progress(Namespace(quiet=quiet)) as progress:
            assert type(progress) is kind

    @pytest.mark.usefixtures("clock")
    def test_it_ends_with_the_block_whatever_happens(self, capsys):
        def fails():
            with shown_progress(Namespace(quiet=False)) as progress:
                progress.phase("reading")
                progress.advance(5)
                raise KeyError

        with pytest.raises(KeyError):
            fails()
        assert capsys.readouterr().err.splitlines()[-1] == "[  0.0 s] reading: 5 rows"

    def test_quiet_is_quiet(self, clock, capsys):
        with shown_progress(Namespace(quiet=True)) as progress:
            work(progress, clock)
        assert capsys.readouterr() == ("", "")
