"""Groups of a real broker that do not work well for two minutes: one audit says why, of the topic or of its files."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.audits import table_rows
from tests.broker.running import OFFSETS
from tests.live.clients_in_trouble import KILLS, all_at_once
from tests.progress import Watcher
from tests.replay.diagnosis.test_brokers import told

EXPECTED = {
    "crashes-classic": ("restart_loop", {"killed_or_ended", "ended"}, "billing-worker", {KILLS - 1}),
    "crashes-consumer": ("restart_loop", {"killed_or_ended", "ended"}, "billing-worker", {KILLS - 1}),
    "polls-classic": ("restart_loop", {"poll_timeout"}, "slow-classic", range(6, 10)),
    "polls-consumer": ("leaves_and_returns", {"poll_timeout"}, "slow-consumer", range(5, 9)),
}
"""The first process that was killed followed no other. On a busy machine fewer polls are missed in the same time, and a
killed process may be gone before the next one has started: the log does not show then that it was killed.
"""


@pytest.fixture(scope="module")
def troubled(broker, tmp_path_factory):
    """The broker, when all groups have had their trouble."""
    all_at_once(broker, tmp_path_factory.mktemp("clients"), "in-trouble", age_s=None)
    return broker


def found(out):
    rows = [row for row in table_rows(out, "diagnosis", "live") if row["group_id"] in EXPECTED]
    for row in rows:
        pattern, causes, subject, counts = EXPECTED[row["group_id"]]
        its_pattern, its_cause, its_subject, its_count = told(row)
        assert (its_pattern, its_subject, row["severity"] != "info") == (pattern, subject, True)
        assert its_cause in causes
        assert its_count in counts
        assert row["subject"]["members_of_that_name"] == 1
    return sorted(row["group_id"] for row in rows)


def test_an_audit_of_the_live_topic(troubled, tmp_path):
    url = f"kafka://{troubled.bootstrap}/{OFFSETS}"
    run_audit(None, AuditOptions((url,), str(tmp_path), cluster="live"), Watcher())
    assert found(tmp_path) == sorted(EXPECTED)


def test_an_audit_of_its_segment_files(troubled, tmp_path):
    run_audit(None, AuditOptions((str(troubled.folder),), str(tmp_path), cluster="live"), Watcher())
    assert found(tmp_path) == sorted(EXPECTED)
