"""The page as text: nothing in it that an id could have made markup, and nothing left out in silence."""

import base64
import gzip
import json
import re

import pytest

from kip848_records.report.page.page import page, span
from tests.report.page.made_contents import contents, failed, group
from tests.report.verdicts import HOSTILE


def scripts(html, name):
    return re.search(rf'<script type="text/plain" id="{name}">(.*?)</script>', html, re.DOTALL)[1]


def unpacked(text):
    return json.loads(gzip.decompress(base64.b64decode(text)))


@pytest.mark.parametrize(
    ("millis", "says"),
    [
        *((None, ""), (-1, ""), (0, "0 ms"), (999, "999 ms"), (1000, "1 s"), (7008, "7.008 s"), (59_999, "59.999 s")),
        *((60_000, "1 min"), (62_500, "1 min 2 s"), (90_000_000, "1 d 1 h")),
    ],
)
def test_a_time_span_is_said_for_people(millis, says):
    assert span(millis) == says


def test_hostile_ids_are_text():
    hostile = ["<script>alert(1)</script>", "</script><script>alert(2)</script>", *HOSTILE]
    groups = [group(each, stuck=True) for each in dict.fromkeys(hostile)]
    html = page(contents(groups, results=[failed(hostile[0], message=hostile[1])])).html
    # Its own scripts' ends and the stylesheet's are all that there are.
    assert html.count("</script>") == 4
    assert "<script>alert" not in html
    assert [row["group_id"] for row in unpacked(scripts(html, "data"))["groups"]] == list(dict.fromkeys(hostile))


def test_the_worst_groups_have_the_room_there_is():
    groups = [group(f"group-{n}") for n in range(20)]
    written = page(contents(groups), histories_bytes=10_000)
    histories = scripts(written.html, "histories").split("\n")
    assert 0 < written.told < 20
    assert [bool(history) for history in histories] == [True] * written.told + [False] * (20 - written.told)
    assert f"There is room for the timelines of {written.told} groups" in written.html
    assert sum(map(len, histories)) <= 10_000


def test_a_page_with_room_for_all_says_nothing_of_room():
    assert "There is room" not in page(contents([group("a")])).html


def test_groups_that_are_not_listed_are_counted():
    made = contents([group("a"), group("b")])
    made.counts["Stable", "consumer", "converged"] += 3000
    html = page(made).html
    assert "3,002 groups of consumers: 3,002 converged" in html
    assert "3,000 of 3,002 groups are left out" in html


def test_several_clusters_are_told_apart():
    groups = [group("a"), group("a", seed=1)]
    made = contents(groups, clusters=("one", "two"))
    assert 'href="#group=a"' in page(contents(groups[:1])).html
    assert 'href="#group=a&amp;cluster=one' in page(made).html


def test_the_same_contents_give_the_same_page():
    made = contents([group("a", stuck=True)], results=[failed("a")])
    assert page(made).html == page(made).html
