"""What is said of tables for which only one partition of a live topic was read: what nobody looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from kip848_records.log.runs import partitions_beside_one
from kip848_records.report.terminal import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from kip848_records.queries.tables import Tables

_NOTES: Final = "SELECT explode(partitions) AS read FROM audit_runs"


def one_partition_text(partitions: int) -> str:
    """Return that only one of so many partitions was read."""
    return f"this read one partition of {partitions}"


def others_not_read(tables: Tables, cluster: str | None) -> str | None:
    """Return that only the partition of a group was read; None if all were."""
    partitions = partitions_beside_one(row.read["note"] for row in tables.rows(_NOTES, cluster))
    return None if partitions is None else one_partition_text(partitions)


def not_looked_at(tables: Tables, cluster: str | None) -> Iterator[RenderableType]:
    """Yield a sentence about the other partitions, if only the one of the group was read."""
    if (read := others_not_read(tables, cluster)) is not None:
        yield Text("")
        yield wrapped(
            f"Not looked at: {read}. Groups of the others may have had the same "
            "trouble at that time, a coordinator may have been silent for all of them, and they may read the same "
            "topics. To look at all, audit the topic: kip848 audit kafka://... --out DIR."
        )
