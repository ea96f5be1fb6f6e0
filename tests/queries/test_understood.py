"""Spark understands every text as DuckDB does: it finds the same columns in tables without rows.

Slow tests compare the rows: `test_texts.py`, and `tests/expectations/test_both_engines.py`.
"""

from datetime import UTC, datetime

import pytest

from kip848_records.config import load_settings
from kip848_records.expectations import EXPECTATIONS
from kip848_records.expectations import sql as expectations
from kip848_records.queries.duck import _NAMED, _with_dollars, new_database
from kip848_records.queries.questions import questions
from kip848_records.queries.texts import completed, folder
from kip848_records.report.sql import query
from kip848_records.tables.registry import TABLES
from kip848_records.tables.spark_types import spark_schema
from tests.queries.test_texts import PARAMETERS, TEXTS

NOW = datetime(2026, 1, 2, tzinfo=UTC)
OTHERS = {"from_ms": 0, "until_ms": 0, "captured_at": NOW, "now": NOW, "dialect": "kafka", "generation": 11}


def texts():
    settings = load_settings()
    for each in EXPECTATIONS:
        yield f"expectation {each.name}", *expectations.query(each, settings[each.name], 10)
    for name, question in questions().items():
        yield f"question {name}", question.sql, {}
    for name in folder("queries/relations"):
        yield f"relation {name}", completed(f"SELECT * FROM {name}"), {}  # noqa: S608 - ours
    for name in TEXTS:
        yield f"report {name}", query(name), {}


@pytest.fixture(scope="module")
def duck(tmp_path_factory):
    database = new_database(str(tmp_path_factory.mktemp("duck")), 1 << 30)
    for name, spec in TABLES.items():
        database.register(name, spec.schema.empty_table())
    return database


@pytest.fixture(scope="module")
def of_spark(classic):
    session = classic.newSession()  # other tests have views of these names
    for name, spec in TABLES.items():
        session.createDataFrame([], spark_schema(spec)).createOrReplaceTempView(name)
    yield session
    classic.createDataFrame([], "number int")  # which makes it the active session again


@pytest.mark.parametrize(("text", "own"), [pytest.param(*each, id=name) for name, *each in texts()])
def test_the_columns_of_a_text(duck, of_spark, text, own):
    named = {found[1] for found in _NAMED.finditer(text)} - {None}
    known = {name: value for name, value in (PARAMETERS | OTHERS | own).items() if name in named}
    columns = [column for column, *_ in duck.execute(_with_dollars(text), known or None).description]
    assert of_spark.sql(text.strip().rstrip(";"), args=known or None).columns == columns
