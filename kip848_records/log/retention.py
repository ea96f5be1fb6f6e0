"""How much of a live topic's log is kept: all of it, or the history that ended after a time.

The log is compacted as in Kafka, up to the first record that is young enough: of older records the last value of each
key stays. So the replay gives the same present state, and the same later ones. Earlier history is removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kip848_records import __version__
from kip848_records.kinds import Role, key_types_of
from kip848_records.log.runs import last_reads
from kip848_records.log.state import last_counted
from kip848_records.queries.texts import rendered
from kip848_records.sources.predicates import IS_PENDING, key_of_types
from kip848_records.sources.transactions import with_outcomes
from kip848_records.tables.log import LOG
from kip848_records.tables.registry import TABLES
from kip848_records.times import utc, utc_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kip848_records.engines.engine import Relation
    from kip848_records.log.runs import PartitionRead, RunInfo
    from kip848_records.log.table import Knowledge, LogTable

_STARTS: Final = """
SELECT log.partition, min(log.offset) AS start FROM {log} AS log
WHERE log.timestamp >= timestamp_millis({since_ms}) GROUP BY log.partition
"""


def ended_before(table: str, ms: int) -> str | None:
    """Return a condition for the rows that had ended by a time, ms since 1970; None for rows that have no end."""
    ended_at = TABLES[table].ended_at
    return None if ended_at is None else f"{ended_at} < timestamp_millis({ms})"


def prunable(log: LogTable, knowledge: Knowledge, since_ms: int) -> tuple[Relation, RunInfo, Sequence[PartitionRead]]:
    """Return the rows that can be removed (``run, partition, offset``), and the facts about the log after that.

    Records from the first one of that time on are kept. These older records are kept too: the last value of each key;
    deletions of groups, which count incarnations; undecodable records, because they may be the last of their key; the
    compaction probes; records of open transactions; the markers of all that is kept; and all records of groups with an
    open row, however old that is.
    """
    engine, rows, before = log.engine, log.records(), last_reads(knowledge.reads)
    young = engine.sql(_STARTS.format(since_ms=since_ms, log="{log}"), log=rows)
    starts = {row.partition: row.start for row in engine.collect(young)}
    kept_from = {
        partition: max(read.kept_from, starts.get(partition, read.until_offset)) for partition, read in before.items()
    }
    number, last = log.next_run(knowledge), knowledge.runs[-1]
    kept_since_ms = max(since_ms, last.kept_since_ms or since_ms)
    info = replace(last, run=number, version=__version__, is_pruning=True, kept_since_ms=kept_since_ms, names=())
    reads = [
        replace(
            read,
            run=number,
            from_offset=read.until_offset,
            is_tombstone_gap=False,
            kept_from=kept_from[partition],
            note=f"kept since {utc_text(utc(since_ms))}, from offset {kept_from[partition]} on",
        )
        for partition, read in sorted(before.items())
    ]
    return _gone(log, rows, kept_from, before), info, reads


def _gone(log: LogTable, rows: Relation, kept_from: Mapping[int, int], reads: Mapping[int, PartitionRead]) -> Relation:
    """Return the rows from before these offsets that no later state needs."""
    engine = log.engine
    limits = pa.table({"place": pa.array(kept_from, pa.int32()), "kept_from": pa.array(kept_from.values(), pa.int64())})
    probed = {each.partition: each.compaction_probe for each in reads.values() if each.compaction_probe is not None}
    probes = pa.table({"partition": pa.array(probed, pa.int32()), "offset": pa.array(probed.values(), pa.int64())})
    # A transaction whose marker is young was still open at the offset from which on all is kept.
    old = engine.sql(rendered("log/sql/old.sql"), log=rows, limits=engine.relation(limits))
    old = with_outcomes(engine, old)
    text = rendered(
        "log/sql/prunable.sql",
        is_group_epoch=key_of_types(key_types_of(Role.GROUP_EPOCH)),
        is_classic_group=key_of_types(key_types_of(Role.CLASSIC_GROUP)),
        is_pending=IS_PENDING,
    )
    return engine.sql(
        text,
        old=old,
        probes=engine.relation(probes),
        last_values=last_counted(engine, old),
        quarantine=log.read("quarantine"),
        epochs=log.read("epoch_timeline"),
        lags=log.read("rebalance_lag"),
    )


def prune(log: LogTable, gone: Relation, info: RunInfo, reads: Sequence[PartitionRead]) -> Knowledge:
    """Write the new facts about the log, and then remove these rows; return the knowledge of all runs."""
    knowledge = log.append_run(None, info, reads)
    log.engine.delete(LOG, log.cluster, gone, ("run", "partition", "offset"))
    return knowledge
