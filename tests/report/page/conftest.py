"""A real browser, Chromium without a window, and the page of the captures' audits."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from kip848_records.config import load_settings
from kip848_records.report.page.contents import contents

# Screenshots stay where people may look at them.
SCREENSHOTS = Path(__file__).parents[3] / "out" / "screenshots"
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
_QUIET = ("--disable-component-update", "--disable-sync")


@pytest.fixture(scope="session")
def told(spark, audits):
    """What the page says of all captures, with one expectation: judging all takes longer than the rest."""
    settings = load_settings("conf/audit-demo.toml")
    settings = {
        name: setting if name == "group_stable" else type(setting)("off", {}) for name, setting in settings.items()
    }
    return contents(spark, str(audits.out), settings, None)


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
