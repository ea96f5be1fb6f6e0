"""Logs of simulated groups that were compacted: a row that calls itself observed says what really happened."""

import random
from collections import Counter
from itertools import pairwise

import pytest

from tests.replay.classic_logs import END
from tests.seeds import daily_seeds, nightly
from tests.simulate import test_classic_groups, test_connect_groups, test_share_groups, test_streams_groups
from tests.simulator.walked import chosen, replayed, written
from tests.simulator.walks.classic import ObservedClassicWalk
from tests.simulator.walks.connect import ObservedConnectWalk
from tests.simulator.walks.share import ObservedShareWalk
from tests.simulator.walks.streams import ObservedStreamsWalk

CUTS = 3
KINDS = {
    ObservedClassicWalk: (70, test_classic_groups.COLUMNS),
    ObservedConnectWalk: (70, test_connect_groups.COLUMNS),
    ObservedShareWalk: (250, test_share_groups.COLUMNS),
    ObservedStreamsWalk: (250, test_streams_groups.COLUMNS),
}
KEYS = {
    "classic_generation": ("offset",),
    "partition_handover": ("partition", "acquired_offset"),
    "rebalance": ("began_offset",),
    "task_handover": ("connector", "subtopology_id", "task", "epoch", "from_member", "to_member", "status", "ended_at"),
    "epoch_timeline": ("bump_offset",),
    "group_state_timeline": ("from_offset",),
    "membership": ("member_id", "joined_offset"),
    "ownership": ("member_id", "topic_id", "subtopology_id", "partition", "role", "from_offset"),
    "share_partition_state": ("topic_id", "state", "from_offset"),
}
NOT_COMPARED = {"incarnation", "static_replaced"}
"""The deletions that are counted, and the records of static members that came back, may be gone."""


def begins(rows):
    """The offsets of operations but the first. The cleaner cuts none: an operation is one batch."""
    return [row["offset"] for before, row in pairwise(rows) if row["timestamp"] != before["timestamp"]]


def cleaned(rows, begin, end, *, keeps_tombstones):
    """The rows after the cleaner has been up to `end`, when a reader had read those before `begin`."""
    last = {row["key"]: row["offset"] for row in rows if row["offset"] < end}
    return [
        row
        for row in rows
        if not begin <= row["offset"] < end
        or (last[row["key"]] == row["offset"] and (keeps_tombstones or row["value"] is not None))
    ]


def compacted(rows, rng):
    """Return the rows that one pass of the cleaner leaves, and their complete range: from the first repeated key on."""
    left = cleaned(rows, 0, rng.choice(begins(rows)), keeps_tombstones=rng.random() < 0.5)
    seen = set()
    repeated = (row["offset"] for row in left if row["key"] in seen or seen.add(row["key"]))
    return left, [(next(repeated, len(rows)), END)]


def read_twice(rows, rng):
    """Return the rows that two reads find, and their complete ranges: the cleaner ran between the reads."""
    begin, end = sorted(rng.sample(begins(rows), 2))
    return cleaned(rows, begin, end, keeps_tombstones=True), [(0, begin), (end, END)]


@pytest.mark.parametrize("read", [compacted, read_twice])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seeds", [(0, 1), *nightly([daily_seeds(5, "compacted walks")])], ids=str)
def test_what_a_compacted_log_calls_observed_is_true(kind, read, seeds):
    steps, columns = KINDS[kind]
    wrong, seen = Counter(), Counter()
    for seed in seeds:
        rows, captured_at, truth = written(kind(f"c{seed}", event_ms=15_000), steps)
        rng = random.Random(seed)  # noqa: S311 - no secret
        for _ in range(CUTS):
            left, ranges = read(rows, rng)
            found = replayed(left, captured_at, ranges)
            for table, key in KEYS.items():
                true = {chosen(row, key): row for row in truth.get(table, ())}
                observed = [row for row in found[table] if row["history"] in {"observed", "right_censored"}]
                for row in observed if table in columns else ():
                    seen[table] += 1
                    wrong.update((table, name) for name in differing(row, true.get(chosen(row, key)), columns[table]))
    assert wrong == Counter()
    assert seen.keys() == KEYS.keys() & columns.keys()
    assert min(seen.values()) > 5


def differing(row, true, columns):
    """The columns that say something else than the truth; null and `unknown` say nothing."""
    if true is None:
        return ["no such row"]
    compared = [name for name in columns if name not in NOT_COMPARED]
    return [name for name in compared if not is_true(row[name], true.get(name))]


def is_true(value, true):
    if value is None or value == "unknown":
        return True
    if isinstance(value, list) and "unknown" in value:  # the causes of a rebalance
        return set(value) <= {*true, "unknown"}
    return chosen({"": value}, [""]) == chosen({"": true}, [""])
