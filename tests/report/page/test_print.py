"""The printed page is whole, dark on white, and has no controls."""

import pytest

from kip848_records.report.page.page import page as page_of
from tests.report.page.made_contents import failed

BARS = "#timeline .bar"
# As wide as an A4 page within its margins.
PAPER = 703


@pytest.fixture(scope="module")
def html(made_contents):
    groups = {f"stuck-{n}": 1432 - n for n in range(30)} | {f"group-{n}": 0 for n in range(100)}
    return page_of(made_contents(groups, failed("stuck-0"), rebalances=12)).html


@pytest.fixture
def printed(opened):
    def open_printed(html, at=""):
        page = opened(html, at, dark=True)
        page.wait_for_selector(BARS if at else "#list tbody tr")
        page.set_viewport_size({"width": PAPER, "height": 1000})
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        return page

    return open_printed


@pytest.mark.parametrize("at", ["", "#group=stuck-0"])
def test_it_is_whole_and_light_and_has_nothing_to_press(printed, html, at):
    page = printed(html, at)
    assert page.locator("button:visible:not(thead button), input:visible, select:visible").count() == 0
    assert page.locator("details:visible:not([open])").count() == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1 .bad')).color") == "rgb(179, 38, 30)"
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    for table in page.locator("table:visible").all():
        assert table.locator("tbody tr:visible").count() == table.locator("tbody tr").count()


def test_all_clusters_are_printed_and_what_is_not_is_counted(printed, html):
    page = printed(html)
    assert page.locator("section[aria-labelledby=stuck] tbody tr").count() == 30
    assert page.locator("#list tbody tr").count() == 50
    assert "80 more groups not printed" in page.locator("#list").inner_text()
    titles = page.locator("#list thead th").all_inner_texts()
    assert titles[:3] == ["Group", "Status", "Trouble"]
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#list tbody tr").count() == 20


def test_a_timeline_is_printed_up_to_its_newest_bar(printed, html):
    page = printed(html, "#group=stuck-0")
    frame = page.locator(".timeline").bounding_box()
    ends = page.locator(".plot .bar").evaluate_all("(bars) => bars.map((bar) => bar.getBoundingClientRect().right)")
    assert frame["x"] + frame["width"] <= PAPER
    assert max(ends) <= frame["x"] + frame["width"]
