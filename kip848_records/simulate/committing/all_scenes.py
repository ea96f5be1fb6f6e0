"""All scenes of consumption."""

from kip848_records.simulate.committing import jumps, stalls
from kip848_records.simulate.committing.scenes import SCENES

__all__ = ["SCENES", "jumps", "stalls"]
