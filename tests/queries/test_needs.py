"""What each expectation and question needs: it is stated, and what a text reads shows that none was forgotten."""

from importlib.resources import files

import pytest

from kip848_records.expectations import EXPECTATIONS
from kip848_records.queries.headers import split_header
from kip848_records.queries.needs import NEEDS, unread
from kip848_records.queries.questions import questions
from kip848_records.queries.tables import Run, words
from kip848_records.queries.texts import completed, folder
from kip848_records.specs.tables import OF_COMMITS

EXPECTATION_TEXTS = {
    file.name.removesuffix(".sql"): file.read_text(encoding="utf-8")
    for file in files("kip848_records.expectations").iterdir()
    if file.name.endswith(".sql")
}
TEXTS = {
    f"{kind} {name}": text
    for kind, texts in (("expectation", EXPECTATION_TEXTS), ("question", folder("queries/questions")))
    for name, text in texts.items()
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_header_states_what_its_text_needs_and_what_it_looks_at(name):
    header, _ = split_header(TEXTS[name])
    assert isinstance(header.get("needs"), list), "its header has no list `needs`; [] if any audit can answer it"
    assert header.get("about"), "its header has no `about`: a noun for what the text looks at"
    if name.startswith("question"):
        assert header.get("empty"), "its header has no `empty`: what an empty answer says"


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_reads_tables_of_commits_needs_offset_commits(name):
    """Without them these tables are empty, which is no good news."""
    header, sql = split_header(TEXTS[name])
    if set(words(completed(sql))) & set(OF_COMMITS):
        assert "offset_commits" in [*header["needs"], *header.get("without", {})]


@pytest.mark.parametrize("names", [["topic_content"], ["topic_content", "commit_progress", "group_state"]])
def test_tables_without_rows_are_named_with_the_way_out(names):
    run = Run(**dict.fromkeys(Run._fields))._replace(cluster="c", run=2, table_versions={})
    said = unread(run, names, is_empty=True)
    assert [each.split(": ")[1].partition(";")[0] for each in said] == [
        f"{name} has no rows" for name in ("commit_progress", "topic_content") if name in names
    ]
    assert said[-1].endswith(
        "; pass --topic-content to the command that reads the log; of a live topic only the first run can count"
    )
    assert unread(run._replace(topic_content=True, offset_commits=True), names, is_empty=True) == []


def test_every_need_is_one_of_something():
    """A need that nothing states would be a word without a meaning."""
    stated = {need for each in (*EXPECTATIONS, *questions().values()) for need in (*each.needs, *each.without)}
    assert stated <= NEEDS.keys()


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ('needs = "offset_commits"', "needs is not a list of texts"),
        ('needs = ["commits"]', "'commits' is not one of offset_commits, "),
        ("about = 1", "about is not a text"),
        ("[without]\n-- offset_commits = 1", "without is not a table of texts"),
        ("needs = [", "its header is not TOML: "),
    ],
)
def test_a_header_that_states_it_wrongly_is_refused(header, reason):
    with pytest.raises(ValueError, match="^" + reason.replace("[", r"\[")):
        split_header(f"-- {header}\nSELECT 1")
