"""The groups of a simulation that commit what they have read, with or without a scene, and their topics."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from kip848_records.simulate.broker.cluster import offsets_partition
from kip848_records.simulate.committing.all_scenes import SCENES
from kip848_records.simulate.committing.healthy import healthy_group, healthy_id
from kip848_records.simulate.committing.scenes import follower_id, scene_topics
from kip848_records.simulate.committing.topics import healthy_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.simulate.committing.groups import Committing
    from kip848_records.simulate.committing.scenes import CommitScene
    from kip848_records.simulate.committing.topics import Topic
    from kip848_records.simulate.consumption import CommitKeys
    from kip848_records.simulate.spec import Simulation


class CommittingGroup(NamedTuple):
    """A group of a simulation, before it begins. `scene`: None if nothing is wrong with it.

    `followed`: the group whose messages it reads, too, while that one follows the scene.
    """

    group_id: str
    scene: CommitScene | None = None
    followed: str | None = None

    def begin(self, spec: Simulation, keys: CommitKeys) -> Committing:
        """Return the group at the start of the simulation. `keys`: those of its partition's commits."""
        if self.scene is None:
            return healthy_group(spec, self.group_id, keys)
        partition = offsets_partition(self.group_id, spec.partitions)
        if self.followed is not None:
            return self.scene.follow(spec.seed, self.followed, keys, partition, spec.hours)
        return self.scene.begin(spec.seed, self.group_id, keys, partition, spec.hours)


def committing_groups(spec: Simulation) -> Iterator[CommittingGroup]:
    """Yield the groups that commit what they have read."""
    for number in range(spec.committing_groups):
        yield CommittingGroup(healthy_id(spec, number))
    scenes = _varied([scene for scene in SCENES if scene.is_seen])
    for number in range(spec.stalled_groups):
        scene = scenes[number % len(scenes)]
        group_id = f"{scene.name}-{scene.kind}-{scene.style}-{number:05}"
        yield CommittingGroup(group_id, scene)
        if scene.is_followed:
            yield CommittingGroup(follower_id(group_id), scene, group_id)


def _varied(scenes: list[CommitScene]) -> list[CommitScene]:
    """Return one scene of each name, of one kind of groups after another, then another one of each, and so on."""
    by_name: dict[str, list[CommitScene]] = defaultdict(list)
    for scene in scenes:
        by_name[scene.name].append(scene)
    turned = [[*same[n % len(same) :], *same[: n % len(same)]] for n, same in enumerate(by_name.values())]
    return [scene for same in zip_longest(*turned) for scene in same if scene is not None]


def topics_read(spec: Simulation) -> Iterator[Topic]:
    """Yield the topics of these groups."""
    yield from healthy_topics(spec)
    for group in committing_groups(spec):
        if group.scene is not None and group.followed is None:
            yield from scene_topics(group.scene.name, spec.seed, group.group_id, spec.hours)
