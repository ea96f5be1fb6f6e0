"""A group coordinator in miniature: it writes the log of `__consumer_offsets` and knows the truth about it.

`broker` is what runs in a broker, `clients` and `behaviour` are the consumers and what happens to them, `truth` is told
of every change of a group while it happens.
"""

from kip848_records.simulate.broker.releases import RELEASES
from kip848_records.simulate.run import Simulated, simulate
from kip848_records.simulate.spec import Simulation

__all__ = ["RELEASES", "Simulated", "Simulation", "simulate"]
