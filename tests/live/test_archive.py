"""A topic that was made anew: what was read before is kept, even if that is interrupted half way."""

import pytest
from deltalake import DeltaTable

from kip848_records.pipeline import live as module
from tests.audits import table_rows
from tests.equal_rows import Rows
from tests.live import two_days
from tests.live.topics import tables


class KilledError(Exception):
    pass


@pytest.mark.slow
@pytest.mark.usefixtures("each_engine")
def test_a_topic_made_anew_is_read_from_its_start_and_the_old_one_kept(log, tmp_path, monkeypatch):
    topic = two_days.topic(log.folder, log.ends)
    topic.audit(tmp_path)
    before = tables(tmp_path)
    topic.topic_id = "BBBBBBBBBBBBBBBBBBBBBQ"

    def stops(*_):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(module, "rebuild", stops)
        with pytest.raises(KilledError):
            topic.audit(tmp_path)
    topic.until = two_days.FIRST_DAY
    audit = topic.audit(tmp_path)
    assert {(read.run, read.from_offset) for read in audit.reads} == {(2, 0)}
    archived = "default until run 1"
    runs = DeltaTable(tmp_path / "audit_runs").to_pyarrow_table().to_pylist()
    assert {(row["cluster"], row["run"]) for row in runs if row["is_archived"]} == {(archived, 1)}
    kept = tables(tmp_path, archived)
    assert kept.keys() == before.keys()
    for name in before:
        assert Rows({**row, "cluster": "default"} for row in kept[name]) == before[name], name
    assert len(table_rows(tmp_path, "epoch_timeline", "default")) < len(before["epoch_timeline"])
