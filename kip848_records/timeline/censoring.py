"""How much of what a group did the log shows: of each event, and of an interval between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from pyspark.sql import functions as F

from kip848_records.timeline.operations import LOST
from kip848_records.timeline.windows import NONE, NULL, of_rows

if TYPE_CHECKING:
    from pyspark.sql import Column

    from kip848_records.timeline.columns import Events
    from kip848_records.timeline.operations import Operations
    from kip848_records.timeline.windows import Bools

OBSERVED: Final = "observed"
LEFT_CENSORED: Final = "left_censored"
RIGHT_CENSORED: Final = "right_censored"
CENSORED: Final = "censored"


@dataclass(frozen=True)
class History:
    """What is known to be there from each event on.

    `is_complete`: no record of the group is missing at this offset or after it. `is_headless`: records of this
    incarnation, from before this one, are missing that compaction would have kept. `is_unscathed`: no record from here
    on was lost. `is_whole`: no record of the incarnation is missing.
    """

    is_complete: Bools
    is_headless: Bools
    is_unscathed: Bools
    is_whole: Bools


def histories(events: Events, operations: Operations) -> History:
    """Tell what is known of each event's history by that of its partition (`history.known_history`) and its losses.

    Group epochs step by one, so one that does not follow the one before proves that records are missing, whatever the
    partition's history says: of that group nothing before it is complete. Of several losses the first and the last
    count: between them a state may be called unknown that is known.
    """
    offset, epoch, complete_from = events.ints("offset"), events.ints("group_epoch"), events.ints("complete_from")
    epoch_before = of_rows(epoch, operations.of_incarnation.last(epoch != NULL, before=True))
    jumps = (epoch != NULL) & (epoch_before != NULL) & (epoch != epoch_before) & (epoch != epoch_before + 1)
    last_jump = operations.of_group.max(np.where(jumps, offset, NULL))

    lost = np.where(events.ints("key_type") == LOST, offset, NULL)
    last_loss = np.maximum(events.ints("last_loss"), operations.of_group.max(lost))
    none = np.iinfo(np.int64).max
    first_losses = [events.ints("first_loss"), lost]
    of_partition, of_group = (np.where(first == NULL, none, first) for first in first_losses)
    first_loss = np.minimum(of_partition, operations.of_group.min(of_group))
    deletion = operations.of_group.last(operations.deletes, before=True)
    deleted_at = np.where(deletion == NONE, -1, offset[deletion])
    is_behind_loss = (last_loss > deleted_at) & (offset >= first_loss)

    is_headless = (events.bools("head_missing") & (operations.incarnation == 0)) | is_behind_loss
    is_unscathed = offset > last_loss
    is_told = (complete_from != NULL) & (offset >= complete_from) & (offset >= last_jump)
    is_complete = is_told & ~is_headless & is_unscathed
    return History(
        is_complete=is_complete,
        is_headless=is_headless,
        is_unscathed=is_unscathed,
        is_whole=~operations.of_incarnation.any(~is_complete),
    )


def history(*, begin_is_complete: Column, has_end: Column) -> Column:
    """Return what is known of an interval: observed, left_censored, right_censored, or censored (both)."""
    return (
        F.when(begin_is_complete & has_end, OBSERVED)
        .when(begin_is_complete, RIGHT_CENSORED)
        .when(has_end, LEFT_CENSORED)
        .otherwise(CENSORED)
    )
