"""The groups of a simulation that are random walks: their ids, and their topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.simulate.broker.cluster import offsets_partition
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


class _Kind(NamedTuple):
    """A kind of walks: the field of `Simulation` that has their number, and the prefix of their group ids."""

    field: str
    prefix: str
    walk: type[Walk]


_KINDS: Final = (
    _Kind("classic_groups", "classic-group", ClassicWalk),
    _Kind("connect_groups", "connect-cluster", ConnectWalk),
    _Kind("share_groups", "share-group", ShareWalk),
    _Kind("streams_groups", "streams-group", StreamsWalk),
)


class WalkedGroup(NamedTuple):
    """A group of a simulation, before its walk begins."""

    group_id: str
    kind: type[Walk]

    def begin(self, spec: Simulation) -> Walk:
        """Return its walk at the start of the simulation."""
        partition = offsets_partition(self.group_id, spec.partitions)
        event_ms = round(1000 * min(spec.happening_s, _MOST_S))
        return self.kind(f"{spec.seed}/{self.group_id}", self.group_id, partition, event_ms)


def walked_groups(spec: Simulation) -> Iterator[WalkedGroup]:
    """Yield the groups of all kinds but consumer groups."""
    for kind in _KINDS:
        for number in range(getattr(spec, kind.field)):
            yield WalkedGroup(f"{kind.prefix}-{number:05}", kind.walk)


def walked_topics(spec: Simulation) -> Mapping[str, str]:
    """Return the names of the walked groups' topics by id. Other kinds than share groups write names, not ids."""
    groups = (group.group_id for group in walked_groups(spec) if group.kind is ShareWalk)
    return {topic.topic_id: name for group_id in groups for name, topic in share_topics(group_id).items()}
