"""Each trouble in each kind of group where it exists: the simulator's clients say what is to be found."""

import random
from functools import cache
from operator import attrgetter

import pytest

from kip848_records.simulate.spec import START_MS
from tests.replay.diagnosis.scripted import compacted, diagnosed, written
from tests.seeds import daily_seeds, few, nightly, one_of_each
from tests.simulator.scripted.scene import LONGEST_MS, Scene
from tests.simulator.scripted.troubles import SCENES

UNTIL = START_MS + LONGEST_MS
FROM_THE_BEGIN = {
    *("job", "more_members_than_partitions", "slow_to_revoke"),
    *("everybody_left", "broker_hangs", "tasks_move"),
}
"""These begin with the group, or what members were and had before decides what there is to tell."""


def name(scene: Scene) -> str:
    return f"{scene.name}-{scene.kind}"


EACH = pytest.mark.parametrize("scene", one_of_each(SCENES, attrgetter("name"), "kinds"), ids=name)
FEW = pytest.mark.parametrize("scene", few(SCENES, 8, "prefixes"), ids=name)
SEEDS = pytest.mark.parametrize("seed", [1, *nightly(daily_seeds(2, "scripts"))])


def episodes(scene: Scene, log, complete_from=0):
    newest = log[-1]["timestamp"] if scene.name == "broker_hangs" else None
    return diagnosed(log, UNTIL, complete_from, newest)


def told(*log):
    """The episodes of a log that no other one explains."""
    return [row for row in episodes(*log) if row["explained_by"] is None]


def assert_found(truth, rows):
    """Each trouble is one row with its subject and count, and nothing else is an alarm."""
    for true in truth:
        same = [row for row in rows if row["pattern"] == true["pattern"]]
        assert [row["count"] for row in same] == [true["count"]]
        assert {name: same[0]["subject"][name] for name in true["subject"]} == true["subject"]
    patterns = {true["pattern"] for true in truth}
    assert [row["pattern"] for row in rows if row["severity"] != "info" and row["pattern"] not in patterns] == []


@cache
def run(scene: Scene, seed: int):
    group = scene.begin(seed, f"{scene.name}-{seed}")
    return written(group, UNTIL), group.rows["diagnosis"]


@EACH
@SEEDS
def test_each_trouble_is_found_with_its_subject_and_count(scene, seed):
    log, truth = run(scene, seed)
    assert_found(truth, told(scene, log))


@pytest.mark.parametrize(
    ("scene", "kind", "seed"),
    [("leaking", "connect", 7), ("the_only_member", "connect", 4)],
)
def test_workers_of_connect(scene, kind, seed):
    """A worker that leaks moves tasks before its first short stay ends; none misses a poll."""
    (found,) = (each for each in SCENES if (each.name, each.kind) == (scene, kind))
    log, truth = run(found, seed)
    rows = told(found, log)
    assert_found(truth, rows)
    assert "poll_timeout" not in {row["probable_cause"] for row in rows}


@pytest.mark.parametrize(
    "scene", few([each for each in SCENES if each.name not in FROM_THE_BEGIN], 8, "behind a prefix"), ids=name
)
@SEEDS
def test_a_trouble_is_found_behind_a_compacted_prefix(scene, seed):
    log, truth = run(scene, seed)
    cut = next(row["offset"] for row in log if row["timestamp"] >= truth[0]["first_seen"])
    assert_found(truth, told(scene, *compacted(log, cut)))


@FEW
@SEEDS
def test_a_compacted_prefix_claims_nothing_that_the_whole_log_does_not(scene, seed):
    log, _ = run(scene, seed)
    rng = random.Random(f"{scene.name}/{seed}")  # noqa: S311
    whole = episodes(scene, log)
    for _ in range(1 if seed == 1 else 3):
        cut = rng.choice([row["offset"] for row in log[len(log) // 5 :]])
        for row in told(scene, *compacted(log, cut)):
            same = [
                each
                for each in whole
                if each["pattern"] == row["pattern"]
                and each["first_seen"] <= row["last_seen"]
                and each["last_seen"] >= row["first_seen"]
            ]
            assert [each for each in same if each["count"] >= row["count"]], (row["pattern"], cut)
