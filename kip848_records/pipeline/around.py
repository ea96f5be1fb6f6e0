"""The work that all runs share: a run is alone with the tables, and counts what it quarantined."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from kip848_records.log.table import LogTable, clusters_to_rebuild
from kip848_records.pipeline.rebuild import rebuild

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kip848_records.engines.engine import Engine
    from kip848_records.log.runs import PartitionRead
    from kip848_records.pipeline.options import AuditOptions
    from kip848_records.pipeline.progress import Progress


@contextmanager
def alone(engine: Engine, options: AuditOptions, progress: Progress) -> Iterator[tuple[LogTable, bool]]:
    """Keep other runs from the tables, and rebuild those of other clusters that do not fit their log.

    Either an older version wrote them, or a run was interrupted. This run rebuilds those of its own cluster anyway;
    the last value says whether its last run was interrupted.
    """
    with engine.alone(options.work_folder):
        clusters = clusters_to_rebuild(engine, migrate=True)
        rebuild_clusters(engine, (each for each in clusters if each != options.cluster), progress)
        yield LogTable(engine, options.cluster), clusters.get(options.cluster, False)


def rebuild_clusters(engine: Engine, clusters: Iterable[str], progress: Progress) -> None:
    """Make the tables of some clusters anew from their logs; a cluster without a log has none to make."""
    for cluster in clusters:
        log = LogTable(engine, cluster)
        if (knowledge := log.knowledge()).runs:
            progress.phase("rebuilding", f"cluster {cluster!r}")
            rebuild(log, knowledge, progress)


def quarantined(log: LogTable, reads: Sequence[PartitionRead] = ()) -> int:
    """Return how many of the rows that a run read are in quarantine; without `reads`: how many there are in all."""
    is_read = " OR ".join(
        f"(quarantine.partition = {read.partition} AND quarantine.offset >= {read.from_offset} "
        f"AND quarantine.offset < {read.until_offset})"
        for read in reads
    )
    return log.count("quarantine", is_read or "true")
