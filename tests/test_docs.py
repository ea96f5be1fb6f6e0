"""The pages about kinds of groups show what `kip848 explain` prints, for groups of real brokers."""

import re
import shlex
from pathlib import Path

import pytest

from kip848_records import cli

PAGES = sorted((Path(__file__).parent.parent / "docs" / "groups").glob("*.md"))
_BLOCK = re.compile(r"<!-- output: explain (\S+) -->\n```console\n\$ kip848 (.*)\n((?:.*\n)*?)```")


def examples(page):
    """The examples of a page: the capture, the command's arguments and what it prints."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_explain_prints(page, kinds, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    for cluster, command, printed in examples(page):
        arguments = [str(kinds) if each == "out" else each for each in shlex.split(command)]
        assert cli.main([*arguments, "--cluster", cluster]) == 0
        assert capsys.readouterr().out == printed


def test_every_kind_has_an_example():
    assert {page.stem for page in PAGES if examples(page)} == {page.stem for page in PAGES}
