"""axe-core finds no violation on the page, in both themes and widths."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from kip848_records.report.page.page import page as page_of
from tests.report.page.made_contents import failed
from tests.seeds import few


@pytest.fixture(scope="module")
def html(made_contents):
    return page_of(
        made_contents({"stuck": 1432, "other": 600} | {f"group-{n}": 0 for n in range(40)}, failed("stuck"))
    ).html


LIST, GROUP = ("", "#list tbody tr"), ("#group=stuck", "#timeline .bar")


@pytest.mark.parametrize(
    ("at", "drawn", "width", "dark"),
    few(
        [(*place, width, dark) for place in (LIST, GROUP) for width in (1280, 360) for dark in (False, True)], 3, "axe"
    ),
)
def test_axe_finds_nothing(opened, html, at, drawn, width, dark):  # noqa: PLR0913, PLR0917
    page = opened(html, at, width=width, dark=dark)
    page.wait_for_selector(drawn)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    found = Axe().run(page)
    assert found.generate_report() == "Found 0 accessibility violations:\n"
