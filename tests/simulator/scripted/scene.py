"""A scene: what happens to a group of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kip848_records.kinds import CLASSIC, CONNECT, CONSUMER, SHARE, STREAMS
from tests.simulator.scripted.behaviours import HOUR, MINUTE
from tests.simulator.scripted.coordinated import ClassicScript, ConsumerScript
from tests.simulator.scripted.walked import ConnectScript, ShareScript, StreamsScript

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.simulator.scripted.script import Script

SCRIPTS: Final[dict[str, type[Script]]] = {
    kind.KIND: kind for kind in (ConsumerScript, ClassicScript, ShareScript, StreamsScript, ConnectScript)
}
"""Groups by the names of their kinds."""

ALL: Final = (CONSUMER, CLASSIC, SHARE, STREAMS, CONNECT)
MODERN: Final = (CONSUMER, SHARE, STREAMS)
CALM: Final = 90 * MINUTE
"""A group works well for so long before something is wrong with it: an hour, and some more."""
LONGEST_MS: Final = 11 * HOUR
"""The longest time that a scene takes."""


class Scene(NamedTuple):
    """A trouble of a kind of group."""

    name: str
    kind: str
    script: Callable[[Script], Iterator[int]]

    @property
    def is_alone(self) -> bool:
        """Whether nothing else may happen in the group's partition: its broker hangs."""
        return self.name == "broker_hangs"

    def begin(self, seed: object, group_id: str) -> Script:
        """Return a group that follows the scene from the start of the simulation."""
        group = SCRIPTS[self.kind](seed, group_id)
        group.follow(self.script(group))
        return group


SCENES: Final[list[Scene]] = []
"""All scenes."""


def scene(*kinds: str) -> Callable[[Callable[..., Iterator[int]]], Callable[..., Iterator[int]]]:
    """Make a script a scene of some kinds of groups, with the name that the script has."""

    def add(script: Callable[..., Iterator[int]]) -> Callable[..., Iterator[int]]:
        SCENES.extend(Scene(script.__name__.strip("_"), kind, script) for kind in kinds)
        return script

    return add
