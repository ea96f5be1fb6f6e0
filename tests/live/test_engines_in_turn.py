"""One cluster, read by both engines in turn: Spark stops before an open transaction, and sees no markers."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.audits import table_rows
from tests.broker.clients import commit, make_topic, open_transaction
from tests.broker.offsets_topic import partition_of
from tests.progress import Watcher
from tests.sessions import ON_CONNECT

CLUSTER = "prod"
STATES = ("latest_state", "group_state", "commit_progress", "commit_jump")


def audit(broker, out, spark=None, **more):
    named = {"cluster": CLUSTER, "offset_commits": True} | more
    options = AuditOptions((f"kafka://{broker.bootstrap}",), str(out), **named)
    return run_audit(spark, options, Watcher())


def transactions(out, group):
    """Return what the tables say of transactions with commits of the group; other tests leave some on the broker."""
    return [row["status"] for row in table_rows(out, "open_transaction", CLUSTER) if row["group_ids"] == [group]]


def states(out, group):
    """Rows of the group without the times of the runs, which differ."""
    rows = {table: [row for row in table_rows(out, table, CLUSTER) if row["group_id"] == group] for table in STATES}
    return {table: sorted(map(_lasting, found), key=repr) for table, found in rows.items()}


def _lasting(row):
    return {k: v for k, v in row.items() if "captured" not in k and not k.endswith("_ms") and k != "is_read_to_end"}


@pytest.mark.nightly
@pytest.mark.parametrize("ends_with", ["commit", "abort"])
def test_a_transaction_that_was_open_for_one_engine_and_ended_for_the_other(spark, broker, tmp_path, ends_with):
    """Opened, read without Spark, more commits behind it, read by Spark, ended, read by Spark, read without it."""
    nights, group = tmp_path / "nights", f"turn-{ends_with}"
    make_topic(broker, group)
    with open_transaction(broker, group, {(group, 0): 7}) as producer:
        first = audit(broker, nights)
        assert transactions(nights, group) == ["open"]
        commit(broker, group, {(group, 0): 1}, times=2)
        second = audit(broker, nights, spark)
        at = partition_of(group)
        one, two = ({read.partition: read for read in run.reads}[at] for run in (first, second))
        assert (two.from_offset, two.until_offset) == (one.until_offset, one.until_offset)
        assert "offsets after an open transaction are left for a later run" in two.note
        assert transactions(nights, group) == ["unknown"]
        getattr(producer, f"{ends_with}_transaction")(20)
    commit(broker, group, {(group, 0): 5})
    third = audit(broker, nights, spark)
    assert transactions(nights, group) == ["unknown"]
    fourth = audit(broker, nights)
    assert transactions(nights, group) == []
    assert not any(run.reads[0].note and "is not the one read" in run.reads[0].note for run in (second, third, fourth))
    assert {row["cluster"] for row in table_rows(nights, "audit_runs", CLUSTER)} == {CLUSTER}
    audit(broker, tmp_path / "once")
    alone, together = states(tmp_path / "once", group), states(nights, group)
    for table in STATES:
        # Of the commits that Spark read, nobody knows which were in a transaction, or what gaps between them are.
        differing = {k for a, b in zip(alone[table], together[table], strict=True) for k in a if a[k] != b[k]}
        assert differing <= {"transaction", "history"}, table


@pytest.mark.slow
@pytest.mark.parametrize("commits", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_both_engines_count_what_is_in_the_topic(spark, broker, tmp_path, commits):
    """Spark shows no bytes, and not which commits were aborted."""
    subject, groups = f"counted-{commits}", [f"counted-{commits}-{number}" for number in range(3)]
    make_topic(broker, subject)
    for group in groups:
        commit(broker, group, {(subject, 0): 7}, times=4)
    found = {}
    for engine in (None, spark):
        out = tmp_path / str(engine is None)
        audit(broker, out, engine, offset_commits=commits, topic_content=True)
        rows = [row for row in table_rows(out, "topic_content", CLUSTER) if row["group_id"] in groups]
        unknown = {"bytes", "dirty_records", "dirty_unchanged", "dirty_ms"}
        found[engine is None] = sorted((_lasting(row) | dict.fromkeys(unknown) for row in rows), key=repr)
    assert found[True] == found[False]
    assert [(row["records"], row["unchanged"], row["live_keys"]) for row in found[True] if row["key_type"] == 1] == [
        (4, 3, 1)
    ] * 3


@pytest.mark.nightly
@ON_CONNECT
def test_a_session_of_connect_reads_a_topic_and_what_is_new_in_it(spark, broker, tmp_path):
    group, outs = "on-connect", (tmp_path / "embedded", tmp_path / "connect")
    make_topic(broker, group)
    for times in (3, 2):
        commit(broker, group, {(group, 0): times}, times=times)
        for out, session in zip(outs, (None, spark), strict=True):
            audit(broker, f"file:{out}", session)
        expected, found = (states(out, group) for out in outs)
        for row in expected["latest_state"]:
            row["transaction"] = "unknown"  # Spark's Kafka source does not show it
        assert found == expected
        assert found["latest_state"]
