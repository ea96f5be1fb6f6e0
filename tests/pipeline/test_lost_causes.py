"""Why a committed offset was removed: of a deleted topic all groups lose theirs, in whichever partitions they are."""

import pytest
from deltalake import DeltaTable

from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.cli.offsets_log import commit, write
from tests.progress import Watcher

DAY = 86_400


@pytest.mark.parametrize(
    ("at", "later", "causes"),
    [
        (8, 9, {"topic_deleted"}),
        (8, 18, {"topic_deleted"}),
        (8, 19, {"deleted"}),
        (8 * DAY, 8 * DAY + 1, {"expired"}),
    ],
)
def test_what_several_groups_lose_at_once_was_deleted_with_its_topic(tmp_path, at, later, causes):
    write(tmp_path / "log", commit(1, 5), commit(at, None))
    write(tmp_path / "log", commit(1, 5, group="other"), commit(later, None, group="other"), partition=1)
    run_audit(None, AuditOptions((str(tmp_path / "log"),), str(tmp_path / "out"), offset_commits=True), Watcher())
    jumps = DeltaTable(tmp_path / "out" / "commit_jump").to_pyarrow_table().to_pylist()
    assert {row["cause"] for row in jumps if row["kind"] == "lost"} == causes
    assert {row["group_id"] for row in jumps} == {"g", "other"}
