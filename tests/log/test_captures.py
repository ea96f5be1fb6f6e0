"""Real logs, compacted by the model of the cleaner: from where on their copies are known to be complete."""

from itertools import groupby

import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.log.state import state_of
from kip848_records.sources.file_coverage import SegmentFile
from kip848_records.sources.segment_rows import read_file
from tests.log.cleaner import Log
from tests.log.copies import LogCopy, batch_of, is_commit, log_rows
from tests.log.random_walk import data_records
from tests.log_rows import coverage_of

pytestmark = pytest.mark.slow

CAPTURES = ("kafka-4.0.0-zstd", "kafka-4.3.1-all-types")
"""The third one has groups of the same kinds as the first."""
SEGMENTS = 4
PASSES = {0: (), 10: (1,), 20: (1, 2, 3), 30: (3,)}
"""What is done to a log before it is copied: the passes of the cleaner, each up to the start of a segment, by number.

The copies of each are partitions of their own, these numbers apart; and 100 further on, as rows of the Kafka source.
"""


def capture_logs(captures):
    """The logs of the captures' partitions, cut into segments of a record a batch."""
    for file in sorted(file for name in CAPTURES for file in (captures / name).glob("segments/*/*.log")):
        batches = read_file(memoryview(file.read_bytes()), "", SegmentFile(0, 0, 0))
        rows = [row for batch in batches for row in batch.to_pylist() if row["files"] is None]
        log = Log()
        for number, row in enumerate(rows):
            if number and number % (len(rows) // SEGMENTS) == 0 and len(log.segments) < SEGMENTS:
                log.roll()
            log.append(batch_of(row))
        yield log


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
def log(copies):
    return log_rows(row for copy in copies for row in copy.rows() if not is_commit(row["key"]))


@pytest.fixture(scope="module")
def known(log):
    return {copy.partition: copy for copy in coverage_of(EmbeddedEngine(), log).copies}


def repeated(records):
    """The second of the first two of these records with one key."""
    seen = set()
    for record in records:
        if record.key in seen:
            return record.offset
        seen.add(record.key)
    return None


def test_complete_from(known, copies):
    compacted = 0
    for copy in copies:
        ours = known[copy.partition]
        first = 0 if copy.shows_gaps else min(copy.offsets())
        assert (ours.first_offset, ours.log_start_missing, ours.is_base) == (first, None if first else False, True)
        second = repeated(record for record in data_records(copy.log) if not is_commit(record.key))
        of_groups = ours.last_offset + 1 if second is None else second
        left = {record.offset for batch in copy.log.batches() for record in batch.records}
        if copy.shows_gaps and len(left) == copy.log.next_offset:
            assert ours.complete_from == 0
        elif copy.shows_gaps:
            # Offset commits tell of more.
            assert copy.log.clean_to <= ours.complete_from <= of_groups
            compacted += 1
        elif not copy.log.clean_to and len(copy.offsets()) == copy.log.next_offset:
            assert ours.complete_from == 0
        else:
            assert ours.complete_from == of_groups
    assert compacted > len(copies) / 4


def test_the_last_gap_proves_nothing(known, copies):
    """Where it ends lies before where the cleaner has been in all of these."""
    wrong = 0
    for copy in copies:
        if copy.shows_gaps and copy.log.clean_to:
            left = {record.offset for batch in copy.log.batches() for record in batch.records}
            gap_end = max({*range(copy.log.next_offset)} - left) + 1
            assert gap_end <= known[copy.partition].complete_from
            wrong += gap_end < copy.log.clean_to
    assert wrong


def test_present_state(engine, log, logs, copies):
    live = {}
    for row in engine.collect(state_of(engine, engine.relation(log))):
        live.setdefault(row.partition, []).append(row.offset)
    for number, whole in enumerate(logs):
        records = sorted((r.key, r.offset, r.value) for r in data_records(whole) if not is_commit(r.key))
        last = [list(of_key)[-1] for _, of_key in groupby(records, key=lambda record: record[0])]
        expected = sorted(offset for _, offset, value in last if value is not None)
        for copy in copies:
            if copy.partition % 10 == number:
                assert sorted(live[copy.partition]) == expected
