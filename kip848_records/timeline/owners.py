"""Who owns each partition: changes of owner, and who owned it when somebody asks.

"Who owns this partition now" is a row among the changes of the partition's owner, in the order of operations: a running
window answers it, and nobody joins on ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kip848_records.timeline.partitions import ACQUIRED, RELEASED
from kip848_records.timeline.windows import NULL, Window, holds_of, of_rows, within

if TYPE_CHECKING:
    from kip848_records.timeline.windows import Ints


@dataclass(frozen=True)
class Owners:
    """What is known of a partition's owner with each step: who acquired it last, unless that member has released it.

    The newest claim counts: a member that releases a partition which another has acquired since changes nothing.

    `of_partition`: the steps of one partition. `owner`: as of this step, NULL for nobody. `acquired_before`: the last
    step before this one that acquired the partition; `released_before`: the last before by which an owner released it.
    """

    of_partition: Window
    owner: Ints
    acquired_before: Ints
    released_before: Ints


def owners(incarnation: Ints, partition: Ints, step: Ints, member: Ints) -> Owners:
    """Tell the owners of partitions by steps that are in order: what each does, by whom, in which incarnation."""
    of_partition = Window(within(Window(incarnation), partition))
    is_acquired = step == ACQUIRED
    acquired_before = of_partition.last(is_acquired, before=True)
    releases = (step == RELEASED) & (of_rows(member, acquired_before) == member)
    changed = of_partition.last(is_acquired | releases)
    return Owners(
        of_partition=of_partition,
        owner=np.where(holds_of(is_acquired, changed), of_rows(member, changed), NULL),
        acquired_before=acquired_before,
        released_before=of_partition.last(releases, before=True),
    )
