"""README.md and the pages of docs/: generated parts, marks of examples, links, and the site."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import cmarkgfm
import pytest

from kip848_records.cli import _parser
from tests.docs.pages import DOCS, HOME_OF_THE_ACCOUNT, README, ROOT, commands, examples, pages
from tests.docs.reference import reference

TESTS = Path(__file__).parents[1]
SHELL = {"bash", "console", "sh"}
CODE = SHELL | {"python", "sql", "toml"}
MARK = re.compile(r"(test|output|not run): \w")


def name(page):
    return str(page.relative_to(ROOT))


def html(page):
    """The page as GitHub shows it."""
    return cmarkgfm.github_flavored_markdown_to_html(page.read_text(encoding="utf-8"))


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    texts = [re.sub(r"<.*?>", "", heading) for heading in re.findall(r"<h\d>(.*?)</h\d>", html(page))]
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in texts}


@pytest.mark.parametrize(("page", "text"), reference().items(), ids=lambda each: getattr(each, "stem", ""))
def test_a_page_of_the_reference_is_what_the_code_says(page, text):
    assert page.is_file(), f"{name(page)} is missing: run make docs-reference"
    assert page.read_text(encoding="utf-8") == text, f"{name(page)} is out of date: run make docs-reference"


def test_the_readme_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize("page", pages(), ids=name)
def test_links_and_pictures_lead_somewhere(page):
    broken = []
    for link in re.findall(r'(?:href|src)="([^"]*)"', html(page)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


# The reference is made of code that has tests of its own.
@pytest.mark.parametrize("page", [page for page in pages() if page.parent != DOCS / "reference"], ids=name)
def test_every_example_says_how_it_is_tested(page):
    bare = [each.text for each in examples(page) if each.language in CODE and not MARK.match(each.mark)]
    assert not bare, f"{name(page)}: put one of the comments of tests/docs/pages.py above these examples"


def test_every_mark_of_an_example_is_named_in_a_test():
    written = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    marks = [each.mark for each in examples() if each.mark.startswith("test: ")]
    assert marks
    assert [mark for mark in marks if f'"{mark}"' not in written] == [], "a test has to ask for block(mark)"


@pytest.mark.parametrize("page", pages(), ids=name)
def test_commands_have_arguments_that_exist(page):
    for each in examples(page):
        for command in commands(each.text) if each.language in SHELL else ():
            words = shlex.split(command, comments=True)[1:]
            _parser(words).parse_args(words)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built with warnings as errors from a copy of what it is made of."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    (folder / "zensical.toml").write_bytes((ROOT / "zensical.toml").read_bytes())
    build = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


@pytest.mark.slow
def test_the_site_has_every_page_in_its_menu(site):
    menu = (site / "index.html").read_text(encoding="utf-8")
    for page in sorted({*DOCS.rglob("*.md")} - {DOCS / "index.md"}):
        made = page.relative_to(DOCS).with_suffix(".html")
        assert (site / made).is_file()
        assert f'<a href="./{made}" class="md-nav__link' in menu, f"{name(page)} is not in the nav of zensical.toml"


@pytest.mark.slow
def test_links_of_the_site_lead_somewhere_and_load_nothing_from_elsewhere(site):
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]* src="https?:[^"]*"', text)
        assert not re.findall(r'<link[^>]* rel="(?:stylesheet|preconnect)"[^>]* href="https?:[^"]*"', text)
        for link in re.findall(r' href="([^"#:]*)#([^"]+)"', text):
            target = (page.parent / link[0]).resolve() if link[0] else page
            assert f'id="{link[1]}"' in target.read_text(encoding="utf-8"), (page.name, link)


@pytest.mark.process
@pytest.mark.parametrize("home", [".", "home"])
def test_what_a_machine_without_a_network_gets_is_unpacked_where_it_belongs(tmp_path, home):
    """Also if it is unpacked in the home folder, and if an older folder of jars is there."""
    blocks = [each.text for each in examples(DOCS / "install.md") if "kip848-offline.tgz" in each.text]
    assert all(HOME_OF_THE_ACCOUNT in block for block in blocks)
    blocks = [block.replace(HOME_OF_THE_ACCOUNT, "$HOME") for block in blocks]
    pack, unpack = ("\n".join(re.findall(r"^(?:tar|mv) .*", block, re.MULTILINE)) for block in blocks)
    for jar in ("from/home/.ivy2.5.2/jars/new.jar", f"to/{home}/.ivy2.5.2/jars/old.jar", "from/packages/a.whl"):
        (tmp_path / jar).parent.mkdir(parents=True)
        (tmp_path / jar).touch()
    subprocess.run(["bash", "-ec", pack], cwd=tmp_path / "from", env={"HOME": str(tmp_path / "from/home")}, check=True)
    shutil.copy(tmp_path / "from" / "kip848-offline.tgz", tmp_path / "to")
    subprocess.run(["bash", "-ec", unpack], cwd=tmp_path / "to", env={"HOME": str(tmp_path / "to" / home)}, check=True)
    jars = tmp_path / "to" / home / ".ivy2.5.2"
    assert {path.relative_to(jars).as_posix() for path in jars.rglob("*.jar")} == {"jars/new.jar", "jars/old.jar"}
    assert (tmp_path / "to" / "packages" / "a.whl").is_file()


def test_folders_of_a_copy_are_made_before_they_are_filled():
    for each in examples(DOCS / "tutorial.md"):
        for folder in re.findall(r"^(?:rsync .* |.*tar xf - -C )(copy/\S+?)/?$", each.text, re.MULTILINE):
            made = re.search(r"^mkdir -p (.*)$", each.text, re.MULTILINE)
            assert made, each.text
            assert folder in made[1].split()
