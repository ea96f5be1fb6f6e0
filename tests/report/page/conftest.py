"""A real browser, Chromium without a window, and pages of made tables."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from kip848_records.queries.duck import DuckTables
from kip848_records.report.page.contents import contents
from tests.report.page.made_contents import write_groups

# Screenshots stay where people may look at them.
SCREENSHOTS = Path(__file__).parents[3] / "out" / "screenshots"
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
_QUIET = ("--disable-component-update", "--disable-sync")


@pytest.fixture(scope="session")
def made_contents(tmp_path_factory):
    """Makes the contents of groups: by their ids, for how many seconds each is stuck."""

    def make(groups, verdict=None, **sizes):
        out = tmp_path_factory.mktemp("tables")
        write_groups(out, groups, **sizes)
        return contents(DuckTables(str(out)), verdict)

    return make


@pytest.fixture(scope="session")
def chromium():
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium to open the page in: on Debian, apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_FLAGS, *_QUIET])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Opens a page's HTML, `at` an address within it; afterwards there was no error, no dialog, nothing was loaded."""
    contexts, wrong = [], []

    def open_page(html, at="", *, width=1280, dark=False):
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        size = {"width": width, "height": 800}
        context = chromium.new_context(viewport=size, color_scheme="dark" if dark else "light")
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url[:100]}"))
        page.on("request", lambda request: None if is_own(request.url) else wrong.append(f"asks for {request.url}"))
        page.goto(f"{file.as_uri()}{at}")
        page.wait_for_selector("html[data-ready=true]")
        return page

    def is_own(url):
        return url.startswith(((tmp_path / "report.html").as_uri(), "data:", "blob:"))

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def photographed():
    """Keeps a screenshot of the whole page."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    return lambda page, name: page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
