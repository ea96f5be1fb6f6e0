"""The groups of a simulation that are random walks: their ids, and their topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CLASSIC, CONNECT, SHARE, STREAMS
from kip848_records.simulate.spec import OTHER_KINDS
from kip848_records.simulate.walks.classic import ClassicWalk
from kip848_records.simulate.walks.connect import ConnectWalk
from kip848_records.simulate.walks.share import ShareWalk
from kip848_records.simulate.walks.share_group import share_topics
from kip848_records.simulate.walks.streams import StreamsWalk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kip848_records.simulate.spec import Simulation
    from kip848_records.simulate.walks.walk import Walk

_MOST_S: Final = 1e9
"""The longest mean time between two events, in seconds."""


WALKS: Final[Mapping[str, type[Walk]]] = {
    CLASSIC: ClassicWalk,
    CONNECT: ConnectWalk,
    SHARE: ShareWalk,
    STREAMS: StreamsWalk,
}
"""The walks by the names of their kinds."""


class WalkedGroup(NamedTuple):
    """A group of a simulation, before its walk begins."""

    group_id: str
    kind: str

    def begin(self, spec: Simulation, walks: Mapping[str, type[Walk]] = WALKS) -> Walk:
        """Return its walk at the start of the simulation; `walks`: the classes by kind."""
        event_ms = round(1000 * min(spec.happening_s, _MOST_S))
        return walks[self.kind](f"{spec.seed}/{self.group_id}", self.group_id, event_ms)


def walked_groups(spec: Simulation) -> Iterator[WalkedGroup]:
    """Yield the groups of all kinds but consumer groups."""
    for other in OTHER_KINDS:
        for number in range(getattr(spec, other.field)):
            yield WalkedGroup(f"{other.prefix}-{number:05}", other.kind.name)


def walked_topics(spec: Simulation) -> Mapping[str, str]:
    """Return the names of the walked groups' topics by id. Other kinds than share groups write names, not ids."""
    groups = (group.group_id for group in walked_groups(spec) if group.kind == SHARE)
    return {topic.topic_id: name for group_id in groups for name, topic in share_topics(group_id).items()}
