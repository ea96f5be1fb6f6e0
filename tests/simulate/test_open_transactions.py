"""Transactions that simulated clients leave open, in segment files, against what an audit says of them."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.audits import table_rows
from tests.progress import Watcher
from tests.simulator.commit_scenes import chosen, played, write_segment
from tests.simulator.decoded import in_ms

# Their fixtures audit with worker processes: whichever test comes first starts these.
pytestmark = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The transactions as they were, and as the table has them: two that stay open, and two that timed out."""
    folder = tmp_path_factory.mktemp("transactions")
    scenes = chosen("transaction-left-open") + chosen("transaction-timed-out")
    rows, facts = played(*scenes)
    write_segment(rows, folder / "copy" / "__consumer_offsets-0")
    options = AuditOptions((str(folder / "copy"),), str(folder / "tables"), cluster="c", offset_commits=True)
    run_audit(None, options, Watcher())
    return facts["transaction"], [in_ms(row) for row in table_rows(folder / "tables", "open_transaction", "c")]


def facts_of(row):
    return row["producer_id"], row["producer_epoch"], row["first_at"], row["records"]


@pytest.mark.nightly
def test_each_open_transaction_is_found_and_no_other(audited):
    true, found = audited
    assert len(true) == 4
    is_open = [row for row in true if row["ended_at"] is None]
    assert sorted(map(facts_of, found)) == sorted(map(facts_of, is_open))
    assert len(found) == 2


def test_its_partitions_are_those_that_wait(audited):
    true, found = audited
    groups = {row["producer_id"]: row for row in true}
    for row in found:
        true_row = groups[row["producer_id"]]
        assert {each["group_id"] for each in row["keys"]} == {true_row["group_id"]}
        keys = [(each["topic"], each["partition"]) for each in row["keys"]]
        assert sorted(keys) == sorted((each["topic"], each["partition"]) for each in true_row["topic_partitions"])
        assert row["blocks_from"] == min(each["first_offset"] for each in found)
