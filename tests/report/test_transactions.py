"""What the summary and `kip848 explain` say of open transactions."""

from datetime import UTC, datetime, timedelta

import pytest

from kip848_records.queries.duck import DuckTables
from kip848_records.report.transactions import LONG_MS, long_transactions
from tests import made_tables

CAPTURED = datetime(2026, 1, 1, tzinfo=UTC)


def opened(age_ms, *groups, producer=1, partition=0):
    keys = [{"group_id": group, "topic": "t", "partition": 0, "offset": 1} for group in groups]
    first_at = CAPTURED - timedelta(milliseconds=age_ms)
    row = {"producer_id": producer, "offsets_partition": partition, "group_ids": list(groups), "keys": keys}
    return row | {"age_ms": age_ms, "first_at": first_at, "status": "open", "records": len(keys)}


@pytest.fixture
def said(tmp_path):
    def said(*rows):
        made_tables.write(tmp_path, "c", audit_runs=[{"run": 1, "captured_at": CAPTURED}], open_transaction=rows)
        return [str(each) for each in long_transactions(DuckTables(str(tmp_path)), "c")]

    return said


def test_a_young_transaction_is_no_news(said):
    assert said(opened(LONG_MS, "g")) == []


def test_the_oldest_counts(said):
    rows = [opened(LONG_MS + 1000, "a", "b"), opened(3_600_000, "c", producer=2)]
    (line,) = said(*rows)
    assert " ".join(line.split()) == (
        "2 transactions open for ≥ 1 h: 3 committed offsets of a, b and 1 more cannot be read until then"
    )
