"""The pages about kinds of groups show what `kip848 explain` prints, for groups of real brokers."""

import re
import shlex
from datetime import datetime, timezone
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kip848_records import cli
from kip848_records.sources.log import TOPIC
from tests import dumped_tables

PAGES = sorted((Path(__file__).parent.parent / "docs" / "groups").glob("*.md"))
_KINDS = Path(__file__).parent / "kinds"
_BLOCK = re.compile(r"<!-- output: explain (\S+) -->\n```console\n\$ kip848 (.*)\n((?:.*\n)*?)```")


def examples(page):
    """The examples of a page: the capture, the command's arguments and what it prints."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Tables of the groups in `kinds/`, a cluster each: all records of groups, and the keys of offset commits."""
    folder = tmp_path_factory.mktemp("kinds")
    for file in sorted(_KINDS.glob("*.parquet")):
        rows = pq.read_table(file)
        micros = rows["timestamp"].cast("int64").to_pylist()
        timed = [{**row, "timestamp": at, "topic": TOPIC} for row, at in zip(rows.to_pylist(), micros, strict=True)]
        captured_at = datetime.fromtimestamp(max(micros) / 1_000_000, timezone.utc)
        dumped_tables.write(folder, file.stem, timed, captured_at)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_explain_prints(page, out, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    for cluster, command, printed in examples(page):
        arguments = [str(out) if each == "out" else each for each in shlex.split(command)]
        assert cli.main([*arguments, "--cluster", cluster]) == 0
        assert capsys.readouterr().out == printed


def test_every_kind_has_an_example():
    assert {page.stem for page in PAGES if examples(page)} == {page.stem for page in PAGES}
