"""What a text gets: functions, relations, and nothing else."""

import re
from pathlib import Path

import pytest

import kip848_records
from kip848_records.kinds import KINDS
from kip848_records.queries.texts import completed, functions, plain, rendered

PACKAGE = Path(kip848_records.__file__).parent


def test_a_call_is_replaced_with_the_calls_in_its_arguments():
    assert plain("SELECT text(ms_between(a, greatest(b, c))) AS x") == (
        "SELECT coalesce(CAST((unix_millis(greatest(b, c)) - unix_millis(a)) AS string), '?') AS x"
    )


def test_literals_and_columns_are_no_calls():
    assert plain("SELECT text('a, (b')") == "SELECT coalesce(CAST('a, (b' AS string), '?')"
    assert plain("SELECT 'text(a)', 'it''s text(a)'") == "SELECT 'text(a)', 'it''s text(a)'"
    assert plain("SELECT t.text(a), my_text(a)") == "SELECT t.text(a), my_text(a)"


def test_nothing_else_is_filled_in():
    text = "SELECT '{{ 7 * 7 }} {% raw %} {#' AS pattern FROM t"
    assert completed(text) == text


def test_relations_come_first_in_the_order_in_which_they_need_each_other():
    text = completed("WITH own AS (SELECT 1 AS one) SELECT * FROM intervals, own")
    assert text.startswith("WITH captures AS (")
    assert text.index("captures AS (") < text.index("intervals AS (")
    assert text.endswith("),\nown AS (SELECT 1 AS one) SELECT * FROM intervals, own")


def test_a_name_that_is_no_table_brings_no_relation():
    text = "WITH groups AS (SELECT 1 AS captures) SELECT captures, count(*) AS intervals FROM groups GROUP BY captures"
    assert completed(text) == text


def test_the_alias_of_a_column_brings_no_relation():
    """Spark looks at each table in front, whether anything reads it or not."""
    text = "SELECT nth, owners.member_id FROM (SELECT 1 AS nth, 'a' AS member_id) AS owners"
    assert completed(text) == text


def test_a_table_of_ones_own_may_name_its_columns():
    text = "WITH groups (captures, n) AS (SELECT 1, 2) SELECT captures FROM groups"
    assert completed(text) == text


def test_relations_come_behind_the_word_for_recursion():
    text = completed("with recursive own AS (SELECT 1 AS one) SELECT * FROM captures, own")
    assert text.startswith("with recursive captures AS (")
    assert text.endswith("),\nown AS (SELECT 1 AS one) SELECT * FROM captures, own")


def test_a_text_brings_relations_of_its_own():
    text = completed("SELECT * FROM chosen", chosen="SELECT group_id FROM captures")
    assert text.index("captures AS (") < text.index("chosen AS (") < text.index("SELECT * FROM chosen")


def test_a_call_that_does_not_end():
    with pytest.raises(ValueError, match="a parenthesis is not closed"):
        plain("SELECT text((a)")


@pytest.mark.parametrize("trait", ["has_epochs", "shares_units", "has_tasks", "hides_rebalances"])
def test_traits_are_those_of_the_table_of_kinds(trait):
    found = functions()[trait]("kind").strip("()").partition(" IN (")[2]
    assert set(found.replace("'", "").split(", ")) == {k.group_type for k in KINDS.values() if getattr(k, trait)}


def test_a_value_that_a_template_lacks():
    with pytest.raises(Exception, match="is undefined"):
        rendered("pipeline/made_anew.sql")


def test_releases_of_kafka_are_those_of_releases_toml():
    """A text that names one by hand is wrong once another release was tried."""
    release = re.compile(r"\b[34]\.\d+\.\d+\b")
    assert [file.name for file in PACKAGE.rglob("*.sql") if release.search(file.read_text(encoding="utf-8"))] == []


def test_each_relation_is_a_part_of_another_text():
    """So `make test` asks Spark for each: alone they are asked for in continuous integration."""
    named = {path: set(re.findall(r"\w+", path.read_text())) for path in PACKAGE.rglob("*.sql")}
    relations = {path.stem: path for path in PACKAGE.glob("queries/relations/*.sql")}
    assert relations
    alone = (name for name, own in relations.items() if not any(name in named[path] for path in named if path != own))
    assert [*alone] == []
