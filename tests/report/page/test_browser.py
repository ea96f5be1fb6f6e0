"""The page in a real browser: opened, searched, clicked, by mouse and by keyboard. The screenshots stay."""

from datetime import timedelta

import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page as page_of
from kip848_records.tables.registry import TABLES
from kip848_records.text import printable
from tests.made_tables import write
from tests.report.fleets import Fleet
from tests.report.page.made_contents import CAPTURED, TABLE_NAMES, failed, known
from tests.report.verdicts import BIDIRECTIONAL, CHARACTERS, HOSTILE

BARS = "#timeline .bar"


@pytest.fixture(scope="module")
def html(made_contents):
    return page_of(made_contents({"stuck": 1432} | {f"group-{n}": 0 for n in range(120)}, failed("stuck"))).html


def groups_shown(page):
    return page.locator("#list tbody th a").all_inner_texts()


@pytest.mark.essential
def test_the_first_screen_says_what_is_stuck_and_who_blocks_it(opened, html, photographed):
    page = opened(html)
    row = page.locator("section[aria-labelledby=stuck] tbody tr").first
    words = row.inner_text()
    assert page.locator("h1:visible").inner_text() == "1 stuck"
    assert "≥ 23 min 52 s" in words
    assert "2026-11-21 07:56:08" in words
    assert "stuck-client @ 10.0.0." in words
    assert "revoking for ≥ 23 min 52 s" in words
    assert row.bounding_box()["y"] < 800
    photographed(page, "overview")


def test_deleted_groups_are_counted_apart(opened, made_contents):
    found = made_contents({"a": 0, "b": 0, "c": 0})
    found.groups[2]["health"] = "deleted"
    made = page_of(found)
    assert (made.groups, made.deleted) == (2, 1)
    page = opened(made.html)
    assert page.locator("#found").inner_text() == "2 groups, 1 deleted, the worst first"
    page.locator("#show").select_option("deleted")
    assert page.locator("#found").inner_text() == "1 deleted group, the worst first"


@pytest.mark.parametrize(("name", "width", "dark"), [("narrow", 360, False), ("dark", 1280, True)])
def test_it_fits_any_width_and_both_themes(opened, html, photographed, name, width, dark):  # noqa: PLR0913, PLR0917
    page = opened(html, width=width, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("html").get_attribute("data-theme") == ("dark" if dark else "light")
    photographed(page, f"overview-{name}")
    page.locator("section[aria-labelledby=stuck] tbody a").first.click()
    page.wait_for_selector(BARS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    photographed(page, f"stuck-{name}")


def test_nothing_is_wider_than_the_window_even_long_ids(opened, made_contents):
    long = "x" * 200
    html = page_of(made_contents({long: 600, "it": 61, "service-1.orders": 65}, failed(long), members=20)).html
    for at in ("", f"#group={long}"):
        page = opened(html, at)
        page.wait_for_selector(BARS if at else "#list tbody tr")
        for width in (1280, 1250, 1000, 780, 760, 600, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert (at, width, page.evaluate("document.documentElement.scrollWidth")) == (at, width, width)


def test_a_stuck_group_begins_with_who_blocks_it_and_what_to_do(opened, html):
    page = opened(html, "#group=stuck")
    page.wait_for_selector(BARS)
    blocked = page.locator(".blocked")
    assert blocked.locator(".sentence").inner_text().startswith("stuck-client @ 10.0.0.")
    assert blocked.locator(".sentence").inner_text().endswith("; 2 members wait for it.")
    assert "for ≥ 23 min 52 s, beyond its rebalance timeout of 5 min" in blocked.inner_text()
    points = dict(zip(blocked.locator("> dl > dt").all_inner_texts(), blocked.locator("> dl > dd").all(), strict=True))
    blocker = page.locator("table[aria-label=Members] td[data-label=Member]").first.inner_text()
    assert points["Blocking member"].inner_text() == blocker
    assert points["It still holds"].inner_text() == "orders 1-2"
    assert points["Waiting members"].inner_text().count("(stuck-client @ ") == 2
    assert points["What to do"].inner_text().startswith("Check the broker that coordinates the group")
    points["Runbook"].get_by_text("docs/runbook.md#revokes_beyond_timeout").click()
    assert "The coordinator should have fenced it." in points["Runbook"].inner_text()
    assert blocked.bounding_box()["y"] < page.locator("#timeline").bounding_box()["y"]


def test_a_group_that_is_not_stuck_has_no_advice(opened, html):
    page = opened(html, "#group=group-1")
    page.wait_for_selector(BARS)
    assert page.locator(".blocked").count() == 0


def test_a_group_opens_by_its_address_and_the_way_back_works(opened, html):
    page = opened(html)
    page.locator("#list tbody a", has_text="stuck").first.click()
    page.wait_for_selector(BARS)
    assert page.locator("h1:visible").inner_text() == "Group stuck"
    assert "group=stuck" in page.url
    page.go_back()
    page.wait_for_selector("#overview:visible")


def test_the_blocker_comes_first(opened, html):
    page = opened(html, "#group=stuck")
    page.wait_for_selector(BARS)
    assert "blocks" in page.locator("#timeline .label").nth(2).inner_text()
    assert page.locator(".plot .bar.revoking").count() == 2, "of the blocker, and the rebalance that goes on"
    assert page.locator("table[aria-label=Members] tbody tr").first.inner_text().count("revoking") == 1


def test_the_timeline_is_zoomed_and_read_by_keyboard_and_the_address_keeps_the_zoom(opened, html):
    page = opened(html, "#group=stuck")
    page.wait_for_selector(BARS)
    page.locator(".timeline").focus()
    page.keyboard.press("w")
    assert "from=" in page.url
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "revoking" in page.locator(".details").inner_text()
    page.reload()
    page.wait_for_selector(BARS)
    assert "from=" in page.url


def test_a_bar_is_read_by_mouse(opened, html):
    page = opened(html, "#group=stuck")
    page.wait_for_selector(BARS)
    box = page.locator(".plot").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 2.5 * 26)
    assert "revoking" in page.locator(".details").inner_text()


def test_a_rebalance_behind_which_records_were_lost_ends_with_the_last_known_record(opened, tmp_path):
    """It is not drawn, nor called ongoing, up to the capture, an hour later."""
    began = CAPTURED - timedelta(hours=1)
    group = {"group_id": "g", "group_type": "consumer", "history": "censored"}
    unknown = group | {"state": "unknown", "from_at": began + timedelta(seconds=10)}
    lost = group | {"began_at": began, "outcome": "unknown", "duration_ms": 10_000, "causes": ["member_joined"]}
    tables = {name: [] for name in TABLE_NAMES} | {
        "audit_runs": [{"run": 1, "captured_at": CAPTURED, "dialect": "kafka"}],
        "group_state": [unknown | {"since": began, "members": None}],
        "group_state_timeline": [
            group | {"state": "Reconciling", "from_at": began, "to_at": unknown["from_at"]},
            unknown,
        ],
        "rebalance": [lost | {"first_epoch": 2, "last_epoch": 2, "epochs": 1}],
    }
    write(tmp_path, "demo", **{name: [known(name, row) for row in rows] for name, rows in tables.items()})
    page = opened(page_of(contents(DuckTables(str(tmp_path)), None)).html, "#group=g")
    page.wait_for_selector(BARS)
    page.locator(".timeline").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    said = page.locator(".details").inner_text()
    assert "Rebalance, epoch 2: member joined" in said
    assert ", 10 s; evidence: beginning incomplete, end not seen; " in said
    assert "ongoing" not in said


def test_groups_are_searched_sorted_and_filtered_and_the_address_keeps_it(opened, html):
    page = opened(html)
    assert (groups_shown(page)[0], len(groups_shown(page))) == ("stuck", 20)
    page.keyboard.press("/")
    page.wait_for_function("document.activeElement.id === 'search'")
    page.keyboard.type("GROUP-11")
    assert set(groups_shown(page)) == {"group-11", *(f"group-{n}" for n in range(110, 120))}
    page.get_by_role("button", name="Group", exact=True).click()
    assert groups_shown(page)[:2] == ["group-11", "group-110"]
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert groups_shown(page)[:2] == ["group-11", "group-110"]
    page.keyboard.press("Escape")
    assert page.locator("#search").input_value() == ""
    page.get_by_role("searchbox").fill("stuck-client")
    assert groups_shown(page) == ["stuck"]
    page.get_by_role("searchbox").fill("no such thing")
    assert page.locator("#found").inner_text() == "No matching groups"


def test_a_link_to_a_group_that_is_not_there_says_so(opened, html):
    page = opened(html, "#group=nosuch")
    assert page.locator("#unreadable:visible").inner_text().startswith("No group nosuch in this page")
    assert page.locator("#search").input_value() == "nosuch"


def test_a_link_on_the_first_screen_leads_to_the_move_of_a_fleet(opened, tmp_path):
    made = Fleet()
    for nth in range(20):
        made.classic(f"java-{nth}")
        made.classic(f"go-{nth}", reason="malformed_subscription", subscription_error="cut")
    made.rows = dict.fromkeys(TABLES.keys() - {"log", "audit_runs"}, ()) | made.rows
    made.write(tmp_path)
    page = opened(page_of(contents(DuckTables(str(tmp_path)))).html)
    page.click("text=20 of 40 classic groups can move now")
    assert 0 <= page.locator("#move1").bounding_box()["y"] < 100
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    hidden = page.locator("section[aria-labelledby=move1] details a", has_text="go-9").first
    assert not hidden.is_visible()
    page.click("text=go-0, go-1, go-10 and 17 more")
    hidden.click()
    page.wait_for_selector("h1:has-text('go-9')")


def test_a_theme_that_was_chosen_stays(opened, html):
    page = opened(html)
    page.get_by_role("button", name="Switch between light and dark").click()
    page.reload()
    page.wait_for_selector("html[data-ready=true]")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_hostile_ids_are_shown_and_do_nothing(opened, made_contents):
    ids = list(dict.fromkeys(["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", *HOSTILE]))
    ids += [BIDIRECTIONAL, "".join(CHARACTERS)]
    page = opened(page_of(made_contents(dict.fromkeys(ids, 60))).html)
    assert set(page.locator("#list tbody th a").all_text_contents()) == set(map(printable, ids))
    for group_id in ids:
        page.evaluate("(group) => { location.hash = new URLSearchParams({ group }).toString(); }", group_id)
        page.wait_for_function(
            "(id) => document.getElementById('group-title')?.textContent === `Group ${id}`", arg=printable(group_id)
        )
        assert page.title() == " ".join(f"Group {printable(group_id)}".split())
        page.wait_for_selector(BARS)
        assert page.locator("#group script, #group img").count() == 0


def test_a_group_without_room_says_how_to_see_it(opened, made_contents):
    made = made_contents({"it's": 0})
    page = opened(page_of(made, histories_bytes=1).html, "#group=it%27s")
    assert page.locator("#group code").inner_text() == f"kip848 explain {made.location} --group 'it'\\''s'"


def test_many_groups_open_quickly(opened, made_contents, photographed):
    html = page_of(made_contents({f"service-{n}.orders": 60 * (n < 20) for n in range(1000)})).html
    page = opened(html)
    assert page.locator("#found").inner_text() == "1,000 groups, the first 20 shown, the worst first"
    photographed(page, "thousand")


def test_stuck_groups_with_one_client_are_one_row_that_names_them_and_leads_to_them(opened, made_contents):
    made = made_contents({f"group-{n}": 60 + n for n in range(30)} | {"well": 0})
    for group in made.groups[:5]:
        group["blocker"]["client_id"] = "rdkafka"
    page = opened(page_of(made).html)
    rows = page.locator("section[aria-labelledby=stuck] tbody tr")
    assert rows.count() == 26
    links = rows.first.locator("th a")
    assert links.all_inner_texts() == ["group-29", "group-28", "group-27", "all 5 groups"]
    links.last.click()
    page.wait_for_function("document.querySelectorAll('#list tbody tr').length === 5")
    assert groups_shown(page) == [f"group-{n}" for n in (29, 28, 27, 26, 25)]
    assert "show=alike-1" in page.url


def test_a_column_of_numbers_has_one_right_edge(opened, made_contents):
    page = opened(page_of(made_contents({"old": 1432, "new": 65})).html, "#show=stuck")
    cells = page.locator("#list td[data-label='Stuck for']")
    assert cells.all_inner_texts() == ["≥ 23 min 52 s", "≥ 1 min 5 s"]
    aligned = "(cells) => cells.every((cell) => getComputedStyle(cell).textAlign === 'right')"
    assert page.locator("td.number").evaluate_all(aligned)


@pytest.mark.parametrize("width", [1280, 360])
def test_ids_are_monospace_and_unbroken(opened, html, width):
    page = opened(html, "#group=stuck", width=width)
    page.wait_for_selector(BARS)
    ids = page.locator("tbody :is(th, td).id, .blocked .id")
    found = ids.evaluate_all("""(cells) => cells.filter((cell) => cell.checkVisibility()).map((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return [new Set([...range.getClientRects()].map((box) => box.top)).size, getComputedStyle(cell).fontFamily];
    })""")
    assert found
    assert {lines for lines, _ in found} <= {0, 1}
    assert all("monospace" in family for _, family in found)
