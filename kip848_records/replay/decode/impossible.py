"""Values that decode, and that Kafka's coordinator refuses to load: no broker writes most of them.

These are the checks that kinds of groups share; each kind lists its own by role, as `CHECKS` in its `loading`.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from kip848_records.replay import refusals
from kip848_records.replay.decode.columns import list_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from kip848_records.replay.decode.columns import Columns
    from kip848_records.replay.refusals import Refusal

    Bools = NDArray[np.bool_]
    Check = Callable[[Columns], Bools]
    Checks = tuple[tuple[Check, Refusal], ...]

_NO_EPOCH: Final = -1


def refused_values(checks: Checks, columns: Columns) -> Iterable[Refusal | None]:
    """Return why Kafka refuses the value of each record of one type and layout; None if it does not."""
    reasons: list[Refusal | None] | None = None
    for is_refused, refusal in checks:
        (rows,) = is_refused(columns).nonzero()
        if len(rows):
            reasons = reasons or [None] * columns.rows
            for row in rows.tolist():
                reasons[row] = reasons[row] or refusal
    return repeat(None, columns.rows) if reasons is None else reasons


def twice(id_field: str, *names: str) -> Check:
    """Return a check whether an array of one of these fields has two elements of one id."""

    def is_refused(columns: Columns) -> Bools:
        refused = np.zeros(columns.rows, bool)
        for name in names:
            if name in columns:
                offsets, elements = list_parts(columns[name])
                rows = np.repeat(np.arange(columns.rows), np.diff(offsets))
                ids = elements.field(id_field).dictionary_encode()
                both = rows * (len(ids.dictionary) + 1) + ids.indices.to_numpy()
                distinct, counts = np.unique(both, return_counts=True)
                refused[distinct[counts > 1] // (len(ids.dictionary) + 1)] = True
        return refused

    return is_refused


def below(name: str, least: int) -> Check:
    """Return a check whether an integer is too small."""

    def is_refused(columns: Columns) -> Bools:
        if name not in columns:
            return np.zeros(columns.rows, bool)
        return pc.less(columns[name], least).fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]  # noqa: FBT003 - the value

    return is_refused


ASSIGNMENT_EPOCH: Final[Checks] = (
    (below("assignment_epoch", _NO_EPOCH), refusals.NEGATIVE_EPOCH),
    (below("assignment_timestamp", 0), refusals.NEGATIVE_TIMESTAMP),
)
MEMBER_TARGET: Final[Checks] = ((twice("topic_id", "topic_partitions"), refusals.TOPIC_TWICE),)
