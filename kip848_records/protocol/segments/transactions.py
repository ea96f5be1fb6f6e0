"""Resolves which transactions of a segment were committed, aborted, or cannot be decided by the segment.

Source: Kafka's `ProducerStateManager`: a producer has one transaction at a time, and the next control batch of its
producer id ends it.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

NONE: Final = 0
COMMITTED: Final = 1
ABORTED: Final = 2
PENDING: Final = 3
UNKNOWN: Final = 4
# Outcomes by the codes above.
OUTCOMES: Final = ("none", "committed", "aborted", "pending", "unknown")


class Transactions:
    """Resolves the transactions of a segment from its end to its start, because a marker follows its transaction."""

    def __init__(self) -> None:
        # The outcome in the next marker of each producer.
        self._next_marker: dict[int, int] = {}

    def outcomes_before(
        self,
        producer_id: npt.NDArray[np.int64],
        transactional: npt.NDArray[np.bool_],
        marker: npt.NDArray[np.int8],
        damaged: npt.NDArray[np.bool_],
    ) -> npt.NDArray[np.int8]:
        """Return the outcome code of each of the batches, in log order, that precede those of the last call.

        `marker` is the outcome in a control batch: COMMITTED, ABORTED, or UNKNOWN if it cannot be read, because a later
        marker belongs to a later transaction. It is NONE for every other batch. A marker has the outcome that it
        decides. A `damaged` batch may have been the marker of any producer: no later marker decides earlier batches.
        """
        so_far = np.cumsum(damaged, dtype=np.int64)
        outcomes = _outcomes(producer_id, transactional, marker, so_far)
        open_ended = np.flatnonzero(outcomes == PENDING)
        outcomes[open_ended] = [
            self._next_marker.get(producer, PENDING) for producer in producer_id[open_ended].tolist()
        ]
        is_hidden = so_far[open_ended] < so_far[-1:]
        outcomes[open_ended[is_hidden & (outcomes[open_ended] != PENDING)]] = UNKNOWN
        if damaged.any():
            self._next_marker = dict.fromkeys(self._next_marker, UNKNOWN)
        markers = np.flatnonzero(marker)[::-1]
        says = np.where(so_far[markers] > 0, UNKNOWN, marker[markers])
        self._next_marker.update(zip(producer_id[markers].tolist(), says.tolist(), strict=True))
        return outcomes


def _outcomes(
    producer_id: npt.NDArray[np.int64],
    transactional: npt.NDArray[np.bool_],
    marker: npt.NDArray[np.int8],
    damaged_so_far: npt.NDArray[np.int64],
) -> npt.NDArray[np.int8]:
    outcomes = np.zeros(len(producer_id), np.int8)
    concerned = np.flatnonzero(transactional | (marker != NONE))
    # Sort by producer, and in log order within each.
    concerned = concerned[np.argsort(producer_id[concerned], kind="stable")]
    if not len(concerned):
        return outcomes
    producer = producer_id[concerned]
    says = marker[concerned]
    nobody = len(concerned)
    own = np.where(says != NONE, np.arange(nobody), nobody)
    following = np.minimum.accumulate(own[::-1])[::-1]
    decided = following < nobody
    decided[decided] = producer[following[decided]] == producer[decided]
    outcomes[concerned] = PENDING
    by = following[decided]
    is_hidden = damaged_so_far[concerned[by]] > damaged_so_far[concerned[decided]]
    outcomes[concerned[decided]] = np.where(is_hidden, UNKNOWN, says[by])
    return outcomes
