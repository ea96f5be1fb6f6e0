"""Real logs, compacted by the model of the cleaner: from where on their copies are told to be complete."""

from itertools import groupby

import pytest

from kip848_records.history import copy_history
from kip848_records.replay import replay
from kip848_records.sources.coverage import Place
from kip848_records.sources.segments import read_file
from tests.history.cleaner import Batch, Log, marker
from tests.history.copies import LogCopy, is_commit, log_rows
from tests.history.random_walk import data_records
from tests.protocol.segment_writer import Record

SEGMENTS = 4
PASSES = {0: (), 10: (1,), 20: (1, 2, 3), 30: (3,)}
"""What is done to a log before it is copied: the passes of the cleaner, each up to the start of a segment, by number.

The copies of each are partitions of their own, these numbers apart; and 100 further on, as rows of the Kafka source.
"""

ENOUGH_TO_REPEAT_A_KEY = 40
"""So many records of groups and any log repeats a key, which shows that nothing was removed from there on."""


def capture_logs(captures):
    """The logs of all captures' partitions, cut into segments of a record a batch."""
    for file in sorted(captures.glob("*/segments/*/*.log")):
        rows = [
            row for batch in read_file(memoryview(file.read_bytes()), "", Place(0, 0, 0)) for row in batch.to_pylist()
        ]
        rows = [row for row in rows if row["control"] in (None, "commit", "abort")]
        log = Log()
        for number, row in enumerate(rows):
            if number and number % (len(rows) // SEGMENTS) == 0 and len(log.segments) < SEGMENTS:
                log.roll()
            log.append(batch_of(row))
        yield log


def batch_of(row):
    at = round(row["timestamp"].timestamp() * 1000)
    if row["control"]:
        return marker(row["offset"], at, row["producer_id"], row["control"])
    record = Record(row["offset"], at, row["key"], row["value"])
    return Batch(row["offset"], row["offset"], (record,), row["producer_id"])


@pytest.fixture(scope="module")
def logs(captures):
    return list(capture_logs(captures))


@pytest.fixture(scope="module")
def copies(logs):
    made = []
    for number, log in enumerate(logs):
        for first, passes in PASSES.items():
            compacted = log.copy()
            for turn, segment in enumerate(passes):
                # Late enough for tombstones of the pass before to go.
                to = min(log.segments[segment].base_offset, compacted.cleanable_to())
                compacted.clean(to, now=turn * 1000, joins=lambda: False)
            made += [LogCopy(first + number + kind, "copy", compacted, shows_gaps=not kind) for kind in (0, 100)]
    return made


@pytest.fixture(scope="module")
def log(spark, copies, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("captures") / "log")
    log_rows(spark, (row for copy in copies for row in copy.rows() if not is_commit(row["key"]))).write.parquet(path)
    return spark.read.parquet(path)


def test_complete_from(log, copies):
    told = {row.partition: row for row in copy_history(log).collect()}
    for copy in copies:
        row = told[copy.partition]
        left = {record.offset for batch in copy.log.batches() for record in batch.records}
        # The last rows of the Kafka source may be offset commits, which are left out here.
        end = copy.log.next_offset - 1 if copy.shows_gaps else row.last_offset
        truth = max({*range(-1, end + 1)} - left) + 1
        if copy.shows_gaps:
            assert row.complete_from == truth
        else:
            assert truth <= row.complete_from
            before = range(copy.log.clean_to, row.complete_from)
            untold = [r for r in data_records(copy.log) if r.offset in before and not is_commit(r.key)]
            assert len(untold) < ENOUGH_TO_REPEAT_A_KEY


def test_present_state(log, logs, copies):
    live = {}
    for row in replay(log).select("partition", "offset").collect():
        live.setdefault(row.partition, []).append(row.offset)
    for number, whole in enumerate(logs):
        records = sorted((r.key, r.offset, r.value) for r in data_records(whole) if not is_commit(r.key))
        last = [list(of_key)[-1] for _, of_key in groupby(records, key=lambda record: record[0])]
        expected = sorted(offset for _, offset, value in last if value is not None)
        for copy in copies:
            if copy.partition % 10 == number:
                assert sorted(live[copy.partition]) == expected
