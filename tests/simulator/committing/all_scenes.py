"""All scenes of consumption, and the groups of a simulation that follow them."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from tests.simulator.committing import jumps, stalls
from tests.simulator.committing.scenes import SCENES, follower_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.simulate.consumption import CommitKeys
    from tests.simulator.committing.groups import Committing
    from tests.simulator.committing.scenes import CommitScene
    from tests.simulator.run import Simulation

__all__ = ["SCENES", "jumps", "stalls"]


class StalledGroup(NamedTuple):
    """A group of a simulation, before it begins. `followed`: the group that follows the scene, if it is another one."""

    group_id: str
    scene: CommitScene
    followed: str | None = None

    def begin(self, spec: Simulation, keys: CommitKeys) -> Committing:
        """Return the group at the start of the simulation. `keys`: those of its partition's commits."""
        if self.followed is not None:
            return self.scene.follow(spec.seed, self.followed, keys, spec.hours)
        return self.scene.begin(spec.seed, self.group_id, keys, spec.hours)


def stalled_groups(spec: Simulation) -> Iterator[StalledGroup]:
    """Yield the groups that follow a scene, and others that read the same messages."""
    scenes = _varied([scene for scene in SCENES if scene.is_seen])
    for number in range(spec.stalled_groups):
        scene = scenes[number % len(scenes)]
        group_id = f"{scene.name}-{scene.kind}-{scene.style}-{number:05}"
        yield StalledGroup(group_id, scene)
        if scene.is_followed:
            yield StalledGroup(follower_id(group_id), scene, group_id)


def _varied(scenes: list[CommitScene]) -> list[CommitScene]:
    """Return one scene of each name, of one kind of groups after another, then another one of each, and so on."""
    by_name: dict[str, list[CommitScene]] = defaultdict(list)
    for scene in scenes:
        by_name[scene.name].append(scene)
    turned = [[*same[n % len(same) :], *same[: n % len(same)]] for n, same in enumerate(by_name.values())]
    return [scene for same in zip_longest(*turned) for scene in same if scene is not None]
