"""Which engine a command takes, and why."""

import subprocess
import sys

import pytest

from kip848_records.engines.choice import MOST_BYTES, Choice, Work, choose
from kip848_records.errors import InputError
from kip848_records.tables.location import schema_location

URL = "kafka://broker:9092/__consumer_offsets"


def work(*copies, out="out", size=500_000, live=None):
    return Work(copies, out, lambda: size, live)


def chosen(named, of, environment=None, *, has_spark=True):
    return choose(named, of, environment=environment or {}, is_spark_there=lambda: has_spark)


def test_files_of_this_machine():
    choice = chosen(None, work("copy"))
    assert choice == Choice("embedded", "500.0 kB on this machine")
    assert str(choice) == "reading with the embedded engine: 500.0 kB on this machine"
    assert chosen(None, work("copy", size=MOST_BYTES)).engine == "embedded"


@pytest.mark.parametrize(("has_spark", "engine"), [(True, "spark"), (False, "embedded")])
def test_more_than_the_limit(has_spark, engine):
    choice = chosen(None, work("copy", size=2 * MOST_BYTES), has_spark=has_spark)
    assert choice.engine == engine
    assert (choice.note is None) == has_spark
    assert "17.2 GB on this machine, more than 8.6 GB" in (choice.note or choice.reason)


def with_rebuilt(size):
    return Work(["copy"], "out", lambda: 500_000, rebuilt=lambda: {"live": size, "old": 0})


def test_tables_that_are_rebuilt_count():
    text = "501.0 kB on this machine, with the log of cluster 'live', 'old', whose tables are rebuilt"
    assert chosen(None, with_rebuilt(1000)) == Choice("embedded", text)
    choice = chosen(None, with_rebuilt(MOST_BYTES))
    assert (choice.engine, choice.note) == ("spark", None)
    assert "cluster 'live', 'old', whose tables are rebuilt, more than 8.6 GB" in choice.reason


@pytest.mark.parametrize(("named", "has_spark"), [("embedded", True), (None, False)])
def test_what_takes_hours_is_not_rebuilt_unasked(named, has_spark):
    chosen(named, with_rebuilt(MOST_BYTES), has_spark=has_spark)
    with pytest.raises(InputError, match=r"tables of cluster 'live', 'old' have to be rebuilt.* with --engine spark"):
        chosen(named, with_rebuilt(MOST_BYTES + 1), has_spark=has_spark)


@pytest.mark.parametrize(
    ("of", "environment", "reason"),
    [
        (work("copy", out=schema_location("main", "kafka")), {}, "it writes tables in catalogs"),
        (work("copy"), {"PYSPARK_GATEWAY_PORT": "1"}, "a session is there, as PYSPARK_GATEWAY_PORT shows"),
        (work("copy"), {"SPARK_REMOTE": "sc://x"}, "a session is there, as SPARK_REMOTE shows"),
        (work("copy"), {"DATABRICKS_RUNTIME_VERSION": "17"}, "a session is there, as DATABRICKS_RUNTIME_VERSION shows"),
        (work("s3a://bucket/copy"), {}, "s3a://bucket/copy is on another file system"),
        (work("copy", out="s3a://bucket/out"), {}, "s3a://bucket/out is on another file system"),
        (work("copy"), {"HADOOP_CONF_DIR": "/x"}, "HADOOP_CONF_DIR is set, so copy may be on another file system"),
        (
            work("file:/copy"),
            {"SPARK_CONF_DIR": "/x"},
            "SPARK_CONF_DIR is set, so out may be on another file system",
        ),
    ],
)
def test_what_only_spark_can_do(of, environment, reason):
    assert chosen(None, of, environment) == Choice("spark", reason)


def test_a_path_with_its_scheme_is_on_this_machine_whatever_is_set():
    assert chosen(None, work("file:/copy", out="file:///out"), {"HADOOP_CONF_DIR": "/x"}).engine == "embedded"


def test_a_live_topic_into_a_folder_of_this_machine():
    choice = chosen(None, work(live=URL))
    assert (choice.engine, choice.reason) == ("embedded", "a live topic, into files of this machine")
    assert chosen(None, work(live=URL, out="s3a://b/out")).engine == "spark"
    assert chosen(None, work(live=URL), {"PYSPARK_GATEWAY_PORT": "1"}).engine == "spark"


@pytest.mark.parametrize("environment", [{}, {"PYSPARK_GATEWAY_PORT": "1"}, {"HADOOP_CONF_DIR": "/x"}])
@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_the_named_one(engine, environment):
    assert chosen(engine, work("copy", size=2 * MOST_BYTES), environment) == Choice(engine, "as --engine says")


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (
            work("copy", out=schema_location("main", "kafka")),
            "the embedded engine does not write tables in a catalog, such as main.kafka",
        ),
        (
            work("s3a://bucket/copy"),
            "the embedded engine reads and writes files of this machine, and s3a://bucket/copy is elsewhere",
        ),
        (
            work("copy", out="s3a://b/out"),
            "the embedded engine reads and writes files of this machine, and s3a://b/out is elsewhere",
        ),
    ],
)
def test_the_embedded_engine_for_what_only_spark_can_do(of, says):
    with pytest.raises(InputError) as error:
        chosen("embedded", of)
    assert error.value.message == says
    assert error.value.hint.startswith("omit --engine")


@pytest.mark.process
def test_the_choice_imports_nothing_that_takes_long():
    code = (
        "import sys; import kip848_records.engines.choice; "
        "print({'pyspark', 'duckdb', 'pyarrow', 'deltalake'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
