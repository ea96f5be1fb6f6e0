"""A scene for each trouble, in each kind of group where it exists: what happens, and what is to be found."""

from typing import NamedTuple

from kip848_records.kinds import KINDS
from tests.simulator.scripted import loops, states
from tests.simulator.scripted.scene import SCENES, Scene

__all__ = ["SCENES", "loops", "states"]


class TroubledGroup(NamedTuple):
    """A group of a simulation with a trouble, before it begins."""

    group_id: str
    scene: Scene

    def begin(self, spec, _):
        """Return the group at the start of the simulation."""
        return self.scene.begin(f"{spec.seed}/{self.group_id}", self.group_id)


def troubled_groups(spec):
    """Yield the groups of a simulation that have a trouble, of one scene after another."""
    scenes = [scene for scene in SCENES if KINDS[scene.kind].first_release <= spec.release and not scene.is_alone]
    for number in range(spec.troubled_groups):
        scene = scenes[number % len(scenes)]
        yield TroubledGroup(f"{scene.name}-{scene.kind}-{number:05}", scene)
