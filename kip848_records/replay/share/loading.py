"""What a coordinator refuses to load of a share group. Kafka 4.0 had a preview of them, with another layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kip848_records.kinds import Role
from kip848_records.replay import refusals
from kip848_records.replay.decode.impossible import ASSIGNMENT_EPOCH, MEMBER_TARGET, twice
from kip848_records.replay.group.loading import LoadingRules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kip848_records.replay.decode.impossible import Check, Checks

SHARE_RECORD_ON_SIMPLE: Final = refusals.Refusal(
    "the group is a classic one that never had a member", refusals.FROM_4_1
)
SHARE_OF_4_0: Final = refusals.Refusal(
    "the value has the layout of Kafka 4.0", refusals.FROM_4_1, writers=refusals.ONLY_4_0
)


class ShareLoading(LoadingRules):
    """The rules of share groups, whose partitions have no owners."""

    on_simple = SHARE_RECORD_ON_SIMPLE


def _lacks(name: str) -> Check:
    """Return a check whether the layout lacks a field."""
    return lambda columns: np.full(columns.rows, name not in columns.fields)


RULES = ShareLoading()
CHECKS: Final[Mapping[Role, Checks]] = {
    Role.GROUP_EPOCH: ((_lacks("metadata_hash"), SHARE_OF_4_0),),
    Role.ASSIGNMENT_EPOCH: ASSIGNMENT_EPOCH,
    Role.MEMBER_TARGET: MEMBER_TARGET,
    Role.CURRENT_ASSIGNMENT: ((twice("topic_id", "assigned_partitions"), refusals.TOPIC_TWICE),),
    Role.SHARE_STATE: (
        (_lacks("initializing_topics"), SHARE_OF_4_0),
        (twice("topic_id", "initializing_topics", "initialized_topics"), refusals.TOPIC_TWICE),
    ),
}
