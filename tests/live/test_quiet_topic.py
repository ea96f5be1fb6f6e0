"""A real broker's topic in which nothing is written while a group hangs, and one with an open transaction."""

import time

import pytest
from confluent_kafka import Producer

from kip848_records.check import check
from kip848_records.config import load_settings
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.queries.duck import DuckTables
from kip848_records.report.summary import summary
from tests.audits import table_rows
from tests.broker.clients import _outsider, commit, consumer, make_topic, parts_of, produce
from tests.broker.offsets_topic import ends, partition_of
from tests.live.test_ages import lines
from tests.progress import Watcher

TOPIC = GROUP = "quiet"
WAIT_S = 2
# Longer than the time between two heartbeats, which may write what the members do not see.
QUIET_S = 6


def until_quiet(broker, partition):
    """Return when nothing was written to the partition for a while."""
    end, since = None, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        before, (_, end) = end, ends(broker)[partition]
        if before != end:
            since = time.monotonic()
        time.sleep(0.5)


class Audits:
    """The tables of runs with offset commits, and in a folder of their own those without."""

    def __init__(self, spark, broker, folder):
        self._spark, self._source, self._folder = spark, f"kafka://{broker.bootstrap}/__consumer_offsets", folder

    def run(self, *, commits=True):
        """The group's row, for how long it is stuck in ms, the summary, the verdict, and when the run was."""
        out = self._folder / f"commits-{commits}"
        before = time.time()
        options = AuditOptions((self._source,), str(out), offset_commits=commits)
        audit = run_audit(self._spark, options, Watcher())
        (state,) = [row for row in table_rows(out, "group_state", "default") if row["group_id"] == GROUP]
        (rebalance,) = [
            row
            for row in table_rows(out, "rebalance", "default")
            if row["group_id"] == GROUP and row["outcome"] == "open"
        ]
        opened = DuckTables(str(out))
        verdict = check(opened, load_settings(None))
        shown = lines(summary(opened, audit))
        return state, rebalance["duration_ms"], shown, verdict, (before, time.time())


@pytest.mark.nightly
def test_ages_go_on_where_nothing_is_written_and_stop_where_a_transaction_is_open(spark, broker, tmp_path):
    make_topic(broker, TOPIC, 4)
    produce(broker, TOPIC)
    same_partition = next(
        name for name in map("tx-{}".format, range(1000)) if partition_of(name) == partition_of(GROUP)
    )
    audits = Audits(spark, broker, tmp_path)
    more = {"max.poll.interval.ms": "900000"}
    with consumer(broker, GROUP, [TOPIC], holds=True, more=more) as holder:
        holder.wait_for(4)
        with consumer(broker, GROUP, [TOPIC], more=more):
            holder.wait_until_asked()
            until_quiet(broker, partition_of(GROUP))
            first, first_ms, _, _, (before_first, after_first) = audits.run()
            time.sleep(WAIT_S)
            second, second_ms, shown, _, (before, after) = audits.run()
            assert second["offset"] == first["offset"]
            assert WAIT_S < before - after_first <= (second_ms - first_ms) / 1000 <= after - before_first
            assert second["is_read_to_end"]
            assert before <= second["captured_at"].timestamp()
            assert "known only to" not in shown

            producer = Producer(broker.client() | {"transactional.id": "open", "transaction.timeout.ms": "600000"})
            producer.init_transactions(20)
            producer.begin_transaction()
            metadata = _outsider(broker, same_partition).consumer_group_metadata()
            producer.send_offsets_to_transaction(parts_of({(TOPIC, 0): 1}), metadata, 20)
            commit(broker, same_partition, {(TOPIC, 1): 1})
            state, stuck_ms, _, _, (before, _) = audits.run(commits=False)
            assert state["is_read_to_end"]
            assert before <= state["captured_at"].timestamp()
            state, cut_ms, shown, verdict, _ = audits.run()
            # The partition is known up to when the run before asked: what was read then ends where this run ends.
            assert not state["is_read_to_end"]
            assert state["captured_at"] == second["captured_at"]
            assert (cut_ms, cut_ms < stuck_ms) == (second_ms, True)
            assert f"Partition {partition_of(GROUP)} is known only to" in shown
            assert verdict.limits["default"].known_to == {partition_of(GROUP): state["captured_at"]}

            producer.commit_transaction(20)
            until_quiet(broker, partition_of(same_partition))  # its marker is written after the call returns
            state, ended_ms, *_ = audits.run()
            assert state["is_read_to_end"]
            assert ended_ms > stuck_ms
