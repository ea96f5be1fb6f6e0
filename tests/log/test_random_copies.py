"""Hundreds of random logs, compacted and copied at random: what is known of the copies, against the whole logs.

Every log is a partition of its own, so that one query takes all of them.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace

import pytest

from kip848_records.engines.embedded.engine import EmbeddedEngine
from kip848_records.log.state import state_of
from kip848_records.queries.texts import rendered
from kip848_records.sources.copies import merge_copies
from kip848_records.sources.predicates import IS_READABLE
from kip848_records.sources.transactions import with_outcomes, without_aborted
from tests.log.cleaner import Log
from tests.log.copies import LogCopy, is_commit, log_rows
from tests.log.random_walk import Walk, data_records
from tests.log_rows import coverage_of, table_of

pytestmark = pytest.mark.slow

SCENARIOS = 200


@dataclass
class Scenario:
    """A partition, its whole log, and copies of it."""

    partition: int
    with_commits: bool
    log: Log = field(default_factory=Log)
    copies: list[LogCopy] = field(default_factory=list)

    def rows(self):
        rows = [row for copy in self.copies for row in copy.rows()]
        return [row for row in rows if self.with_commits or not (is_commit(row["key"]) or row["control"])]

    def last_values(self, *, commits: bool):
        last = {key: record for key, record in last_records(self.log).items() if commits or not is_commit(key)}
        return {key: record.offset for key, record in last.items() if record.value is not None}


def last_records(log, before=None):
    """Key -> the last record of it, before an offset; those of transactions that were not committed do not count."""
    outcomes = log.outcomes()
    last = {}
    for batch in log.batches():
        if batch.marker is None and outcomes.get(batch.base_offset) in (None, "commit"):
            last |= {record.key: record for record in batch.records if before is None or record.offset < before}
    return last


def scenario(seed):
    rng = random.Random(seed)  # noqa: S311 - logs, not secrets
    walk = Walk(rng, [Log() for _ in range(rng.choice([1, 1, 2]))], with_transactions=rng.random() < 0.7)
    made = Scenario(seed, with_commits=rng.random() < 0.5, log=walk.log)
    for number in range(rng.choice([1, 1, 2, 3])):
        walk.steps(rng.choice([3, 15, 40]))
        copied = rng.choice(walk.brokers).copy()
        kind = rng.choice(["segments", "segments", "cut", "behind", "rows", "rows"])
        if kind == "cut":
            del copied.segments[: rng.randrange(len(copied.segments))]
        if kind == "behind":
            last = copied.segments[-1]
            last.batches = last.batches[: rng.randrange(len(last.batches) + 1)]
        made.copies.append(LogCopy(seed, f"copy {number}", copied, shows_gaps=kind != "rows"))
    return made


@pytest.fixture(scope="module")
def scenarios():
    return [scenario(seed) for seed in range(SCENARIOS)]


@pytest.fixture(scope="module")
def merged(scenarios):
    engine = EmbeddedEngine()
    each = engine.relation(log_rows(row for made in scenarios for row in made.rows()))
    kept, _ = without_aborted(engine, merge_copies(engine, with_outcomes(engine, each)))
    return table_of(kept)


@pytest.fixture(scope="module")
def coverage(merged):
    return coverage_of(EmbeddedEngine(), merged)


@pytest.fixture(scope="module")
def known(coverage):
    return {(copy.partition, copy.copy): copy for copy in coverage.copies}


def plain_copy(copy):
    """first_offset, last_offset, complete_from and log_start_missing of a copy; None if nothing of it was read."""
    return plain_segments(copy) if copy.shows_gaps else plain_dump(copy)


def plain_segments(copy):
    if not list(copy.log.batches()):
        return None
    first, last = copy.log.segments[0].base_offset, max(batch.last_offset for batch in copy.log.batches())
    second = second_of_a_key(copy.log)
    removed, lost = missing_in(copy)
    known = 0 if not removed else last + 1 if second is None else second
    return first, last, max(first, known, max(lost, default=-1) + 1), first > 0


def second_of_a_key(log):
    """A file knows the first repeated key among all its plain records, the log that of all its records of groups."""
    seconds = []
    for segment in log.segments:
        plain = [r for batch in segment.batches if batch.producer_id < 0 for r in batch.records]
        seconds += repeated(plain)[:1]
    seconds += repeated([r for r in data_records(log) if not is_commit(r.key)])
    return min(seconds, default=None)


def missing_in(copy):
    """The offsets that a copy of segments lacks: those that the cleaner may have removed, and those that were lost.

    Nothing was removed behind the second record of a key, nor between files behind all that is missing inside files.
    """
    files = [(segment, segment.batches[-1].last_offset) for segment in copy.log.segments if segment.batches]
    covered = {offset for segment, end in files for offset in range(segment.base_offset, end + 1)}
    second = second_of_a_key(copy.log)
    start, end = files[0][0].base_offset, files[-1][1]
    missing = {*range(start, end + 1)} - copy.offsets()
    removed = {offset for offset in missing if second is None or offset < second}
    inside = max(removed & covered, default=-1)
    removed = {offset for offset in removed if offset <= inside}
    return removed, missing - removed


def plain_dump(copy):
    records = list(data_records(copy.log))
    offsets = [record.offset for record in records]
    if not offsets:
        return None
    head = None if offsets[0] else False
    if offsets == list(range(len(offsets))):
        return 0, offsets[-1], 0, head
    second = repeated([record for record in records if not is_commit(record.key)])
    return offsets[0], offsets[-1], min(second, default=offsets[-1] + 1), head


def repeated(records):
    """The offsets of records that repeat the key of an earlier one."""
    seen, found = set(), []
    for record in records:
        found += [record.offset] if record.key in seen else []
        seen.add(record.key)
    return found


def test_what_each_copy_holds(scenarios, known):
    expected = {
        (made.partition, copy.name): plain
        for made in scenarios
        for copy in made.copies
        if (plain := plain_copy(copy)) is not None
    }
    assert known.keys() == expected.keys()
    for key, plain in expected.items():
        ours = known[key]
        # What copies after each other tell of the start is another test's.
        head = plain[3] if not ours.is_base or len(by_partition(known)[key[0]]) == 1 else ours.log_start_missing
        assert (ours.first_offset, ours.last_offset, ours.complete_from, ours.log_start_missing) == (
            *plain[:3],
            head,
        ), key


def by_partition(known):
    found = defaultdict(list)
    for partition, copy in known:
        found[partition].append(copy)
    return found


def test_no_record_is_missing_where_a_copy_is_complete(scenarios, known):
    complete = 0
    for made in scenarios:
        for copy in made.copies:
            if (row := known.get((made.partition, copy.name))) is None:
                continue
            all_records = data_records(made.log, aborted=copy.shows_gaps)
            missing = {r.offset for r in all_records if r.offset <= row.last_offset} - copy.offsets()
            assert row.complete_from > max(missing, default=-1), (made.partition, copy.name)
            complete += row.complete_from <= row.last_offset
    assert complete > len(known) / 2


def wrong_states(scenarios, known, complete_from):
    """How many copies do not have the state that the whole log had, at the offset from which on they are complete.

    Copies whose start is missing and those with losses apart, and offset commits: those go by the markers of their
    transactions.
    """
    wrong, compared = 0, 0
    for made in scenarios:
        for copy in made.copies:
            row = known.get((made.partition, copy.name))
            if row is None or (copy.shows_gaps and (row.first_offset > 0 or missing_in(copy)[1])):
                continue
            until = complete_from(row, copy)
            if until is None:
                continue
            expected, ours = (
                {
                    key: r.offset
                    for key, r in last_records(log, until).items()
                    if not is_commit(key) and r.value is not None
                }
                for log in (made.log, copy.log)
            )
            wrong += ours != expected
            compared += 1
    assert compared > len(known) / 3
    return wrong


def test_the_state_is_known_where_a_copy_is_complete(scenarios, known):
    assert wrong_states(scenarios, known, lambda row, _: row.complete_from) == 0


def test_the_state_is_not_known_behind_the_last_gap(scenarios, known):
    """What the package once went by."""

    def gap_end(row, copy):
        return max({*range(row.last_offset + 1)} - copy.offsets(), default=-1) + 1 if copy.shows_gaps else None

    assert wrong_states(scenarios, known, gap_end) > 10


def test_no_record_is_missing_where_all_copies_are_complete(engine, scenarios, coverage, merged):
    held = defaultdict(set)
    readable = f"SELECT rows.* FROM {{rows}} AS rows WHERE {IS_READABLE}"  # noqa: S608 - ours
    for row in engine.collect(engine.sql(readable, rows=engine.relation(merged))):
        held[row.partition].add(row.offset)
    compared = 0
    for made in scenarios:
        for start, end in (
            coverage.partitions[made.partition].complete_ranges if made.partition in coverage.partitions else ()
        ):
            assert end == coverage.partitions[made.partition].last_offset + 1
            records = [r for r in data_records(made.log, aborted=False) if start <= r.offset < end]
            offsets = {r.offset for r in records if made.with_commits or not is_commit(r.key)}
            assert offsets <= held[made.partition], made.partition
            compared += bool(offsets)
    assert compared > SCENARIOS / 3


def test_history_starts_with_the_first_copy_that_leads_up_to_the_end(scenarios, known):
    several = 0
    for made in scenarios:
        rows = [known[made.partition, copy.name] for copy in made.copies if (made.partition, copy.name) in known]
        if not rows:
            continue
        (base,) = [row for row in rows if row.is_base]
        end = max(row.last_offset for row in rows)
        gapless = {copy.name: gapless_range(copy) for copy in made.copies if (made.partition, copy.name) in known}
        covered = set().union(*gapless.values(), *(range(row.complete_from, row.last_offset + 1) for row in rows))
        leading = [row for row in rows if covered >= set(range(row.complete_from, end + 1))]
        plain = {copy.name: plain_copy(copy) for copy in made.copies}
        whole = [row for row in leading if not plain[row.copy][3]]
        assert base.complete_from == min(row.complete_from for row in whole or leading), made.partition
        several += len(rows) > 1 and base.complete_from <= end
    assert several > SCENARIOS / 8


def gapless_range(copy):
    """The offsets up to its end of which a copy shows that it has all."""
    plain = plain_copy(copy)
    offsets = copy.offsets()
    if copy.shows_gaps:
        gap_end = max({*range(plain[0], plain[1] + 1)} - offsets, default=plain[0] - 1) + 1
        return range(gap_end, plain[1] + 1)
    return range(plain[0], plain[1] + 1) if len(offsets) == plain[1] - plain[0] + 1 else range(0)


def test_the_present_state_is_that_of_the_whole_log(engine, scenarios, known, coverage, merged):
    live = defaultdict(dict)
    rows = {"log": engine.relation(merged), "places": engine.relation(table_of(coverage.stale))}
    for row in engine.collect(state_of(engine, engine.sql(rendered("log/sql/without_places.sql"), **rows))):
        live[row.partition][row.key] = row.offset
    compared = 0
    for made in scenarios:
        rows = [known[made.partition, copy.name] for copy in made.copies if (made.partition, copy.name) in known]
        if not rows or any(row.is_base and row.log_start_missing for row in rows):
            continue
        commits = made.with_commits and all(copy.shows_gaps for copy in made.copies)
        whole = replace(made, log=prefix(made.log, max(row.last_offset for row in rows)))
        ours = {key: offset for key, offset in live[made.partition].items() if commits or not is_commit(key)}
        assert ours == whole.last_values(commits=commits), made.partition
        compared += 1
    assert compared > SCENARIOS / 2


def prefix(log, end):
    cut = Log()
    for batch in log.batches():
        if batch.base_offset <= end:
            cut.append(batch)
    return cut
