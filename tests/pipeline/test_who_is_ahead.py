"""Which group is named as ahead of a partition that stands still."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from kip848_records.queries.texts import rendered
from kip848_records.replay.commits.arrays import FAR
from kip848_records.specs.tables import FOUND_PROGRESS
from tests.engines.engines import EMBEDDED, new_engine

START = datetime(2026, 1, 1, tzinfo=UTC)
STAY = {"incarnation": 0, "offsets_partition": 0, "topic": "t", "partition": 3, "owner": "member", "member_id": "m"}
STAY |= {"acquired_at": START, "acquired_offset": 1, "last_advance_at": START, "last_offset": 10, "max_offset": 10}
COMMIT = {"partition": 0, "topic": "t", "topic_partition": 3, "committed": 17, "transaction": "none"}


@pytest.mark.parametrize("others", [("a", "b"), ("b", "a")])
def test_of_two_that_are_as_far_the_same_is_named_in_any_order(tmp_path, others):
    schema = FOUND_PROGRESS.schema
    stays = [
        STAY | {"group_id": "still"},
        *(STAY | {"group_id": each, "last_offset": 17, "max_offset": 17} for each in others),
    ]
    progress = pa.Table.from_pylist([dict.fromkeys(schema.names) | each for each in stays], schema)
    at = [START + timedelta(seconds=2), START + timedelta(seconds=1)]
    commits = [
        COMMIT | {"group_id": each, "offset": 5 + nth, "error_code": None, "timestamp": at[nth]}
        for nth, each in enumerate(others)
    ]
    engine = new_engine(EMBEDDED, None, tmp_path)
    with engine.alone(str(tmp_path)):
        (row,) = engine.collect(
            engine.sql(
                rendered("pipeline/sql/who_is_ahead.sql", far=FAR, shortest_ms=10_000),
                progress=engine.relation(progress),
                captured=engine.relation(pa.table({"partition": [0], "captured_at": [START + timedelta(hours=1)]})),
                checked=engine.relation(pa.Table.from_pylist(commits)),
            )
        )
    assert (row.group_id, row.ahead_group, row.ahead_by) == ("still", "b", 7)
    assert row.behind_since == min(at)
