"""What an engine does with rows, equal on both."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kip848_records.engines.embedded import relations
from kip848_records.engines.embedded.tagged_rows import TaggedRows
from kip848_records.errors import InputError
from tests.engines import engines
from tests.equal_rows import Rows

UTC = ZoneInfo("UTC")

ROWS = pa.table(
    {
        "k": pa.array(["b", None, "a", "b", "a", "\N{SNOWMAN}"]),
        "n": pa.array([3, 1, 2, 4, 5, 6], pa.int64()),
        "time": pa.array([datetime(2026, 1, day, 1, 2, 3, 4, UTC) for day in range(1, 7)], pa.timestamp("us", "UTC")),
        "data": pa.array([b"\x00\xff", None, b"", b"a", b"b", b"c"], pa.binary()),
    }
)


@pytest.fixture(params=[engines.EMBEDDED, engines.SPARK])
def engine(request, tmp_path):
    spark = request.getfixturevalue("spark") if request.param == engines.SPARK else None
    engine = engines.new_engine(request.param, spark, tmp_path / "out")
    with engine.alone(str(tmp_path / "out")):
        yield engine


@pytest.fixture
def rows(engine):
    return engine.relation(ROWS)


def table(engine, relation):
    """All rows of a relation, with the types that a function over batches gets."""
    batches = list(engine.materialize(relation, "all").batches())
    return pa.Table.from_batches(batches)


QUERIES = {
    "all columns": "SELECT k, n, time, data FROM {rows}",
    "sums and counts": "SELECT k, sum(n) AS sum, count(*) AS rows, count_if(n > 3) AS more FROM {rows} GROUP BY k",
    "nulls first": "SELECT k, row_number() OVER (ORDER BY k, n) AS place FROM {rows}",
    "lists": "SELECT collect_set(k) AS ks, max_by(k, n) AS last FROM {rows} WHERE k = 'a'",
    "blobs": "SELECT n, data < unhex('61') AS less, octet_length(data) AS bytes FROM {rows}",
    "times": "SELECT unix_millis(time) AS ms, timestamp_millis(1) AS first FROM {rows}",
    "a table of its own": "WITH big AS (SELECT n FROM {rows} WHERE n > 2) SELECT a.n FROM big AS a JOIN big USING (n)",
    "no rows": "SELECT n, k FROM {rows} WHERE n > 99",
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries(engine, rows, name):
    found = [row._asdict() for row in engine.collect(engine.sql(QUERIES[name], rows=rows))]
    assert Rows(found) == Rows(EXPECTED[name])


A, B, C, D, E, F = ROWS.to_pylist()
EXPECTED = {
    "all columns": [A, B, C, D, E, F],
    "sums and counts": [
        {"k": "b", "sum": 7, "rows": 2, "more": 1},
        {"k": None, "sum": 1, "rows": 1, "more": 0},
        {"k": "a", "sum": 7, "rows": 2, "more": 1},
        {"k": "\N{SNOWMAN}", "sum": 6, "rows": 1, "more": 1},
    ],
    "nulls first": [
        {"k": k, "place": place} for place, k in enumerate([None, "a", "a", "b", "b", "\N{SNOWMAN}"], start=1)
    ],
    "lists": [{"ks": ["a"], "last": "a"}],
    "blobs": [
        {"n": row["n"], "less": row["data"] and row["data"] < b"a", "bytes": row["data"] and len(row["data"])}
        for row in (A, D, E, F)
    ]
    + [{"n": 1, "less": None, "bytes": None}, {"n": 2, "less": True, "bytes": 0}],
    "times": [
        {"ms": int(row["time"].timestamp() * 1000), "first": datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)}
        for row in ROWS.to_pylist()
    ],
    "a table of its own": [{"n": n} for n in (3, 4, 5, 6)],
    "words of DuckDB": [{"offset": n, "more": n + 1, "name": "offset"} for n in range(1, 7)],
    "no rows": [],
}


def test_types_are_those_that_functions_over_batches_get(engine, rows):
    text = """
    SELECT sum(n) AS sum, count(*) AS rows, max(time) AS time, max(data) AS data, max(k) AS k, collect_list(n) AS ns,
        max(n) > 1 AS is_more, CAST(1 AS int) AS one, CAST(1.5 AS double) AS half
    FROM {rows}
    """
    types = engine.map(engines.types, engine.sql(text, rows=rows), engines.TYPES)
    expected = ["int64", "int64", "timestamp[us, tz=UTC]", "binary", "string", "list<element: int64>", "bool", "int32"]
    assert engine.collect(types)[0].types == [*expected, "double"]


def test_queries_of_queries(engine, rows):
    some = engine.sql("SELECT n, k FROM {rows} WHERE n < 5 -- a comment", rows=rows)
    found = engine.sql(
        "SELECT a.n, b.n AS other FROM {a} AS a JOIN {b} AS b ON a.k = b.k AND a.n < b.n", a=some, b=rows
    )
    assert Rows(map(tuple, engine.collect(found))) == Rows([(3, 4), (2, 5)])


def test_functions_and_queries_of_their_results(engine, rows):
    mapped = engine.map(engines.doubled, rows, engines.NUMBERS)
    more = engine.sql("SELECT sum(twice) AS sum FROM {mapped} UNION ALL SELECT max(n) FROM {mapped}", mapped=mapped)
    assert Rows(map(tuple, engine.collect(more))) == Rows([(42,), (6,)])
    assert table(engine, mapped).schema.equals(engines.NUMBERS)


def test_sorted_rows(engine, rows):
    schema = pa.schema([("k", pa.string()), ("rows", pa.int64())])
    found = engine.map_sorted(engines.counted, rows, schema, key=["k"], order=["n"])
    assert Rows(map(tuple, engine.collect(found))) == Rows([(None, 1), ("a", 2), ("b", 2), ("\N{SNOWMAN}", 1)])


def test_a_replay(engine, rows):
    found = engine.replay(engines.named, rows, key=["k"], order=["n"])
    assert found.keys() == {"topic_name"}
    names = pa.Table.from_batches(found["topic_name"].batches())
    assert names.schema.equals(engines.NAMES)
    assert Rows(names.select(["topic_id", "topic"]).to_pylist()) == Rows(
        {"topic_id": key, "topic": rows} for key, rows in [("None", "1"), ("a", "2"), ("b", "2"), ("\N{SNOWMAN}", "1")]
    )


def test_a_replay_without_rows(engine, rows):
    none = engine.sql("SELECT * FROM {rows} WHERE n > 99", rows=rows)
    assert engine.replay(engines.named, none, key=["k"], order=["n"]) == {}


def test_rows_of_a_replay_are_a_relation(engine, rows):
    found = engine.replay(engines.named, rows, key=["k"], order=["n"])["topic_name"]
    counts = engine.sql("SELECT count(*) AS rows FROM {found}", found=engine.relation(found))
    assert engine.collect(counts)[0].rows == 4


def test_what_is_computed_once(engine, rows, tmp_path):
    calls = tmp_path / "calls"
    calls.touch()

    def note(batches):
        for batch in batches:
            with calls.open("a") as file:
                file.write("x" * batch.num_rows)
            yield from engines.doubled([batch])

    once = engine.materialize(engine.map(note, rows, engines.NUMBERS), "once")
    for _ in range(2):
        assert engine.collect(engine.sql("SELECT sum(n) AS sum FROM {once}", once=once))[0].sum == 21
    assert calls.read_text() == "xxxxxx"


def test_what_is_observed(engine, rows):
    some = engine.sql("SELECT * FROM {rows} WHERE n > 1", rows=rows)
    kept, found = engine.observed(some, "count_if(k = 'b')", "n <> 2")
    assert 2 not in {n for batch in engine.materialize(kept, "read").batches() for n in batch["n"].to_pylist()}
    assert found() == 2


def test_what_was_observed_is_known_without_the_scratch_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(relations, "IN_MEMORY", 0)
    engine = engines.new_engine(engines.EMBEDDED, None, tmp_path)
    with engine.alone(str(tmp_path)):
        observed, found = engine.observed(
            engine.sql("SELECT n FROM {rows}", rows=engine.relation(ROWS)), "sum(n)", "n > 1"
        )
        assert sum(batch.num_rows for batch in observed.batches()) == 5
    assert found() == 21


def test_rows_of_a_table_of_which_some_are_in_a_file(tmp_path):
    rows = TaggedRows(lambda: tmp_path, in_memory=20_000)
    for table in "abaaaa":
        rows.add(table, pa.RecordBatch.from_pydict({"n": [*range(1000)]}))
    found = {table: sum(batch.num_rows for batch in each.batches()) for table, each in rows.end().items()}
    assert found == {"a": 5000, "b": 1000}
    assert [file.name for file in tmp_path.iterdir()] == ["a.parquet"]


def test_an_error_of_a_function(engine, rows):
    with pytest.raises(InputError, match=r"x\.log cannot be read"), engine.reading():
        engine.collect(engine.map(engines.refused, rows, engines.NUMBERS))


def test_several(engine):
    done = []
    engine.for_each(done.append, range(5))
    assert sorted(done) == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        engine.for_each(lambda each: 1 // each, [1, 0])
