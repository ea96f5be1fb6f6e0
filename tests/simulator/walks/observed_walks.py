"""The walks with the truth, by the names of their kinds."""

from kip848_records.kinds import CLASSIC, CONNECT, SHARE, STREAMS
from tests.simulator.walks.classic import ObservedClassicWalk
from tests.simulator.walks.connect import ObservedConnectWalk
from tests.simulator.walks.share import ObservedShareWalk
from tests.simulator.walks.streams import ObservedStreamsWalk

OBSERVED_WALKS = {
    CLASSIC: ObservedClassicWalk,
    CONNECT: ObservedConnectWalk,
    SHARE: ObservedShareWalk,
    STREAMS: ObservedStreamsWalk,
}
