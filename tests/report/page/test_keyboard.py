"""The page works by keyboard alone, and on a narrow screen: every focused element is visible and does something."""

import shlex

import pytest

from kip848_records.cli import main
from kip848_records.report.page.page import page as page_of
from tests.report.page.made_contents import failed

BARS = "#timeline .bar"
TO_THE_START = "document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute('tabindex')"
FOCUSED = "document.activeElement.textContent"
# Return where the focused element is, how large it is, and whether an outline marks it.
PLACE = """() => {
  const element = document.activeElement, box = element.getBoundingClientRect(), style = getComputedStyle(element);
  return { name: element.id || element.textContent.slice(0, 30) || element.className, tag: element.tagName,
    left: box.left, right: box.right, width: box.width, height: box.height,
    outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 };
}"""


@pytest.fixture(scope="module")
def html(made_contents):
    groups = {f"stuck-{n}": 1432 - n for n in range(8)} | {f"group-{n}": 0 for n in range(1000)}
    return page_of(made_contents(groups, failed("stuck-0"))).html


def tabbed(page):
    """Return the elements that Tab reaches, in order, until the focus is back at the start."""
    places = []
    while len(places) < 200:
        page.keyboard.press("Tab")
        place = page.evaluate(PLACE)
        if place["tag"] == "BODY":
            return places
        places.append(place)
    raise AssertionError(places)


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("at", ["", "#group=stuck-0"])
def test_everything_that_tab_reaches_is_on_the_screen_and_shows_it(opened, html, width, at):
    page = opened(html, at, width=width)
    page.wait_for_selector(BARS if at else "#list tbody tr")
    page.evaluate(TO_THE_START)
    places = tabbed(page)
    assert places[0]["name"] == "Skip to the content"
    hidden = [p for p in places if p["left"] < 0 or p["right"] > width or not p["width"] or not p["height"]]
    assert hidden == []
    assert [p for p in places if not p["outline"]] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_narrow_overview_is_short_and_has_all_on_demand(opened, html, photographed):
    page = opened(html, width=360)
    assert page.evaluate("document.documentElement.scrollHeight") < 8000
    photographed(page, "thousand-narrow")


def test_all_groups_are_shown_by_keyboard_and_the_address_keeps_it(opened, html):
    page = opened(html)
    page.get_by_role("button", name="Show all 1,008").focus()
    page.keyboard.press("Enter")
    assert page.locator("#list tbody tr").count() == 1008
    assert page.evaluate(FOCUSED) == "Show fewer"
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("#list tbody tr").count() == 1008
    page.get_by_role("button", name="Show fewer").focus()
    page.keyboard.press("Enter")
    assert page.locator("#list tbody tr").count() == 20
    assert page.evaluate(FOCUSED) == "Show all 1,008"


def test_a_long_table_shows_its_first_rows_and_all_by_keyboard(opened, made_contents):
    page = opened(page_of(made_contents({"busy": 0}, rebalances=15)).html, "#group=busy")
    page.wait_for_selector(BARS)
    rows = page.locator("table[aria-label=Rebalances] tbody tr:visible")
    assert rows.count() == 10
    button = page.get_by_role("button", name="Show all 15")
    button.first.focus()
    page.keyboard.press("Enter")
    assert rows.count() == 15
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"


def test_arrows_go_through_a_list_from_the_search_on(opened, html):
    page = opened(html)
    page.keyboard.press("/")
    page.wait_for_function("document.activeElement.id === 'search'")
    for key, focused in [("ArrowDown", "stuck-0"), ("ArrowDown", "stuck-1"), ("ArrowUp", "stuck-0")]:
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED) == focused
    page.keyboard.press("Enter")
    page.wait_for_selector(BARS)
    assert page.locator("h1:visible").inner_text() == "Group stuck-0"
    page.keyboard.press("Escape")
    page.wait_for_selector("#overview:visible")


def test_sorting_keeps_the_focus(opened, html):
    page = opened(html)
    button = page.get_by_role("button", name="Rebalances", exact=True)
    button.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.column") == "Rebalances"


def test_the_skip_link_stays_in_the_group_that_is_shown(opened, html):
    page = opened(html, "#group=stuck-0")
    page.wait_for_selector(BARS)
    page.evaluate(TO_THE_START)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    assert page.locator("h1:visible").inner_text() == "Group stuck-0"


def test_a_copied_command_works(opened, html, capsys):
    page = opened(html, "#group=stuck-0")
    page.wait_for_selector(BARS)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    program, *arguments = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert program == "kip848"
    assert main(arguments) == 0
    assert "stuck-0" in capsys.readouterr().out
