"""The page of a broker's log with offset commits: who does not consume, how far commits came, where they jumped."""

import pytest

from kip848_records.report.page.contents import contents
from kip848_records.report.page.page import page as page_of
from tests.commits_of_a_broker import SILENCE, audited

ALONE = "while the group had no members"


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return page_of(contents(audited(tmp_path_factory.mktemp("silent"), SILENCE))).html


def rows(page, title):
    """The rows of a section of a group, each as its cells."""
    found = page.locator(f"#group details:has(h2:has-text('{title}')) tbody tr")
    return [[cell.inner_text().split("\n")[0] for cell in row.locator("th, td").all()] for row in found.all()]


def test_partitions_that_nobody_seems_to_consume(opened, html, photographed):
    page = opened(html)
    found = page.locator("section[aria-labelledby=silent] tbody tr").all_inner_texts()
    assert ["g-pause", "t-orders 3", "g-pause-0", "g-manual has read 556 offsets more", "1 min 50 s", "260"] in [
        row.split("\t") for row in found
    ]
    assert {row.split("\t")[0] for row in found} >= {"g-pause", "g-dead", "g-hang"}
    photographed(page, "not-consumed")
    for width in (1280, 760, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") == width


def test_progress_stands_beside_what_members_own(opened, html, photographed):
    page = opened(html, "#group=g-pause")
    page.wait_for_selector("#timeline .bar")
    found = [row[:4] for row in rows(page, "Committed offsets")]
    assert found[0] == ["t-orders 3", "260", "1 min 50 s", "suspected: g-manual has read 556 offsets more"]
    assert {said for _, _, _, said in found[1:]} == {"goes on"}
    assert page.locator(".is-suspected:visible").count() == 1
    photographed(page, "progress")


def test_jumps_are_on_the_timeline_and_in_a_list(opened, html, photographed):
    page = opened(html, "#group=g-reset")
    page.wait_for_selector("#timeline .bar")
    assert page.locator("#timeline .bar.jump").count() == 2
    assert [row[1:] for row in rows(page, "Jumps of committed offsets")] == [
        ["t-pay 2", f"back from 198 to 150, {ALONE}: exactly 48 offsets are read again"],
        ["t-pay 0-1", f"back from 197…202 to 0, {ALONE}: exactly 399 offsets in all are read again"],
    ]
    photographed(page, "jumps")


def test_without_commits_it_is_said_that_nobody_looked_at_them(opened, made_contents):
    page = opened(page_of(made_contents({"g": 60})).html, "#group=g")
    page.wait_for_selector("#timeline .bar")
    said = "Not looked at, because the audit decoded no offset commits: audit the log with --offset-commits."
    assert page.locator("section[aria-labelledby=silent] p").all_text_contents() == [said]
    said = "Whether its members consume what they own was not looked at (--offset-commits)."
    assert page.locator("#group p.muted", has_text="--offset-commits").all_text_contents() == [said]
    assert rows(page, "Committed offsets") == rows(page, "Jumps of committed offsets") == []
