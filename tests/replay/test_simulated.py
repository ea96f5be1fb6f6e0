"""The replay of simulated logs, against the rows that the simulator knows to be true."""

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import chain, combinations
from typing import NamedTuple

import pytest

from kip848_records.replay import rows
from kip848_records.replay.group_replay import GroupReplay
from kip848_records.replay.inputs import PartitionCoverage, ReplayInputs
from kip848_records.replay.numbers import PartitionNumbers
from tests.equal_rows import Rows
from tests.replay.simulated_records import TABLES, group_of, record_of, true_row
from tests.seeds import daily_seeds
from tests.simulator.decoded import records_of
from tests.simulator.in_memory import captured
from tests.simulator.run import Simulation, simulate

SMALL = Simulation(groups=32, members=3, hours=0.2, happening_s=15, partitions=3, recreations_per_hour=0.3)
SHAPES = {
    "small": replace(SMALL, seed=1),
    "small, 4.0": replace(SMALL, seed=2, release="4.0"),
    "medium": replace(SMALL, seed=3, groups=8, members=12, happening_s=10),
    "medium, 4.0": replace(SMALL, seed=4, groups=8, members=12, happening_s=10, release="4.0"),
    "long": replace(SMALL, seed=5, groups=16, hours=2, happening_s=120, partitions=1),
    "by a power law": replace(SMALL, seed=6, groups=51, happening_s=30, largest=16),
}
CLEANED = replace(SMALL, groups=12, hours=0.5, happening_s=20, partitions=2, commit_interval_ms=30_000)
CLEANED_SHAPES = {
    "tombstones kept": replace(CLEANED, seed=11),
    "tombstones kept, 4.0": replace(CLEANED, seed=12, release="4.0"),
    "tombstones removed": replace(CLEANED, seed=13, delete_retention_ms=0),
    "tombstones kept for 5 min": replace(CLEANED, seed=14, delete_retention_ms=5 * 60_000),
    "large groups": replace(CLEANED, seed=15, groups=4, members=10, happening_s=10, delete_retention_ms=60_000),
}


def each_shape(shapes, quick):
    """Some shapes with their seeds; and each shape with a seed of the day, at night."""
    for name in quick:
        yield pytest.param(shapes[name], id=name)
    for (name, shape), seed in zip(shapes.items(), daily_seeds(len(shapes), "simulated"), strict=True):
        yield pytest.param(replace(shape, seed=seed), id=f"{name}, {seed}", marks=pytest.mark.nightly)


class Compared(NamedTuple):
    """The replay's rows by class, and the truth by table. `is_fixed`: it is known what there is to compare."""

    found: dict
    truth: dict
    is_fixed: bool


def replayed(records, captured_at, coverage):
    """The rows of the replay by class; `coverage` by partition."""
    inputs, numbers = ReplayInputs("kafka", captured_at, coverage), PartitionNumbers()
    groups = {}
    for row in records:
        key = row["partition"], group_of(row)
        if key not in groups:
            groups[key] = GroupReplay(inputs, numbers, *key)
        groups[key].replay(record_of(row, numbers))
    by_class = defaultdict(list)
    for group in groups.values():
        for row in group.finish():
            by_class[type(row)].append(row)
    return by_class


def complete(records):
    ends = {row["partition"]: row["offset"] + 1 for row in records}
    return {
        partition: PartitionCoverage(complete_ranges=((0, end),), last_offset=end - 1)
        for partition, end in ends.items()
    }


def of_consumers(found):
    """Rows without the rebalances and handovers of classic groups, of which the truth knows nothing."""
    kinds = (rows.Rebalance, rows.PartitionHandover)
    return [row for row in found if not isinstance(row, kinds) or row.group_type == "consumer"]


@pytest.fixture(scope="module", params=each_shape(SHAPES, quick=("small",)))
def both(request):
    """A simulation in memory."""
    shape = request.param
    records, truth = captured(shape)
    return Compared(replayed(records, shape.end_ms, complete(records)), truth, shape in SHAPES.values())


@pytest.mark.parametrize("kind", TABLES)
def test_the_replay_finds_what_is_true(both, kind):
    found, truth, _ = both
    assert Rows(of_consumers(found[kind])) == Rows(true_row(kind, row) for row in truth[TABLES[kind]])


def test_the_present_state_is_the_true_one(both):
    found, truth, is_fixed = both
    seen = assert_same_states(found[rows.GroupState], truth["group_state"])
    assert seen.keys() >= {None, "right_censored"} or not is_fixed


STATE = {
    "consumer": (
        "group_type",
        "state",
        "members",
        "group_epoch",
        "assignment_epoch",
        "converged_members",
        "members_away",
        "waits_for_away_only",
    ),
    "classic": ("group_type", "state", "members", "generation"),
}
"""The columns of `group_state` that do not depend on the form of the log."""


def assert_same_states(found, truth):
    present = {row.group_id: {name: getattr(row, name) for name in STATE[row.group_type]} for row in found}
    assert present == {row["group_id"]: {name: row.get(name) for name in STATE[row["group_type"]]} for row in truth}
    assert present
    return assert_same_rebalances(found, truth)


def assert_same_rebalances(found, truth):
    """An ongoing rebalance began when the truth says, or before it if the row is censored; count their histories."""
    began = {row["group_id"]: row["rebalancing_since"] for row in truth if row["group_type"] == "consumer"}
    seen = Counter()
    for row in found:
        if row.group_type == "consumer":
            seen[row.rebalancing_history] += 1
            same = row.rebalancing_since == began[row.group_id]
            censored = row.rebalancing_history == "censored" and began[row.group_id] <= row.rebalancing_since
            assert same or censored, row
            assert (row.rebalancing_since is None) == (row.rebalancing_history is None)
    return seen


@pytest.fixture(
    scope="module", params=each_shape(CLEANED_SHAPES, quick=("tombstones kept, 4.0", "tombstones kept for 5 min"))
)
def cleaned(request, tmp_path_factory):
    """A log that was compacted, and the truth, which was not."""
    spec = replace(request.param, compacted=True)
    simulated = simulate(spec, tmp_path_factory.mktemp("cleaned") / "out")
    records = records_of(simulated.log)
    coverage = complete_behind_the_first_repeated_key(records)
    is_fixed = request.param in CLEANED_SHAPES.values()
    return Compared(replayed(records, simulated.captured_at, coverage), simulated.truth, is_fixed)


def complete_behind_the_first_repeated_key(records):
    """Where a key repeats the cleaner has not been: complete from the second record on (`semantics.md`)."""
    keys, complete_from, ends = set(), {}, {}
    for row in records:
        partition = row["partition"]
        key = partition, row["type"], tuple(row["key"].values())
        if key in keys:
            complete_from.setdefault(partition, row["offset"])
        keys.add(key)
        ends[partition] = row["offset"] + 1
    return {
        partition: PartitionCoverage(
            complete_ranges=((complete_from[partition], end),) if partition in complete_from else (),
            last_offset=end - 1,
        )
        for partition, end in ends.items()
    }


UNKNOWN_BEFORE = ("metadata_changed", "partitions_moved")
"""Columns of an observed row that are null if what they compare with lies before complete-from."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_a_row_of_a_compacted_log_that_calls_itself_observed_is_true(cleaned, kind):
    found, truth, is_fixed = cleaned
    observed = [row for row in of_consumers(found[kind]) if getattr(row, "history", "observed") == "observed"]
    # The log may have lost deletions: the incarnations are not compared.
    wrong = {row._replace(incarnation=0) for row in observed}
    for row in truth[TABLES[kind]]:
        wrong -= {each._replace(incarnation=0) for each in observed_forms(true_row(kind, row))}
    assert not wrong, (len(wrong), len(observed), sorted(wrong, key=repr)[:2])
    # A stay is observed once its member is back, or its incarnation has ended.
    assert observed or kind in {rows.Anomaly, rows.RegexResolution, rows.Membership} or not is_fixed


def observed_forms(row):
    """A true row as the replay may observe it: without what rests on records before complete-from."""
    names = [name for name in UNKNOWN_BEFORE if name in row._fields]
    for unknown in chain.from_iterable(combinations(names, count) for count in range(len(names) + 1)):
        form = row._replace(**dict.fromkeys(unknown))
        if "metadata_changed" in unknown and row.cause in UNKNOWN_CAUSES:
            form = form._replace(cause="unknown", trigger_member_ids=())
        yield form
        # The cause of the first epoch may rest on the type 3 before.
        if isinstance(row, rows.Rebalance) and row.causes[0] in UNKNOWN_CAUSES:
            triggers = form.trigger_member_ids if row.causes[1:] else ()
            yield form._replace(causes=("unknown", *row.causes[1:]), trigger_member_ids=triggers)


UNKNOWN_CAUSES = {"unknown", "topic_metadata_changed", "static_member_replaced"}


def test_the_present_state_of_a_compacted_log_is_the_true_one(cleaned):
    found, truth, is_fixed = cleaned
    known = [row for row in found[rows.GroupState] if row.state != "unknown"]
    unknown = {row.group_id for row in found[rows.GroupState]} - {row.group_id for row in known}
    assert_same_states(known, [row for row in truth["group_state"] if row["group_id"] not in unknown])
    assert len(known) > len(unknown) or not is_fixed
