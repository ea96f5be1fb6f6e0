"""The words for values of columns: every value has some, and Python, SQL and the page say the same."""

import re

import duckdb
import pyarrow as pa
import pytest

from kip848_records.kinds import CLASSIC, CONNECT, CONSUMER, KINDS, SHARE, STREAMS
from kip848_records.queries.texts import completed
from kip848_records.specs.tables import REPLAYED
from kip848_records.wording import CAUSES, HEALTH, cause_text, causes_text, member_states

_NAME = re.compile(r"\b[a-z]+_[a-z_]+\b")


@pytest.mark.parametrize("table", ["epoch_timeline", "classic_generation"])
def test_every_cause_that_a_table_names_has_words(table):
    (column,) = (each for each in REPLAYED[table].columns if each.name == "cause")
    named = set(_NAME.findall(column.comment)) - {each.name for each in REPLAYED[table].columns}
    assert len(named) > 5
    assert named <= CAUSES.keys()


def test_sql_says_what_python_says():
    text = completed("SELECT causes_text(causes) FROM given").replace("array_join", "array_to_string")
    given = pa.table({"causes": [[cause, "follow_up"] for cause in CAUSES]})
    said = duckdb.connect().from_arrow(given).query("given", text).fetchall()
    assert [words for (words,) in said] == [causes_text([cause, "follow_up"], CONSUMER) for cause in CAUSES]


def test_the_members_of_a_kind_have_its_name():
    assert cause_text("member_left", CONNECT) == "worker left or expired"
    assert causes_text(["member_left", None, "a_cause_of_later"], CLASSIC) == "member left or expired, a cause of later"
    assert (cause_text(None, CLASSIC), causes_text(None, CLASSIC)) == ("", "")


def test_the_states_of_members_follow_the_traits_of_the_kind():
    assert member_states(STREAMS)["waiting"] == "waiting for tasks"
    assert member_states(SHARE).keys() == {"reconciled", "behind", "unknown"}
    assert {kind for kind in KINDS if "away" in member_states(kind)} == {CONSUMER, CLASSIC, CONNECT}
    assert member_states(CONSUMER)["unknown"] == HEALTH["unknown"]
