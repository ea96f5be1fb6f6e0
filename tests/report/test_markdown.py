"""A verdict as Markdown, as GitHub's own parser renders it."""

from dataclasses import replace
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given

from kip848_records.report.markdown import markdown
from kip848_records.report.words import position
from kip848_records.text import printable
from tests.report.verdicts import ALL, CAPTURED, HOSTILE, MEMBER, NOWHERE, STUCK, finding, result, verdict, verdicts

OURS = {"h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "details", "summary"}


class Page(HTMLParser):
    """The tags of a page, its tables as rows of cells, and which texts stand in `<code>`."""

    def __init__(self, made):
        super().__init__()
        self.tags, self.tables, self.open, self.texts = [], [], [], []
        # GitHub lets HTML through, and cleans it later: what is checked here.
        self.feed(cmarkgfm.github_flavored_markdown_to_html(markdown(made), options=Options.CMARK_OPT_UNSAFE))
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment

    def handle_data(self, data):
        self.texts.append((data, "code" in self.open))
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def told(self):
        return "".join(text for text, _ in self.texts)


def rows(found, *, evaluated=True, several=True):
    signs = {"error": "\N{CROSS MARK} error", "warn": "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} warning"}
    for one in found:
        epoch = "" if one.group_epoch is None else str(one.group_epoch)
        ids = [printable(one.group_id or ""), epoch, printable(one.member_id or "")]
        told = [signs[one.severity]] * evaluated + [printable(one.cluster)] * several
        yield [*told, *ids, position(one), printable(one.message)]


def test_the_headline_is_the_verdict():
    first, *_ = markdown(ALL).split("\n")
    assert first == ("## \N{CROSS MARK} kip848 check: 1 of 4 expectations failed, 1 warned, 1 could not be evaluated")
    assert markdown(verdict(result("a"))).startswith("## \N{WHITE HEAVY CHECK MARK} kip848 check: 1 expectation passed")
    assert "Cluster demo, captured at 2026-11-21 08:18:46 UTC" in Page(ALL).told()


def test_every_expectation_has_a_row():
    titles, *expectations = Page(ALL).tables[0]
    assert titles == ["Expectation", "Status", "Checked", "Violations", "Unknown"]
    assert expectations == [
        ["group_stable", "\N{CROSS MARK} failed", "43", "33", "0"],
        ["rebalance_time", "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} warned", "12", "1", "1"],
        ["one_owner", "\N{WHITE QUESTION MARK ORNAMENT} could not be evaluated", "15", "0", "5"],
        ["epochs_rise", "\N{WHITE HEAVY CHECK MARK} passed", "10", "0", "0"],
    ]


def test_violations_stand_below_and_the_unknown_is_folded():
    page = Page(ALL)
    _, failed, warned, *unknown = page.tables
    assert failed == [
        ["Severity", "Group", "Epoch", "Member", "Where", "What"],
        ["\N{CROSS MARK} error", "payments", "7", MEMBER, "__consumer_offsets-3 offset 1234", STUCK],
        *rows([finding("warn", member_id=None)], several=False),
    ]
    assert [row[-1] for row in warned] == ["What", "slow"]
    assert [[row[-1] for row in table] for table in unknown] == [
        ["What", "log begins later"],
        ["What", "compacted away"],
    ]
    assert unknown[0][0] == ["Group", "Epoch", "Member", "Where", "What"]
    assert "group_stable: 31 errors, 2 warnings of 43 checked" in page.told()
    assert "and 31 more" in page.told()
    before, after = markdown(ALL).split("<details>")
    assert "6 could not be evaluated</summary>" in after
    assert "log begins later" in after
    assert "log begins later" not in before
    assert "<details>" not in markdown(verdict(result("a")))


def test_twenty_violations_are_shown():
    page = Page(verdict(result("a", [finding(message=f"number {n}") for n in range(22)])))
    assert [row[-1] for row in page.tables[1][1:]] == [f"number {n}" for n in range(20)]
    assert "and 2 more" in page.told()


@pytest.mark.parametrize("text", HOSTILE)
def test_an_id_shows_as_itself_and_is_nothing_else(text):
    hostile = finding(cluster=text, group_id=text, member_id=text, message=text)
    # A description comes from a docstring: it may have a link.
    of = replace(result(text, [hostile], [hostile]), description="fine")
    made = verdict(of, captured_at={text: CAPTURED, "other": None})
    page = Page(made)
    _, violations, unknown = page.tables
    assert violations[1:] == [*rows([hostile])]
    assert unknown[1:] == [*rows([hostile], evaluated=False)]
    assert set(page.tags) <= OURS


def test_without_html_nothing_is_lost():
    """What shows Markdown need not let HTML through."""
    page = cmarkgfm.github_flavored_markdown_to_html(markdown(ALL))
    assert all(text in page for text in ("<td><code>payments</code></td>", STUCK, "log begins later", "compacted away"))


@pytest.mark.parametrize(
    "text", ["# a *b* _c_ d_e `f` <g> [h](i) &amp; ~~j~~ |", "- x", "1. x", "+ x", "1) x", "=", "\\"]
)
def test_a_description_shows_as_itself(text):
    page = Page(verdict(replace(result("a", [finding()]), description=text)))
    assert text in page.told()
    assert set(page.tags) <= OURS


def test_what_is_nowhere_has_empty_cells():
    assert Page(verdict(result("a", [NOWHERE]))).tables[1][1][1:] == ["", "", "", "", "no records"]


@given(verdicts())
def test_any_id_shows_as_itself_and_is_nothing_else(made):
    page = Page(made)
    several = len(made.captured_at) > 1
    expected = [[*rows(each.violations, several=several)] for each in made.results if each.violations]
    expected += [[*rows(each.unknown, several=several, evaluated=False)] for each in made.results if each.unknown]
    assert [table[1:] for table in page.tables[1:]] == expected
    assert set(page.tags) <= OURS


def test_github_looks_for_nobody_in_it():
    """In `<code>` it makes no mention, reference, link or emoji."""
    hostile = "@octocat #123 :smile: https://example.com a@example.com 0123456789abcdef0123456789abcdef01234567"
    one = finding(cluster=hostile, group_id=hostile, member_id=hostile, message=hostile)
    of = replace(result("a", [one], [one]), name=hostile)
    made = verdict(of, captured_at={hostile: None, "other": None})
    texts = [is_code for text, is_code in Page(made).texts if hostile in text]
    assert len(texts) == 12
    assert all(texts)
