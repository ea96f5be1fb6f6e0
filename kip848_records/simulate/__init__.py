"""A small group coordinator: it writes the log of `__consumer_offsets` and its ground truth.

`broker` simulates a broker; `clients` and `behaviour` simulate the consumers and the events that affect them. `truth`
observes every operation of the coordinator, reads no log, and keeps the rows of each table.
"""

from kip848_records.simulate.broker.releases import RELEASES
from kip848_records.simulate.run import Simulated, simulate
from kip848_records.simulate.spec import Simulation

__all__ = ["RELEASES", "Simulated", "Simulation", "simulate"]
