"""An offset commit counts from the marker of its transaction on, also if that is in a later file than the commit."""

import pytest

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_message
from kip848_records.protocol.messages.classic import OFFSET_COMMIT_VALUE
from kip848_records.specs.log_columns import TOPIC
from kip848_records.tables.__init__ import DEFAULT_CLUSTER
from tests.audits import table_rows
from tests.engines.equal_cases import COMMIT
from tests.progress import Watcher
from tests.protocol.segment_writer import Record, write_batch, write_marker

LAYOUT = OFFSET_COMMIT_VALUE.at(3)


def value(offset):
    return encode_message(LAYOUT, {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0})


@pytest.mark.parametrize(("outcome", "committed"), [("commit", 9), ("abort", 7), (None, 7)])
def test_the_marker_in_the_next_file(tmp_path, outcome, committed):
    files = {
        0: write_batch([Record(0, 1000, COMMIT, value(7))])
        + write_batch([Record(1, 1001, COMMIT, value(9))], producer_id=5, transactional=True),
        2: b"" if outcome is None else write_marker(2, 5, outcome),
    }
    folder = tmp_path / "in" / f"{TOPIC}-0"
    folder.mkdir(parents=True)
    for base, data in files.items():
        (folder / f"{base:020}.log").write_bytes(data)
    out = tmp_path / "out"
    run_audit(None, AuditOptions((str(tmp_path / "in"),), str(out), offset_commits=True), Watcher())
    (row,) = table_rows(out, "latest_state", DEFAULT_CLUSTER)
    assert f'"offset":{committed}' in row["value"].replace(" ", "")
