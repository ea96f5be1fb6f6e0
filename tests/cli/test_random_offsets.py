"""Offsets at random times of random logs, compacted and copied at random, against the whole logs.

Every log is a partition of its own, with a group of its own, so that one audit takes all of them.
"""

import random
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from kip848_records.errors import InputError
from kip848_records.pipeline.audit import run_audit
from kip848_records.pipeline.options import AuditOptions
from kip848_records.protocol.encode import encode_key, encode_message
from kip848_records.protocol.messages import RECORDS
from kip848_records.queries.duck import DuckTables
from kip848_records.report.offsets.answer import offsets_at
from kip848_records.specs.log_columns import TOPIC
from tests.log.cleaner import Log
from tests.log.random_walk import Walk, data_records
from tests.progress import Watcher
from tests.protocol.segment_writer import Record
from tests.seeds import daily_seeds

SCENARIOS = 25
TIMES = 4
NOT_HERE = re.compile("is before the log|there is no group|the log has no offset commit of")
UNSEEN = re.compile("keys that were deleted since are not seen|the start of the log is missing")


@dataclass
class CommitWalk(Walk):
    """A walk whose records are all offset commits; each commits the number of its record."""

    group: str = ""

    def group_key(self) -> bytes:
        partition = self.rng.choice([0, 1, 2, 3, self.now])
        return encode_key(RECORDS[1], {"group": self.group, "topic": "t", "partition": partition})

    def commit_key(self) -> bytes:
        return self.group_key()

    def record(self, offset: int, key: bytes) -> Record:
        value = {"offset": offset, "leaderEpoch": 0, "metadata": "", "commitTimestamp": 0}
        encoded = encode_message(RECORDS[1].value_layouts(3)[0], value)
        return Record(offset, self.now, key, None if self.rng.random() < 0.3 else encoded)


@dataclass
class Scenario:
    """The group of a log, the whole log, and copies of it."""

    group: str
    log: Log
    copies: list[Log] = field(default_factory=list)

    @property
    def end(self) -> int:
        """The offset behind the last one of any copy."""
        return max((batch.last_offset + 1 for copy in self.copies for batch in copy.batches()), default=0)

    def keys(self) -> set[bytes]:
        """The keys of which a copy has a record that counts, or may."""
        return {record.key for copy in self.copies for record in data_records(copy, aborted=False)}

    def state(self, at: int) -> dict[bytes, int]:
        """What the coordinator has, by key, when it has read all before a place: the committed offset of each key."""
        until = min((r.offset for b in self.log.batches() for r in b.records if r.timestamp > at), default=self.end)
        current: dict[bytes, Record] = {}
        pending: dict[int, list[Record]] = {}
        for batch in self.log.batches():
            if batch.base_offset >= min(until, self.end):
                break
            if batch.marker is not None:
                ended = pending.pop(batch.producer_id, []) if batch.marker == "commit" else []
                pending.pop(batch.producer_id, None)
            elif batch.producer_id >= 0:
                pending.setdefault(batch.producer_id, []).extend(batch.records)
                ended = []
            else:
                ended = list(batch.records)
            for record in ended:
                if record.key not in current or current[record.key].offset < record.offset:
                    current[record.key] = record
        return {key: record.offset for key, record in current.items() if record.value is not None}


def scenario(seed: int) -> Scenario:
    rng = random.Random(seed)  # noqa: S311 - logs, not secrets
    brokers = [Log() for _ in range(rng.choice([1, 1, 2]))]
    walk = CommitWalk(rng, brokers, with_transactions=rng.random() < 0.7, group=f"g{seed}")
    made = Scenario(walk.group, walk.log)
    for _ in range(rng.choice([1, 1, 2, 3])):
        walk.steps(rng.choice([3, 15, 40]))
        copied = rng.choice(walk.brokers).copy()
        kind = rng.choice(["whole", "whole", "whole", "cut", "behind"])
        if kind == "cut":
            del copied.segments[: rng.randrange(len(copied.segments))]
        if kind == "behind":
            last = copied.segments[-1]
            last.batches = last.batches[: rng.randrange(len(last.batches) + 1)]
        made.copies.append(copied)
    return made


@pytest.fixture(scope="module", params=[1, pytest.param(4, marks=pytest.mark.nightly)])
def scenarios(request):
    """A few, or as many times more of other seeds each day."""
    count = request.param * SCENARIOS
    seeds = range(count) if request.param == 1 else daily_seeds(count, "offsets")
    return [scenario(seed) for seed in seeds]


@pytest.fixture(scope="module")
def tables(scenarios, tmp_path_factory):
    folder = tmp_path_factory.mktemp("copies")
    sources = set()
    for partition, made in enumerate(scenarios):
        for number, copy in enumerate(made.copies):
            for segment in copy.segments:
                place = folder / f"copy-{number}" / f"{TOPIC}-{partition}"
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{segment.base_offset:020}.log").write_bytes(segment.data())
                sources.add(str(folder / f"copy-{number}"))
    out = tmp_path_factory.mktemp("tables")
    run_audit(None, AuditOptions(tuple(sorted(sources)), str(out), offset_commits=True), Watcher())
    return DuckTables(str(out))


@pytest.mark.slow
def test_no_offset_is_wrong_and_none_is_missing_unnamed(scenarios, tables):
    counts = np.zeros(3, int)
    for made in scenarios:
        seed = made.group
        rng = random.Random(seed)  # noqa: S311
        times = sorted({r.timestamp for b in made.log.batches() for r in b.records if r.offset < made.end})
        for at in [*rng.sample(times, min(TIMES, len(times))), None] if times else ():
            expected = made.state(times[-1] if at is None else at)
            answer = answered(tables, made.group, at, expected)
            if answer is None:
                continue
            found = {_key(key): offset for key, offset in answer.offsets.items()}
            wrong = {key: offset for key, offset in found.items() if expected.get(key) != offset}
            assert not wrong, (seed, at, answer.notes)
            known = {_key(key) for key in answer.unknown}
            said = " ".join(answer.notes)
            missing = expected.keys() - found.keys() - known
            assert not missing or UNSEEN.search(said), (seed, at, answer.notes)
            if len(made.copies) == 1:  # of several, one may have keys that do not count
                assert missing.isdisjoint(made.keys()), (seed, at, answer.notes)
            counts += [len(found), len(known), len(missing)]
    assert (counts > (300, 50, 5)).all()  # there is something of each


def answered(tables, group, at, expected):
    """The answer; None for an error, which says that there was no offset only if there was none."""
    try:
        return offsets_at(tables, None, group, at)
    except InputError as error:
        if expected and not NOT_HERE.search(str(error)):
            raise
        return None


def _key(key):
    return encode_key(RECORDS[1], {"group": key.group_id, "topic": key.topic, "partition": key.partition})
