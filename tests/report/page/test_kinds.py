"""A group of each kind on the page, in its own words: tables of real brokers, without Spark."""

from datetime import timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe

from kip848_records.kinds import KINDS
from kip848_records.queries.duck import DuckTables
from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page as page_of
from tests.made_tables import write
from tests.report.page.made_contents import CAPTURED, limit_sections, write_groups
from tests.report.page.test_page import scripts, unpacked

BARS = "#timeline .bar"
GROUPS = ("connect-cluster", "coop", "static", "st", "share1", "mig")
PAPER = 703
GONE = "http://127.0.0.1:19603/"


@pytest.fixture(scope="module")
def made(kinds):
    return contents(DuckTables(str(kinds)))


@pytest.fixture(scope="module")
def html(made):
    return page_of(made).html


@pytest.fixture(scope="module")
def table_of():
    """The rows of a group's table, by its label: cells by the titles of the columns."""

    def read(page, label):
        return page.locator(f"#group table[aria-label^='{label}']").evaluate(
            """(table) => {
              const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
              return [...table.tBodies[0].rows].map((row) =>
                Object.fromEntries([...row.cells].map((cell, nth) => [titles[nth], cell.textContent])));
            }"""
        )

    return read


@pytest.fixture
def group_page(opened, html):
    def open_group(group, **view):
        page = opened(html, f"#group={group}", **view)
        page.wait_for_selector(BARS)
        return page

    return open_group


def facts(page):
    return page.locator("#group > p").nth(1).inner_text()


def test_a_connect_cluster_shows_workers_and_what_runs_nowhere(group_page, table_of):
    page = group_page("connect-cluster")
    blocked = page.locator(".blocked").inner_text()
    assert blocked.startswith(f"Worker {GONE} left 5 connectors and tasks behind; the leader does not assign them")
    assert "sink1: connector, tasks 0-1; src2: connector, task 0" in blocked
    assert facts(page).startswith("Connect cluster: stuck for ≥ 4 ms, since 2026-11-21 08:28:17 UTC; ")
    assert "generation 11 was completed at 2026-11-21 08:28:17 UTC; 1 worker; log position" in facts(page)
    (worker,) = table_of(page, "Workers")
    assert worker["Worker"] == "http://127.0.0.1:19602/"
    assert [worker[title] for title in ("Leader", "Connectors", "Tasks", "Config offset")] == ["yes", "2", "2", "14"]
    assert worker["Runs"] == "src1: connector, task 0; src3: connector, task 0"
    lost = table_of(page, "Connectors and tasks without a worker")
    assert [
        (row["Connectors and tasks"], row["Last worker"], row["Reason"], row["Expected (UTC)"]) for row in lost
    ] == [
        (units, GONE, "worker left", "2026-11-21 08:28:25")
        for units in ("sink1: connector, tasks 0-1", "src2: connector, task 0")
    ]
    latest, *_ = table_of(page, "Generations")
    assert [latest[title] for title in ("Generation", "Cause", "Workers", "Left", "Connectors and tasks moved")] == [
        *("11", "worker left or expired", "1", "1", "0")
    ]
    assert (latest["Sync time"], latest["Ended by"]) == ("4 ms", "ongoing")
    assert table_of(page, "Rebalances")[0]["Generations"] == "11"
    assert "a failed or paused task looks like a running one" in page.locator("#group").inner_text()


def test_a_stuck_connect_cluster_is_named_on_the_first_screen(opened, html):
    page = opened(html)
    (row,) = [row for row in page.locator("section[aria-labelledby=stuck] tbody tr").all() if GONE in row.inner_text()]
    assert "Connect cluster" in row.inner_text()
    assert f"worker {GONE}, left 5 connectors and tasks" in row.inner_text()
    page.locator("#show").select_option("kind-connect")
    assert page.locator("#list tbody th a").all_inner_texts() == ["connect-cluster"]
    page.locator("#show").select_option("")
    for sought in ("src3", "sink1", "127.0.0.1:19602/"):
        page.get_by_role("searchbox").fill(sought)
        assert "connect-cluster" in page.locator("#list tbody th a").all_inner_texts()


def test_a_classic_group_shows_generations_and_who_has_what(group_page, table_of):
    page = group_page("coop")
    completed = "generation 11 was completed at 2026-11-26 03:31:52 UTC"
    assert f"{completed}; whether it rebalances now is not in the log" in facts(page)
    generations = table_of(page, "Generations")
    assert [row["Generation"] for row in generations] == [str(number) for number in range(11, -1, -1)]
    fourth = next(row for row in generations if row["Generation"] == "4")
    titles = ("Completed at (UTC)", "Cause", "Sync time", "Rounds", "Members", "Joined", "Partitions moved", "Mode")
    assert [fourth[title] for title in titles] == [
        *("2026-11-26 03:31:24", "member joined", "18 ms", "1", "3", "1", "0", "cooperative")
    ]
    present = {row["Client"]: row["Has"] for row in table_of(page, "Members") if row["State"] == "member"}
    assert present == {"coop-1 @ 127.0.0.1": "ta 0-4, 6 (6)", "coop-3 @ 127.0.0.1": "ta 5, 7; tb 0-3 (6)"}
    assert "epoch" not in page.locator("#group thead").all_inner_texts()[0].lower()
    # Four members, each from the generation with it to the one without it.
    assert page.locator(".plot .bar.member").count() == 4


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ("coop", ["Upgrade to the consumer protocol: a consumer member can join, and converts the group."]),
        ("connect-cluster", []),
        ("share1", []),
        ("st", []),
    ],
)
def test_a_classic_group_says_whether_it_can_be_upgraded(group_page, group, said):
    paragraphs = group_page(group).locator("#group > p").all_inner_texts()
    assert [each for each in paragraphs if each.startswith("Upgrade")] == said


def test_only_the_present_generation_is_ongoing(tmp_path, opened, table_of):
    write_groups(tmp_path, {}, cluster="made")
    group = {"group_id": "g"}
    classic = group | {"group_type": "classic", "state": "Stable", "from_at": CAPTURED - timedelta(minutes=9)}
    row = group | {"history": "observed", "completed_at": CAPTURED - timedelta(minutes=5)}
    ended = {"ended_by": "next_generation", "ended_at": CAPTURED - timedelta(minutes=4)}
    write(
        tmp_path,
        "made",
        group_state_timeline=[classic],
        group_state=[group | {"group_type": "classic", "state": "Stable", "generation": 3}],
        classic_generation=[row | {"generation": 1} | ended, row | {"generation": 2}, row | {"generation": 3}],
    )
    page = opened(page_of(contents(DuckTables(str(tmp_path)))).html, "#group=g")
    page.wait_for_selector("#group table")
    assert [
        [each[title] for title in ("Generation", "Lasted", "Ended by")] for each in table_of(page, "Generations")
    ] == [
        ["3", "≥ 5 min", "ongoing"],
        ["2", "", "not seen"],
        ["1", "1 min", ""],
    ]


def test_the_page_names_no_file_that_is_not_with_it(group_page):
    for group in GROUPS:
        assert "See docs/" not in group_page(group).locator("#group").text_content()


def test_a_static_member_that_was_replaced_is_not_there(group_page, table_of):
    page = group_page("static")
    present = [row["Has"] for row in table_of(page, "Members") if row["State"] == "member"]
    assert sorted(present) == ["ss 0-1 (2)", "ss 2 (1)"]


def test_a_streams_group_shows_tasks_by_role(group_page, table_of):
    page = group_page("st")
    assert {row["Has"] for row in table_of(page, "Members") if row["State"] == "reconciled"} == {
        *("active 0: 2-3; standby 0: 0-1 (4)", "active 0: 0-1; standby 0: 2-3 (4)")
    }
    handed = table_of(page, "Tasks that changed their owner")
    assert {(row["Tasks"], row["State was there"]) for row in handed} >= {
        ("0: 0-3", "not seen"),
        ("0: 2-3", "not seen"),
    }
    assert "topology epoch 0, validated" in facts(page)


def test_a_share_group_shows_partitions_by_state(group_page, table_of):
    page = group_page("share1")
    topics = table_of(page, "Partitions by state")
    assert [(row["Partitions"], row["State"], row["Without a member"]) for row in topics] == [
        *(("ta 0-7", "initialized", "none"), ("tb 0-3", "initialized", "none"))
    ]
    assert {row["Has"] for row in table_of(page, "Members") if row["State"] == "reconciled"} == {
        *("ta 0, 3-4, 6 (4)", "ta 1-2, 5, 7; tb 0-3 (8)")
    }
    assert "Blocked by" not in table_of(page, "Members")[0]


def test_a_converted_group_shows_its_changes(group_page, table_of):
    page = group_page("mig")
    down, up = table_of(page, "Changes of the protocol")
    assert (up["Change"], up["Both protocols until (UTC)"]) == ("upgrade", "2026-11-26 03:31:40")
    assert (down["From"], down["To"], down["Members converted"]) == ("consumer", "classic", "1")
    assert [row["Protocol"] for row in table_of(page, "Before and after")] == ["classic", "consumer", "classic"]


def test_each_kind_fits_any_screen_and_paper(opened, html):
    page = opened(html)
    for group in ("", *GROUPS):
        page.emulate_media(media="screen")
        page.evaluate("(group) => { location.hash = group && new URLSearchParams({ group }).toString(); }", group)
        page.wait_for_selector(f"#group-title:has-text('{group}')" if group else "#overview:visible")
        if group:
            page.wait_for_selector(BARS)
        for width in (1280, 1000, 780, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert (group, page.evaluate("document.documentElement.scrollWidth")) == (group, width)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": PAPER, "height": 1000})
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert (group, page.evaluate("document.documentElement.scrollWidth")) == (group, PAPER)
        page.evaluate("dispatchEvent(new Event('afterprint'))")


@pytest.mark.parametrize(("group", "width", "dark"), [("connect-cluster", 1280, False), ("st", 360, True)])
def test_axe_finds_nothing(group_page, group, width, dark):
    page = group_page(group, width=width, dark=dark)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert Axe().run(page).generate_report() == "Found 0 accessibility violations:\n"


@pytest.mark.slow
def test_what_is_cut_is_counted(kinds, monkeypatch):
    limit_sections(monkeypatch, generations=5, units=1)
    found = contents(DuckTables(str(kinds)), cluster="group-kinds").histories["group-kinds", 1, "coop"]
    assert [row["generation_text"] for row in found["generations"]] == ["11", "10", "9", "8", "7"]
    assert found["omitted"] == ["1 of 3 assignments", "5 of 12 generations"]
    assert sum(row["has"] == "" for row in found["members"]) == len(found["members"]) - 1


@pytest.mark.slow
def test_the_same_tables_give_the_same_page_in_another_process(html):
    """Whose texts have other hashes, and so sets another order."""
    tables = unpacked(scripts(html, "data"))["groupTables"]
    assert len(tables) > 3
    assert list(tables) == [kind for kind in KINDS if kind in tables]


@pytest.mark.slow
def test_a_group_has_the_rows_of_its_kind_only(made):
    kinds = {group["group_id"]: group["kind"] for group in made.groups}
    assert {kinds[group] for group in GROUPS} == {"connect", "classic", "streams", "share"}
    assert kinds["connect-sink1"] == "classic"
    histories = {group_id: history for (_, _, group_id), history in made.histories.items()}
    assert {"generations", "workers", "topics"}.isdisjoint(histories["st"])
    assert "units" not in histories["st"], "they are a part of the members"
    assert "topics" in histories["share1"]
    # Without the static member that was replaced.
    assert sorted(filter(None, (row["has"] for row in histories["static"]["members"]))) == ["ss 0-1 (2)", "ss 2 (1)"]
