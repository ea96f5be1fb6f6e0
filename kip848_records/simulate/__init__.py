"""A small group coordinator: it writes the log of `__consumer_offsets`.

`broker` simulates a broker; `clients` and `behaviour` simulate the consumers and the events that affect them. Groups of
other kinds are random `walks`. Tests observe both to know what really happened (`tests/simulator/`).
"""

from kip848_records.simulate.broker.releases import RELEASES
from kip848_records.simulate.run import Simulated, simulate
from kip848_records.simulate.spec import Simulation

__all__ = ["RELEASES", "Simulated", "Simulation", "simulate"]
