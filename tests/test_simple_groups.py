"""The last offset commit before each record, in groups that only commits may have made."""

from typing import Any

from kip848_records.pipeline.simple_groups import with_commit_before
from kip848_records.replay.log_rows import COMMIT_BEFORE
from kip848_records.sources.log import LOG_SCHEMA
from tests.replay.loadable_logs import loadable_log

CONTROL = {"offset": 3, "control": "commit", "key": b"\0\0\0\1"}


def row(**columns: Any) -> tuple[Any, ...]:
    columns = {"partition": 0, "copies": [], **columns}
    return tuple(columns.get(name) for name in LOG_SCHEMA.names)


def rows_of(name: str, shift: int = 0, group_id: str = "g") -> list[tuple[Any, ...]]:
    rows = loadable_log(name).rows
    return [row(**{**each, "group_id": group_id, "offset": each["offset"] + shift, "timestamp": None}) for each in rows]


def test_the_commit_before_a_record(spark):
    of_share = rows_of("share-behind-commits")
    of_consumer = rows_of("kafka-17306-behind-commits", 20, "h")
    commits = [of_share[0], of_consumer[0], row(**CONTROL)]
    records = [*of_share[1:], *of_consumer[1:]]
    found = with_commit_before(spark.createDataFrame(records, LOG_SCHEMA), spark.createDataFrame(commits, LOG_SCHEMA))
    assert found.columns == [*LOG_SCHEMA.names, COMMIT_BEFORE]
    assert {(each.group_id, each.offset, each.commit_before) for each in found.collect()} == {
        *(("g", offset, 0) for offset in range(1, len(of_share))),
        *(("h", 20 + offset, None) for offset in range(1, len(of_consumer))),
    }


def test_a_tombstone_of_a_commit_makes_no_group(spark):
    (first, *others) = rows_of("share-behind-commits")
    tombstone = row(**{**dict(zip(LOG_SCHEMA.names, first, strict=True)), "value": None})
    records = spark.createDataFrame(others, LOG_SCHEMA)
    found = with_commit_before(records, spark.createDataFrame([tombstone], LOG_SCHEMA))
    assert {each.commit_before for each in found.collect()} == {None}
