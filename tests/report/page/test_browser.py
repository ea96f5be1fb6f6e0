"""The page in a real browser: opened, searched, clicked, by mouse and by keyboard. The screenshots stay."""

from urllib.parse import urlencode

import pytest

from kip848_records.report.page.page import page as page_of
from tests.audits import CLUSTERS
from tests.report.page.made_contents import contents, failed, group
from tests.report.verdicts import HOSTILE

FIGURE = "document.querySelector('#timeline .js-plotly-plot')"
BARS = "#timeline .barlayer .point"
CLUSTER = CLUSTERS["kafka-4.3.1"]


@pytest.fixture(scope="session")
def html(told):
    return page_of(told).html


@pytest.fixture
def made():
    return page_of(contents([group("stuck", stuck=True), *(group(f"group-{n}") for n in range(120))])).html


def groups_shown(page):
    return page.locator("#list tbody th a").all_inner_texts()


def test_the_first_screen_says_what_does_not_converge_and_who_blocks_it(opened, html, photographed):
    page = opened(html)
    row = page.locator("section[aria-labelledby=behind] tbody tr")
    words = row.first.inner_text()
    assert "stuck" in words
    assert "28.027 s" in words
    assert "member AO+GgHMxReaKGwL+kgwOyw (stuck-app, /127.0.0.1) holds up 1 other" in words
    assert "2 @ 986" in words
    assert row.first.bounding_box()["y"] < 800
    photographed(page, "overview")


@pytest.mark.parametrize(("name", "width", "dark"), [("narrow", 360, False), ("dark", 1280, True)])
def test_it_fits_any_width_and_both_themes(opened, html, photographed, name, width, dark):  # noqa: PLR0913, PLR0917
    page = opened(html, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("html").get_attribute("data-theme") == ("dark" if dark else "light")
    photographed(page, f"overview-{name}")
    page.locator("section[aria-labelledby=behind] tbody a").first.click()
    page.wait_for_selector(BARS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    photographed(page, f"stuck-{name}")


def test_a_group_opens_by_its_address_and_the_way_back_works(opened, html):
    page = opened(html)
    page.locator("#list tbody a", has_text="stuck").first.click()
    page.wait_for_selector(BARS)
    assert page.locator("h1:visible").inner_text().startswith("Group stuck")
    assert "group=stuck" in page.url
    page.go_back()
    page.wait_for_selector("#overview:visible")
    page.go_forward()
    page.wait_for_selector(BARS)


def test_an_address_of_an_epoch_shows_it(opened, told, photographed):
    address = urlencode({"group": "slow-revoke", "cluster": CLUSTER, "epoch": 4})
    page = opened(page_of(told).html, f"#{address}")
    page.wait_for_selector(BARS)
    chosen = page.locator("tr.chosen")
    assert "7.008 s" in chosen.inner_text()
    assert "2 @ 769" in chosen.inner_text()
    photographed(page, "slow-revoke")


def test_a_timeline_has_a_bar_for_what_each_member_did(opened, made, photographed):
    page = opened(made, "#group=stuck")
    page.wait_for_selector(BARS)
    traces = page.evaluate(f"{FIGURE}.data.map((each) => each.name)")
    assert {"reconciled", "not over at the end of the log", "partitions handed over"} <= {*traces}
    assert "epoch: member joined" in traces
    assert any(name.startswith("revoking") for name in traces)
    assert any(name.startswith("waiting") for name in traces)
    hovers = page.evaluate(
        "document.querySelector('#timeline .js-plotly-plot').data.flatMap((each) => each.hovertext ?? [])"
    )
    assert hovers
    assert all("__consumer_offsets-7 offset " in hover for hover in hovers)
    photographed(page, "made-stuck")


def test_groups_are_searched_sorted_filtered_and_paged(opened, made):
    page = opened(made)
    assert groups_shown(page)[0] == "stuck"
    assert len(groups_shown(page)) == 50
    page.get_by_role("button", name="Next").click()
    assert len(groups_shown(page)) == 50
    page.get_by_role("searchbox").fill("GROUP-11")
    assert groups_shown(page) == ["group-11", *(f"group-{n}" for n in range(110, 120))]
    assert page.locator("#found").inner_text() == "11 groups, the worst first"
    page.get_by_role("button", name="Group", exact=True).click()
    page.get_by_role("button", name="Group ▲").click()
    assert groups_shown(page)[:2] == ["group-119", "group-118"]
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Show").select_option("not converged")
    assert groups_shown(page) == ["stuck"]
    page.get_by_role("searchbox").fill("nobody")
    assert page.locator("#found").inner_text() == "No group is like that"


def test_the_keyboard_reaches_a_group(opened, made):
    page = opened(made)
    page.get_by_role("searchbox").focus()
    page.keyboard.type("stuck")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#list a')?.textContent") == "stuck":
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(BARS)
    assert page.evaluate("document.activeElement.id") == "group-title"


def test_a_theme_that_was_chosen_stays(opened, made):
    page = opened(made)
    page.get_by_role("button", name="Switch between light and dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_hostile_ids_are_shown_and_do_nothing(opened):
    hostile = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "<b>&lt;", *HOSTILE]
    ids = list(dict.fromkeys(hostile))
    page = opened(page_of(contents([group(each, stuck=True) for each in ids], results=[failed(ids[0])])).html)
    assert page.locator("#list tbody th a").all_text_contents() == ids
    for group_id in ids:
        page.evaluate("(group) => { location.hash = new URLSearchParams({ group }).toString(); }", group_id)
        page.wait_for_function(
            "(id) => document.getElementById('group-title')?.textContent === `Group ${id}`", arg=group_id
        )
        page.wait_for_selector(BARS)
        assert page.locator("#group script, #group img").count() == 0
        if group_id in hostile[:3]:
            labels = page.locator("#timeline .annotation-text").all_text_contents()
            assert sum(label.endswith(f"  ·  {group_id}, /10.0.0.1") for label in labels) == 3


def test_groups_that_are_opened_one_after_the_other_are_not_mixed_up(opened, made):
    page = opened(made)
    page.evaluate("location.hash = 'group=group-1'; setTimeout(() => { location.hash = 'group=group-2'; }, 1)")
    page.wait_for_function("document.querySelector('#group h1')?.textContent === 'Group group-2'")
    page.wait_for_selector(BARS)
    assert page.locator("#timeline").count() == 1
    labels = page.locator("#timeline .annotation-text").all_text_contents()
    assert sum("group-2, /10.0.0.1" in label for label in labels) == 3


def test_a_link_to_a_group_that_is_not_there_searches_for_it(opened, made):
    page = opened(made, "#group=group-77x")
    assert page.locator("#search").input_value() == "group-77x"
    assert page.locator("#found").inner_text() == "No group is like that"


def test_a_group_without_room_says_how_to_see_it(opened):
    html = page_of(contents([group("it's"), group("b")]), histories_bytes=1).html
    page = opened(html, "#group=it%27s")
    assert page.locator("#group code").inner_text() == "kip848 explain out --group 'it'\\''s'"


def test_five_thousand_groups_open_quickly(opened, photographed):
    groups = [group(f"service-{n}.orders", members=4, epochs=12, stuck=n < 20) for n in range(5000)]
    html = page_of(contents(groups)).html
    assert len(html.encode()) < 20_000_000
    page = opened(html)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    # Of the processor: how long it takes besides depends on what else the machine does.
    seconds = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}["ProcessTime"]
    assert seconds < 3
    assert page.locator("#found").inner_text() == "5,000 groups, 1 to 50 shown, the worst first"
    photographed(page, "five-thousand")
