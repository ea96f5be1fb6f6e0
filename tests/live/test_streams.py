"""A live topic that is read as a stream, which a run that was killed has left in the middle of a batch."""

from itertools import pairwise
from time import time_ns

import pytest

from kip848_records.engines.spark.engine import SparkEngine
from kip848_records.log.table import LogTable
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from tests.broker.clients import commit, make_topic
from tests.broker.offsets_topic import partition_of
from tests.progress import Watcher

pytestmark = pytest.mark.slow


class KilledError(Exception):
    pass


@pytest.mark.parametrize("is_appended", [True, False])
def test_a_batch_that_comes_again_is_no_run_of_its_own(spark, broker, tmp_path, is_appended):
    """A run says that it saw all there was when it read: so it ends where the topic does, not where the batch did."""
    topic = group = f"stream-{is_appended}"
    make_topic(broker, topic)
    options = AuditOptions(
        (f"kafka://{broker.bootstrap}/__consumer_offsets",),
        str(tmp_path / "out"),
        checkpoint=str(tmp_path / "checkpoint"),
    )
    append = LogTable.append_run

    def killed(*arguments, **_):
        if is_appended:
            append(*arguments)
        raise KilledError

    commit(broker, group, {(topic, 0): 1})
    run_audit(spark, options, Watcher())
    commit(broker, group, {(topic, 0): 2})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LogTable, "append_run", killed)
        with pytest.raises(KilledError):
            run_audit(spark, options, Watcher())
    commit(broker, group, {(topic, 0): 3})
    asked_ms = time_ns() // 1_000_000
    run_audit(spark, options, Watcher())
    knowledge = LogTable(SparkEngine(spark, options.out), "default").knowledge()
    reads = [read for read in knowledge.reads if read.partition == partition_of(group)]
    assert [read.run for read in reads] == ([1, 2, 3] if is_appended else [1, 2])
    assert all(read.from_offset < read.until_offset for read in reads)
    last = [read for read in knowledge.reads if read.run == reads[-1].run]
    assert all(read.is_read_to_end and read.captured_ms >= asked_ms for read in last)
    assert all(before.until_offset == read.from_offset for before, read in pairwise(reads))
