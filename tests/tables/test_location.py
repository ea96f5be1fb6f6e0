"""How a location is named, to people, to Spark and to a shell."""

import pytest

from kip848_records.queries.spark import sql_name
from kip848_records.tables.location import location_arguments, location_text, schema_location


@pytest.mark.parametrize(
    ("location", "text", "arguments", "name"),
    [
        ("/data/out/", "/data/out/", "/data/out/", "delta.`/data/out/log`"),
        ("/data/it's `it`", "/data/it's `it`/", "'/data/it'\"'\"'s `it`'", "delta.`/data/it's ``it``/log`"),
        ("s3://bucket/out", "s3://bucket/out/", "s3://bucket/out", "delta.`s3://bucket/out/log`"),
        (schema_location("main", "kafka"), "main.kafka", "--catalog main --schema kafka", "main.kafka.log"),
        (schema_location("a.b", "c `d"), "`a.b`.`c ``d`", "--catalog a.b --schema 'c `d'", "`a.b`.`c ``d`.log"),
    ],
)
def test_names(location, text, arguments, name):
    assert location_text(location) == text
    assert location_arguments(location) == arguments
    assert sql_name(location, "log") == name
