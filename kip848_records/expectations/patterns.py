"""An expectation for each pattern of `diagnosis` that can be a fault: no group has it, or had it a short time ago.

`replay/diagnosis/` has the rules, and the table their findings: nothing is computed again here.
"""

from __future__ import annotations

from typing import Final

from kip848_records.expectations.files import Expectation, Limit
from kip848_records.expectations.results import ERROR
from kip848_records.queries.texts import rendered

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

_SENTENCES: Final = {
    "restart_loop": "No client leaves after a short time and is started again, over and over",
    "leaves_and_returns": "No member leaves and returns over and over, as after a missed max.poll.interval.ms",
    "static_member_flaps": "No static member goes away and comes back over and over",
    "duplicate_instance_id": "No two processes use the same group.instance.id",
    "storm": "The members of a group do not leave and join all the time",
    "everybody_left": "A group that had members for hours has some",
    "no_topic": "Every member subscribes to topics that exist",
    "slow_by_habit": "No member takes much longer than the others to give up partitions, each time",
    "coordinator_silent": "The coordinator acts when a member does not answer",
    "flapping_topics": "The topics of a subscription do not come and go",
    "assignor_flip": "A group does not change its assignor or its protocol back and forth",
    "two_applications": "The members of a group belong to one application",
    "task_restarts": "No task of Connect moves from worker to worker over and over",
    _ACROSS_GROUPS: "No event makes many groups rebalance at once",
}


def _expectation(pattern: str, sentence: str) -> Expectation:
    text = rendered(_TEMPLATE, pattern=pattern, of_groups=pattern != _ACROSS_GROUPS)
    return Expectation(pattern, sentence, text, ERROR, _LIMITS)


PATTERNS: Final = tuple(_expectation(pattern, sentence) for pattern, sentence in _SENTENCES.items())
"""The expectations. A violation is an error where the row of `diagnosis` is one, else a warning."""
