"""An expectation for each pattern of `diagnosis` that can be a fault: no group has it, or had it a short time ago.

`replay/diagnosis/` has the rules, and the table their findings: nothing is computed again here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kip848_records.expectations.files import Expectation, Limit
from kip848_records.expectations.results import ERROR
from kip848_records.kinds import CLASSIC, CONSUMER, SHARE, STREAMS
from kip848_records.queries.texts import literal, rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATE: Final = "expectations/templates/pattern.sql"
_ACROSS_GROUPS: Final = "storm_across"

_LIMITS: Final = {
    "within_seconds": Limit(
        86_400,
        "seconds",
        "A trouble that ended so long before the capture counts, as a warning: a check each night finds what happened "
        "by day. 0: only what is present.",
    )
}

_OF_THE_LOG: Final = ("offsets_topic_grew", "group_in_two_partitions")
_SENTENCES: Final = {
    "restart_loop": "No client leaves after a short time and is started again, over and over",
    "leaves_and_returns": "No member leaves and returns over and over, as after a missed max.poll.interval.ms",
    "static_member_flaps": "No static member goes away and comes back over and over",
    "duplicate_instance_id": "No two processes use the same group.instance.id",
    "storm": "The members of a group do not leave and join all the time",
    "everybody_left": "A group that had members for hours has some",
    "no_topic": "Every member subscribes to topics that exist",
    "not_initialized": "The topics of a share group become ready",
    "slow_by_habit": "No member takes much longer than the others to give up partitions, each time",
    "coordinator_silent": "The coordinator acts when a member does not answer",
    "flapping_topics": "The topics of a subscription do not come and go",
    "assignor_flip": "A group does not change its assignor or its protocol back and forth",
    "two_applications": "The members of a group belong to one application",
    "assignment_not_applied": "Every member of a classic group applies the assignment that it gets",
    "configurations_differ": "The workers of a Connect group have one configuration",
    "endless_warm_ups": "Copies of tasks that a client of Kafka Streams warms up get ready",
    "assignment_error": "The leader of a group answers its members without an error",
    "task_restarts": "No task of Connect moves from worker to worker over and over",
    _ACROSS_GROUPS: "No event makes many groups rebalance at once",
    "offsets_topic_grew": "The number of partitions of __consumer_offsets does not change",
    "group_in_two_partitions": "The records of a group are in one partition",
}

_SENTENCES_OF_COMMITS: Final = {
    "negative_offsets": "No committed offset is replaced by a negative one, which is none",
    "client_retention": "No client asks the brokers to keep its committed offsets for less time than others",
    "stale_commits": "No member commits old positions of its own after a handover",
    "subscribe_and_assign": "No group id is used with subscribe() and with assign()",
}
"""Of patterns that only offset commits show."""


_WITH_TYPES: Final = """(
    SELECT partition, group_id, group_type FROM group_state_timeline
    UNION ALL SELECT partition, group_id, group_type FROM group_state
) AS types"""


def _of_types(*types: str) -> str:
    return f"{_WITH_TYPES} WHERE group_type IN ({', '.join(map(literal, types))})"


_STATIC: Final = ("group with static members", "membership WHERE instance_id IS NOT NULL")
_CAN_HAVE: Final[Mapping[str, tuple[str, str]]] = {
    "static_member_flaps": _STATIC,
    "duplicate_instance_id": _STATIC,
    "no_topic": ("consumer, classic or share group", _of_types(CONSUMER, CLASSIC, SHARE)),
    "slow_by_habit": ("consumer or streams group", _of_types(CONSUMER, STREAMS)),
    "coordinator_silent": ("consumer or streams group", _of_types(CONSUMER, STREAMS)),
    "flapping_topics": ("consumer or classic group", _of_types(CONSUMER, CLASSIC)),
    "assignor_flip": ("consumer or classic group", _of_types(CONSUMER, CLASSIC)),
    "assignment_not_applied": ("classic group", _of_types(CLASSIC)),
    "configurations_differ": ("Connect cluster", "connect_assignment"),
    "endless_warm_ups": (
        "application of Kafka Streams in a classic group",
        "classic_generation WHERE warm_ups IS NOT NULL",
    ),
    "assignment_error": (
        "application of Kafka Streams in a classic group, or group of Schema Registry",
        "classic_generation WHERE error IS NOT NULL AND protocol_type <> 'connect'",
    ),
    "task_restarts": ("Connect cluster", "connect_assignment"),
}
"""Which groups can have a pattern, in a noun and as SQL behind FROM; all groups can have the others."""


def _expectation(pattern: str, sentence: str) -> Expectation:
    is_of_commits = pattern in _SENTENCES_OF_COMMITS
    about, among = (
        ("group with committed offsets", "groups") if is_of_commits else _CAN_HAVE.get(pattern, ("group", "groups"))
    )
    places = "all" if pattern in {_ACROSS_GROUPS, *_OF_THE_LOG} else "commits" if is_of_commits else "groups"
    is_by_members = about == _STATIC[0]
    text = rendered(
        _TEMPLATE,
        pattern=pattern,
        places=places,
        among=among,
        is_by_members=is_by_members,
        needs_history=pattern == _ACROSS_GROUPS,
    )
    needs = ("offset_commits",) if is_of_commits else ()
    return Expectation(pattern, sentence, text, ERROR, _LIMITS, needs=needs, about=about)


PATTERNS: Final = tuple(
    _expectation(pattern, sentence) for pattern, sentence in (_SENTENCES | _SENTENCES_OF_COMMITS).items()
)
"""The expectations. A violation is an error where the row of `diagnosis` is one, else a warning."""
