"""Several copies of random logs, cleaned and with lost files: every state that is said to be known is the log's own."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pytest

from kip848_records.log.bases import begins_later, choose_base, coverage_of, is_led_up_to
from kip848_records.log.extents import FileRow, extent, without_filled
from kip848_records.log.losses import losses
from tests.seeds import daily_seeds, nightly


@dataclass(frozen=True)
class Copy:
    name: str
    is_dump: bool
    files: dict[int, list[int]]
    """The offsets of each file by its base offset; all offsets of a dump are in one."""

    @property
    def offsets(self):
        return sorted(offset for file in self.files.values() for offset in file)


def cleaned(keys, clean_to):
    """The offsets that the cleaner leaves: up to `clean_to` the last one of each key."""
    last = {key: offset for offset, key in enumerate(keys[:clean_to])}
    return {*last.values(), *range(clean_to, len(keys))}


def first_repeated(keys, offsets):
    seen = set()
    for offset in offsets:
        if keys[offset] in seen:
            return offset
        seen.add(keys[offset])
    return None


def random_copies(random, keys, bounds):
    """Copies of one log, each from after another pass of the cleaner; each may lack files that the cleaner left whole.

    A dump lacks only what is missing behind its first repeated key, and what a copy of files lost as well. A copy
    that ends early ends behind the cleaner. What else a dump lacks, and which of the files that were cleaned are
    missing, nothing shows (docs/limits.md).
    """
    files = list(pairwise(bounds))
    copies, lost_parts = [], []
    for name in "abcd"[: random.randint(2, 4)]:
        clean_to = random.choice(bounds[: len(bounds) // 2 + 1])
        left = cleaned(keys, clean_to)
        if random.random() < 0.2 and lost_parts:
            repeated = first_repeated(keys, sorted(left))
            first, behind = random.choice(lost_parts)
            if repeated is not None and repeated < first:
                left -= set(range(first, behind))
            copies.append(Copy(name, is_dump=True, files={0: sorted(left)}))
            continue
        start = random.choice(bounds[:-1]) if random.random() < 0.3 else 0
        end = (
            random.choice([behind for _, behind in files if behind > max(start, clean_to)])
            if random.random() < 0.3
            else bounds[-1]
        )
        held = {}
        for first, behind in files:
            of_file = [offset for offset in range(first, behind) if offset in left]
            if first < start or behind > end or not of_file:
                continue
            if first >= clean_to and start < first and behind < end and random.random() < 0.2:
                lost_parts.append((first, behind))
                continue
            held[first] = of_file
        if held:
            copies.append(Copy(name, is_dump=False, files=held))
    return copies


def file_row(keys, copy, base):
    offsets = copy.files[base]
    missing = sorted(set(range(offsets[0] if copy.is_dump else base, offsets[-1])) - set(offsets))
    if copy.is_dump:
        return FileRow(None, offsets[0], offsets[-1], bool(missing), None, None, None, ())
    gap_end = missing[-1] + 1 if missing else None
    start, repeated = min(copy.files), first_repeated(keys, offsets)
    return FileRow(base, start, offsets[-1], bool(missing), min(missing, default=None), gap_end, repeated, ())


def extent_of(keys, copy):
    found = extent(0, copy.name, [file_row(keys, copy, base) for base in copy.files])
    repeated = first_repeated(keys, copy.offsets)
    return found.with_repeated(repeated) if found.needs_repeated_key and repeated is not None else found


def states(keys, offsets):
    """The last offset of each key behind each offset."""
    state = {}
    for offset in range(len(keys)):
        if offset in offsets:
            state[keys[offset]] = offset
        yield dict(state)


def is_right(keys, copies):
    """Whether the states from the base's complete part to the first loss are those of the log; None: there are none."""
    held = {copy.name: set(copy.offsets) for copy in copies}
    extents = without_filled([extent_of(keys, copy) for copy in copies])
    base = choose_base(extents)
    of_base, of_all = held[base.copy], set().union(*held.values())
    lacks = (
        begins_later(base, extents)
        and is_led_up_to(base, extents)
        and any(base.first_offset <= offset < base.complete_from for offset in of_all - of_base)
    )
    (coverage,) = [each for each in coverage_of(extents, base, lacks_records=lacks) if each.is_base]
    lost = losses(extents, base, [])
    end = min([max(each.last_offset for each in extents) + 1, *(first for first, _ in lost)])
    if coverage.log_start_missing or base.complete_from >= end:
        return None
    counted = {at for at in of_all if at in of_base or not coverage.stale_from <= at < base.complete_from}
    pairs = list(zip(states(keys, counted), states(keys, range(len(keys))), strict=True))
    return all(found == true for found, true in pairs[base.complete_from : end])


@pytest.mark.parametrize("seeds", [range(300), *nightly([daily_seeds(4_000, "lost files")])], ids=len)
def test_states_that_are_said_to_be_known_are_those_of_the_log(seeds):
    results, wrong = Counter(), []
    for seed in seeds:
        random = Random(seed)  # noqa: S311 - logs, not secrets
        keys = [random.randrange(random.choice((3, 6, 12))) for _ in range(random.randint(12, 40))]
        bounds = sorted({0, len(keys), *(random.randrange(1, len(keys)) for _ in range(random.randint(2, 6)))})
        copies = random_copies(random, keys, bounds)
        if copies:
            right = is_right(keys, copies)
            results[right] += 1
            wrong += [seed] if right is False else []
    assert wrong == []
    assert results[True] > len(seeds) / 3
