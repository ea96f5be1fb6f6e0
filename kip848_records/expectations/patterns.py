"""An expectation for each pattern of `diagnosis` that can be a fault: no group has it, or had it a short time ago.

`replay/diagnosis/` has the rules, and the table their findings: nothing is computed again here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.expectations.files import Expectation, Limit
from kip848_records.expectations.results import ERROR
from kip848_records.kinds import CLASSIC, CONSUMER, SHARE, STREAMS
from kip848_records.queries.texts import literal, rendered
from kip848_records.replay.diagnosis.patterns import ACROSS_GROUPS
from kip848_records.replay.diagnosis.patterns import PATTERNS as ALL

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMITS: Final = {
    "within_seconds": Limit(
        86_400,
        "seconds",
        "A trouble that ended so long before the capture counts, as a warning: a check each night finds what happened "
        "by day. 0: only what is present.",
    )
}

_WITH_TYPES: Final = """(
    SELECT partition, group_id, group_type FROM group_state_timeline
    UNION ALL SELECT partition, group_id, group_type FROM group_state
) AS types"""


def _of_types(*types: str) -> str:
    return f"{_WITH_TYPES} WHERE group_type IN ({', '.join(map(literal, types))})"


_LOG: Final = "log"
_COMMITS: Final = "group with committed offsets"
_STATIC: Final = "group with static members"
_AMONG: Final[Mapping[str, str]] = {
    "group": "groups",
    _STATIC: "membership WHERE instance_id IS NOT NULL",
    "classic group": _of_types(CLASSIC),
    "consumer or classic group": _of_types(CONSUMER, CLASSIC),
    "consumer or streams group": _of_types(CONSUMER, STREAMS),
    "consumer, classic or share group": _of_types(CONSUMER, CLASSIC, SHARE),
    "Connect cluster": "connect_assignment",
    "application of Kafka Streams in a classic group": "classic_generation WHERE warm_ups IS NOT NULL",
    "application of Kafka Streams in a classic group, or group of Schema Registry": (
        "classic_generation WHERE error IS NOT NULL AND protocol_type <> 'connect'"
    ),
}
"""The groups that can have a pattern, as SQL behind FROM, by `Pattern.about`."""

_TEXT: Final = rendered(
    "expectations/templates/pattern.sql",
    about={name: each.about for name, each in ALL.items()},
    among=_AMONG,
    by_members=_STATIC,
    commits=_COMMITS,
    log=_LOG,
    across=ACROSS_GROUPS,
)


def _expectation(name: str, expected: str, about: str) -> Expectation:
    needs = ("offset_commits",) if about == _COMMITS else ()
    return Expectation(
        name, expected, _TEXT, ERROR, _LIMITS, needs=needs, about="group" if about == _LOG else about, is_shared=True
    )


PATTERNS: Final = tuple(
    _expectation(name, each.expected, each.about) for name, each in ALL.items() if each.expected is not None
)
"""The expectations. A violation is an error where the row of `diagnosis` is one, else a warning."""
