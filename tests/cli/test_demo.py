"""Where `kip848 demo` shows its page: in the user's browser, or as an address. test_wheel.py runs all of it."""

import os
import webbrowser

import pytest

from kip848_records.cli import demo, main


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """The file in which a browser notes what it opens."""
    noted = tmp_path / "noted"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {noted}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setattr(webbrowser, "_tryorder", None)  # it looks once which browsers there are
    monkeypatch.setattr(demo, "_command", lambda *_: 0)  # no audit: where it is shown is the question
    for name in demo._DISPLAYS:
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(demo.sys, "platform", "linux")
    return noted


@pytest.mark.parametrize("out", ["s3://bucket/demo", "abfss:demo"])
def test_another_file_system_is_refused_before_the_audit(capsys, monkeypatch, out):
    monkeypatch.setattr(demo, "_command", lambda *_: pytest.fail("the audit began"))
    assert main(["demo", "--out", out]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"error: --out {out} is on another file system"
    assert hint.startswith("hint: pass a folder of this machine")


def test_a_folder_may_be_a_uri(opened, capsys, tmp_path):
    assert main(["demo", "--out", f"file://{tmp_path}", "--no-browser"]) == 0
    assert capsys.readouterr().out == f"Open   file://{tmp_path}/report.html\n"
    assert not opened.exists()


@pytest.mark.parametrize("display", demo._DISPLAYS)
@pytest.mark.process
def test_the_page_is_opened_if_there_is_a_display(opened, capsys, monkeypatch, tmp_path, display):
    monkeypatch.setenv(display, ":0")
    assert main(["demo", "--out", str(tmp_path / "a b")]) == 0
    assert (opened.read_text(), capsys.readouterr().out) == (f"file://{tmp_path}/a%20b/report.html", "")


@pytest.mark.parametrize(("display", "option"), [("", []), (":0", ["--no-browser"])])
def test_otherwise_its_address_is_printed(opened, capsys, tmp_path, display, option):
    os.environ["DISPLAY"] = display  # the fixture puts back what it was
    assert main(["demo", "--out", str(tmp_path / "a b"), *option]) == 0
    assert capsys.readouterr().out == f"Open   file://{tmp_path}/a%20b/report.html\n"
    assert not opened.exists()


@pytest.mark.parametrize(("audited", "reported", "code"), [(0, 0, 0), (1, 0, 1), (0, 2, 2), (1, 2, 1)])
def test_the_first_command_that_fails_gives_the_exit_code(monkeypatch, tmp_path, audited, reported, code):
    codes = {"audit": audited, "report": reported}
    monkeypatch.setattr(demo, "_command", lambda command, *_: codes[command])
    assert main(["demo", "--out", str(tmp_path), "--no-browser"]) == code
