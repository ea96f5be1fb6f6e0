"""The rows of `diagnosis` of many groups together: few rows of each group are compared in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from kip848_records.replay.arrow_rows import to_batch
from kip848_records.replay.diagnosis.diagnose import across_groups
from kip848_records.replay.rows import Diagnosis, GroupOutline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kip848_records.engines.engine import Rows
    from kip848_records.replay.inputs import ReplayInputs
    from kip848_records.replay.rows import Row


def storms_across(outlines: Rows, inputs: ReplayInputs) -> pa.Table:
    """Return the storms of many groups, in the columns of `diagnosis` but for the cluster.

    `outlines`: rows of `replay.rows.GroupOutline`.
    """
    found = across_groups(_outlines(outlines), inputs.captured_at, inputs.limits)
    return pa.Table.from_batches([to_batch(Diagnosis, list(found))])


def _outlines(rows: Rows) -> Iterator[Row]:
    for batch in rows.batches():
        for row in batch.to_pylist():
            yield GroupOutline(**row | {"begins": [tuple(begin.values()) for begin in row["begins"]]})
