"""How a place is named, to people, to Spark and to a shell."""

import pytest

from kip848_records.tables.places import place_arguments, place_text, schema_place, sql_name


@pytest.mark.parametrize(
    ("place", "text", "arguments", "name"),
    [
        ("/data/out/", "/data/out/", "/data/out/", "delta.`/data/out/log`"),
        ("/data/it's `it`", "/data/it's `it`/", "'/data/it'\"'\"'s `it`'", "delta.`/data/it's ``it``/log`"),
        ("s3://bucket/out", "s3://bucket/out/", "s3://bucket/out", "delta.`s3://bucket/out/log`"),
        (schema_place("main", "kafka"), "main.kafka", "--catalog main --schema kafka", "main.kafka.log"),
        (schema_place("a.b", "c `d"), "`a.b`.`c ``d`", "--catalog a.b --schema 'c `d'", "`a.b`.`c ``d`.log"),
    ],
)
def test_names(place, text, arguments, name):
    assert place_text(place) == text
    assert place_arguments(place) == arguments
    assert sql_name(place, "log") == name
