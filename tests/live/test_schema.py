"""Tables in a schema of a catalog, by name: as in a folder, but for where they are named."""

import shlex

import pytest

from kip848_records.cli import main
from kip848_records.expectations import EXPECTATIONS
from kip848_records.tables.location import schema_location
from tests.docs.pages import block
from tests.live import two_days
from tests.live.topics import Topic, tables

pytestmark = pytest.mark.slow

CATALOG, SCHEMA = "spark_catalog", "kip848_tables"
NAMED = ["--catalog", CATALOG, "--schema", SCHEMA]


@pytest.fixture(scope="module")
def empty_schema(spark, tmp_path_factory):
    """A schema without a table; returns the folder where the catalog keeps them."""
    folder = tmp_path_factory.mktemp("schema")
    spark.sql(f"CREATE SCHEMA {SCHEMA} LOCATION '{folder}'")
    yield folder
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture(scope="module")
def schema(spark, log, empty_schema, tmp_path_factory):
    """A schema of two runs' tables; returns the same folder."""
    topic = two_days.topic(log.folder, two_days.FIRST_DAY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Topic, "spark", spark)
        for until in (two_days.FIRST_DAY, log.ends):
            topic.until = until
            topic.audit(schema_location(CATALOG, SCHEMA), scratch=str(tmp_path_factory.mktemp("scratch")))
    return empty_schema


@pytest.mark.nightly
def test_they_are_what_they_are_in_a_folder(log, schema):
    written = tables(schema)
    assert written.keys() == log.tables.keys()
    for name in log.tables:
        assert written[name] == log.tables[name], name


@pytest.mark.nightly
def test_the_commands_of_the_page(capsys, log, schema, tmp_path):
    written = block("test: schema")
    ours = {"main": CATALOG, "kafka": SCHEMA, "/Volumes/ops/kafka/scratch": str(tmp_path)}
    ours["/Volumes/ops/kafka/dump"] = str(log.folder / "dump.parquet")
    audit, check, maintain = ([ours.get(word, word) for word in shlex.split(line)[1:]] for line in written.splitlines())
    assert main([*audit, "--cluster", "copy"]) == 0
    assert f"kip848 check --catalog {CATALOG} --schema {SCHEMA} --cluster copy\n" in capsys.readouterr().out
    assert tables(schema, "copy")["group_state"]
    # Spark evaluates one expectation, not all: `tests/queries/test_both_engines.py` compares their texts.
    config = tmp_path / "check.toml"
    off = (f'{each.name}.severity = "off"' for each in EXPECTATIONS if each.name != "group_stable")
    config.write_text("\n".join(["[expectations]", *off]))
    options = ["--config", str(config)]
    assert main([*check, "--cluster", "default", *options]) == 0
    of_schema = capsys.readouterr().out.replace("Since the run before: no group became overdue or recovered\n", "")
    assert main(["check", str(log.once), *options]) == 0
    assert of_schema == capsys.readouterr().out
    config.unlink()
    assert main(maintain) == 0
    assert capsys.readouterr().out.endswith("Done\n")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "x"], "error: no table location given\nhint: pass --out, or --catalog and --schema\n"),
        (["explain", "--group", "g"], "error: no table location given\nhint: pass DIR, or --"),
        (["check"], "error: no table location given\nhint: pass DIR, or --"),
        (["audit", "x", "--catalog", "main"], "error: --catalog and --schema belong together\n"),
        (
            ["audit", "x", "--out", "y", *NAMED],
            "error: the tables are in a schema or in a folder, but y was named too\n",
        ),
        (
            ["audit", "x", "--out", "y", "--catalog", "c"],
            "error: the tables are in a schema or in a folder, but y was ",
        ),
        (["explain", "--schema", "s", "g"], "error: --catalog and --schema belong together\n"),
        (["check", "y", *NAMED], "error: the tables are in a schema or in a folder, but y was named too\n"),
        (["check", *NAMED, "--format", "delta"], "error: --format is "),
        (["audit", "DUMP", *NAMED], f"error: tables in the schema {CATALOG}.{SCHEMA} need a scratch folder"),
        (
            ["audit", "DUMP", "--catalog", "spark_catalog", "--schema", "none", "--scratch", "SCRATCH"],
            "error: there is no schema spark_catalog.none\n",
        ),
        (
            ["audit", "DUMP", "--catalog", "none", "--schema", "none", "--scratch", "SCRATCH"],
            "error: there is no schema none.none\n",
        ),
        (["explain", "--group", "g", "--catalog", "none", "--schema", "none"], "error: catalog:none.none has no table"),
    ],
)
@pytest.mark.usefixtures("empty_schema")
def test_what_does_not_fit(capsys, log, tmp_path, arguments, message):
    known = {"DUMP": str(log.folder / "dump.parquet"), "SCRATCH": str(tmp_path)}
    assert main([known.get(argument, argument) for argument in arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "Traceback" not in said
