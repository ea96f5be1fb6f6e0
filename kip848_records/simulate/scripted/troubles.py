"""A scene for each trouble, in each kind of group where it exists: what happens, and what is to be found."""

from kip848_records.simulate.scripted import loops, states
from kip848_records.simulate.scripted.scene import SCENES

__all__ = ["SCENES", "loops", "states"]
