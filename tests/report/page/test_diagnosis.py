"""What is wrong with a group over time, in a real browser: the ranks, the diagnosis, and one row a client."""

from datetime import timedelta

import pytest

from kip848_records.report.page.page import page as page_of
from tests.report.page.made_contents import CAPTURED, stays_of, troubled

BARS = "#timeline .bar"
STAYS = stays_of("loop", "crash", number=58, lasting=timedelta(seconds=12))
OVER = {
    "is_present": False,
    "last_seen": CAPTURED - timedelta(minutes=30),
    "ended_at": CAPTURED - timedelta(minutes=20),
}
ROWS = [
    troubled("loop", "crash", severity="error"),
    troubled("loop", "crash", pattern="storm", subject={"client_id": None}, **OVER),
    troubled("loop", "crash", pattern="leaves_and_returns", explained_by="restart_loop"),
    troubled("loop", "crash", pattern="spares", severity="info", subject={"members": 2}),
    troubled("weak", "weak", pattern="slow_by_habit"),
]


@pytest.fixture(scope="module")
def html(made_contents):
    return page_of(made_contents({"stuck": 1432, "weak": 0, "loop": 0, "well": 0}, diagnosis=ROWS, **STAYS)).html


def labels(page):
    return page.locator("#timeline .label").all_inner_texts()


def test_groups_that_fail_over_time_rank_behind_stuck_ones_the_worst_first(opened, html):
    page = opened(html)
    assert page.locator("h1:visible").inner_text() == "1 stuck, 2 failing over time"
    assert page.locator("#list tbody th a").all_inner_texts() == ["stuck", "loop", "weak", "well"]
    rows = page.locator("section[aria-labelledby=failing] tbody tr")
    assert rows.locator("th a").all_inner_texts() == ["loop", "weak"]
    assert "restart loop, 60 times: crash @ 10.0.0.9" in rows.first.inner_text()
    assert "1 h" in rows.first.inner_text()
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#show").select_option("failing")
    assert page.locator("#list tbody th a").all_inner_texts() == ["loop", "weak"]


def test_a_group_begins_with_its_alarms_and_folds_what_they_explain_and_what_is_over(opened, html):
    page = opened(html, "#group=loop")
    page.wait_for_selector(BARS)
    alarms = page.locator(".diagnosis > .trouble")
    assert alarms.locator("> .sentence").all_inner_texts() == ["crash @ 10.0.0.9: restart_loop."]
    assert "Restart loop (error): since 2026-11-21 07:20:00 UTC, for 1 h" in alarms.inner_text()
    assert "What to do: Read its log." in alarms.inner_text()
    assert page.locator(".diagnosis .sentence:visible").count() == 1
    alarms.get_by_text("Explained by this: 1 more").click()
    page.locator(".diagnosis > details > summary", has_text="Over, or no alarm (2)").click()
    assert page.locator(".diagnosis .sentence:visible").all_inner_texts() == [
        f"crash @ 10.0.0.9: {pattern}." for pattern in ("restart_loop", "leaves_and_returns", "spares", "storm")
    ]
    assert page.locator(".diagnosis").bounding_box()["y"] < page.locator("#timeline").bounding_box()["y"]


def test_the_stays_of_one_client_are_one_row_with_its_episode(opened, html, photographed):
    page = opened(html, "#group=loop")
    page.wait_for_selector(BARS)
    found = [each for each in labels(page) if each.startswith("crash")]
    assert found == ["crash @ 10.0.0.9 restart loop, leaves and returns, 58 members"]
    assert labels(page)[2:5] == ["restart loop", "spares", "storm"]
    assert page.locator("#timeline .name").all_text_contents()[0] == "restart loop"
    assert page.locator("#timeline .band.error").count() == 1
    box = page.locator(".plot").bounding_box()
    band = page.locator("#timeline .band.error").bounding_box()
    assert band["width"] > 0.8 * box["width"]
    page.locator("#timeline .label", has_text="crash").click()
    page.locator(".timeline").focus()
    page.keyboard.press("ArrowRight")
    said = page.locator(".details").inner_text()
    assert "crash-00000 joined at 2026-11-21 07:20:00 UTC, left or expired at 2026-11-21 07:20:12 UTC" in said
    photographed(page, "restart-loop")


def test_members_of_one_name_that_are_there_at_once_have_a_row_each(opened, made_contents):
    page = opened(page_of(made_contents({"g": 0}, members=4)).html, "#group=g")
    page.wait_for_selector(BARS)
    assert len([each for each in labels(page) if each.startswith("g-client")]) == 4


def test_members_that_joined_within_a_minute_and_are_still_there_have_a_row_each(opened, made_contents):
    """A killed process stays a member for a minute: only one that is gone may share the row of its successor."""
    here = stays_of("g", "here", number=3, every=timedelta(seconds=10))
    for rows, began in ((here["membership"], "joined_at"), (here["member_state_timeline"], "from_at")):
        for row in rows:
            row[began] += timedelta(minutes=59, seconds=20)
    page = opened(page_of(made_contents({"g": 0}, **here)).html, "#group=g")
    page.wait_for_selector(BARS)
    assert len([each for each in labels(page) if each.startswith("here")]) == 3


def test_members_that_were_there_at_once_and_left_have_a_row_each(opened, made_contents):
    """Three members join ten seconds apart, and all leave at once: nothing shows that one replaces another."""
    gone = stays_of("g", "gone", number=3, every=timedelta(seconds=10))
    for stay, state in zip(gone["membership"], gone["member_state_timeline"], strict=True):
        stay |= {"left_at": gone["membership"][0]["joined_at"] + timedelta(seconds=50), "left_how": "left"}
        state |= {"to_at": stay["left_at"]}
    page = opened(page_of(made_contents({"g": 0}, **gone)).html, "#group=g")
    page.wait_for_selector(BARS)
    assert len([each for each in labels(page) if each.startswith("gone")]) == 3


def test_pods_with_a_new_name_each_time_are_the_row_of_their_common_name(opened, made_contents):
    stays = [stays_of("g", f"pod-{n}", every=timedelta()) for n in range(20)]
    rows = {name: [each[name][0] for each in stays] for name in stays[0]}
    for n, (stay, state) in enumerate(zip(*rows.values(), strict=True)):
        at = CAPTURED - timedelta(minutes=40 - 2 * n)
        stay |= {"joined_at": at, "left_at": at + timedelta(minutes=1), "left_how": "left", "left_offset": 9000 + n}
        state |= {"from_at": at, "to_at": stay["left_at"]}
    loop = troubled("g", "pod", subject={"what": "pod-*"})
    page = opened(page_of(made_contents({"g": 0}, diagnosis=[loop], **rows)).html, "#group=g")
    page.wait_for_selector(BARS)
    assert [each for each in labels(page) if each.startswith("pod")] == ["pod-* restart loop, 20 members"]


@pytest.mark.parametrize("width", [1280, 360])
def test_500_clients_are_cut_by_harm_then_age_and_counted(opened, made_contents, width):
    clients = [stays_of("g", f"client-{n:03}", every=timedelta()) for n in range(499)]
    rows = {name: [row for each in clients for row in each[name]] for name in clients[0]}
    worst = troubled("g", "client-477")
    page = opened(page_of(made_contents({"g": 0}, members=1, diagnosis=[worst], **rows)).html, "#group=g", width=width)
    page.wait_for_selector(BARS)
    assert "40 of 500 clients drawn, the worst first." in page.locator("#timeline").inner_text()
    assert page.locator("#timeline .label").nth(3).get_attribute("title").startswith("client-477")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="All clients").click()
    assert page.locator("#timeline .label").count() == 503


def test_a_silent_coordinator_is_one_line_a_partition(opened, made_contents):
    silent = [
        troubled(f"g{n}", "it", pattern="coordinator_silent", subject={"what": "partition 7", "members": 1})
        for n in range(5)
    ]
    page = opened(page_of(made_contents({f"g{n}": 600 - n for n in range(5)}, diagnosis=silent)).html)
    (row,) = page.locator("section[aria-labelledby=stuck] tbody tr").all()
    assert "the coordinator of partition 7, which is silent, or its copy is old" in row.inner_text()
    assert row.locator("th a").all_inner_texts() == ["g0", "g1", "g2", "all 5 groups"]
    row.locator("th a").first.click()
    page.wait_for_selector(BARS)
    assert "blocks" not in page.locator("#timeline").inner_text()
    assert page.locator(".blocked").count() == 0


def test_a_consumer_group_shows_what_each_member_has_is_to_get_and_is_to_give_up(opened, made_contents):
    it = {"group_id": "g", "incarnation": 0, "group_type": "consumer", "partition": 7, "topic": "orders"}
    stays = stays_of("g", "slow", number=2)
    owned = [
        it | {"member_id": "slow-00000", "present": [0, 1, 2, 4], "target": [0, 1], "pending": [2, 4]},
        it | {"member_id": "slow-00001", "present": [], "target": [2], "pending": []},
    ]
    page = opened(page_of(made_contents({"g": 0}, members=1, member_assignment=owned, **stays)).html, "#group=g")
    page.wait_for_selector(BARS)
    rows = page.locator("table[aria-label='Members'] tbody tr").all()
    cells = [
        {cell.get_attribute("data-label"): cell.inner_text() for cell in row.locator("td, th").all()} for row in rows
    ]
    assert [[row[title] for title in ("Member", "Has", "Is to get", "Is to give up")] for row in cells[:2]] == [
        ["slow-00000", "orders 0-2, 4 (4)", "", "orders 2, 4"],
        ["slow-00001", "nothing", "orders 2", ""],
    ]
