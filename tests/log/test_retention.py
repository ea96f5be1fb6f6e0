"""Which rows of a live topic's log are too old to keep, and from when on a period counts."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from kip848_records.log.retention import prunable
from kip848_records.log.runs import PartitionRead, RunInfo
from kip848_records.log.table import Knowledge
from kip848_records.pipeline.maintain import _known_until
from tests.log_rows import log_of

VALUE = b"\x00\x00\x00\x00\x00\x01\x00"
COMMIT, CLASSIC, EPOCH, MEMBER = 1, 2, 3, 5
START = 1_000_000


def run(**facts):
    always = {"is_copy": False, "sources": (), "version": "1", "dialect": "kafka", "offset_commits": True, "read_ms": 9}
    return RunInfo(1, **{**always, **facts})


def row(key_type, group_id, value=VALUE, **columns):
    return {"key": bytes([0, key_type, 0, len(group_id)]) + group_id.encode(), "value": value} | columns


OLD = [
    (row(EPOCH, "g"), "gone"),
    (row(EPOCH, "deleted"), "gone"),
    (row(EPOCH, "deleted", None), "kept: its incarnations are counted"),
    (row(CLASSIC, "converted"), "gone"),
    (row(CLASSIC, "converted", None), "gone: no deletion"),
    (row(EPOCH, "converted", timestamp=START + 4), "kept: the last value"),
    (row(EPOCH, "g"), "kept: the last value"),
    (row(MEMBER, "open"), "kept: the group has an open row"),
    (row(MEMBER, "open"), "kept: the last value"),
    (row(CLASSIC, "classic"), "gone"),
    (row(CLASSIC, "classic", None), "kept: its incarnations are counted"),
    (row(EPOCH, "probe"), "kept: the probe of compaction"),
    (row(EPOCH, "probe"), "kept: the last value"),
    (row(EPOCH, "bad"), "kept: it may be the last of its key"),
    (row(EPOCH, "bad"), "kept: the last value"),
    (row(MEMBER, "g", None), "gone: a member left"),
]
YOUNG = [row(EPOCH, "young"), row(EPOCH, "young")]
SINCE = START + len(OLD)


def commit(transaction="none", producer_id=7):
    return row(COMMIT, "c", key=b"\0\1\0\1c\0\1t\0\0\0\0", transaction=transaction, producer_id=producer_id)


def marker(control, producer_id=7):
    outcome = {"commit": "committed", "abort": "aborted"}[control]
    return {"control": control, "transaction": outcome, "producer_id": producer_id}


TRANSACTIONS = {
    "committed": [(commit(), "gone"), (commit("committed"), "kept"), (marker("commit"), "kept")],
    "aborted by a marker that another run read": [
        (commit(), "kept"),
        (commit("pending"), "gone"),
        (marker("abort"), "gone"),
    ],
    "committed by a marker that another run read": [
        (commit(), "gone"),
        (commit("pending"), "kept"),
        (marker("commit", 8), "gone"),
        (marker("commit"), "kept"),
        (marker("abort"), "gone"),
    ],
    "open": [(commit(), "gone"), (commit(), "kept"), (commit("pending"), "kept"), (marker("commit", 8), "gone")],
    "replaced": [(commit("committed"), "gone"), (marker("commit"), "gone"), (commit(), "kept")],
}
"""Old commits of one offset, and markers, each with what becomes of it."""


@pytest.fixture
def pruned(engine):
    """What becomes of the log, after a run with these facts."""
    places = pa.schema([("partition", pa.int32()), ("offset", pa.int64())])
    statuses = pa.schema([("group_id", pa.string()), ("status", pa.string())])
    tables = {
        "quarantine": pa.Table.from_pylist([{"partition": 0, "offset": 13}], places),
        "epoch_timeline": pa.table([["open", "g"], ["open", "converged"]], statuses),
        "rebalance_lag": pa.table([["g"], ["converged"]], statuses),
    }

    def prune(old=OLD, **facts):
        rows = log_of([*(each for each, _ in old), *YOUNG])
        rows = rows.append_column("run", pa.array([1] * len(rows), pa.int64()))
        rows = engine.relation(rows.append_column("is_inferred", pa.array([False] * len(rows))))
        log = SimpleNamespace(
            engine=engine,
            records=lambda: rows,
            read=lambda name: engine.relation(tables[name]),
            next_run=lambda _: 2,
        )
        reads = [PartitionRead(1, 0, until_offset=100, compaction_probe=11)]
        gone, info, after = prunable(log, Knowledge([run(**facts)], reads), START + len(old))
        return {each.offset for each in engine.collect(gone)}, info, after

    return prune


def test_what_no_later_state_needs_is_gone(pruned):
    gone, info, (read,) = pruned()
    assert gone == {offset for offset, (_, becomes) in enumerate(OLD) if becomes.startswith("gone")}
    assert (info.kept_since_ms, info.is_pruning, read.kept_from, read.from_offset) == (SINCE, True, len(OLD), 100)


@pytest.mark.parametrize("transactions", TRANSACTIONS.values(), ids=TRANSACTIONS)
def test_the_last_value_of_a_transaction_is_kept_with_its_marker(pruned, transactions):
    gone, _, _ = pruned(transactions)
    assert gone == {offset for offset, (_, becomes) in enumerate(transactions) if becomes == "gone"}


@pytest.mark.parametrize(("before", "after"), [(SINCE - 1, SINCE), (SINCE + 1, SINCE + 1)])
def test_history_that_an_earlier_period_cut_does_not_come_back(pruned, before, after):
    _, info, _ = pruned(kept_since_ms=before)
    assert info.kept_since_ms == after


@pytest.mark.parametrize(
    ("facts", "until"),
    [
        ({"captured_ms": 7}, 7),
        ({"captured_ms": 11}, 9),
        ({"captured_ms": None}, None),
        ({"captured_ms": 7, "is_copy": True}, None),
    ],
    ids=["before it was read", "times in the future", "not known", "copy"],
)
def test_a_period_counts_back_from_no_time_after_the_topic_was_read(facts, until):
    assert _known_until(SimpleNamespace(knowledge=lambda: Knowledge([run(**facts)]))) == until
