"""A group before and after its conversion: the query of `protocol_comparison` over replayed tables, without Spark."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from kip848_records.pipeline.comparison import SOURCES, protocol_comparison
from kip848_records.queries.duck import DuckTables
from kip848_records.tables.registry import TABLES
from kip848_records.times import utc
from tests import made_tables
from tests.replay.classic_logs import batch_of, tables, tables_of

FIRST = ("observed_ms", "rebalances", "rounds", "partitions_moved", "partitions_stopped", "unowned_min_partition_ms")


def compared(out, found, group_id, kept_since_ms=None, stopped=(), **options):
    """The rows of a group, as an audit would write them, in the order of its periods."""
    for name in SOURCES:
        if name == "consumption_stop":
            made_tables.write(out, "made", consumption_stop=stopped)
            continue
        times = [column.name for column in TABLES[name].columns if pa.types.is_timestamp(column.type)]
        rows = [row | {time: row[time] and utc(row[time]) for time in times} for row in found[name]]
        known = {column.name for column in TABLES[name].columns}
        made_tables.write(out, "made", **{name: [{key: row[key] for key in row if key in known} for row in rows]})
    rows = protocol_comparison(DuckTables(str(out)).newest, "made", kept_since_ms, **options).to_pylist()
    return [SimpleNamespace(**row) for row in rows if row["group_id"] == group_id]


def numbers(row, *names):
    return tuple(getattr(row, name) for name in names)


def test_a_group_that_is_upgraded(tmp_path):
    """The worked example of an upgrade: the conversion itself is no rebalance, and the group that empties no other."""
    classic, consumer = compared(tmp_path, tables("kafka-4.3.1-all-types"), "g-upgrade")
    assert (classic.protocol, consumer.protocol) == ("classic", "consumer")
    assert numbers(classic, *FIRST) == (25_966, 0, 0, 0, 0, 0)
    assert numbers(consumer, *FIRST[1:]) == (3, 4, 28, 28, 6_436)
    assert (classic.to_at, consumer.from_at) == (consumer.from_at, utc(1_795_247_785_878))
    assert (classic.history, consumer.history) == ("observed", "right_censored")


def test_a_group_that_comes_back_to_the_classic_protocol(tmp_path):
    """`mig` goes up and down, and the group that was downgraded is another incarnation with its own period."""
    periods = compared(tmp_path, tables("group-kinds"), "mig")
    assert [(row.protocol, row.incarnation) for row in periods] == [("classic", 0), ("consumer", 0), ("classic", 1)]
    assert [row.rebalances for row in periods] == [1, 6, 1]
    assert numbers(periods[0], *FIRST[1:]) == (1, 2, 3, 3, 108)
    assert [before.to_at for before in periods[:2]] == [after.from_at for after in periods[1:]]


def test_stops_of_consumption_are_those_of_the_rebalances_that_count(tmp_path):
    """The consumer period has three stops that are known, and others that are not."""
    stop = {"group_id": "g-upgrade", "offsets_partition": 2, "group_type": "consumer", "topic": "t", "kind": "moved"}
    known = {**stop, "rebalance_offset": 2639, "history": "observed", "is_idle": False}
    stopped = [{**known, "offset": nth, "stop_max_ms": ms} for nth, ms in enumerate((1000, 2000, 9000))]
    others = [{"is_idle": True}, {"history": "left_censored"}, {"kind": "revoked"}, {"rebalance_offset": 1}]
    stopped += [{**known, "offset": 10 + nth, "stop_max_ms": 1, **other} for nth, other in enumerate(others)]
    found = tables("kafka-4.3.1-all-types")
    classic, consumer = compared(tmp_path / "read", found, "g-upgrade", stopped=stopped, offset_commits=True)
    names = ("stop_known", "stop_max_p50_ms", "stop_max_p95_ms", "stop_max_partition_ms")
    assert numbers(consumer, *names) == (3, 2000, 8300, 12_000)
    assert numbers(classic, *names) == (0, None, None, None)
    _, consumer = compared(tmp_path / "unread", found, "g-upgrade")
    assert numbers(consumer, *names) == (None,) * 4


def test_groups_that_kept_their_protocol_are_in_no_row(tmp_path):
    assert compared(tmp_path, tables("group-kinds"), "coop") == []


@pytest.mark.parametrize(("later_ms", "rate"), [(0, None), (3_600_000, 3.0)])
def test_a_rate_needs_ten_minutes(tmp_path, later_ms, rate):
    """The consumer period of 54 s lasts to the capture."""
    found = tables("kafka-4.3.1-all-types")
    captured = max(row["ended_at"] or 0 for row in found["rebalance"] if row["group_id"] == "g-upgrade")
    *_, consumer = compared(
        tmp_path, tables_of(batch_of("kafka-4.3.1-all-types"), captured_at=captured + later_ms), "g-upgrade"
    )
    assert consumer.observed_ms == 54_019 + later_ms
    assert consumer.rebalances_per_hour == (None if rate is None else pytest.approx(rate, abs=0.1))


def test_what_compaction_or_retention_removed_is_censored(tmp_path):
    found = tables_of(batch_of("kafka-4.3.1-all-types"), complete_from=1379)
    classic, _ = compared(tmp_path / "compacted", found, "g-upgrade")
    assert (classic.history, classic.rebalances_per_hour) == ("left_censored", None)
    kept = compared(tmp_path / "kept", tables("kafka-4.3.1-all-types"), "g-upgrade", 1_795_247_790_000)
    assert [row.history for row in kept] == ["left_censored", "censored"]
