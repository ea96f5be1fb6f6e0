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
        # The next marker of each producer comes after these batches.
        following = len(self._next_marker)
        producer = np.append(producer_id, np.fromiter(self._next_marker.keys(), np.int64, following))
        says = np.append(marker, np.fromiter(self._next_marker.values(), np.int8, following))
        damaged_so_far = np.cumsum(np.append(damaged, np.zeros(following, np.bool_)), dtype=np.int64)
        concerned = np.flatnonzero(np.append(transactional, np.zeros(following, np.bool_)) | (says != NONE))
        # Sort by producer, and in log order within each.
        concerned = concerned[np.argsort(producer[concerned], kind="stable")]

        nobody = len(concerned)
        own = np.where(says[concerned] != NONE, np.arange(nobody), nobody)
        next_marker = np.minimum.accumulate(own[::-1])[::-1]
        decided = next_marker < nobody
        decided[decided] = producer[concerned[next_marker[decided]]] == producer[concerned[decided]]
        batches, by = concerned[decided], concerned[next_marker[decided]]
        outcomes = np.zeros(len(producer), np.int8)
        outcomes[concerned] = PENDING
        outcomes[batches] = np.where(damaged_so_far[by] > damaged_so_far[batches], UNKNOWN, says[by])

        markers = np.flatnonzero(says)[::-1]
        then = np.where(damaged_so_far[markers] > 0, UNKNOWN, says[markers])
        self._next_marker = dict(zip(producer[markers].tolist(), then.tolist(), strict=True))
        return outcomes[: len(producer_id)]
