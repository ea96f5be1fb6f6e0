"""The timelines in an audit's tables: every row is what a plain replay of Kafka's own dump of the log says."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kip848_records.sources import read_log
from kip848_records.sources.log import is_record, key_of_types
from kip848_records.timeline.operations import EVENT_TYPES
from tests.audits import Audits, dumped
from tests.timeline.plain_replay import replay
from tests.timeline.spark_rows import in_order

Row = dict[str, Any]
TABLES = ("epoch_timeline", "rebalance_lag", "partition_handover", "group_state_timeline", "group_state")


@pytest.mark.parametrize("table", TABLES)
def test_every_row_equals_the_plain_replay(audits: Audits, capture: Path, table: str) -> None:
    complete = {row["partition"]: row["complete_from"] for row in audits.rows(capture.name, "partition_history")}
    replayed = replay(dumped(capture), complete, _ms(audits.audits[capture.name].captured_at))
    ours = audits.rows(capture.name, table)
    assert len(ours) >= 8
    assert in_order(map(_plain, ours)) == in_order(map(_plain, replayed[table]))


def test_topics_have_their_names(audits: Audits, capture: Path) -> None:
    names = json.loads((capture / "topics.json").read_text())
    handovers = audits.rows(capture.name, "partition_handover")
    awaited = [item for row in audits.rows(capture.name, "rebalance_lag") for item in row["awaited"] or ()]
    assert handovers
    assert all(row["topic"] == names[row["topic_id"]] for row in [*handovers, *awaited])


def test_no_partition_has_two_owners(audits: Audits, capture: Path) -> None:
    handovers = [row for row in audits.rows(capture.name, "partition_handover") if row["from_member"] is not None]
    assert handovers
    assert all(row["released_at"] is not None for row in handovers)


def test_every_record_of_a_group_is_an_event_with_its_size(spark: SparkSession, audits: Audits, capture: Path) -> None:
    size = F.octet_length("key") + F.coalesce(F.octet_length("value"), F.lit(0))
    log = read_log(spark, str(capture / "segments")).filter(is_record() & key_of_types(EVENT_TYPES))
    sizes = {
        (row.partition, row.offset): row.size for row in log.select("partition", "offset", size.alias("size")).collect()
    }
    events = audits.rows(capture.name, "group_event")
    assert {(row["partition"], row["offset"]): row["size"] for row in events} == sizes


def test_an_audit_says_what_it_read_and_when_it_was_copied(audits: Audits, capture: Path) -> None:
    (run,) = audits.rows(capture.name, "audit_runs")
    assert (run["sources"], run["dialect"]) == ([str(capture / "segments")], "kafka")
    assert run["captured_at"] == audits.audits[capture.name].captured_at


def _plain(row: Row) -> Row:
    """Times in ms, and no cluster and topic names: the replay knows none, and others."""
    plain = {name: _ms(value) if isinstance(value, datetime) else value for name, value in row.items()}
    if row.get("awaited"):
        items = [tuple(item.values()) if isinstance(item, dict) else item for item in row["awaited"]]
        plain["awaited"] = [
            (topic_id, number, owner, _ms(since) if isinstance(since, datetime) else since)
            for topic_id, _, number, owner, since in items
        ]
    return {name: value for name, value in plain.items() if name not in ("cluster", "topic")}


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
