"""Scenes of consumption in memory: the rows of the log with their producers, and what really happened."""

import numpy as np

from kip848_records.simulate.broker.releases import KAFKA_4_3
from kip848_records.simulate.committing.all_scenes import SCENES
from kip848_records.simulate.consumption import CommitKeys
from kip848_records.simulate.partition_log import OrderedLog
from kip848_records.simulate.spec import MIN_HOURS_OF_STALLS, START_MS
from kip848_records.simulate.truth import collect

END = START_MS + round(MIN_HOURS_OF_STALLS * 3_600_000)
NAMES = sorted({(scene.name, scene.kind, scene.style) for scene in SCENES})


def scene_named(name, kind="consumer", style="java"):
    return next(each for each in SCENES if (each.name, each.kind, each.style) == (name, kind, style))


def played(*scenes, seed=0):
    """Play scenes in one partition: its rows, as `partition_log.LOG_ROWS`, and the facts by their names."""
    keys = CommitKeys()
    groups = []
    for scene in scenes:
        group_id = f"{scene.name}-{scene.kind}-{scene.style}"
        groups.append(scene.begin(seed, group_id, keys))
        groups += [scene.follow(seed, group_id, keys)] * scene.is_followed
    for group in groups:
        group.run_until(END - 1_000)
    operations = sorted((each for group in groups for each in group.take_operations()), key=lambda each: each.time)
    commits = np.concatenate([group.take_commits(END) for group in groups])
    rows = OrderedLog(KAFKA_4_3, keys).rows(operations, commits)
    for group in groups:
        group.close(END)
    return rows, collect(groups)
