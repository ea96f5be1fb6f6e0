"""The page as text: nothing in it that an id could have made markup, and nothing left out in silence."""

import base64
import gzip
import json
import re
import shlex
from dataclasses import replace
from html import unescape
from pathlib import Path

from kip848_records.report.page.page import page
from kip848_records.text import printable
from tests.report.page.made_contents import failed
from tests.report.verdicts import BIDIRECTIONAL, HOSTILE


def scripts(html, name):
    return re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', html, re.DOTALL)[1]


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


def test_hostile_ids_are_text(made_contents):
    hostile = ["<script>alert(1)</script>", "</script><script>alert(2)</script>", *HOSTILE]
    ids = dict.fromkeys(hostile, 60)
    html = page(made_contents(ids, failed(hostile[0], message=hostile[1]))).html
    assert html.count("</script>") == 3  # its own
    assert "<script>alert" not in html
    assert set(unpacked(scripts(html, "data"))["groups"]["group_id"]) == set(ids)


def test_no_text_changes_its_direction(made_contents):
    """An id, a cluster, a message and a path: all that the page has without its script."""
    odd = "".join(f"a{character}b" for character in BIDIRECTIONAL)
    made = made_contents({odd: 60}, failed(odd, message=odd))
    made = replace(made, location=f"{made.location}/{odd}", only=odd)
    html = page(made).html
    commands = re.findall(r'data-command="([^"]*)"', html)
    assert all(odd in command for command in commands)  # they are to be copied, not shown
    shown = re.sub(r'data-command="[^"]*"', "", html)
    assert not any(character in shown for character in BIDIRECTIONAL)
    assert printable(odd) in shown


def test_the_first_figure_says_how_many_are_stuck_and_what_they_share(made_contents):
    html = page(made_contents({"a": 60, "b": 60, "c": 0})).html
    assert '<span class="bad">2 stuck</span>' in html
    assert html.count('class="bad"') == 1
    assert "1 healthy" in html
    assert "2 stuck, 0 failing" in html


def test_the_worst_groups_have_the_room_there_is(made_contents):
    written = page(made_contents({f"group-{n}": 0 for n in range(20)}), histories_bytes=10_000)
    histories = scripts(written.html, "histories").split("\n")
    assert 0 < written.timelines < 20
    assert [bool(history) for history in histories] == [True] * written.timelines + [False] * (20 - written.timelines)
    assert f"{written.timelines} of 20 timelines included" in written.html


def test_commands_name_the_tables_from_anywhere(made_contents, monkeypatch):
    made = made_contents({"a": 60})
    assert made.location.startswith("/")
    assert f"kip848 check {made.location}</code>" in page(made).html
    folder = Path(made.location)
    monkeypatch.chdir(folder.parent)
    limited = replace(made, location=folder.name, only="demo", files={"config": "my limits.toml"})
    check = unescape(re.search(r"<code[^>]*>(kip848 check .*?)</code>", page(limited).html)[1])
    assert shlex.split(check)[2:] == [
        *(str(folder), "--cluster", "demo"),
        *("--config", str(folder.parent / "my limits.toml")),
    ]


def test_the_same_contents_give_the_same_page(made_contents):
    made = made_contents({"a": 60}, failed("a"))
    assert page(made).html == page(made).html
