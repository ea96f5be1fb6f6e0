"""Which transactions of a segment were committed, which aborted, and which the segment does not decide.

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


def transaction_outcomes(
    producer_id: npt.NDArray[np.int64], transactional: npt.NDArray[np.bool_], marker: npt.NDArray[np.int8]
) -> npt.NDArray[np.int8]:
    """Return the outcome code of each batch, in log order.

    `marker` is what a control batch says: COMMITTED, ABORTED, or UNKNOWN where it cannot be read, for a later marker
    speaks of a later transaction; NONE for every other batch. A marker has the outcome that it decides.
    """
    outcomes = np.zeros(len(producer_id), np.int8)
    concerned = np.flatnonzero(transactional | (marker != NONE))
    # By producer, and in log order within each.
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
    outcomes[concerned[decided]] = says[following[decided]]
    return outcomes
